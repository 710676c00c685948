//! Added lines of code are looked at by the rules for characters that deceive.

use conclave_engine::{
    diff::{ChangeKind, FilteredDiff},
    review::ApprovalHold,
    trojan_source::{check as check_one, hold, is_checked, is_disguised_path},
};
use conclave_shared::finding::Finding;

use crate::{diff::Spool, exit::Failure};

/// Checks the patch of every file of code that is reviewed, one after the other, so that only one is in memory.
pub(crate) fn check(diff: &FilteredDiff, spool: &Spool) -> Result<TrojanSource, Failure> {
    let mut findings = Vec::new();
    let mut patch = Vec::new();
    let files = diff
        .files
        .iter()
        .filter(|file| file.kind != ChangeKind::Deleted && is_checked(&file.path));
    for file in files {
        spool.patch(file, &mut patch)?;
        findings.extend(check_one(&file.path, &patch));
    }
    let reviewed = diff.files.iter().filter(|file| file.kind != ChangeKind::Deleted);
    let named = reviewed
        .map(|file| &file.path)
        .chain(diff.filtered.iter().map(|file| &file.path));
    let disguised: Vec<String> = named.filter(|path| is_disguised_path(path)).cloned().collect();
    let hold = hold(&findings, &disguised);
    Ok(TrojanSource { findings, hold })
}

/// What the rules have found.
pub(crate) struct TrojanSource {
    pub(crate) findings: Vec<Finding>,
    /// Why the approval is withheld for it.
    pub(crate) hold: Option<ApprovalHold>,
}
