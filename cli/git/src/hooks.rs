//! The directory in which git looks for the hooks of a repository.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    command::{self, GitError},
    repository::Repository,
};

/// The directory of the hooks that git runs in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksDirectory {
    /// Its path. It need not exist yet.
    pub path: Utf8PathBuf,
    /// True if it belongs to this repository. One that `core.hooksPath` puts elsewhere may serve others too.
    pub own: bool,
}

impl Repository {
    /// The directory of the hooks, with `core.hooksPath` of the repository, the user and the system taken into account.
    /// All worktrees of a repository share it.
    pub async fn hooks_directory(&self) -> Result<HooksDirectory, GitError> {
        let path = command::text_as_configured(self.root(), &["rev-parse", "--git-path", "hooks"]).await?;
        let path = self.root().join(path);
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = command::text_as_configured(self.root(), &common).await?;
        let real = existing(&path);
        let own = [self.root(), Utf8Path::new(&common)]
            .iter()
            .any(|directory| real.starts_with(existing(directory)));
        Ok(HooksDirectory { path, own })
    }
}

/// The path with what of it exists made real: links followed, `..` taken out.
fn existing(path: &Utf8Path) -> Utf8PathBuf {
    for directory in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (directory.canonicalize_utf8(), path.strip_prefix(directory)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{commit, git, scratch, write};

    #[tokio::test]
    async fn hooks_are_found_where_git_looks_for_them() {
        let scratch = scratch();
        let root = scratch.path.join("main");
        std::fs::create_dir(&root).expect("a directory");
        git(&root, &["init", "--quiet"]);
        write(&root, "a.txt", "a\n");
        commit(&root, "First");
        let worktree = scratch.path.join("worktree");
        git(&root, &["worktree", "add", "--quiet", worktree.as_str()]);
        let at = async |directory: &Utf8Path| {
            let repository = Repository::open(directory).await.expect("a repository");
            repository.hooks_directory().await.expect("an answer")
        };
        let shared = at(&worktree).await;
        assert_eq!(existing(&shared.path), existing(&root.join(".git/hooks")));
        assert_eq!((at(&root).await.own, shared.own), (true, true));

        git(&root, &["config", "core.hooksPath", ".githooks"]);
        let in_tree = at(&worktree).await;
        assert_eq!(existing(&in_tree.path), existing(&worktree.join(".githooks")));
        assert!(in_tree.own);

        let elsewhere = scratch.path.join("everybody");
        git(&root, &["config", "core.hooksPath", elsewhere.as_str()]);
        let foreign = at(&root).await;
        assert_eq!(foreign.path, elsewhere);
        assert!(!foreign.own);
    }
}
