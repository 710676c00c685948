//! The pre-push hook: its file, and what git tells it.

use std::{io::Write, os::unix::fs::OpenOptionsExt};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::{GitError, Repository};

/// The line that reviews from a hook, also from one that does other things as well.
pub const HOOK_LINE: &str = r#"conclave hook pre-push "$@""#;

/// The whole hook. Without the program a push goes on: a hook that outlives it must not be in anybody's way.
const SCRIPT: &str = r#"#!/bin/sh
# Reviews what is about to be pushed. Written by `conclave hook install`; `conclave hook uninstall` takes it away,
# and `git push --no-verify` goes past it once.
if ! command -v conclave >/dev/null 2>&1; then
  echo 'conclave is not on PATH: this push is not reviewed' >&2
  exit 0
fi
exec conclave hook pre-push "$@"
"#;

/// The hook's name.
const NAME: &str = "pre-push";

/// Why a hook was not installed or taken away. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Hooks that may serve other repositories.
    #[error(
        "git takes the hooks of this repository from {0} (core.hooksPath), which is outside of it and may serve other repositories, so nothing is written there. Put this line into {0}/pre-push yourself, before anything that reads standard input: {HOOK_LINE}"
    )]
    Elsewhere(Utf8PathBuf),
    /// A hook that is not ours.
    #[error(
        "{0} is there already and is left as it is. To have it review as well, put this line into it, before anything that reads standard input: {HOOK_LINE}"
    )]
    Taken(Utf8PathBuf),
    /// A hook with our line in it, and others.
    #[error(
        "{0} holds more than Conclave has written, so it is left as it is. Take this line out of it yourself: {HOOK_LINE}"
    )]
    Edited(Utf8PathBuf),
    /// The file system.
    #[error("failed to {what} {path}: {source}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// Which file.
        path: Utf8PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// What is at the hook's place afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// The hook was written.
    Installed(Utf8PathBuf),
    /// A hook that reviews was there before.
    Present(Utf8PathBuf),
    /// The hook was taken away.
    Removed(Utf8PathBuf),
    /// There is no hook of ours.
    Absent(Utf8PathBuf),
}

/// Installs the hook, unless another is in its place.
pub async fn install_hook(directory: &Utf8Path) -> Result<HookState, HookError> {
    let repository = Repository::open(directory).await?;
    let hooks = repository.hooks_directory().await?;
    let path = hooks.path.join(NAME);
    match read(&path)? {
        Some(text) if text.contains(HOOK_LINE) => return Ok(HookState::Present(path)),
        Some(_) => return Err(HookError::Taken(path)),
        None if !hooks.own => return Err(HookError::Elsewhere(hooks.path)),
        None => {}
    }
    let io = |what, path: &Utf8Path| {
        let path = path.to_owned();
        move |source| HookError::Io { what, path, source }
    };
    std::fs::create_dir_all(&hooks.path).map_err(io("make", &hooks.path))?;
    // Somebody may have written one since.
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(&path)
        .map_err(io("write", &path))?;
    file.write_all(SCRIPT.as_bytes()).map_err(io("write", &path))?;
    Ok(HookState::Installed(path))
}

/// Takes the hook away, if it is ours alone.
pub async fn uninstall_hook(directory: &Utf8Path) -> Result<HookState, HookError> {
    let repository = Repository::open(directory).await?;
    let path = repository.hooks_directory().await?.path.join(NAME);
    match read(&path)? {
        Some(text) if text == SCRIPT => {
            std::fs::remove_file(&path).map_err(|source| HookError::Io {
                what: "remove",
                path: path.clone(),
                source,
            })?;
            Ok(HookState::Removed(path))
        }
        Some(text) if text.contains(HOOK_LINE) => Err(HookError::Edited(path)),
        Some(_) | None => Ok(HookState::Absent(path)),
    }
}

/// What is at the hook's place; a broken link is something too.
fn read(path: &Utf8Path) -> Result<Option<String>, HookError> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A commit that is about to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The commit.
    pub commit: String,
    /// What the branch on the server has now; nothing if it is new.
    pub remote: Option<String>,
}

/// What git tells a pre-push hook on standard input, each commit once. Deletions and tags bring nothing to review.
pub fn pushes(input: &str) -> Vec<Push> {
    let mut pushes: Vec<Push> = Vec::new();
    for line in input.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, remote_ref, remote] = fields.as_slice() else {
            continue;
        };
        let is_none = |name: &str| name.bytes().all(|byte| byte == b'0');
        let is_branch = remote_ref.starts_with("refs/heads/");
        if is_none(local) || !is_branch || pushes.iter().any(|push| push.commit == *local) {
            continue;
        }
        pushes.push(Push {
            commit: (*local).to_owned(),
            remote: (!is_none(remote)).then(|| (*remote).to_owned()),
        });
    }
    pushes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_of_a_push_is_read() {
        let (zero, a, b) = ("0".repeat(40), "a".repeat(40), "b".repeat(40));
        let input = format!(
            "refs/heads/x {a} refs/heads/x {zero}\n(delete) {zero} refs/heads/y {b}\nrefs/tags/v1 {b} refs/tags/v1 {zero}\n\
             refs/heads/z {a} refs/heads/z {b}\nHEAD {b} refs/heads/w {a}\nnonsense\n"
        );
        let new = Push {
            commit: a.clone(),
            remote: None,
        };
        let moved = Push {
            commit: b,
            remote: Some(a),
        };
        assert_eq!(pushes(&input), [new, moved]);
        assert_eq!(pushes(""), []);
    }

    #[test]
    fn the_hook_has_the_line_that_others_are_told_of() {
        assert!(SCRIPT.contains(HOOK_LINE));
    }
}
