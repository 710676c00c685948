//! The directory that the agent sees: the source at head, and nothing in it that could act.

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    command::{self, GitError, ObjectStores},
    git_directory,
    repository::{Repository, object_format},
};

/// Paths that never reach the agent's workspace: configuration of agents and of tools that agents run. They are still
/// reviewed, as text, through the diff. Patterns of `git sparse-checkout`, without the leading `!`.
pub const WORKSPACE_EXCLUDES: [&str; 28] = [
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".claude",
    ".claude.json",
    ".agents",
    ".codex",
    ".cursor",
    ".cursorrules",
    ".windsurf",
    ".windsurfrules",
    ".gemini",
    ".aider*",
    ".continue",
    ".roo",
    ".clinerules",
    ".kilocode",
    ".mcp.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "CONTEXT.md",
    ".ripgreprc",
    ".conclave-review",
    ".rgignore",
    ".ignore",
];

/// The longest name of a file or a directory that file systems take, in bytes. Git can store longer ones.
const MAX_NAME: usize = 255;
/// The longest path that the system takes, in bytes.
const MAX_PATH: usize = 4095;
/// The longest path of a directory in which each name fits.
const MAX_DIRECTORY: usize = MAX_PATH - MAX_NAME - 1;

/// Attributes that override the `.gitattributes` of any directory: no attribute that changes a file on its way.
const NO_ATTRIBUTES: &str = "* -text !eol !crlf !filter !ident !working-tree-encoding\n";

/// The failure of making the workspace; the review must not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Git failed.
    #[error("failed to make the agent's workspace: {0}")]
    Git(#[from] GitError),
    /// The file system failed.
    #[error("failed to make the agent's workspace at {0}: {1}")]
    Io(Utf8PathBuf, #[source] std::io::Error),
    /// Something that could act is in it.
    #[error("the agent's workspace holds `{0}`, which must not be there; the review does not start")]
    Unsafe(Utf8PathBuf),
}

/// Checks `commit` out into the new directory `target`.
///
/// The workspace borrows the repository's objects instead of copying them, has no remote (so no token in
/// `.git/config`), no symbolic links (they become files that hold the link's text) and none of [`WORKSPACE_EXCLUDES`]. In the
/// end its `.git` is empty: no tool can read there what a permission does not cover. Its files are those that the diff is made
/// of, byte for byte, whatever `.gitattributes` say.
/// Files whose names are not UTF-8 are left out: no tool could name them. So are those with a name or a path that is too long
/// for a file system.
/// All of that is checked afterwards, on the file system.
pub async fn check_out_workspace(
    repository: &Repository,
    commit: &str,
    target: &Utf8Path,
) -> Result<(), WorkspaceError> {
    let io = |error| WorkspaceError::Io(target.to_owned(), error);
    std::fs::create_dir_all(target).map_err(io)?;
    let none = ObjectStores::default();
    let init = ["init", "--quiet", "--template=", object_format(commit), "."];
    command::run(target, &none, &init).await?;
    let information = target.join(".git/info");
    let objects = target.join(".git/objects/info");
    std::fs::create_dir_all(&information).map_err(io)?;
    std::fs::create_dir_all(&objects).map_err(io)?;
    std::fs::write(objects.join("alternates"), repository.alternates()).map_err(io)?;
    let excluded: String = WORKSPACE_EXCLUDES.map(|pattern| format!("!{pattern}\n")).concat();
    // Each mark stands for one byte.
    let too_long = "?".repeat(MAX_NAME + 1);
    let patterns = format!("/*\n{excluded}!{too_long}*\n");
    let sparse = information.join("sparse-checkout");
    std::fs::write(&sparse, &patterns).map_err(io)?;
    std::fs::write(information.join("attributes"), NO_ATTRIBUTES).map_err(io)?;
    let settings = ["-c", "core.symlinks=false", "-c", "core.sparseCheckout=true"];
    let checkout = [&settings[..], &["checkout", "--quiet", "--detach", "--force", commit]].concat();
    if let Err(error) = command::run(target, &none, &checkout).await {
        // The list of all paths is made only where something is wrong: a repository can have a million.
        let long = long_paths(target, commit).await.unwrap_or_default();
        if long.is_empty() {
            return Err(error.into());
        }
        std::fs::write(&sparse, patterns + &long).map_err(io)?;
        command::run(target, &none, &checkout).await?;
    }
    git_directory::replace_by_empty(target).map_err(io)?;
    leave_out_unusable(target.as_std_path()).map_err(io)?;
    check(target, true)
}

/// The patterns that exclude paths which are too long for any file system.
async fn long_paths(target: &Utf8Path, commit: &str) -> Result<String, GitError> {
    let arguments = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit];
    let list = command::run(target, &ObjectStores::default(), &arguments).await?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-');
    // What else the mark stands for is as long.
    let pattern = |path: &[u8]| -> String {
        let marks = path
            .iter()
            .map(|byte| if is_plain(byte) { char::from(*byte) } else { '?' });
        format!("!/{}\n", marks.collect::<String>())
    };
    let paths = list.split(|byte| *byte == 0).filter(|path| path.len() > MAX_PATH);
    Ok(paths.map(pattern).collect::<Vec<_>>().concat())
}

/// Removes what has a name that is not UTF-8, or is so deep that its path may be too long.
fn leave_out_unusable(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (path, is_directory) = (entry.path(), entry.file_type()?.is_dir());
        match (entry.file_name().to_str(), is_directory) {
            (None, true) => std::fs::remove_dir_all(path)?,
            (None, false) => std::fs::remove_file(path)?,
            (Some(_), true) if path.as_os_str().len() > MAX_DIRECTORY => std::fs::remove_dir_all(path)?,
            (Some(_), true) => leave_out_unusable(&path)?,
            (Some(_), false) => {}
        }
    }
    Ok(())
}

fn check(directory: &Utf8Path, is_root: bool) -> Result<(), WorkspaceError> {
    let io = |error| WorkspaceError::Io(directory.to_owned(), error);
    for entry in directory.read_dir_utf8().map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name();
        let kind = entry.file_type().map_err(io)?;
        if is_root && name == ".git" {
            continue;
        }
        if kind.is_symlink() || name.eq_ignore_ascii_case(".git") || is_excluded(name) {
            return Err(WorkspaceError::Unsafe(entry.path().to_owned()));
        }
        if kind.is_dir() {
            check(entry.path(), false)?;
        }
    }
    Ok(())
}

fn is_excluded(name: &str) -> bool {
    WORKSPACE_EXCLUDES
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == *pattern,
        })
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
