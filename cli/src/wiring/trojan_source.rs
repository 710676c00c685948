//! Added lines of code are looked at by the rules for characters that deceive.

use conclave_engine::{
    diff::{ChangeKind, FilteredDiff},
    trojan_source::{check as check_one, is_checked, is_plain},
};
use conclave_shared::finding::Finding;

use super::changes::Spool;
use crate::exit::Failure;

/// Checks the patch of every file of code that is reviewed, one after the other, so that only one is in memory.
pub(super) fn check(diff: &FilteredDiff, spool: &Spool) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let mut patch = Vec::new();
    let files = diff
        .files
        .iter()
        .filter(|file| file.kind != ChangeKind::Deleted && is_checked(&file.path));
    for file in files {
        spool.patch(file, &mut patch)?;
        if !is_plain(&patch) {
            findings.extend(check_one(&file.path, &patch));
        }
    }
    Ok(findings)
}
