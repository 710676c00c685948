//! The rules: what is new in a lock file, and should not be.

mod files;
mod hashes;
mod moved;
mod report;
mod sources;

use std::collections::HashSet;

use conclave_shared::{finding::Finding, path_kind::LockFormat};

use super::{
    entry::{Entry, LockFile},
    manifest::Manifest,
    usual_registries,
};

/// A changed lock file.
pub(super) struct Change<'a> {
    pub(super) path: &'a str,
    pub(super) format: LockFormat,
    pub(super) base: Option<&'a LockFile>,
    pub(super) base_text: &'a str,
    pub(super) head: &'a LockFile,
    pub(super) head_text: &'a str,
    /// The packages that the project itself asks for, in the npm world.
    pub(super) manifest: &'a Manifest,
}

impl Change<'_> {
    /// The entries at base.
    fn base_entries(&self) -> impl Iterator<Item = &Entry> {
        self.base.iter().flat_map(|base| &base.entries)
    }

    /// Public registries of the format: a package from there is not worth a finding.
    const fn usual(&self) -> &'static [&'static str] {
        usual_registries(self.format)
    }

    /// Returns whether the packages are of the npm world, in which the address of a tarball has the package's name and version.
    const fn is_npm(&self) -> bool {
        matches!(
            self.format,
            LockFormat::Bun | LockFormat::Npm | LockFormat::Pnpm | LockFormat::Yarn
        )
    }

    /// Returns whether one version of a package has several files, such as one for each platform, each with its hash.
    const fn lists_files(&self) -> bool {
        matches!(
            self.format,
            LockFormat::Pipfile | LockFormat::Poetry | LockFormat::Pylock | LockFormat::Uv
        )
    }
}

/// All findings, in the order of the file's places.
pub(super) fn compare(change: &Change<'_>) -> Vec<Finding> {
    let mut findings = sources::registries(change);
    findings.extend(sources::from_elsewhere(change));
    findings.extend(hashes::without_hash(change));
    let (of_moved, moved) = moved::moved(change);
    findings.extend(of_moved);
    findings.extend(hashes::with_other_hash(change));
    let reported: HashSet<u32> = findings.iter().map(|finding| finding.line).collect();
    findings.extend(sources::aliases(change, &moved));
    let names = [
        sources::mislabeled(change),
        sources::respelled(change),
        files::of_others(change),
    ];
    let names = names.into_iter().flatten();
    findings.extend(names.filter(|finding| !reported.contains(&finding.line)));
    findings.sort_by_key(|finding| finding.line);
    findings
}
