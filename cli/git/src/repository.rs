//! A repository and what is read from it.

use std::{collections::BTreeSet, sync::Arc};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    command::{self, GitError, ObjectStores, names},
    places::object_stores,
    tree::{Lookups, is_whole_name},
};

/// The option of `git init` for a repository that borrows the objects of another, which has this commit: both name objects by the
/// same hash.
pub(crate) fn object_format(commit: &str) -> &'static str {
    match commit.len() {
        64 => "--object-format=sha256",
        _ => "--object-format=sha1",
    }
}

/// Returns whether a directory, or one above it, has what makes it a repository, in whatever state that is.
fn has_git(directory: &Utf8Path) -> bool {
    let directory = directory.canonicalize_utf8().unwrap_or_else(|_| directory.to_owned());
    let mut places = directory.ancestors().map(|above| above.join(".git"));
    places.any(|git| git.symlink_metadata().is_ok())
}

/// The advice for a clone that lacks history.
const SHALLOW: &str = ". The clone is shallow: fetch more history (`git fetch --unshallow`, in CI `GIT_DEPTH: 0`)";

/// An opened repository.
#[derive(Debug, Clone)]
pub struct Repository {
    root: Utf8PathBuf,
    objects: Utf8PathBuf,
    pub(crate) stores: ObjectStores,
    pub(crate) lookups: Arc<Lookups>,
}

impl Repository {
    /// Finds the repository that `directory` is in. A worktree or submodule is its own root.
    pub async fn open(directory: &Utf8Path) -> Result<Self, GitError> {
        let stores = ObjectStores::trusting(directory);
        let not_here = |error| match error {
            GitError::Failed { message, .. } if message.contains("dubious ownership") => {
                GitError::Foreign(directory.to_owned())
            }
            GitError::Failed { message, .. } if has_git(directory) => {
                GitError::Unreadable(directory.to_owned(), message)
            }
            _ => GitError::NotARepository(directory.to_owned()),
        };
        if !directory.is_dir() {
            return Err(GitError::NotARepository(directory.to_owned()));
        }
        // First, so that nothing later fails for an option that an old git does not know.
        command::version().await?;
        let root = match command::text(directory, &stores, &["rev-parse", "--show-toplevel"]).await {
            Ok(root) => inside(directory, Utf8PathBuf::from(root))?,
            Err(GitError::Failed { .. }) => {
                // A bare repository has no top level, but everything that a review reads.
                let directory_of = ["rev-parse", "--absolute-git-dir"];
                Utf8PathBuf::from(
                    command::text(directory, &stores, &directory_of)
                        .await
                        .map_err(not_here)?,
                )
            }
            Err(error) => return Err(error),
        };
        let objects = command::text(&root, &stores, &["rev-parse", "--git-path", "objects"]).await?;
        Ok(Self {
            objects: root.join(objects),
            root,
            stores,
            lookups: Arc::default(),
        })
    }

    /// Returns whether there are no files besides the history: it is bare, or what git keeps beside the files.
    pub async fn is_bare(&self) -> Result<bool, GitError> {
        let told = command::text(&self.root, &self.stores, &["rev-parse", "--is-inside-work-tree"]).await?;
        Ok(told != "true")
    }

    /// The top directory.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Directories that it consists of. The objects of a worktree are in another repository, and others may be borrowed.
    pub fn places(&self) -> Vec<Utf8PathBuf> {
        let git = self.objects.parent().unwrap_or(&self.objects);
        let own = [self.root.clone(), git.to_owned()];
        own.into_iter().chain(object_stores(&self.objects)).collect()
    }

    /// The content of `objects/info/alternates` for a repository that borrows this one's objects: its own and, for a
    /// snapshot, the run's.
    pub(crate) fn alternates(&self) -> String {
        let directories = std::iter::once(&self.objects).chain(&self.stores.write_to);
        directories.map(|directory| command::quoted(directory) + "\n").collect()
    }

    pub(crate) fn own_objects(&self) -> &Utf8Path {
        &self.objects
    }

    /// Returns whether the clone has only a part of the history.
    pub async fn is_shallow(&self) -> Result<bool, GitError> {
        Ok(self.text(&["rev-parse", "--is-shallow-repository"]).await? == "true")
    }

    /// The commit that a revision names.
    pub async fn commit(&self, revision: &str) -> Result<String, GitError> {
        let expression = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &expression];
        match self.text(&arguments).await {
            Ok(sha) => {
                self.ensure_unambiguous(revision).await?;
                Ok(sha)
            }
            Err(GitError::Failed { .. }) => Err(self.unknown(revision).await),
            Err(error) => Err(error),
        }
    }

    /// An error if the name that a revision begins with has several meanings: git would take the tag.
    async fn ensure_unambiguous(&self, revision: &str) -> Result<(), GitError> {
        // With `@{…}` behind it, it is that of a branch.
        let name = revision.split(['~', '^', ':']).next().unwrap_or_default();
        // Whatever branch or tag has such a name, git takes none of them.
        if is_whole_name(name) || matches!(name, "" | "@" | "HEAD") {
            return Ok(());
        }
        let possible = ["heads", "remotes", "tags"].map(|kind| format!("refs/{kind}/{name}"));
        let mut arguments = vec!["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"];
        arguments.extend(possible.iter().map(String::as_str));
        let listing = self.text(&arguments).await?;
        let (mut refs, mut commits) = (Vec::new(), BTreeSet::new());
        for line in listing.lines() {
            // Of a tag with a message, its commit comes last.
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [reference, .., commit] = words.as_slice()
                && possible.iter().any(|possible| possible == reference)
            {
                refs.push((*reference).to_owned());
                commits.insert(*commit);
            }
        }
        if commits.len() < 2 {
            return Ok(());
        }
        let name = name.to_owned();
        Err(GitError::AmbiguousName { name, refs })
    }

    async fn unknown(&self, revision: &str) -> GitError {
        if self.text(&["rev-parse", "--verify", "--quiet", "HEAD"]).await.is_err() && revision == "HEAD" {
            return GitError::NoCommits;
        }
        let hint = if self.is_shallow().await.unwrap_or(false) {
            SHALLOW
        } else {
            ". `git branch -a` lists the branches; a branch that is only on the server has to be fetched first"
        };
        GitError::UnknownRevision {
            revision: revision.to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// The best common ancestor of two commits.
    pub async fn merge_base(&self, base: &str, head: &str) -> Result<String, GitError> {
        match self.text(&["merge-base", "--end-of-options", base, head]).await {
            Ok(sha) => Ok(sha),
            Err(GitError::Failed { .. }) => {
                let hint = if self.is_shallow().await.unwrap_or(false) {
                    SHALLOW
                } else {
                    ". Name a base that the work grew from, as in `develop..feature`"
                };
                Err(GitError::NoMergeBase {
                    base: base.to_owned(),
                    head: head.to_owned(),
                    hint: hint.to_owned(),
                })
            }
            Err(error) => Err(error),
        }
    }

    /// The branch that work is merged into: what the remote says (`origin/HEAD`, or that of another remote), else `main`
    /// or `master`, there or here, else what the checked-out branch follows.
    pub async fn default_branch(&self) -> Option<String> {
        let remotes = self.text(&["remote"]).await.unwrap_or_default();
        let mut remotes: Vec<&str> = remotes.lines().collect();
        remotes.sort_by_key(|remote| *remote != "origin");
        let mut candidates = Vec::new();
        for remote in &remotes {
            let head = format!("{remote}/HEAD");
            if let Ok(name) = self.text(&["rev-parse", "--abbrev-ref", &head]).await
                && name != head
            {
                candidates.push(name);
            }
        }
        let places = remotes.iter().map(|remote| format!("{remote}/")).chain([String::new()]);
        candidates.extend(places.flat_map(|place| ["main", "master", "trunk"].map(|name| format!("{place}{name}"))));
        for name in candidates {
            match self.commit(&name).await {
                Ok(_) => return Some(name),
                // The branch, whatever tag has its name.
                Err(GitError::AmbiguousName { refs, .. }) => {
                    if let Some(branch) = refs.into_iter().find(|name| !name.starts_with("refs/tags/")) {
                        return Some(branch);
                    }
                }
                Err(_) => {}
            }
        }
        let upstream = ["rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{upstream}"];
        let upstream = self.text(&upstream).await.ok()?;
        self.commit(&upstream).await.ok().map(|_| upstream)
    }

    /// The files at or below these paths that are not the same in two commits.
    pub async fn differing(&self, one: &str, other: &str, paths: &[&str]) -> Result<Vec<String>, GitError> {
        let mut arguments = vec![
            "--literal-pathspecs",
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-only",
            "--no-commit-id",
            one,
            other,
            "--",
        ];
        arguments.extend(paths);
        Ok(names(&self.run(&arguments).await?))
    }

    /// The files in the index at or below these paths of a directory, each with its path from there.
    pub async fn tracked(&self, directory: &Utf8Path, paths: &[&str]) -> Result<Vec<String>, GitError> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-z", "--"];
        arguments.extend(paths);
        Ok(names(&command::run(directory, &self.stores, &arguments).await?))
    }

    /// The same without those that have been edited since they were added to the index, which git could not give back.
    pub async fn tracked_unedited(&self, directory: &Utf8Path, paths: &[&str]) -> Result<Vec<String>, GitError> {
        let mut arguments = vec!["--literal-pathspecs", "ls-files", "-z", "--modified", "--"];
        arguments.extend(paths);
        let edited = names(&command::run(directory, &self.stores, &arguments).await?);
        let mut tracked = self.tracked(directory, paths).await?;
        tracked.retain(|path| !edited.contains(path));
        Ok(tracked)
    }

    /// The files of a directory at a commit, each with its whole path; none if there is no such directory. The root is the
    /// empty path.
    pub async fn directory(&self, commit: &str, path: &str) -> Result<Vec<String>, GitError> {
        let path = path.trim_end_matches('/');
        let below = format!("{path}/");
        let mut arguments = vec!["ls-tree", "-z", "--name-only", "--full-tree", commit, "--"];
        if !path.is_empty() {
            arguments.push(&below);
        }
        Ok(names(&self.run(&arguments).await?))
    }

    /// The subjects of the commits in a range, newest first, at most 50. Where the history between the two is not here,
    /// only the last one: others could be of another branch.
    pub async fn subjects(&self, base: &str, head: &str) -> Result<Vec<String>, GitError> {
        let connected = self.text(&["merge-base", "--is-ancestor", base, head]).await.is_ok();
        let (count, range) = if connected {
            ("--max-count=50", format!("{base}..{head}"))
        } else {
            ("--max-count=1", head.to_owned())
        };
        let log = ["log", count, "--format=%s", "--end-of-options", &range];
        let log = self.text(&log).await?;
        Ok(log.lines().map(str::to_owned).collect())
    }

    /// The name of the checked-out branch, if there is one.
    pub async fn branch(&self) -> Option<String> {
        self.text(&["symbolic-ref", "--short", "--quiet", "HEAD"]).await.ok()
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        command::run(&self.root, &self.stores, arguments).await
    }

    pub(crate) async fn text(&self, arguments: &[&str]) -> Result<String, GitError> {
        command::text(&self.root, &self.stores, arguments).await
    }
}

/// The top directory, if `directory` is in it: a configuration can name any other, and its files would be reviewed.
fn inside(directory: &Utf8Path, top: Utf8PathBuf) -> Result<Utf8PathBuf, GitError> {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    if real(directory).starts_with(real(&top)) && top.join(".git").exists() {
        return Ok(top);
    }
    Err(GitError::FilesElsewhere(directory.to_owned(), top))
}
