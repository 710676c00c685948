//! The rules: what is new in a lock file, and should not be.

mod hashes;
mod moved;
mod report;
mod sources;

use std::collections::HashSet;

use conclave_shared::finding::Finding;

use super::entry::LockFile;

/// A changed lock file.
pub(super) struct Change<'a> {
    pub(super) path: &'a str,
    /// Registries that nobody wonders about.
    pub(super) usual: &'a [&'a str],
    /// True for packages of the npm world, in which the address of a tarball has the package's name and version.
    pub(super) is_npm: bool,
    pub(super) base: Option<&'a LockFile>,
    pub(super) base_text: &'a str,
    pub(super) head: &'a LockFile,
    pub(super) head_text: &'a str,
}

/// All findings, in the order of the file's places.
pub(super) fn compare(change: &Change<'_>) -> Vec<Finding> {
    let mut findings = sources::registries(change);
    findings.extend(sources::from_elsewhere(change));
    findings.extend(hashes::without_hash(change));
    findings.extend(moved::moved(change));
    findings.extend(hashes::with_other_hash(change));
    let reported: HashSet<u32> = findings.iter().map(|finding| finding.line).collect();
    let mislabeled = sources::mislabeled(change).into_iter();
    findings.extend(mislabeled.filter(|finding| !reported.contains(&finding.line)));
    findings.sort_by_key(|finding| finding.line);
    findings
}
