//! One door for every git process.

use std::{
    borrow::Cow,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::Command,
};

/// The minimum version of git: older ones do not know `GIT_ATTR_SOURCE`, and would let the attributes of the checkout
/// decide what a diff shows.
pub const OLDEST_GIT: (u32, u32) = (2, 41);

/// Time limit of `git --version`, which is a matter of milliseconds.
const VERSION_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum length of its answer, in bytes.
const MAX_VERSION: u64 = 64 << 10;
/// Characters of it that a person gets to see.
const SHOWN_VERSION: usize = 80;

/// The version of the git on `PATH` in its own words, as in `git version 2.47.3`; an error if it is too old, or is none that works.
pub async fn version() -> Result<String, GitError> {
    let mut command = git(Utf8Path::new("/"), &ObjectStores::default(), &["--version"]);
    version_of(&mut command, VERSION_TIMEOUT).await
}

/// The answer of this command to the question for its version. One that does not end, or writes without an end, is killed.
async fn version_of(command: &mut Command, limit: Duration) -> Result<String, GitError> {
    let mut child = command.spawn().map_err(GitError::Start)?;
    let answer = async {
        let (mut text, mut errors) = (Vec::new(), Vec::new());
        if let (Some(output), Some(error_output)) = (child.stdout.take(), child.stderr.take()) {
            // The first to be too long, or both at their ends.
            tokio::try_join!(bounded(output, &mut text), bounded(error_output, &mut errors))?;
        }
        let status = child.wait().await.map_err(GitError::Pipe)?;
        if status.success() {
            Ok(text)
        } else {
            Err(failure(&["--version"], &errors, status))
        }
    };
    let text = tokio::time::timeout(limit, answer)
        .await
        .map_err(|_| GitError::NoVersion(format!("did not finish within {} s", limit.as_secs())))??;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_default().trim();
    let found: String = line
        .chars()
        .filter(|character| !character.is_control())
        .take(SHOWN_VERSION)
        .collect();
    match found.as_str() {
        "" => Err(GitError::NoVersion("printed nothing".to_owned())),
        _ if line.split_whitespace().next() != Some("git") => Err(GitError::NoVersion(format!(
            "printed `{found}`, which is not a version of git"
        ))),
        _ if new_enough(line) => Ok(found),
        _ => Err(GitError::TooOld(found)),
    }
}

/// Reads to the end, which has to come soon.
async fn bounded(stream: impl AsyncRead + Unpin, into: &mut Vec<u8>) -> Result<(), GitError> {
    let read = stream.take(MAX_VERSION + 1).read_to_end(into).await;
    if read.map_err(GitError::Pipe)? as u64 > MAX_VERSION {
        let text = format!("printed more than {} KB", MAX_VERSION >> 10);
        return Err(GitError::NoVersion(text));
    }
    Ok(())
}

/// Returns whether this is a version that can be used. One that cannot be read is taken for a newer way of saying it.
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

/// The remedy where there is no git, beginning with `.`.
fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => {
            ". Install git and make sure that it is on PATH"
        }
        _ => "",
    }
}

/// The failure of a git call.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("failed to start git: {0}{remedy}", remedy = remedy(.0))]
    Start(#[source] std::io::Error),
    /// A pipe to or from git broke.
    #[error("failed to read what git answers: {0}")]
    Pipe(#[source] std::io::Error),
    /// The directory is in no repository.
    #[error("{0} is not in a git repository. Change to your project's directory, or name it with --repo PATH")]
    NotARepository(Utf8PathBuf),
    /// A repository that git cannot read, and git's words.
    #[error(
        "git cannot read the repository that {0} is in: {1}. Correct what it names; a worktree needs the repository that it belongs to, \
         at the place that its `.git` names"
    )]
    Unreadable(Utf8PathBuf, String),
    /// A revision that git does not know.
    #[error("git does not know the revision `{revision}`{hint}")]
    UnknownRevision {
        /// As it was given.
        revision: String,
        /// The remedy, beginning with `.`, or nothing.
        hint: String,
    },
    /// A name that a branch and a tag have, with different commits.
    #[error("`{name}` is ambiguous: {} are different commits. Write out the one that is meant", .refs.join(" and "))]
    AmbiguousName {
        /// As it was given.
        name: String,
        /// All that it can mean, written out.
        refs: Vec<String>,
    },
    /// A commit that has to be here, the reason why it could not be fetched, and the remedy.
    #[error("the commit {0} of the change is not in this checkout, and {1}. {2}")]
    MissingCommit(String, String, &'static str),
    /// A partial clone without objects that are needed.
    #[error("{root} is a partial clone, in which objects of the change are missing{hint}")]
    PartialClone {
        /// Its top directory.
        root: Utf8PathBuf,
        /// The remedy, beginning with `.`, or with why they could not be fetched.
        hint: String,
    },
    /// A repository of another user above the directory that was named.
    #[error(
        "the repository that {0} is in belongs to another user, whose configuration git would act on. If you trust it, name its \
         top directory with --repo PATH"
    )]
    Foreign(Utf8PathBuf),
    /// A repository at the directory that was named, and the other place of its files.
    #[error(
        "the configuration of the repository at {0} takes {1} for its files (`core.worktree`). Name the directory \
         of the files with --repo PATH, or take the setting out"
    )]
    FilesElsewhere(Utf8PathBuf, Utf8PathBuf),
    /// A repository without a commit.
    #[error("the repository has no commit yet: make one, then review what you change after it")]
    NoCommits,
    /// A repository without files to look at.
    #[error("{0} is a bare repository, without a working tree: name a range of commits, as in `main..feature`")]
    NoWorkingTree(Utf8PathBuf),
    /// The directory that git keeps for itself.
    #[error(
        "{0} is where git keeps its own files: change to the directory of the project's files, or name it with --repo PATH"
    )]
    InsideGit(Utf8PathBuf),
    /// An object that cannot be read.
    #[error("an object of the repository is damaged ({0}). `git fsck` lists what is: clone the repository again")]
    Damaged(String),
    /// Files that git cannot take in.
    #[error(
        "the working tree cannot be taken in: {0}. Name what is in the way in .gitignore, or review what is staged with --staged"
    )]
    WorkingTree(String),
    /// An index that makes no commit.
    #[error("what is staged makes no commit: {0}. Resolve the conflicts and stage the result first")]
    Staged(String),
    /// Scratch space that cannot be had.
    #[error("failed to make {0}: {1}. Set TMPDIR to a directory that can be written")]
    Scratch(Utf8PathBuf, #[source] std::io::Error),
    /// Two commits without a common ancestor.
    #[error("`{base}` and `{head}` have no common ancestor{hint}")]
    NoMergeBase {
        /// The base revision.
        base: String,
        /// The head revision.
        head: String,
        /// The remedy, beginning with `.`, or nothing.
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
    /// A program of that name that is not git, or a git that is broken.
    #[error("`git --version` {0}. See which git it is with `command -v git`, and put one that works before it on PATH")]
    NoVersion(String),
    /// A git without what the isolation of its processes needs.
    #[error("{0} is too old: {major}.{minor} or newer is needed. Update git", major = OLDEST_GIT.0, minor = OLDEST_GIT.1)]
    TooOld(String),
    /// Output that is not text where text is needed.
    #[error(
        "`git {0}` answered something that is not UTF-8. Rename what it names, such as the repository's directory or a branch, to \
         a name in UTF-8"
    )]
    NotText(String),
}

impl GitError {
    /// Makes another error of what git said.
    pub(crate) fn said(self, error: fn(String) -> Self) -> Self {
        match self {
            Self::Failed { message, .. } => error(message),
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
    /// The store that new objects are written to.
    pub(crate) write_to: Option<Utf8PathBuf>,
    /// Further stores that objects are read from.
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
        // A path may hold the colon that separates them.
        let read_from: Vec<String> = self.read_from.iter().map(|path| quoted(path)).collect();
        let alternates = (!read_from.is_empty()).then(|| ("GIT_ALTERNATE_OBJECT_DIRECTORIES", read_from.join(":")));
        let write_to = self
            .write_to
            .iter()
            .map(|path| ("GIT_OBJECT_DIRECTORY", path.to_string()));
        write_to.chain(alternates).collect()
    }
}

/// A path in a list of object stores, which its separators do not end.
pub(crate) fn quoted(path: &Utf8Path) -> String {
    let escaped = path
        .as_str()
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n");
    format!("\"{escaped}\"")
}

/// Settings that no configuration can change. Programs that git may start are switched off where that has a setting with a fixed name;
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

/// A git in `directory` that sees these variables of the environment and no others.
fn bare(directory: &Utf8Path, variables: &[&str]) -> Command {
    let mut command = Command::new("git");
    let kept = variables
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    command
        .env_clear()
        .envs(kept)
        .env("LC_ALL", "C")
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A git command in `directory` with nothing of the surroundings in it. It reaches no server; a fetch allows its own transport.
pub(crate) fn git(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Command {
    let trusted = stores.trusted.iter();
    let mut command = bare(directory, &["PATH", "TMPDIR"]);
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
        .env("HOME", "/nonexistent")
        .envs(stores.variables())
        .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
        .args(trusted.flat_map(|directory| ["-c".to_owned(), format!("safe.directory={directory}")]))
        .args(arguments);
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
    let mut command = bare(directory, &OF_USER);
    answer(arguments, output(command.args(arguments), arguments).await?)
}

/// The file of patterns that this user's git ignores in every repository: `core.excludesFile`, or what stands in for it.
pub(crate) async fn excludes_file(directory: &Utf8Path) -> Option<String> {
    let settings = std::env::var("XDG_CONFIG_HOME").unwrap_or_default();
    let default = match settings.as_str() {
        "" => "~/.config/git/ignore".to_owned(),
        settings => format!("{settings}/git/ignore"),
    };
    let arguments = [
        "config",
        "--type=path",
        "--default",
        &default,
        "--get",
        "core.excludesFile",
    ];
    // Without a home there is none.
    text_as_configured(directory, &arguments).await.ok()
}

/// The index that git names to its hooks: that of the commit which is being made.
pub(crate) fn index_of_hook() -> Option<Utf8PathBuf> {
    std::env::var("GIT_INDEX_FILE").ok().map(Utf8PathBuf::from)
}

/// Runs a command and returns what it wrote.
pub(crate) async fn output(command: &mut Command, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    let output = command.output().await.map_err(GitError::Start)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failure(arguments, &output.stderr, output.status))
}

/// Runs git and returns what it wrote.
pub(crate) async fn run(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
    output(&mut git(directory, stores, arguments), arguments).await
}

/// Runs git and returns its answer as text, without the end of its line.
pub(crate) async fn text(directory: &Utf8Path, stores: &ObjectStores, arguments: &[&str]) -> Result<String, GitError> {
    answer(arguments, run(directory, stores, arguments).await?)
}

/// The answer without the line feed that git ends it with: a path may end in one, or in a space, of its own.
fn answer(arguments: &[&str], bytes: Vec<u8>) -> Result<String, GitError> {
    let mut text = String::from_utf8(bytes).map_err(|_| GitError::NotText(arguments.join(" ")))?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// The names in a list that ends each with a NUL.
pub(crate) fn names(list: &[u8]) -> Vec<String> {
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Returns whether this says that an object cannot be read: `loose object 1f… (stored in …) is corrupt`, `unable to read tree (1f…)`.
fn tells_damage(line: &str) -> bool {
    let unread = line.strip_prefix("fatal: unable to read ").unwrap_or_default();
    let unread = unread.strip_prefix("tree (").unwrap_or(unread);
    let digits = unread.bytes().take_while(u8::is_ascii_hexdigit).count();
    line.contains(") is corrupt") || digits >= 40
}

/// The error of a git that has ended this way.
pub(crate) fn failure(arguments: &[&str], stderr: &[u8], status: ExitStatus) -> GitError {
    let said = String::from_utf8_lossy(stderr);
    // One that is killed says nothing.
    let stderr = match said.trim() {
        "" => Cow::Owned(format!("it ended with {status}")),
        said => Cow::Borrowed(said),
    };
    // A hint is for who has typed the command.
    let lines = stderr.trim().lines().filter(|line| !line.starts_with("hint:"));
    let lines: Vec<&str> = lines.collect();
    if let Some(line) = lines.iter().find(|line| tells_damage(line)) {
        return GitError::Damaged((*line).to_owned());
    }
    // The sub-command stands behind the settings of a single call.
    let settings = arguments
        .iter()
        .step_by(2)
        .take_while(|argument| **argument == "-c")
        .count();
    GitError::Failed {
        command: arguments.get(2 * settings).copied().unwrap_or_default().to_owned(),
        message: lines[lines.len().saturating_sub(3)..].join("; "),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_name_that_is_not_text_is_to_be_another_one() {
        let said = answer(&["rev-parse"], vec![0xe9]).expect_err("not UTF-8").to_string();
        assert!(said.contains("UTF-8. Rename what it names, such as the repo"), "{said}");
    }

    #[test]
    fn a_failure_names_the_sub_command_and_not_the_settings_before_it() {
        for (arguments, named) in [
            (&["rev-parse", "-c"][..], "rev-parse"),
            (&["-c", "a=b", "check-attr", "--stdin"], "check-attr"),
            (&["-c", "a=b", "-c", "c=d", "diff"], "diff"),
            (&[], ""),
        ] {
            let said = failure(arguments, b"one\ntwo\nthree\nfour\n", ExitStatus::from_raw(256)).to_string();
            assert_eq!(said, format!("`git {named}` failed: two; three; four"));
        }
        let hint = failure(
            &["add"],
            b"fatal: no\nhint: use --force\nhint: or not\n",
            ExitStatus::from_raw(256),
        );
        assert_eq!(hint.to_string(), "`git add` failed: fatal: no");
        let corrupt =
            b"error: inflate: data stream error\nfatal: loose object 31 (stored in .git/objects/31) is corrupt\n";
        let corrupt = failure(&["diff"], corrupt, ExitStatus::from_raw(256)).to_string();
        assert_eq!(
            corrupt,
            "an object of the repository is damaged (fatal: loose object 31 (stored in .git/objects/31) is corrupt). `git fsck` \
             lists what is: clone the repository again"
        );
        for (said, damaged) in [
            (format!("fatal: unable to read {}", "1f".repeat(20)), true),
            (format!("fatal: unable to read tree ({})", "1f".repeat(32)), true),
            ("fatal: unable to read config file".to_owned(), false),
        ] {
            let error = failure(&["diff"], said.as_bytes(), ExitStatus::from_raw(256));
            assert_eq!(matches!(error, GitError::Damaged(_)), damaged, "{said}");
        }
        let killed = failure(&["diff"], b"", ExitStatus::from_raw(25)).to_string();
        assert_eq!(killed, "`git diff` failed: it ended with signal: 25 (SIGXFSZ)");
    }

    #[tokio::test]
    async fn a_program_that_is_no_git_is_found_out() {
        let said = async |script: &str, limit: u64| {
            let mut command = Command::new("/bin/sh");
            command
                .args(["-c", script])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            match version_of(&mut command, Duration::from_secs(limit)).await {
                Ok(found) => found,
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(said("echo git version 2.47.3", 60).await, "git version 2.47.3");
        let long = said("echo git version $(head -c 5000 /dev/zero | tr '\\0' x)", 60).await;
        assert_eq!(long.len(), SHOWN_VERSION);
        let hangs = said("exec sleep 600", 1).await;
        assert!(
            hangs.starts_with("`git --version` did not finish within 1 s. See"),
            "{hangs}"
        );
        for (script, part) in [
            ("exec yes", "printed more than 64 KB"),
            ("exec yes >&2", "printed more than 64 KB"),
            ("true", "`git --version` printed nothing"),
            (
                "echo hub 1.0",
                "printed `hub 1.0`, which is not a version of git. See which git it is",
            ),
            ("echo hello", "printed `hello`, which is not a version of git"),
            ("kill -9 $$", "signal: 9 (SIGKILL)"),
            ("echo git version 1.8.3", "too old"),
        ] {
            let text = said(script, 60).await;
            assert!(text.contains(part), "{script}: {text}");
        }
    }

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
