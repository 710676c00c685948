//! One door for every git process.

use std::{ffi::OsString, process::Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use tokio::process::Command;

/// The oldest git that can be used: older ones do not know `GIT_ATTR_SOURCE`, and would let the attributes of the checkout
/// decide what a diff shows.
pub const OLDEST_GIT: (u32, u32) = (2, 41);

/// What the git on `PATH` says of itself, as in `git version 2.47.3`; an error if it is too old.
pub async fn version() -> Result<String, GitError> {
    let found = text(Utf8Path::new("/"), &ObjectStores::default(), &["--version"]).await?;
    if new_enough(&found) {
        Ok(found)
    } else {
        Err(GitError::TooOld { found })
    }
}

/// Whether this is a version that can be used. One that cannot be read is taken for a newer way of saying it.
fn new_enough(found: &str) -> bool {
    let mut numbers = found
        .split_whitespace()
        .find(|word| word.starts_with(|character: char| character.is_ascii_digit()))
        .unwrap_or_default()
        .split('.')
        .map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST_GIT,
        _ => true,
    }
}

/// Why a git call failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("failed to start git: {0}. Install git and make sure that it is on PATH")]
    Start(#[source] std::io::Error),
    /// A pipe to or from git broke.
    #[error("failed to read what git answers: {0}")]
    Pipe(#[source] std::io::Error),
    /// The directory is in no repository.
    #[error("{0} is not in a git repository. Change to your project's directory, or name it with --repo PATH")]
    NotARepository(Utf8PathBuf),
    /// A revision that git does not know.
    #[error("git does not know the revision `{revision}`{hint}")]
    UnknownRevision {
        /// As it was given.
        revision: String,
        /// What to do about it, beginning with `.`, or nothing.
        hint: String,
    },
    /// A commit that has to be here, and cannot be had.
    #[error(
        "the commit {commit} of the merge request is not in this checkout, and {reason}. Set `GIT_DEPTH: 0` for the job, so that it has the whole history, and `GIT_STRATEGY: fetch` or `clone`, so that it has a checkout"
    )]
    MissingCommit {
        /// Its name.
        commit: String,
        /// Why it could not be fetched.
        reason: String,
    },
    /// A repository of another user above the directory that was named.
    #[error(
        "the repository that {0} is in belongs to another user, whose configuration git would act on. If you trust it, name its \
         top directory with --repo PATH"
    )]
    Foreign(Utf8PathBuf),
    /// Files that are not where the repository is.
    #[error(
        "the configuration of the repository at {directory} takes {tree} for its files (`core.worktree`). Name the directory \
         of the files with --repo PATH, or take the setting out"
    )]
    FilesElsewhere {
        /// What was named.
        directory: Utf8PathBuf,
        /// Where the files would be.
        tree: Utf8PathBuf,
    },
    /// A repository without a commit.
    #[error("the repository has no commit yet: make one, then review what you change after it")]
    NoCommits,
    /// A repository without files to look at.
    #[error("{0} is a bare repository, without a working tree: name a range of commits, as in `main..feature`")]
    NoWorkingTree(Utf8PathBuf),
    /// Files that git cannot take in.
    #[error(
        "the working tree cannot be taken in: {0}. Name what is in the way in .gitignore, or review what is staged with --staged"
    )]
    WorkingTree(String),
    /// An index that makes no commit.
    #[error("what is staged makes no commit: {0}. Resolve the conflicts and stage the result first")]
    Staged(String),
    /// Scratch space that cannot be had.
    #[error("failed to make {path}: {source}. Set TMPDIR to a directory that can be written")]
    Scratch {
        /// Where.
        path: Utf8PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Two commits without a common ancestor.
    #[error("`{base}` and `{head}` have no common ancestor{hint}")]
    NoMergeBase {
        /// The base revision.
        base: String,
        /// The head revision.
        head: String,
        /// What to do about it, beginning with `.`, or nothing.
        hint: String,
    },
    /// Anything else that git said.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The sub-command.
        command: String,
        /// The end of what git wrote on standard error.
        message: String,
    },
    /// A git without what the isolation of its processes needs.
    #[error("{found} is too old: {}.{} or newer is needed. Update git", OLDEST_GIT.0, OLDEST_GIT.1)]
    TooOld {
        /// What it says of itself.
        found: String,
    },
    /// Output that is not text where text is needed.
    #[error("`git {0}` answered something that is not UTF-8")]
    NotText(String),
}

impl GitError {
    /// What git said of the working tree.
    pub(crate) fn working_tree(self) -> Self {
        match self {
            Self::Failed { message, .. } => Self::WorkingTree(message),
            other => other,
        }
    }

    /// What git said of the index.
    pub(crate) fn staged(self) -> Self {
        match self {
            Self::Failed { message, .. } => Self::Staged(message),
            other => other,
        }
    }
}

/// Object stores besides the repository's own, used for snapshots of the working tree, which must leave no trace in the
/// user's repository; and whose directory is trusted.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectStores {
    /// The one directory whose repository may belong to another user: what the user or the job named.
    pub(crate) trusted: Option<Utf8PathBuf>,
    /// Where new objects are written.
    pub(crate) write_to: Option<Utf8PathBuf>,
    /// Where else objects are read.
    pub(crate) read_from: Vec<Utf8PathBuf>,
}

impl ObjectStores {
    /// No further stores, and this directory trusted.
    pub(crate) fn trusting(directory: &Utf8Path) -> Self {
        Self {
            trusted: Some(directory.canonicalize_utf8().unwrap_or_else(|_| directory.to_owned())),
            ..Self::default()
        }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if let Some(directory) = &self.write_to {
            variables.push(("GIT_OBJECT_DIRECTORY", directory.to_string()));
        }
        if !self.read_from.is_empty() {
            let joined = self
                .read_from
                .iter()
                .map(|path| path.as_str())
                .collect::<Vec<_>>()
                .join(":");
            variables.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", joined));
        }
        variables
    }
}

/// What no configuration can change. Programs that git may start are switched off where that has a setting with a fixed name;
/// [`crate::guard`] knows the others.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.sshCommand=false",
    "core.askPass=",
    "credential.helper=",
    "gpg.program=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
    // A server that sends git elsewhere would learn there what it was sent, and could answer for another.
    "http.followRedirects=false",
    "core.quotePath=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
];
/// Transports of calls that fetch nothing: none. There is no program `git-remote-none`.
const NO_TRANSPORT: &str = "none";

/// A git command in `directory` with nothing of the surroundings in it. It reaches no server; a fetch allows its own transport.
pub(crate) fn git(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    for name in ["PATH", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_ALLOW_PROTOCOL", NO_TRANSPORT)
        // An object that is missing in a partial clone would be fetched from wherever the repository's configuration says.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_LFS_SKIP_SMUDGE", "1")
        // What is reviewed are the commits as they are, not what local refs or files say instead of them.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .env("HOME", "/nonexistent")
        .envs(stores.variables())
        .current_dir(directory)
        .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
        .args(
            stores
                .trusted
                .iter()
                .flat_map(|directory| ["-c".to_owned(), format!("safe.directory={directory}")]),
        )
        .args(arguments.iter().map(OsString::from))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Asks git where it looks for something, with the configuration of the user and of the system: what they say is the
/// answer. Nothing of the repository is executed by `rev-parse` and `config`, which is all that this is for.
pub(crate) async fn text_as_configured(directory: &Utf8Path, arguments: &[&str]) -> Result<String, GitError> {
    const OF_USER: [&str; 9] = [
        "PATH",
        "TMPDIR",
        "HOME",
        "XDG_CONFIG_HOME",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "SUDO_UID",
    ];
    let mut command = Command::new("git");
    command.env_clear().env("LC_ALL", "C");
    for name in OF_USER {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let output = command
        .current_dir(directory)
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(GitError::Start)?;
    if !output.status.success() {
        return Err(failure(arguments, &output.stderr));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| GitError::NotText(arguments.join(" ")))?;
    Ok(text.trim().to_owned())
}

/// Runs git and returns what it wrote.
pub(crate) async fn run(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    let output = git(directory, stores, arguments)
        .output()
        .await
        .map_err(GitError::Start)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failure(arguments, &output.stderr))
}

/// Runs git and returns its answer as trimmed text.
pub(crate) async fn text(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Result<String, GitError> {
    let bytes = run(directory, stores, arguments).await?;
    let text = String::from_utf8(bytes).map_err(|_| GitError::NotText(arguments.join(" ")))?;
    Ok(text.trim().to_owned())
}

pub(crate) fn failure(arguments: &[&str], stderr: &[u8]) -> GitError {
    let stderr = String::from_utf8_lossy(stderr);
    let message = stderr.trim().lines().rev().take(3).collect::<Vec<_>>();
    let message = message.into_iter().rev().collect::<Vec<_>>().join("; ");
    GitError::Failed {
        command: arguments.first().copied().unwrap_or_default().to_owned(),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_known() {
        for (found, good) in [
            ("git version 2.47.3", true),
            ("git version 2.41.0", true),
            ("git version 2.50.1 (Apple Git-155)", true),
            ("git version 2.39.5", false),
            ("git version 2.50.windows.1", true),
            ("git version 3.0.0", true),
            ("git version 2.31.8", false),
            ("git version 1.8.3.1", false),
            ("git, the next generation", true),
        ] {
            assert_eq!(new_enough(found), good, "{found}");
        }
    }
}
