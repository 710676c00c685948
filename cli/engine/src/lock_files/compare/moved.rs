//! Packages that were there before, and now come from another place.

use std::collections::{HashMap, HashSet};

use conclave_shared::finding::Finding;

use super::{
    Change,
    report::{reported, shown},
    sources::is_new_registry,
};
use crate::lock_files::entry::{Entry, Hash, Source};

/// The origin of packages that are files of the project.
const THIS_PROJECT: &str = "this project";

/// Directories that package managers fill: what is there is not the project's own.
const FILLED: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Names of entries that are no packages, but places that packages come from.
const LISTS: [&str; 1] = ["the list of sources"];

/// Packages that were there before, and now come from another place that the rules above do not report: another registry
/// that the project uses already, another package of the same registry, another address for the same version, a registry in
/// the place of the project's own files or of a repository, or no registry any more but files of the project itself.
pub(super) fn moved(change: &Change<'_>) -> Vec<Finding> {
    let Some(base) = change.base else { return Vec::new() };
    let registries = base.registries();
    let mut origins: HashMap<&str, HashSet<String>> = HashMap::new();
    let mut addresses: HashMap<(&str, &str), HashSet<String>> = HashMap::new();
    let mut paths: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut own_kinds = HashSet::new();
    // Packages that a registry served.
    let mut served = HashSet::new();
    for entry in &base.entries {
        if entry.source == Source::Local {
            paths.entry(&entry.name).or_default().insert(&entry.source_text);
            own_kinds.extend(own_kind(change, entry));
        }
        if matches!(entry.source, Source::Registry(_) | Source::DefaultRegistry) && entry.hash != Hash::Beside {
            served.insert(entry.name.as_str());
        }
        let of_name = origins.entry(&entry.name).or_default();
        of_name.insert(entry.origin().unwrap_or_else(|| THIS_PROJECT.to_owned()));
        if let Some(key) = entry.key() {
            // A part of another package is not the project's own.
            let is_own = entry.source == Source::Local && entry.hash != Hash::Beside;
            let address = if is_own {
                THIS_PROJECT.to_owned()
            } else {
                entry.address()
            };
            addresses.entry(key).or_default().insert(address);
        }
    }
    let is_usual = |origin: &str| origin.is_empty() || change.usual.iter().any(|usual| origin.starts_with(usual));
    let has_moved = |entry: &&Entry| {
        if entry.source == Source::Local {
            let was_elsewhere = origins
                .get(entry.name.as_str())
                .is_some_and(|known| !known.contains(THIS_PROJECT));
            // A directory that only moves within the project is a part of the diff.
            let is_own = own_kind(change, entry).is_some_and(|kind| own_kinds.contains(&kind));
            let was_at = paths.get(entry.name.as_str()).filter(|_| !is_own);
            return was_elsewhere || was_at.is_some_and(|known| !known.contains(entry.source_text.as_str()));
        }
        // What is new for the whole file has been reported. The usual registry is not, and is news for a package that none
        // served.
        let is_known_source = match &entry.source {
            Source::Registry(registry) => {
                registries.contains(registry.as_str())
                    || !served.contains(entry.name.as_str()) && !is_new_registry(change, &registries, registry)
            }
            Source::DefaultRegistry => true,
            Source::Git(_) | Source::Url(_) => entry.hash == Hash::Beside,
            Source::Local => false,
        };
        if !is_known_source || LISTS.contains(&entry.name.as_str()) {
            return false;
        }
        let origin = entry.origin().unwrap_or_default();
        let elsewhere = origins.get(entry.name.as_str()).is_some_and(|known| {
            // The usual registry may be written or not.
            let unwritten = (origin.is_empty() || known.contains("")) && is_usual(&origin);
            !(known.contains(&origin) || unwritten && known.iter().all(|known| is_usual(known)))
        });
        let address = entry.address();
        let readdressed = entry.key().and_then(|key| addresses.get(&key));
        elsewhere
            || readdressed.is_some_and(|known| {
                !address.is_empty() && !known.contains(&address) && known.iter().any(|known| !known.is_empty())
            })
    };
    let mut seen = HashSet::new();
    let entries: Vec<&Entry> = change
        .head
        .entries
        .iter()
        .filter(has_moved)
        .filter(|entry| seen.insert(entry.name.as_str()))
        .collect();
    reported(
        change,
        &entries,
        "lock-file-registry",
        |entry| {
            let place = match entry.address() {
                _ if entry.source == Source::Local => "files of this project, and from no registry".to_owned(),
                address if address.is_empty() => "the default registry".to_owned(),
                address => format!("`{}`", shown(&address)),
            };
            format!(
                "`{}` comes from {place}, and came from another place before.",
                shown(&entry.name)
            )
        },
        "So it is with",
        "If it was not meant to change, the owner of that place decides what code is installed.",
    )
}

/// The name of a package and the kind of its place, if the project's own files are there.
fn own_kind<'a>(change: &Change<'_>, entry: &'a Entry) -> Option<(&'a str, &'static str)> {
    let (kind, path) = entry.path()?;
    is_own(change.path, path).then_some((entry.name.as_str(), kind))
}

/// Returns whether a path, as seen from the lock file, leads to files that the project itself has.
fn is_own(lock_file: &str, path: &str) -> bool {
    let mut depth = lock_file.matches('/').count();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return false,
            },
            _ if part.starts_with(['.', '~']) || FILLED.iter().any(|filled| part.eq_ignore_ascii_case(filled)) => {
                return false;
            }
            _ => depth += 1,
        }
    }
    !path.starts_with('/')
}
