//! Lock files are read at base and at head, for the rules.

use conclave_engine::{
    diff::{ChangeKind, Content, Diff, FileDiff, Unread},
    lock_files::{LARGEST_LOCK_FILE, check as check_one, is_lock_file},
};
use conclave_git::{BlobReader, Repository};
use conclave_shared::finding::Finding;

use crate::exit::Failure;

/// What the rules say.
#[derive(Debug, Default)]
pub(super) struct LockFiles {
    /// What was found; `None` if no lock file changed.
    pub(super) findings: Option<Vec<Finding>>,
    /// Lock files that could not be checked, in words.
    pub(super) faults: Vec<String>,
}

/// Checks every lock file that the diff changes, one after the other, so that only one is in memory.
pub(super) async fn check(repository: &Repository, diff: &Diff) -> Result<LockFiles, Failure> {
    let mut result = LockFiles::default();
    let mut blobs = repository.blobs();
    let changed = diff.files.iter().filter(|file| {
        is_lock_file(&file.path)
            && file.kind != ChangeKind::Deleted
            && matches!(file.content, Content::Text | Content::Binary)
            && file.unread != Some(Unread::Path)
    });
    for file in changed {
        let findings = result.findings.get_or_insert_default();
        match check_file(&mut blobs, file).await? {
            Ok(found) => findings.extend(found),
            Err(fault) => result.faults.push(format!(
                "{} was not checked by the rules for lock files: {fault}",
                file.path
            )),
        }
    }
    Ok(result)
}

async fn check_file(blobs: &mut BlobReader, file: &FileDiff) -> Result<Result<Vec<Finding>, String>, Failure> {
    let head = match text(blobs, file.head_object()).await? {
        Ok(text) => text.unwrap_or_default(),
        Err(fault) => return Ok(Err(fault)),
    };
    // A base that cannot be read counts as none.
    let base = text(blobs, file.base_object()).await?.ok().flatten();
    Ok(check_one(&file.path, base.as_deref(), &head).map_err(|fault| fault.to_string()))
}

async fn text(blobs: &mut BlobReader, object: Option<&str>) -> Result<Result<Option<String>, String>, Failure> {
    let Some(object) = object else { return Ok(Ok(None)) };
    let Some(blob) = blobs.read(object, LARGEST_LOCK_FILE).await? else {
        return Ok(Ok(None));
    };
    if blob.is_cut() {
        return Ok(Err(format!("it has more than {} MB", LARGEST_LOCK_FILE >> 20)));
    }
    Ok(String::from_utf8(blob.content)
        .map(Some)
        .map_err(|_| "it is no UTF-8".to_owned()))
}
