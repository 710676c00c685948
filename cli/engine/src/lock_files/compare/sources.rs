//! Where packages come from: registries, repositories and addresses that are new, and names that are not those of the tarball.

use std::collections::{BTreeMap, HashMap, HashSet};

use conclave_shared::{finding::Finding, path_kind::LockFormat, severity::Severity};

use super::{
    Change,
    report::{finding, reported, shown},
};
use crate::lock_files::entry::{Entry, Hash, LockFile, Source};

/// The consequence where something else is installed than what is written.
pub(super) const OTHER_CODE: &str =
    "Who reads the name and the version believes to have other code than what is installed.";

/// Registries that the base does not use. Without a base, the usual ones are nothing to wonder about.
pub(super) fn registries(change: &Change<'_>) -> Vec<Finding> {
    let base = change.base.map(LockFile::registries).unwrap_or_default();
    let mut new: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in &change.head.entries {
        if let Source::Registry(registry) = &entry.source
            && is_new_registry(change, &base, registry)
        {
            new.entry(registry).or_default().push(entry);
        }
    }
    new.into_iter()
        .map(|(registry, entries)| {
            let packages = packages(&entries);
            let (claim, scenario) = if base.is_empty() {
                (
                    format!(
                        "{packages} from `{}`, which is not the usual registry.",
                        shown(registry)
                    ),
                    "If that was not meant, the operator of that server decides what code is installed.",
                )
            } else {
                (
                    format!(
                        "{packages} from `{}`, a registry that was not used before.",
                        shown(registry)
                    ),
                    "If it was not meant to change, the operator of that server decides what code is installed.",
                )
            };
            let severity = if change.base.is_some() {
                Severity::Warning
            } else {
                Severity::Suggestion
            };
            finding(change, "lock-file-registry", severity, claim, scenario, entries[0])
        })
        .collect()
}

/// Returns whether a registry is worth a finding where the base uses these. The usual ones are none, unless only private
/// ones are used.
pub(super) fn is_new_registry(change: &Change<'_>, base: &HashSet<&str>, registry: &str) -> bool {
    let private = !base.is_empty() && !base.iter().any(|registry| change.usual().contains(registry));
    !base.contains(registry) && (private || !change.usual().contains(&registry))
}

fn packages(entries: &[&Entry]) -> String {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    match names.len() {
        1 => format!("`{}` comes", shown(&entries[0].name)),
        count => format!("`{}` and {} more packages come", shown(&entries[0].name), count - 1),
    }
}

/// Dependencies that come from a repository or an address, and did not at base.
pub(super) fn from_elsewhere(change: &Change<'_>) -> Vec<Finding> {
    let known: HashSet<(&str, String)> = change
        .base_entries()
        .filter(|entry| elsewhere(entry).is_some())
        .map(|entry| (entry.name.as_str(), entry.place()))
        .collect();
    let mut seen = HashSet::new();
    let new: Vec<&Entry> = change
        .head
        .entries
        .iter()
        .filter(|entry| {
            // Another version or commit in the same place is nothing new.
            let key = (entry.name.as_str(), entry.place());
            elsewhere(entry).is_some() && !known.contains(&key) && seen.insert(key)
        })
        .collect();
    reported(
        change,
        &new,
        "lock-file-source",
        |entry| {
            let (kind, url) = elsewhere(entry).unwrap_or_default();
            format!(
                "`{}` comes from {kind} (`{}`), not from a registry.",
                shown(&entry.name),
                shown(url)
            )
        },
        "So do",
        "Only the owner of that place decides what code is there, and no registry keeps or scans it.",
    )
}

fn elsewhere(entry: &Entry) -> Option<(&'static str, &str)> {
    match &entry.source {
        // The repository of a package that a registry serves.
        _ if entry.hash == Hash::Beside => None,
        Source::Git(url) => Some(("a Git repository", url)),
        Source::Url(url) => Some(("an address", url)),
        _ => None,
    }
}

/// Packages whose tarball has another name or version than they have. An alias is one, too: what is installed under the name is
/// another package. A newer version of the same other package is nothing new.
pub(super) fn mislabeled(change: &Change<'_>) -> Vec<Finding> {
    if !change.is_npm() {
        return Vec::new();
    }
    let label = |entry: &Entry| {
        let (version, address) = match entry.alias() {
            Some((package, _)) if !entry.has_other_address() => (package.to_owned(), String::new()),
            _ => (entry.version.clone(), entry.source_text.clone()),
        };
        (entry.name.clone(), version, address)
    };
    let known: HashSet<_> = change
        .base_entries()
        .filter(|entry| entry.is_mislabeled())
        .map(label)
        .collect();
    let mut seen = HashSet::new();
    let entries: Vec<&Entry> = change
        .head
        .entries
        .iter()
        .filter(|entry| entry.is_mislabeled())
        .filter(|entry| !known.contains(&label(entry)) && seen.insert(label(entry)))
        .collect();
    reported(
        change,
        &entries,
        "lock-file-source",
        |entry| match entry.alias() {
            Some((package, version)) if !entry.has_other_address() => format!(
                "What is installed as `{}` is another package: `{}` in version `{}`.",
                shown(&entry.name),
                shown(package),
                shown(version)
            ),
            _ => {
                // A path on the configured registry is not a whole address.
                let address = match entry.address() {
                    address if address.is_empty() => entry.source_text.clone(),
                    address => address,
                };
                format!(
                    "`{}` in version `{}` is installed from `{}`, which is another package or another version.",
                    shown(&entry.name),
                    shown(&entry.version),
                    shown(&address)
                )
            }
        },
        "So it is with",
        OTHER_CODE,
    )
}

/// Crates that are spelled in another way than one of the base. crates.io takes `my-util` and `my_util` for one name, of which
/// the lock file holds the spelling that was published: so nothing that only resolves dependencies writes the other one. What
/// was and is the project's own is a part of the diff.
pub(super) fn respelled(change: &Change<'_>) -> Vec<Finding> {
    let Some(base) = change.base.filter(|_| change.format == LockFormat::Cargo) else {
        return Vec::new();
    };
    let folded = |entry: &Entry| entry.name.replace('-', "_").to_ascii_lowercase();
    let names: HashSet<&str> = base.entries.iter().map(|entry| entry.name.as_str()).collect();
    let mut known: HashMap<String, Vec<&Entry>> = HashMap::new();
    for entry in &base.entries {
        known.entry(folded(entry)).or_default().push(entry);
    }
    let before = |entry: &Entry| {
        let mut before = known.get(&folded(entry)).into_iter().flatten();
        before.find(|known| known.source != Source::Local || entry.source != Source::Local)
    };
    let mut seen = HashSet::new();
    let new = change.head.entries.iter();
    let new = new.filter(|entry| !names.contains(entry.name.as_str()) && before(entry).is_some());
    let new: Vec<&Entry> = new.filter(|entry| seen.insert(entry.name.as_str())).collect();
    reported(
        change,
        &new,
        "lock-file-source",
        |entry| {
            let before = before(entry).map(|known| shown(&known.name)).unwrap_or_default();
            format!(
                "`{}` differs from `{before}`, which was there before, only in its spelling.",
                shown(&entry.name)
            )
        },
        "So it is with",
        "crates.io has only one of the two, and code calls both by one name: another crate can take the place without a line of \
         code that changes.",
    )
}
