//! A snapshot: uncommitted changes as a commit that lives outside the user's repository.

use std::ffi::OsString;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    command::{self, GitError, ObjectStores, names},
    guard,
    repository::Repository,
};

/// Which of the changes that are not committed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncommitted {
    /// All: staged, unstaged and untracked files, what `git status` does not show to this user left out.
    WorkingTree,
    /// Staged changes: the next commit as it would be made now.
    Staged,
}

/// The uncommitted changes as a commit.
#[derive(Debug)]
pub struct Snapshot {
    /// The commit and a repository that can read it; nothing if nothing differs from `HEAD`.
    pub taken: Option<(String, Repository)>,
    /// Directories that are in no commit: new repositories without a commit of their own.
    pub left_out: Vec<String>,
}

impl Repository {
    /// Commits what is not committed on top of `HEAD`. Objects and index are written below `scratch`; the user's
    /// repository, index and branch stay untouched.
    pub async fn snapshot(&self, scratch: &Utf8Path, what: Uncommitted) -> Result<Snapshot, GitError> {
        if self.is_bare().await? {
            let told = self.text(&["rev-parse", "--is-bare-repository"]).await?;
            let error = match told.as_str() {
                "true" => GitError::NoWorkingTree,
                _ => GitError::InsideGit,
            };
            return Err(error(self.root().to_owned()));
        }
        let head = self.commit("HEAD").await?;
        self.ensure_whole(&[&head]).await?;
        let objects = scratch.join("objects");
        std::fs::create_dir_all(&objects).map_err(|error| GitError::Scratch(objects.clone(), error))?;
        let mut repository = self.clone();
        repository.stores = ObjectStores {
            write_to: Some(objects),
            read_from: vec![self.own_objects().to_owned()],
            ..self.stores.clone()
        };
        // Whatever writes an index looks again at files that changed together with the last one.
        let guards = guard::without_filters(self).await?;
        let index = scratch.join("index");
        let own_index = match what {
            Uncommitted::WorkingTree => self.index().await?,
            Uncommitted::Staged => self.index_of_commit(command::index_of_hook()).await?,
        };
        // A copy of the user's index keeps what git knows about unchanged files, so that only changed ones are read.
        let copied = copy_with_time(&own_index, &index);
        if copied.is_err() {
            repository.with_index(&index, &guards, &["read-tree", &head]).await?;
        }
        let mut left_out = Vec::new();
        let tree = match what {
            Uncommitted::WorkingTree => {
                left_out = repository.add_all(&index, &guards).await?;
                repository.with_index(&index, &guards, &["write-tree"]).await?
            }
            Uncommitted::Staged => repository
                .with_index(&index, &guards, &["write-tree"])
                .await
                .map_err(|error| error.said(GitError::Staged))?,
        };
        if tree == self.text(&["rev-parse", &format!("{head}^{{tree}}")]).await? {
            return Ok(Snapshot { taken: None, left_out });
        }
        let commit = repository.commit_tree(&tree, &head).await?;
        let taken = Some((commit, repository));
        Ok(Snapshot { taken, left_out })
    }

    async fn index(&self) -> Result<Utf8PathBuf, GitError> {
        Ok(self
            .root()
            .join(self.text(&["rev-parse", "--git-path", "index"]).await?))
    }

    /// The index that the next commit is made of. `git commit -a` and `git commit FILE` make one for themselves beside the usual one,
    /// and `told` their hooks of it; one from elsewhere is not this repository's.
    async fn index_of_commit(&self, told: Option<Utf8PathBuf>) -> Result<Utf8PathBuf, GitError> {
        let directory = self.text(&["rev-parse", "--absolute-git-dir"]).await?;
        let own = Utf8Path::new(&directory).canonicalize_utf8();
        let told = told.and_then(|index| self.root().join(index).canonicalize_utf8().ok());
        match (told, own) {
            (Some(index), Ok(own)) if index.starts_with(&own) && index.is_file() => Ok(index),
            _ => self.index().await,
        }
    }

    /// Puts all files into this index, and returns what git cannot take in: new repositories without a commit.
    async fn add_all(&self, index: &Utf8Path, guards: &[(OsString, OsString)]) -> Result<Vec<String>, GitError> {
        let ignored = self.ignored().await;
        let ignored: Vec<&str> = ignored.iter().map(String::as_str).collect();
        let mut add = ignored.clone();
        // What is new outside of a sparse checkout is new all the same.
        add.extend(["add", "--all", "--sparse", "--", ":/"]);
        let Err(error) = self.with_index(index, guards, &add).await else {
            return Ok(Vec::new());
        };
        let left_out = self.new_repositories_without_commit(&ignored).await?;
        if left_out.is_empty() {
            return Err(error.said(GitError::WorkingTree));
        }
        let besides = left_out.iter().map(|path| format!(":(top,exclude,literal){path}"));
        let besides: Vec<String> = besides.collect();
        add.extend(besides.iter().map(String::as_str));
        let added = self.with_index(index, guards, &add).await;
        added.map_err(|error| error.said(GitError::WorkingTree))?;
        Ok(left_out)
    }

    async fn new_repositories_without_commit(&self, ignored: &[&str]) -> Result<Vec<String>, GitError> {
        let mut arguments = ignored.to_vec();
        arguments.extend(["ls-files", "--others", "--exclude-standard", "-z"]);
        let mut found = names(&self.run(&arguments).await?);
        // Of a repository in it, git lists the directory and not the files.
        found.retain(|path| path.ends_with('/'));
        let mut without = Vec::new();
        for path in found {
            let directory = self.root().join(&path);
            let stores = ObjectStores::trusting(&directory);
            let head = ["rev-parse", "--verify", "--quiet", "HEAD"];
            if command::run(&directory, &stores, &head).await.is_err() {
                without.push(path);
            }
        }
        Ok(without)
    }

    /// The files that are in the snapshot and not in the commit below it.
    pub async fn new_files(&self, head: &str, snapshot: &str) -> Result<Vec<String>, GitError> {
        let arguments = [
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--diff-filter=A",
            head,
            snapshot,
        ];
        Ok(names(&self.run(&arguments).await?))
    }

    /// Submodules with changes of their own that are not committed there: no commit of this repository can hold them.
    pub async fn changed_submodules(&self) -> Result<Vec<String>, GitError> {
        // Looking into all submodules takes time, and hardly any repository has one.
        if !self.root().join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let ignored = self.ignored().await;
        let mut arguments: Vec<&str> = ignored.iter().map(String::as_str).collect();
        arguments.extend([
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=no",
            "--no-renames",
            "--ignore-submodules=none",
        ]);
        let mut command = command::git(self.root(), &self.stores, &arguments);
        command.envs(guard::without_filters(self).await?);
        let status = names(&command::output(&mut command, &arguments).await?);
        // `1 XY S<c><m><u> modes and names path`: `m` and `u` say that files in it are modified or new.
        let changed = status.iter().filter_map(|entry| {
            let fields: Vec<&str> = entry.splitn(9, ' ').collect();
            let [_, _, state, .., path] = fields.as_slice() else {
                return None;
            };
            let own = state.starts_with('S') && state.contains(['M', 'U']);
            (fields.len() == 9 && own).then(|| (*path).to_owned())
        });
        Ok(changed.collect())
    }

    /// Options with which git ignores what it ignores for this user. Nothing else of a user's configuration counts.
    async fn ignored(&self) -> Vec<String> {
        let file = command::excludes_file(self.root()).await;
        let options = file.map(|file| ["-c".to_owned(), format!("core.excludesFile={file}")]);
        options.into_iter().flatten().collect()
    }

    async fn with_index(
        &self,
        index: &Utf8Path,
        variables: &[(OsString, OsString)],
        arguments: &[&str],
    ) -> Result<String, GitError> {
        let mut command = command::git(self.root(), &self.stores, arguments);
        command.env("GIT_INDEX_FILE", index).envs(variables.iter().cloned());
        let output = command::output(&mut command, arguments).await?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    async fn commit_tree(&self, tree: &str, parent: &str) -> Result<String, GitError> {
        let identity = ["-c", "user.name=conclave", "-c", "user.email=conclave@localhost"];
        let mut arguments = identity.to_vec();
        arguments.extend(["commit-tree", tree, "-p", parent, "-m", "Uncommitted changes"]);
        self.text(&arguments).await
    }
}

/// Copies a file with the time of its last change: git takes a file that was changed at the time of the index, or later,
/// for one that it has to read.
fn copy_with_time(from: &Utf8Path, to: &Utf8Path) -> std::io::Result<()> {
    std::fs::copy(from, to)?;
    let changed = from.metadata()?.modified()?;
    std::fs::File::options().write(true).open(to)?.set_modified(changed)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
