//! The attributes by which a checkout makes something else of a file than what is stored.

use std::{collections::BTreeMap, process::Stdio};

use tokio::io::AsyncWriteExt;

use crate::{
    command::{self, GitError},
    repository::{Repository, TreeEntry},
};

/// The attributes that are asked for.
const ASKED: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The changes that a commit's attributes make to a file when it is checked out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckoutAttributes {
    /// The program that rewrites the file, by the name of its settings.
    pub filter: Option<String>,
    /// True if `$Id$` is replaced.
    pub ident: bool,
    /// The encoding that the file is rewritten in.
    pub encoding: Option<String>,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path.
    pub path: String,
    /// The name of its content.
    pub object: String,
}

impl Repository {
    /// The attributes of these paths in this commit. Paths without any are left out.
    pub async fn checkout_attributes(
        &self,
        commit: &str,
        paths: &[&str],
    ) -> Result<BTreeMap<String, CheckoutAttributes>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        let source = format!("--source={commit}");
        let mut arguments = vec!["check-attr", &source, "--stdin", "-z"];
        arguments.extend(ASKED);
        let mut command = command::git(self.root(), &self.stores, &arguments);
        command.stdin(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let Some(mut input) = child.stdin.take() else {
            return Err(GitError::Pipe(std::io::ErrorKind::BrokenPipe.into()));
        };
        let mut request = paths.join("\0");
        request.push('\0');
        let asking = async move {
            // If git ends early, that is seen in its answer.
            let _ = input.write_all(request.as_bytes()).await;
        };
        let ((), output) = tokio::join!(asking, child.wait_with_output());
        let output = output.map_err(GitError::Pipe)?;
        if !output.status.success() {
            return Err(command::failure(&arguments, &output.stderr));
        }
        Ok(parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Every regular file of a commit.
    pub async fn tree_files(&self, commit: &str) -> Result<Vec<TreeFile>, GitError> {
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", commit];
        let listing = self.run(&arguments).await?;
        let files = TreeEntry::parse(&listing).filter(|entry| entry.mode.starts_with("100"));
        let file = |TreeEntry { path, object, .. }| TreeFile { path, object };
        Ok(files.map(file).collect())
    }
}

/// `PATH NUL ATTRIBUTE NUL VALUE NUL`
fn parse(answer: &str) -> BTreeMap<String, CheckoutAttributes> {
    let mut files: BTreeMap<String, CheckoutAttributes> = BTreeMap::new();
    let fields: Vec<&str> = answer.split('\0').collect();
    let (records, _) = fields.as_chunks::<3>();
    for [path, attribute, value] in records {
        let named = !matches!(*value, "unspecified" | "unset" | "set" | "");
        let mut set = |change: fn(&mut CheckoutAttributes, &str)| {
            change(files.entry((*path).to_owned()).or_default(), value);
        };
        match *attribute {
            "filter" if named => set(|file, value| file.filter = Some(value.to_owned())),
            "working-tree-encoding" if named => set(|file, value| file.encoding = Some(value.to_owned())),
            "ident" if *value == "set" => set(|file, _| file.ident = true),
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_a_checkout_is_kept() {
        let answer = "a.sh\0filter\0unspecified\0a.sh\0ident\0set\0a.sh\0working-tree-encoding\0UTF-16\0b\0filter\0lfs\0b\0ident\0\
                      unset\0b\0working-tree-encoding\0unspecified\0c\0filter\0set\0c\0ident\0unspecified\0";
        let files = parse(answer);
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a.sh", "b"]);
        assert_eq!(
            files["a.sh"],
            CheckoutAttributes {
                filter: None,
                ident: true,
                encoding: Some("UTF-16".into())
            }
        );
        assert_eq!(files["b"].filter.as_deref(), Some("lfs"));
    }
}
