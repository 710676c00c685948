//! Lock files are read at base and at head, for the rules.

use std::collections::BTreeSet;

use conclave_engine::{
    diff::{ChangeKind, Content, Diff, FileDiff, FilterReason, FilteredDiff, Unread},
    lock_files::{ChangedLockFile, CheckedLockFile, MAX_LOCK_FILE, check as check_one, pinned_packages},
    review::{ApprovalHold, HoldCause},
};
use conclave_git::Repository;
use conclave_shared::{
    finding::Finding,
    path_globs::PathGlobs,
    path_kind::{LockFormat, PathKind, Role, file_name, is_unknown_lock_file, manifests_of},
};

use crate::{exit::Failure, run::prepare::holds::limited};

/// The manifest that says which packages of npm have other names.
const PACKAGE_JSON: &str = "package.json";

/// What the rules say.
#[derive(Debug, Default)]
pub(crate) struct LockFiles {
    /// What was found; `None` if no lock file changed.
    pub(crate) findings: Option<Vec<Finding>>,
    /// Lock files that could not be checked, in words.
    pub(crate) faults: Vec<String>,
    /// Why the approval may be withheld.
    pub(crate) doubts: Doubts,
}

/// Places for which the approval is withheld.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// Those of the findings.
    found: Vec<String>,
    /// Files that the rules cannot read.
    unread: Vec<String>,
    /// Files in formats that no rule reads.
    unknown: Vec<String>,
    /// Files that pin nothing any more.
    gone: Vec<String>,
}

impl Doubts {
    /// The reasons to withhold an approval, now that it is known what reviewers read.
    pub(crate) fn holds(self, diff: &FilteredDiff) -> Vec<ApprovalHold> {
        let mut unread = self.unread;
        unread.extend(self.unknown.into_iter().filter(|path| is_unread(diff, path)));
        let reasons = [
            (
                self.found,
                "A dependency comes from another place than before or is another package than its name says, or its integrity \
                 hash is missing or another one: the findings say which. Where that is meant, a person approves.",
            ),
            (
                unread,
                "A lock file cannot be checked by rules, and no reviewer reads where its dependencies come from. Let the package \
                 manager write it anew; `[paths] trusted` in .conclave.toml of the target branch names what needs no check.",
            ),
            (
                self.gone,
                "A lock file is gone or pins nothing any more, and its manifest is still there: nothing says which dependencies are \
                 installed. Commit a lock file beside the manifest; where there is to be none, a person approves.",
            ),
        ];
        let hold = |(places, reason): (Vec<String>, &str)| {
            ApprovalHold::new(HoldCause::Dependencies, reason).at(limited(&places))
        };
        let reasons = reasons.into_iter().filter(|(places, _)| !places.is_empty());
        reasons.map(hold).collect()
    }
}

/// Returns whether a file is noise without a reader, and is listed as such for no other reason.
fn is_unread(diff: &FilteredDiff, path: &str) -> bool {
    let mut left_out = diff.filtered.iter().filter(|file| file.path == path);
    let is_noise = left_out.any(|file| !file.reason.is_gap() && file.reason != FilterReason::ExcludedByProject);
    is_noise && !diff.read_by_nobody.iter().any(|listed| listed == path)
}

/// Checks every lock file that the diff changes, one after the other, so that only one is in memory. Files that the project
/// trusts may be such that no rule can read them.
pub(crate) async fn check(
    repository: &Repository,
    head: &str,
    diff: &Diff,
    trusted: &PathGlobs,
) -> Result<LockFiles, Failure> {
    let mut result = LockFiles::default();
    let doubts = &mut result.doubts;
    // A path that cannot be used is listed as not reviewed, whatever is there.
    let files = diff.files.iter().filter(|file| file.unread != Some(Unread::Path));
    for file in files {
        let is_trusted = trusted.is_match(&file.path) && trusted.is_match(&file.old_path);
        if is_removed(file) && is_needed(repository, head, file).await? {
            doubts.gone.push(file.old_path.clone());
        }
        if file.kind == ChangeKind::Deleted {
            continue;
        }
        if is_unknown_lock_file(&file.path) && !is_trusted {
            doubts.unknown.push(file.path.clone());
        }
        if LockFormat::of(&file.path).is_none() {
            continue;
        }
        let findings = result.findings.get_or_insert_default();
        match check_file(repository, head, file).await? {
            Ok(checked) => {
                let places = checked.findings.iter();
                doubts
                    .found
                    .extend(places.map(|finding| format!("{}:{}", finding.file, finding.line)));
                findings.extend(checked.findings);
                if checked.is_emptied && is_needed(repository, head, file).await? {
                    doubts.gone.push(file.path.clone());
                }
            }
            Err(fault) => {
                result.faults.push(format!(
                    "{} was not checked by the rules for lock files: {fault}",
                    file.path
                ));
                if !is_trusted {
                    doubts.unread.push(file.path.clone());
                }
            }
        }
    }
    Ok(result)
}

/// Returns whether the change takes a lock file away from its place.
fn is_removed(file: &FileDiff) -> bool {
    let is_lock = LockFormat::of(&file.old_path).is_some() || is_unknown_lock_file(&file.old_path);
    is_lock && matches!(file.kind, ChangeKind::Deleted | ChangeKind::Renamed)
}

/// Returns whether dependencies are not pinned at head without this lock file: its manifest is there, and no other lock files of
/// that manifest pin all packages that it pinned. Of a format that cannot be read, any will do.
async fn is_needed(repository: &Repository, head: &str, file: &FileDiff) -> Result<bool, Failure> {
    let lock = file.old_path.as_str();
    let beside = repository.directory(head, directory(lock)).await?;
    let manifests = manifests_of(lock);
    if manifests.is_empty() {
        let role = |path: &String| PathKind::of(file_name(path)).role;
        let is_manifest = |path| matches!(role(path), Role::Manifest | Role::BuildManifest);
        return Ok(beside.iter().any(is_manifest));
    }
    let lost = pinned_in(lock, text(repository, file.base_object()).await?.unwrap_or_default()).await;
    for manifest in manifests {
        if !beside.iter().any(|path| file_name(path) == *manifest) {
            continue;
        }
        let mut pinned = BTreeSet::new();
        for other in beside.iter().filter(|path| manifests_of(path).contains(manifest)) {
            pinned.extend(pinned_in(other, text_at(repository, head, other).await?).await);
        }
        if pinned.is_empty() || !pinned.is_superset(&lost) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names of the packages that a lock file pins. A large one takes seconds, in which a stop has to be heard.
async fn pinned_in(path: &str, text: Option<String>) -> BTreeSet<String> {
    let path = path.to_owned();
    let names = move || text.map(|text| pinned_packages(&path, &text)).unwrap_or_default();
    tokio::task::spawn_blocking(names).await.unwrap_or_default()
}

/// The directory of a file; nothing for one at the root.
fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

async fn check_file(
    repository: &Repository,
    head: &str,
    file: &FileDiff,
) -> Result<Result<CheckedLockFile, String>, Failure> {
    if matches!(file.content, Content::Symlink | Content::Submodule) {
        return Ok(Err("it is not a regular file".to_owned()));
    }
    let at_head = match text(repository, file.head_object()).await? {
        Ok(text) => text.unwrap_or_default(),
        Err(fault) => return Ok(Err(fault)),
    };
    // Another file that got this name was no lock file before.
    let base = file.base_object().filter(|_| LockFormat::of(&file.old_path).is_some());
    let base = match text(repository, base).await? {
        Ok(base) => base,
        Err(fault) => return Ok(Err(format!("at base {fault}"))),
    };
    let manifest = if manifests_of(&file.path).contains(&PACKAGE_JSON) {
        let name = file_name(&file.path);
        let place = file.path.strip_suffix(name).unwrap_or_default();
        text_at(repository, head, &format!("{place}{PACKAGE_JSON}")).await?
    } else {
        None
    };
    let path = file.path.clone();
    let check = move || {
        let changed = ChangedLockFile {
            path: &path,
            base: base.as_deref(),
            head: &at_head,
            manifest: manifest.as_deref(),
        };
        check_one(&changed).map_err(|fault| fault.to_string())
    };
    // A large file takes seconds, in which a stop has to be heard.
    let checked = tokio::task::spawn_blocking(check).await;
    Ok(checked.unwrap_or_else(|error| Err(format!("the check has failed: {error}"))))
}

/// The text of a plain file at a commit; `None` if there is none that can be read.
async fn text_at(repository: &Repository, commit: &str, path: &str) -> Result<Option<String>, Failure> {
    if repository.is_plain_file(commit, path).await? != Some(true) {
        return Ok(None);
    }
    let object = repository.object(commit, path).await?;
    Ok(text(repository, object.as_deref()).await?.unwrap_or_default())
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
#[path = "lock_files_tests.rs"]
mod tests;
