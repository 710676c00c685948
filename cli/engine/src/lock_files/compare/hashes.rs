//! Hashes that are missing, or are other ones under the same version.

use std::collections::{HashMap, HashSet};

use conclave_shared::{finding::Finding, severity::Severity};

use super::{
    Change,
    report::{finding, reported, shown},
};
use crate::lock_files::entry::{Entry, Hash, LockFile, Source, are_of_other_kinds, without_cache_key};

/// Packages whose hash is missing, and that are not the same as at base. A project whose lock file never had hashes is
/// not told so in each merge request.
pub(super) fn without_hash(change: &Change<'_>) -> Vec<Finding> {
    let key = |entry: &Entry| (entry.name.clone(), entry.version.clone());
    // One package may stand at several places, each with its hash or without.
    let without = |file: &LockFile| {
        let mut count: HashMap<(String, String), usize> = HashMap::new();
        for entry in file.entries.iter().filter(|entry| entry.hash == Hash::Missing) {
            *count.entry(key(entry)).or_default() += 1;
        }
        count
    };
    let base = change.base.map(without).unwrap_or_default();
    let head = without(change.head);
    let hashed_names: HashSet<&str> = change
        .base_entries()
        .filter(|entry| entry.hash == Hash::Present)
        .map(|entry| entry.name.as_str())
        .collect();
    // Only a package of a registry could have had one: the project's own files, or repositories, say nothing.
    let could_have = |entry: &Entry| {
        matches!(entry.source, Source::Registry(_) | Source::DefaultRegistry) && entry.hash != Hash::Beside
    };
    // Yarn 1 has them in the addresses, too.
    let is_pinned = |entry: &&Entry| !entry.integrity.is_empty();
    let never = !change.base_entries().any(|entry| is_pinned(&entry))
        && change.base.is_some_and(|base| base.entries.iter().any(could_have));
    // What comes from a repository or an address may do without, unless it had one there.
    let hashed_places: HashSet<(&str, String)> = change
        .base_entries()
        .filter(is_pinned)
        .map(|entry| (entry.name.as_str(), entry.place()))
        .collect();
    let needs_hash = |entry: &Entry| match entry.source {
        Source::Registry(_) | Source::DefaultRegistry => true,
        Source::Git(_) | Source::Url(_) => hashed_places.contains(&(entry.name.as_str(), entry.place())),
        Source::Local => false,
    };
    let missing: Vec<&Entry> = change
        .head
        .entries
        .iter()
        .filter(|entry| needs_hash(entry))
        .filter(|entry| match entry.hash {
            Hash::Present | Hash::Beside => false,
            Hash::Missing => !never && head.get(&key(entry)) > base.get(&key(entry)),
            Hash::Optional => !entry.version.is_empty() && hashed_names.contains(entry.name.as_str()),
        })
        .collect();
    let Some(first) = missing.first() else {
        return Vec::new();
    };
    let claim = match missing.len() {
        1 => format!("`{}` has no integrity hash.", shown(&first.name)),
        count => format!(
            "`{}` and {} more packages have no integrity hash.",
            shown(&first.name),
            count - 1
        ),
    };
    vec![finding(
        change,
        "lock-file-integrity",
        Severity::Warning,
        claim,
        "Without the hash, the package manager installs whatever the server sends, also if it was replaced.",
        first,
    )]
}

/// A difference between the hashes of a package and those before, under the same version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    Other,
    /// They cannot be compared.
    OtherKind,
    /// All that were there before are, and those of more files.
    MoreFiles,
    /// All of them were there before, and some of those are gone.
    FewerFiles,
}

impl Difference {
    const ALL: [Self; 4] = [Self::Other, Self::OtherKind, Self::MoreFiles, Self::FewerFiles];

    fn of(change: &Change<'_>, entry: &Entry, before: &HashSet<&str>) -> Self {
        if change.lists_files() && before.iter().any(|hashes| includes(&entry.integrity, hashes)) {
            Self::MoreFiles
        } else if change.lists_files() && before.iter().any(|hashes| includes(hashes, &entry.integrity)) {
            Self::FewerFiles
        } else if before.iter().all(|hashes| are_of_other_kinds(&entry.integrity, hashes)) {
            Self::OtherKind
        } else {
            Self::Other
        }
    }

    fn claim(self, entry: &Entry) -> String {
        let (name, version) = (shown(&entry.name), shown(&entry.version));
        match self {
            Self::Other => {
                format!("`{name}` has another integrity hash than before, and is still version `{version}`.")
            }
            Self::OtherKind => format!(
                "`{name}` has an integrity hash of another kind than before, which cannot be compared with it, and is still \
                 version `{version}`."
            ),
            Self::MoreFiles => format!(
                "Another file of `{name}` was added under the same version `{version}`; those that were there before stay."
            ),
            Self::FewerFiles => format!(
                "A file of `{name}` was taken out under the same version `{version}`; those that stay were there before."
            ),
        }
    }

    const fn scenario(self) -> &'static str {
        match self {
            Self::Other => {
                "A version that was published does not change: the package manager installs other content than what was used so \
                 far."
            }
            Self::OtherKind => "Nothing in the file shows that the new hash is of the content that was used so far.",
            Self::MoreFiles => {
                "A registry takes new files for an old version; where the new one fits better, it is installed in the place of \
                 what was used so far."
            }
            Self::FewerFiles => {
                "Where the file that is gone was installed, another one of the same version is, perhaps built from source."
            }
        }
    }
}

/// Returns whether all hashes of the one text are in the other one.
fn includes(all: &str, some: &str) -> bool {
    let all: HashSet<&str> = all.split(' ').collect();
    some.split(' ').all(|hash| all.contains(hash))
}

/// The package, found in the file by its first new hash where it has more of them than before.
fn at_new_hash(entry: &Entry, before: &HashSet<&str>) -> Entry {
    let known: HashSet<&str> = before.iter().flat_map(|hashes| hashes.split(' ')).collect();
    let new = entry.integrity.split(' ').find(|hash| !known.contains(hash));
    let digest = new.map(|hash| hash.rsplit(':').next().unwrap_or(hash));
    Entry {
        source_text: digest.unwrap_or_default().to_owned(),
        ..entry.clone()
    }
}

/// Packages whose version is the same as before, and whose hash is not.
pub(super) fn with_other_hash(change: &Change<'_>) -> Vec<Finding> {
    let mut known: HashMap<(&str, &str, Option<&str>), HashSet<&str>> = HashMap::new();
    let mut hashed_names = HashSet::new();
    for entry in change.base_entries() {
        if let Some(key) = entry.hashed().filter(|_| !entry.integrity.is_empty()) {
            known.entry(key).or_default().insert(&entry.integrity);
        }
        if entry.hash == Hash::Present {
            hashed_names.insert(entry.name.as_str());
        }
    }
    let mut seen = HashSet::new();
    let mut differing: Vec<(Difference, Entry)> = Vec::new();
    for entry in change.head.entries.iter().filter(|entry| !entry.integrity.is_empty()) {
        // A weaker one in the place of the hash is one that is missing, which has been reported.
        if entry.hash != Hash::Present && hashed_names.contains(entry.name.as_str()) {
            continue;
        }
        let Some(before) = entry.hashed().and_then(|key| known.get(&key)) else {
            continue;
        };
        if before.iter().any(|hash| keeps_hash(change, entry, hash)) || !seen.insert(entry.key()) {
            continue;
        }
        let difference = Difference::of(change, entry, before);
        differing.push(match difference {
            Difference::MoreFiles => (difference, at_new_hash(entry, before)),
            _ => (difference, entry.clone()),
        });
    }
    let of_one = |difference: Difference| {
        let entries = differing.iter().filter(|(found, _)| *found == difference);
        let entries: Vec<&Entry> = entries.map(|(_, entry)| entry).collect();
        let claim = |entry: &Entry| difference.claim(entry);
        let scenario = difference.scenario();
        reported(
            change,
            &entries,
            "lock-file-integrity",
            claim,
            "So it is with",
            scenario,
        )
    };
    Difference::ALL.into_iter().flat_map(of_one).collect()
}

/// Returns whether a package still has the hash that it had before, perhaps beside a newer one.
fn keeps_hash(change: &Change<'_>, entry: &Entry, before: &str) -> bool {
    // Of all package managers, only Yarn 1 checks one that stands in the address.
    let in_address = entry.hash_in_address().filter(|_| change.is_npm());
    before == entry.integrity || before == without_cache_key(&entry.integrity) || in_address == Some(before)
}
