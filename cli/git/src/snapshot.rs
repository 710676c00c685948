//! The working tree as a commit that lives outside the user's repository.

use camino::Utf8Path;

use crate::{
    command::{self, GitError, ObjectStores},
    repository::Repository,
};

impl Repository {
    /// Commits the working tree (staged, unstaged and untracked files, what `.gitignore` names left out) on top of
    /// `HEAD`. Objects and index are written below `scratch`; the user's repository, index and branch stay untouched.
    ///
    /// Returns the commit and a repository that can read it, or `None` if nothing differs from `HEAD`.
    pub async fn snapshot(&self, scratch: &Utf8Path) -> Result<Option<(String, Self)>, GitError> {
        let head = self.commit("HEAD").await?;
        let objects = scratch.join("objects");
        std::fs::create_dir_all(&objects).map_err(GitError::Start)?;
        let mut repository = self.clone();
        repository.stores = ObjectStores {
            write_to: Some(objects),
            read_from: vec![self.own_objects().to_owned()],
        };
        let index = scratch.join("index");
        let own_index = self.text(&["rev-parse", "--git-path", "index"]).await?;
        // A copy of the user's index keeps what git knows about unchanged files, so that only changed ones are read.
        let copied = std::fs::copy(self.root().join(own_index), &index);
        if copied.is_err() {
            repository.with_index(&index, &["read-tree", &head]).await?;
        }
        repository.with_index(&index, &["add", "--all", "--", ":/"]).await?;
        let tree = repository.with_index(&index, &["write-tree"]).await?;
        if tree == self.text(&["rev-parse", &format!("{head}^{{tree}}")]).await? {
            return Ok(None);
        }
        let commit = repository.commit_tree(&tree, &head).await?;
        Ok(Some((commit, repository)))
    }

    async fn with_index(&self, index: &Utf8Path, arguments: &[&str]) -> Result<String, GitError> {
        let output = command::git(self.root(), &self.stores, arguments)
            .env("GIT_INDEX_FILE", index)
            .output()
            .await
            .map_err(GitError::Start)?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(GitError::Failed {
                command: arguments.join(" "),
                message,
            });
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    async fn commit_tree(&self, tree: &str, parent: &str) -> Result<String, GitError> {
        let identity = ["-c", "user.name=conclave", "-c", "user.email=conclave@localhost"];
        let mut arguments = identity.to_vec();
        arguments.extend(["commit-tree", tree, "-p", parent, "-m", "Uncommitted changes"]);
        self.text(&arguments).await
    }
}
