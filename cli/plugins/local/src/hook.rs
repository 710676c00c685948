//! The pre-push hook: its file, and what git tells it.

use std::{
    fs::Permissions,
    io::Write,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::{GitError, Repository};

/// The command that reviews from a hook.
const HOOK_COMMAND: &str = r#"conclave hook pre-push "$@""#;

/// The line that reviews from a hook that does other things as well: it stops the hook, and so the push, if the review does,
/// and leaves standard input as it was for what follows. Both read a copy of it. Without the program a push goes on.
const HOOK_LINE: &str = r#"pushed=$(mktemp); cat >"$pushed"; exec <"$pushed" 3<"$pushed"; rm "$pushed"; conclave hook pre-push "$@" <&3 || [ $? = 127 ] || exit"#;

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
        "git takes the hooks of this repository from {0} (core.hooksPath), which is outside of it and may serve other repositories, so nothing is written there. Make {0}/pre-push yourself, executable, with `#!/bin/sh` as its first line and this one below: {HOOK_LINE}"
    )]
    Elsewhere(Utf8PathBuf),
    /// A place that is not a directory: the common way to have no hooks is `core.hooksPath=/dev/null`.
    #[error(
        "git looks for the hooks of this repository in {0}, which is not a directory, so hooks are turned off, and nothing was changed. `git config --show-origin --get core.hooksPath` shows where that is set. Take it out there (`git config --unset core.hooksPath`, with `--global` if it is in your own settings), or have it name a directory, and run `conclave hook install` again"
    )]
    TurnedOff(Utf8PathBuf),
    /// A hook that is not ours.
    #[error("{path} is there already and is left as it is. To have it review as well, {advice}")]
    Taken {
        /// The hook.
        path: Utf8PathBuf,
        /// The step that has it review as well.
        advice: String,
    },
    /// A hook with our line in it, and others, that git passes over.
    #[error(
        "{0} has the line that reviews, but git does not run it, because it is not executable, and it holds more than Conclave has written, so it is left as it is. Make it executable yourself (`chmod +x`)"
    )]
    NotExecutable(Utf8PathBuf),
    /// A hook that a tool makes anew whenever it is set up.
    #[error(
        "{path} is made by {manager}, which would overwrite a change of it, so it is left as it is. Have {manager} run this for pre-push, with standard input handed on, in {settings}: conclave hook pre-push"
    )]
    Managed {
        /// The hook.
        path: Utf8PathBuf,
        /// The tool.
        manager: &'static str,
        /// Its settings.
        settings: &'static str,
    },
    /// A hook with our line in it, and others.
    #[error(
        "{0} holds more than Conclave has written, so it is left as it is. Take the line with this command out of it yourself: {HOOK_COMMAND}"
    )]
    Edited(Utf8PathBuf),
    /// The file system.
    #[error("failed to {what} {path}: {source}. The hook needs a place that can be written; nothing was changed")]
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
    /// Our hook was there, but git did not run it, because it was not executable. It is now.
    MadeExecutable(Utf8PathBuf),
    /// The hook was taken away.
    Removed(Utf8PathBuf),
    /// There is no hook of ours.
    Absent(Utf8PathBuf),
}

/// Where the hook belongs. What is in husky's own directory (`.husky/_`) is made anew with each installation of packages,
/// and calls the script of the same name in the directory above.
fn place(hooks: &Utf8Path) -> Utf8PathBuf {
    let directory = match hooks.parent() {
        Some(above) if hooks.file_name() == Some("_") && above.file_name() == Some(".husky") => above,
        _ => hooks,
    };
    directory.join(NAME)
}

/// Who makes a hook anew whenever it is set up, and where its settings are.
fn manager(hook: &str) -> Option<(&'static str, &'static str)> {
    let known = [
        ("LEFTHOOK", "lefthook", "lefthook.yml"),
        ("File generated by pre-commit", "pre-commit", ".pre-commit-config.yaml"),
    ];
    let found = known.into_iter().find(|(sign, ..)| hook.contains(sign));
    found.map(|(_, manager, settings)| (manager, settings))
}

/// Returns what makes another hook review as well: our line, where a shell runs it.
fn advice(hook: &str) -> String {
    let first = hook.lines().next().unwrap_or_default().trim_end();
    match first.strip_prefix("#!") {
        Some(interpreter) if is_shell(interpreter) => {
            format!("put this line below its first one (`{first}`): {HOOK_LINE}")
        }
        // Git has a shell run a text without such a line.
        None if !hook.contains('\0') => format!("put this line at its beginning: {HOOK_LINE}"),
        Some(_) | None => {
            "have it run `conclave hook pre-push`, in the language that it is written in, with the arguments and the \
            standard input that git gives it, and end with an error if that command does"
                .to_owned()
        }
    }
}

/// Returns whether what stands behind `#!` names a shell that our line is for, by its path or by `env`.
fn is_shell(interpreter: &str) -> bool {
    let mut words = interpreter.split_whitespace();
    let mut name = words.next().and_then(|path| path.rsplit('/').next());
    if name == Some("env") {
        name = words.find(|word| !word.starts_with('-') && !word.contains('='));
        name = name.and_then(|path| path.rsplit('/').next());
    }
    name.is_some_and(|name| ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"].contains(&name))
}

fn io(what: &'static str, path: &Utf8Path) -> impl FnOnce(std::io::Error) -> HookError + use<> {
    let path = path.to_owned();
    move |source| HookError::Io { what, path, source }
}

/// Makes the hook that reviews executable where it is not, if it holds nothing else and belongs to this repository.
fn present(path: Utf8PathBuf, is_ours: bool) -> Result<HookState, HookError> {
    let mode = std::fs::metadata(&path)
        .map_err(io("read", &path))?
        .permissions()
        .mode();
    if mode & 0o111 != 0 {
        return Ok(HookState::Present(path));
    }
    if !is_ours {
        return Err(HookError::NotExecutable(path));
    }
    // Each user that may read it may run it.
    let executable = Permissions::from_mode(mode | ((mode & 0o444) >> 2));
    std::fs::set_permissions(&path, executable).map_err(io("change the mode of", &path))?;
    Ok(HookState::MadeExecutable(path))
}

/// Installs the hook, unless another is in its place.
pub async fn install_hook(directory: &Utf8Path) -> Result<HookState, HookError> {
    let repository = Repository::open(directory).await?;
    let hooks = repository.hooks_directory().await?;
    if std::fs::metadata(&hooks.path).is_ok_and(|found| !found.is_dir()) {
        return Err(HookError::TurnedOff(hooks.path));
    }
    let path = place(&hooks.path);
    // Husky has a shell run what is in the directory above its own, whatever its mode is.
    let has_to_be_executable = path.parent() == Some(&*hooks.path);
    match read(&path) {
        Some(text) if text.contains(HOOK_COMMAND) => {
            return if has_to_be_executable {
                present(path, hooks.own && text == SCRIPT)
            } else {
                Ok(HookState::Present(path))
            };
        }
        Some(text) => {
            return Err(match manager(&text) {
                Some((manager, settings)) => HookError::Managed {
                    path,
                    manager,
                    settings,
                },
                None => HookError::Taken {
                    advice: advice(&text),
                    path,
                },
            });
        }
        None if !hooks.own => return Err(HookError::Elsewhere(hooks.path)),
        None => {}
    }
    let directory = path.parent().unwrap_or(&hooks.path);
    std::fs::create_dir_all(directory).map_err(io("make", directory))?;
    // Another process may have written one since.
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
    let path = place(&repository.hooks_directory().await?.path);
    match read(&path) {
        Some(text) if text == SCRIPT => {
            std::fs::remove_file(&path).map_err(io("remove", &path))?;
            Ok(HookState::Removed(path))
        }
        Some(text) if text.contains(HOOK_COMMAND) => Err(HookError::Edited(path)),
        Some(_) | None => Ok(HookState::Absent(path)),
    }
}

/// What is at the hook's place; a broken link is something too.
fn read(path: &Utf8Path) -> Option<String> {
    path.symlink_metadata().ok()?;
    let bytes = std::fs::read(path).unwrap_or_default();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A commit that is about to be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The commit.
    pub commit: String,
    /// What the branch on the server has now; nothing if it is new.
    pub remote: Option<String>,
}

/// What git tells a pre-push hook on standard input, each commit once. Deletions bring nothing to review.
pub fn pushes(input: &str) -> Vec<Push> {
    let mut pushes: Vec<Push> = Vec::new();
    for (local, _, remote) in updates(input).filter(|(_, name, _)| is_branch(name)) {
        if pushes.iter().all(|push| push.commit != local) {
            pushes.push(Push {
                commit: local.to_owned(),
                remote: (!is_none(remote)).then(|| remote.to_owned()),
            });
        }
    }
    pushes
}

/// The names of what is pushed and is not a branch, such as tags: it is not reviewed.
pub fn passed_over(input: &str) -> Vec<&str> {
    let names = updates(input).map(|(_, name, _)| name);
    names.filter(|name| !is_branch(name)).collect()
}

/// The updates of a push: the commit, its name on the server, and what the server has there.
fn updates(input: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    input.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, name, remote] = *fields.as_slice() else {
            return None;
        };
        (!is_none(local)).then_some((local, name, remote))
    })
}

fn is_none(commit: &str) -> bool {
    commit.bytes().all(|byte| byte == b'0')
}

fn is_branch(name: &str) -> bool {
    name.starts_with("refs/heads/")
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
        assert_eq!(passed_over(&input), ["refs/tags/v1"]);
    }

    #[test]
    fn the_advice_for_another_hook_is_in_its_language() {
        for first in [
            "#!/bin/sh",
            "#! /usr/bin/bash -e",
            "#!/usr/bin/env zsh",
            "#!/usr/bin/env -S A=1 dash -u",
        ] {
            let advice = advice(&format!("{first}\r\nmake check\n"));
            let line = format!("put this line below its first one (`{first}`): {HOOK_LINE}");
            assert_eq!(advice, line);
        }
        assert_eq!(
            advice("npm test\n"),
            format!("put this line at its beginning: {HOOK_LINE}")
        );
        for other in [
            "#!/usr/bin/env python3\nimport sys\n",
            "#!/usr/bin/fish\n",
            "#!\n",
            "\u{7f}ELF\0\0",
        ] {
            let advice = advice(other);
            let fits = advice.contains("in the language that it is written in") && !advice.contains("pushed=");
            assert!(fits, "{other:?}: {advice}");
        }
    }

    #[test]
    fn a_hook_that_reviews_is_known_by_its_command() {
        assert!(SCRIPT.contains(HOOK_COMMAND) && HOOK_LINE.contains(HOOK_COMMAND));
    }
}
