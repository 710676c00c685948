//! Lock files are read at base and at head, for the rules.

use conclave_engine::{
    diff::{ChangeKind, Content, Diff, FileDiff, Unread},
    lock_files::{MAX_LOCK_FILE, check as check_one},
    review::{ApprovalHold, HoldCause},
};
use conclave_git::Repository;
use conclave_shared::{
    finding::Finding,
    path_globs::PathGlobs,
    path_kind::{LockFormat, PathKind, Role, file_name, is_unknown_lock_file},
};

use crate::{exit::Failure, run::prepare::holds::limited};

/// What the rules say.
#[derive(Debug, Default)]
pub(crate) struct LockFiles {
    /// What was found; `None` if no lock file changed.
    pub(crate) findings: Option<Vec<Finding>>,
    /// Lock files that could not be checked, in words.
    pub(crate) faults: Vec<String>,
    /// Why the approval is withheld.
    pub(crate) holds: Vec<ApprovalHold>,
}

/// Checks every lock file that the diff changes, one after the other, so that only one is in memory. Files that the project
/// trusts may be such that no rule can read them.
pub(crate) async fn check(repository: &Repository, diff: &Diff, trusted: &PathGlobs) -> Result<LockFiles, Failure> {
    let mut result = LockFiles::default();
    let (mut unread, mut gone) = (Vec::new(), Vec::new());
    for file in &diff.files {
        let is_trusted = trusted.is_match(&file.path) && trusted.is_match(&file.old_path);
        if is_removed(file, diff) {
            gone.push(file.old_path.clone());
        }
        if is_unknown_lock_file(&file.path) && file.kind != ChangeKind::Deleted && !is_trusted {
            unread.push(file.path.clone());
        }
        if LockFormat::of(&file.path).is_none() || file.kind == ChangeKind::Deleted || file.unread == Some(Unread::Path)
        {
            continue;
        }
        let findings = result.findings.get_or_insert_default();
        match check_file(repository, file).await? {
            Ok(found) => findings.extend(found),
            Err(fault) => {
                result.faults.push(format!(
                    "{} was not checked by the rules for lock files: {fault}",
                    file.path
                ));
                if !is_trusted {
                    unread.push(file.path.clone());
                }
            }
        }
    }
    let found = result.findings.iter().flatten();
    let changed: Vec<String> = found
        .map(|finding| format!("{}:{}", finding.file, finding.line))
        .collect();
    for (places, reason) in [
        (
            changed,
            "A dependency comes from another place than before, or its integrity hash is missing or another one.",
        ),
        (
            unread,
            "A lock file cannot be checked by rules, and no reviewer reads where its dependencies come from.",
        ),
        (
            gone,
            "A lock file is gone: nothing says any more which dependencies are installed.",
        ),
    ] {
        if !places.is_empty() {
            let hold = ApprovalHold::new(HoldCause::Dependencies, reason);
            result.holds.push(hold.at(limited(&places)));
        }
    }
    Ok(result)
}

/// Returns whether the change takes a lock file away, also by giving it another name, or another place without its project.
fn is_removed(file: &FileDiff, diff: &Diff) -> bool {
    let is_lock = |path: &str| LockFormat::of(path).is_some() || is_unknown_lock_file(path);
    match file.kind {
        ChangeKind::Deleted => is_lock(&file.path),
        ChangeKind::Renamed => {
            let has_other_name = file_name(&file.old_path) != file_name(&file.path);
            is_lock(&file.old_path) && (has_other_name || project_stays(file, diff))
        }
        ChangeKind::Added | ChangeKind::Modified | ChangeKind::Copied => false,
    }
}

/// Returns whether the project of a lock file that moves stays where it is: no manifest leaves the directory.
fn project_stays(lock: &FileDiff, diff: &Diff) -> bool {
    let from = directory(&lock.old_path);
    let leaves = |file: &&FileDiff| match file.kind {
        ChangeKind::Deleted => directory(&file.old_path) == from,
        ChangeKind::Renamed => directory(&file.old_path) == from && directory(&file.path) != from,
        ChangeKind::Added | ChangeKind::Modified | ChangeKind::Copied => false,
    };
    let is_manifest = |file: &FileDiff| {
        let role = PathKind::of(file_name(&file.old_path)).role;
        matches!(role, Role::Manifest | Role::BuildManifest)
    };
    !diff.files.iter().filter(leaves).any(is_manifest)
}

/// The directory of a file; nothing for one at the root.
fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

async fn check_file(repository: &Repository, file: &FileDiff) -> Result<Result<Vec<Finding>, String>, Failure> {
    if matches!(file.content, Content::Symlink | Content::Submodule) {
        return Ok(Err("it is not a regular file".to_owned()));
    }
    let head = match text(repository, file.head_object()).await? {
        Ok(text) => text.unwrap_or_default(),
        Err(fault) => return Ok(Err(fault)),
    };
    // Another file that got this name was no lock file before.
    let base = file.base_object().filter(|_| LockFormat::of(&file.old_path).is_some());
    let base = match text(repository, base).await? {
        Ok(base) => base,
        Err(fault) => return Ok(Err(format!("at base {fault}"))),
    };
    Ok(check_one(&file.path, base.as_deref(), &head).map_err(|fault| fault.to_string()))
}

async fn text(repository: &Repository, object: Option<&str>) -> Result<Result<Option<String>, String>, Failure> {
    let Some(object) = object else { return Ok(Ok(None)) };
    let Some(blob) = repository.read_blob(object, MAX_LOCK_FILE).await? else {
        return Ok(Ok(None));
    };
    if blob.is_cut() {
        return Ok(Err(format!("it has more than {} MB", MAX_LOCK_FILE >> 20)));
    }
    Ok(String::from_utf8(blob.content)
        .map(Some)
        .map_err(|_| "it is not UTF-8".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_that_leaves_its_project_is_gone() {
        let file = |kind, old_path: &str, path: &str| FileDiff {
            kind,
            old_path: old_path.to_owned(),
            path: path.to_owned(),
            ..FileDiff::default()
        };
        let moved = |old_path: &str, path: &str| file(ChangeKind::Renamed, old_path, path);
        let deleted = |path: &str| file(ChangeKind::Deleted, path, path);
        let lock = || moved("web/yarn.lock", "old/yarn.lock");
        for (lock, beside, expected) in [
            (lock(), vec![], true),
            (lock(), vec![moved("web/package.json", "old/package.json")], false),
            (lock(), vec![deleted("web/package.json")], false),
            (lock(), vec![moved("web/README.md", "old/README.md")], true),
            (
                lock(),
                vec![moved("web/sub/package.json", "old/sub/package.json")],
                true,
            ),
            (moved("yarn.lock", "yarn.lock.bak"), vec![deleted("package.json")], true),
            (deleted("yarn.lock"), vec![deleted("package.json")], true),
            (moved("notes.txt", "yarn.lock"), vec![], false),
        ] {
            let files = std::iter::once(lock.clone()).chain(beside).collect();
            assert_eq!(is_removed(&lock, &Diff { files }), expected, "{lock:?}");
        }
    }
}
