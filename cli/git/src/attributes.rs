//! The attributes by which a checkout makes something else of a file than what is stored.
//!
//! Git takes a byte-order mark at the beginning of an attributes file for nothing where it reads the file of a checkout, and for a part of
//! the first pattern where it reads a commit. So files with a mark are read both ways.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    process::Stdio,
};

use tokio::io::AsyncWriteExt;

use crate::{
    command::{self, GitError},
    repository::Repository,
    tree::TreeEntry,
};

/// The attributes that are asked for.
const ASKED: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The byte-order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Maximum length of an attributes file that git reads, in bytes.
const MAX_RULES: usize = 100 << 20;

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

impl CheckoutAttributes {
    /// Takes in what another way of reading says.
    fn add(&mut self, other: Self) {
        self.filter = other.filter.or(self.filter.take());
        self.encoding = other.encoding.or(self.encoding.take());
        self.ident |= other.ident;
    }
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
        let mut files = self.ask_attributes(commit, "/dev/null", paths).await?;
        let marked = self.marked_rules(commit, paths).await?;
        if marked.is_empty() {
            return Ok(files);
        }
        let empty = self.run(&["hash-object", "-t", "tree", "--stdin"]).await?;
        let empty = String::from_utf8_lossy(&empty).trim().to_owned();
        for (directory, rules) in marked {
            let mut file = tempfile::NamedTempFile::new().map_err(GitError::Pipe)?;
            file.write_all(&rules).map_err(GitError::Pipe)?;
            let place = file.path().to_string_lossy().into_owned();
            let below: Vec<&str> = paths.iter().filter_map(|path| path.strip_prefix(&*directory)).collect();
            for (path, found) in self.ask_attributes(&empty, &place, &below).await? {
                files.entry(format!("{directory}{path}")).or_default().add(found);
            }
        }
        Ok(files)
    }

    /// The rules of the attributes files that begin with a byte-order mark, without it, each with its directory. Those of a
    /// directory below the root follow the macros of the root.
    async fn marked_rules(&self, commit: &str, paths: &[&str]) -> Result<Vec<(String, Vec<u8>)>, GitError> {
        let mut directories = BTreeSet::from([""]);
        for path in paths {
            directories.extend(path.match_indices('/').map(|(at, _)| &path[..=at]));
        }
        // Names are asked for line by line.
        let (odd, plain): (Vec<&str>, Vec<&str>) = directories.into_iter().partition(|path| path.contains('\n'));
        let names: Vec<String> = plain
            .iter()
            .map(|directory| format!("{commit}:{directory}.gitattributes"))
            .collect();
        let mut macros = Vec::new();
        let mut marked: Vec<(String, Vec<u8>)> = Vec::new();
        let mut take = |directory: &str, content: &[u8]| {
            let rules = content.strip_prefix(MARK);
            if directory.is_empty() {
                let lines = rules.unwrap_or(content).split_inclusive(|byte| *byte == b'\n');
                macros = lines
                    .filter(|line| line.starts_with(b"[attr]"))
                    .collect::<Vec<_>>()
                    .concat();
                macros.push(b'\n');
            }
            if let Some(rules) = rules {
                let before: &[u8] = if directory.is_empty() { &[] } else { &macros };
                marked.push((directory.to_owned(), [before, rules].concat()));
            }
        };
        // The root comes first.
        let found = |at: usize, blob: Option<crate::Blob>| {
            if let Some(blob) = blob {
                take(plain[at], &blob.content);
            }
        };
        self.read_blobs(&names, MAX_RULES, found).await?;
        for directory in odd {
            if let Some(content) = self.file(commit, &format!("{directory}.gitattributes")).await? {
                take(directory, &content);
            }
        }
        Ok(marked)
    }

    /// The attributes of these paths by the files of this tree, and by one beside it that counts less.
    async fn ask_attributes(
        &self,
        tree: &str,
        beside: &str,
        paths: &[&str],
    ) -> Result<BTreeMap<String, CheckoutAttributes>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (source, beside) = (format!("--source={tree}"), format!("core.attributesFile={beside}"));
        let mut arguments = vec!["-c", &beside, "check-attr", &source, "--stdin", "-z"];
        arguments.extend(ASKED);
        let mut command = command::git(self.root(), &self.stores, &arguments);
        // Without files git refuses inside of `.git`, although only the tree counts.
        command.env("GIT_WORK_TREE", ".").stdin(Stdio::piped());
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
            return Err(command::failure(&arguments, &output.stderr, output.status));
        }
        Ok(parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Every regular file of a commit.
    pub async fn tree_files(&self, commit: &str) -> Result<Vec<TreeFile>, GitError> {
        self.tree_of_mode(commit, "100").await
    }

    /// Every symbolic link of a commit. The content of one is its target.
    pub async fn tree_links(&self, commit: &str) -> Result<Vec<TreeFile>, GitError> {
        self.tree_of_mode(commit, "120").await
    }

    /// Every file of a commit whose mode begins like this.
    async fn tree_of_mode(&self, commit: &str, mode: &str) -> Result<Vec<TreeFile>, GitError> {
        let arguments = ["ls-tree", "-r", "-z", "--full-tree", commit];
        let listing = self.run(&arguments).await?;
        let files = TreeEntry::parse(&listing).filter(|entry| entry.mode.starts_with(mode));
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
    use crate::test_support::{git, scratch, write};

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

    #[tokio::test]
    async fn inside_of_the_repositorys_directory_and_in_a_bare_one_they_are_the_same() {
        let scratch = scratch();
        let checkout = scratch.path.join("checkout");
        std::fs::create_dir(&checkout).expect("a directory");
        git(&checkout, &["init", "--quiet"]);
        write(&checkout, "sub/a.py", "x\n");
        write(&checkout, "sub/.gitattributes", "*.py filter=f\n");
        git(&checkout, &["add", "--all"]);
        git(&checkout, &["commit", "--quiet", "-m", "one"]);
        git(&scratch.path, &["clone", "--quiet", "--bare", "checkout", "bare"]);
        for place in [
            "checkout",
            "checkout/sub",
            "checkout/.git",
            "checkout/.git/refs",
            "bare",
        ] {
            let repository = Repository::open(&scratch.path.join(place)).await.expect("a repository");
            let files = repository.checkout_attributes("HEAD", &["sub/a.py"]).await;
            let files = files.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(files["sub/a.py"].filter.as_deref(), Some("f"), "{place}");
        }
    }

    #[tokio::test]
    async fn a_byte_order_mark_hides_no_rule() {
        let scratch = scratch();
        git(&scratch.path, &["init", "--quiet"]);
        for path in ["a.py", "sub/b.py", "sub/deep/c.sh", "line\nfeed/d.py", "plain.txt"] {
            write(&scratch.path, path, "x\n");
        }
        git(&scratch.path, &["add", "--all"]);
        write(
            &scratch.path,
            ".gitattributes",
            "[attr]wide working-tree-encoding=UTF-16LE\n*.txt filter=f\n",
        );
        write(&scratch.path, "sub/.gitattributes", "\u{feff}*.py wide\n");
        write(&scratch.path, "sub/deep/.gitattributes", "\u{feff}/c.sh ident\n");
        write(&scratch.path, "line\nfeed/.gitattributes", "\u{feff}*.py filter=g\n");
        git(&scratch.path, &["add", "*.gitattributes"]);
        git(&scratch.path, &["commit", "--quiet", "-m", "one"]);
        let repository = Repository::open(&scratch.path).await.expect("a repository");
        let paths = ["a.py", "sub/b.py", "sub/deep/c.sh", "line\nfeed/d.py", "plain.txt"];
        let seen = async |commit: &str| {
            let files = repository
                .checkout_attributes(commit, &paths)
                .await
                .expect("attributes");
            files
                .into_iter()
                .map(|(path, file)| (path, file.encoding, file.filter, file.ident))
                .collect::<Vec<_>>()
        };
        let row = |path: &str, encoding: Option<&str>, filter: Option<&str>, ident| {
            (
                path.to_owned(),
                encoding.map(str::to_owned),
                filter.map(str::to_owned),
                ident,
            )
        };
        let wide = Some("UTF-16LE");
        let below = [
            row("line\nfeed/d.py", None, Some("g"), false),
            row("plain.txt", None, Some("f"), false),
            row("sub/b.py", wide, None, false),
            row("sub/deep/c.sh", None, None, true),
        ];
        assert_eq!(seen("HEAD").await, below);
        write(
            &scratch.path,
            ".gitattributes",
            "\u{feff}[attr]wide working-tree-encoding=UTF-16LE\n*.py wide\n",
        );
        git(&scratch.path, &["commit", "--quiet", "--all", "-m", "two"]);
        let encodings: Vec<Option<String>> = seen("HEAD")
            .await
            .into_iter()
            .map(|(_, encoding, ..)| encoding)
            .collect();
        assert_eq!(encodings, [wide, wide, wide, None].map(|name| name.map(str::to_owned)));
    }
}
