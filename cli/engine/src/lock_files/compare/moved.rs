//! Packages that were there before, and now come from another place.

use std::collections::{HashMap, HashSet};

use conclave_shared::finding::Finding;

use super::{
    Change,
    report::{reported, shown},
    sources::is_new_registry,
};
use crate::lock_files::{
    entry::{Entry, Hash, LIST_OF_SOURCES, LockFile, Source},
    yaml::unescape,
};

/// The origin of packages that are files of the project.
const THIS_PROJECT: &str = "this project";

/// Directories that package managers fill: what is there is not the project's own.
const FILLED: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Packages that were there before, and now come from another place that the other rules do not report: another registry
/// that the project uses already, another package of the same registry, another address for the same version, a registry in
/// the place of the project's own files or of a repository, or no registry any more but files of the project itself, perhaps
/// a patch. The names of all of them stand beside the findings.
pub(super) fn moved<'a>(change: &Change<'a>) -> (Vec<Finding>, HashSet<&'a str>) {
    let Some(base) = change.base else {
        return (Vec::new(), HashSet::new());
    };
    let known = Known::of(change, base);
    let addresses = addresses(change.head);
    let mut names = HashSet::new();
    let moved = change.head.entries.iter();
    let moved = moved.filter(|entry| known.has_moved(change, entry, &addresses));
    let moved = moved.filter(|entry| names.insert(entry.name.as_str()));
    let (patched, moved): (Vec<&Entry>, Vec<&Entry>) = moved.partition(|entry| is_patch(&entry.source_text));
    let category = "lock-file-registry";
    let mut findings = reported(
        change,
        &moved,
        category,
        |entry| known.claim(change, entry),
        "So it is with",
        "If it was not meant to change, the owner of that place decides what code is installed.",
    );
    findings.extend(reported(
        change,
        &patched,
        category,
        |entry| known.claim_of_patch(entry),
        "So it is with",
        "The patch is a file of this repository: the package is installed with whatever it changes.",
    ));
    (findings, names)
}

/// The places that packages come from at base.
struct Known<'a> {
    registries: HashSet<&'a str>,
    /// The servers of a package, by its name.
    origins: HashMap<&'a str, HashSet<String>>,
    addresses: HashMap<(&'a str, &'a str), HashSet<String>>,
    /// The places of a package in this project, by its name.
    paths: HashMap<&'a str, HashSet<&'a str>>,
    own_kinds: HashSet<(&'a str, &'static str)>,
    /// Packages that a registry served.
    served: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(change: &Change<'_>, base: &'a LockFile) -> Self {
        let mut known = Self {
            registries: base.registries(),
            origins: HashMap::new(),
            addresses: addresses(base),
            paths: HashMap::new(),
            own_kinds: HashSet::new(),
            served: HashSet::new(),
        };
        for entry in &base.entries {
            if entry.source == Source::Local {
                known.paths.entry(&entry.name).or_default().insert(&entry.source_text);
                known.own_kinds.extend(own_kind(change, entry));
            }
            if matches!(entry.source, Source::Registry(_) | Source::DefaultRegistry) && entry.hash != Hash::Beside {
                known.served.insert(&entry.name);
            }
            let of_name = known.origins.entry(&entry.name).or_default();
            of_name.insert(entry.origin().unwrap_or_else(|| THIS_PROJECT.to_owned()));
        }
        known
    }

    fn has_moved(&self, change: &Change<'_>, entry: &Entry, at_head: &HashMap<(&str, &str), HashSet<String>>) -> bool {
        if entry.source == Source::Local {
            let was_elsewhere = self
                .origins
                .get(entry.name.as_str())
                .is_some_and(|known| !known.contains(THIS_PROJECT));
            // A directory that only moves within the project is a part of the diff.
            let is_own = own_kind(change, entry).is_some_and(|kind| self.own_kinds.contains(&kind));
            let was_at = self.paths.get(entry.name.as_str()).filter(|_| !is_own);
            return was_elsewhere || was_at.is_some_and(|known| !known.contains(entry.source_text.as_str()));
        }
        if !self.is_known_source(change, entry) || entry.name == LIST_OF_SOURCES {
            return false;
        }
        // A file beside those that were there before has a hash of its own, which is reported.
        let is_added = || {
            let key = entry
                .key()
                .filter(|_| change.lists_files() && entry.hash == Hash::Beside);
            let both = key.and_then(|key| Some((self.addresses.get(&key)?, at_head.get(&key)?)));
            both.is_some_and(|(before, now)| before.is_subset(now))
        };
        self.is_served_elsewhere(change, entry) || (self.is_readdressed(entry) && !is_added())
    }

    /// Returns whether the source is not news for the whole file, which has been reported. The usual registry never is, and is
    /// news for a package that none served.
    fn is_known_source(&self, change: &Change<'_>, entry: &Entry) -> bool {
        match &entry.source {
            Source::Registry(registry) => {
                self.registries.contains(registry.as_str())
                    || !self.served.contains(entry.name.as_str())
                        && !is_new_registry(change, &self.registries, registry)
            }
            Source::DefaultRegistry => true,
            Source::Git(_) | Source::Url(_) => entry.hash == Hash::Beside,
            Source::Local => false,
        }
    }

    fn is_served_elsewhere(&self, change: &Change<'_>, entry: &Entry) -> bool {
        let is_usual = |origin: &str| origin.is_empty() || change.usual().iter().any(|usual| origin.starts_with(usual));
        let origin = entry.origin().unwrap_or_default();
        self.origins.get(entry.name.as_str()).is_some_and(|known| {
            // The usual registry may be written or not.
            let unwritten = (origin.is_empty() || known.contains("")) && is_usual(&origin);
            !(known.contains(&origin) || unwritten && known.iter().all(|known| is_usual(known)))
        })
    }

    fn is_readdressed(&self, entry: &Entry) -> bool {
        let address = entry.address();
        let known = entry.key().and_then(|key| self.addresses.get(&key));
        known.is_some_and(|known| {
            !address.is_empty() && !known.contains(&address) && known.iter().any(|known| !known.is_empty())
        })
    }

    fn claim(&self, change: &Change<'_>, entry: &Entry) -> String {
        let name = shown(&entry.name);
        let is_file = change.lists_files() && entry.hash == Hash::Beside && entry.source != Source::Local;
        let place = match entry.address() {
            _ if entry.source == Source::Local => "files of this project, and from no registry".to_owned(),
            address if address.is_empty() => "the default registry".to_owned(),
            address => format!("`{}`", shown(&address)),
        };
        if is_file && !self.is_served_elsewhere(change, entry) {
            let version = shown(&entry.version);
            return format!(
                "`{name}` has a file ({place}) that it did not have before, and is still version `{version}`."
            );
        }
        format!("`{name}` comes from {place}, and came from another place before.")
    }

    /// The claim about a package that the project patches with Yarn.
    fn claim_of_patch(&self, entry: &Entry) -> String {
        let name = shown(&entry.name);
        let patched = entry.source_text.strip_prefix("patch:").unwrap_or_default();
        let patched = shown(&unescape(patched.split('#').next().unwrap_or_default()));
        let mut known = self.paths.get(entry.name.as_str()).into_iter().flatten();
        if known.any(|place| is_patch(place)) {
            format!("This project patches `{name}` in another way than before, or another version of it (`{patched}`).")
        } else {
            format!("This project patches `{name}` (`{patched}`), and did not before.")
        }
    }
}

/// Returns whether a place is a package of Yarn with a patch of the project.
fn is_patch(place: &str) -> bool {
    place.starts_with("patch:")
}

/// The addresses of each version of a package.
fn addresses(file: &LockFile) -> HashMap<(&str, &str), HashSet<String>> {
    let mut addresses: HashMap<(&str, &str), HashSet<String>> = HashMap::new();
    for entry in &file.entries {
        let Some(key) = entry.key() else { continue };
        // A part of another package is not the project's own.
        let is_own = entry.source == Source::Local && entry.hash != Hash::Beside;
        let address = if is_own {
            THIS_PROJECT.to_owned()
        } else {
            entry.address()
        };
        addresses.entry(key).or_default().insert(address);
    }
    addresses
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
