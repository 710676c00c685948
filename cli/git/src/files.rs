//! The files of a commit.

use crate::{
    command::GitError,
    repository::Repository,
    tree::{Lookup, MAX_CONTENT, TreeEntry},
};

impl Repository {
    /// A file's content at a commit, or `None` if there is no such file. A commit that is not here, and a file that is there
    /// and cannot be read, are errors: a review must not take settings that it cannot read for missing ones.
    pub async fn file(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let lookup = self.lookups.of(commit, path);
        if let Some(content) = lookup.content.get() {
            return Ok(Some(content.clone()));
        }
        let object = match self.entry_of(&lookup, commit, path).await? {
            Some(entry) if entry.kind == "blob" => &entry.object,
            // git takes paths such as `./rules`, which no listing has.
            None if is_outside(path) => &format!("{commit}:{path}"),
            _ => return Ok(None),
        };
        match self.run(&["cat-file", "blob", object]).await {
            Ok(content) => {
                if content.len() <= MAX_CONTENT {
                    let _ = lookup.content.set(content.clone());
                }
                Ok(Some(content))
            }
            Err(GitError::Failed { .. }) if is_outside(path) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The name of the object at a path of a commit, or `None` if there is none.
    pub async fn object(&self, commit: &str, path: &str) -> Result<Option<String>, GitError> {
        let lookup = self.lookups.of(commit, path);
        let entry = self.entry_of(&lookup, commit, path).await?;
        Ok(entry.map(|entry| entry.object.clone()))
    }

    /// Returns whether there is a plain file at a path of a commit, not a symbolic link, a directory or a submodule; `None` if there is
    /// nothing.
    pub async fn is_plain_file(&self, commit: &str, path: &str) -> Result<Option<bool>, GitError> {
        let lookup = self.lookups.of(commit, path);
        let entry = self.entry_of(&lookup, commit, path).await?;
        Ok(entry.map(|entry| entry.mode.starts_with("100")))
    }

    /// The entry at a path of a commit; `None` if there is none.
    async fn entry_of<'a>(
        &self,
        lookup: &'a Lookup,
        commit: &str,
        path: &str,
    ) -> Result<Option<&'a TreeEntry>, GitError> {
        let entry = lookup.entry.get_or_try_init(async || {
            let mut arguments = vec!["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit];
            if !is_outside(path) {
                arguments.extend(["--", path]);
            }
            let listing = self.run(&arguments).await?;
            Ok(TreeEntry::parse(&listing).find(|entry| entry.path == path))
        });
        Ok(entry.await?.as_ref())
    }
}

/// Returns whether a path has parts that no entry of a tree has.
fn is_outside(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{commit, git, scratch, write};

    #[tokio::test]
    async fn a_place_of_a_commit_is_looked_up_once_and_that_of_a_branch_whenever_it_is_asked_for() {
        let scratch = scratch();
        let root = scratch.path.as_path();
        git(root, &["init", "--quiet"]);
        write(root, "AGENTS.md", "First");
        let first = commit(root, "First");
        let repository = Repository::open(root).await.unwrap();
        assert_eq!(
            repository.file(&first, "AGENTS.md").await.unwrap(),
            Some(b"First".to_vec())
        );
        assert_eq!(
            repository.file("HEAD", "AGENTS.md").await.unwrap(),
            Some(b"First".to_vec())
        );
        assert_eq!(repository.file(&first, "none.md").await.unwrap(), None);
        write(root, "AGENTS.md", "Second");
        let second = commit(root, "Second");
        assert_eq!(
            repository.file("HEAD", "AGENTS.md").await.unwrap(),
            Some(b"Second".to_vec())
        );
        // Of what was asked for, nothing is asked again: no object can be read any more.
        std::fs::remove_dir_all(root.join(".git/objects")).unwrap();
        for (path, content) in [("AGENTS.md", Some(b"First".to_vec())), ("none.md", None)] {
            assert_eq!(repository.file(&first, path).await.unwrap(), content, "{path}");
        }
        assert_eq!(repository.is_plain_file(&first, "AGENTS.md").await.unwrap(), Some(true));
        repository.file(&second, "AGENTS.md").await.unwrap_err();
    }
}
