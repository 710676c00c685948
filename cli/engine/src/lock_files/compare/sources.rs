//! Where packages come from: registries, repositories and addresses that are new, and names that are not those of the tarball.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
};

use conclave_shared::{finding::Finding, path_kind::LockFormat, severity::Severity};

use super::{
    Change,
    report::{finding, reported, shown},
};
use crate::lock_files::entry::{Entry, Hash, LIST_OF_SOURCES, LockFile, Source};

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
    let names = entries.iter().map(|entry| entry.name.as_str());
    let mut seen = HashSet::new();
    let names: Vec<&str> = names
        .filter(|name| *name != LIST_OF_SOURCES && seen.insert(*name))
        .collect();
    match names.as_slice() {
        [] => "Packages can come".to_owned(),
        [name] => format!("`{}` comes", shown(name)),
        [first, others @ ..] => format!("`{}` and {} more packages come", shown(first), others.len()),
    }
}

/// Hosts of repositories that anyone can have one on.
const FORGES: [&str; 3] = ["bitbucket.org", "github.com", "gitlab.com"];

/// Dependencies that come from a repository or an address, and did not at base.
pub(super) fn from_elsewhere(change: &Change<'_>) -> Vec<Finding> {
    let names: HashSet<&str> = change.base_entries().map(|entry| entry.name.as_str()).collect();
    let hosts: HashSet<&str> = change
        .base_entries()
        .filter_map(|entry| elsewhere(entry).map(|(_, url)| host(url)))
        .collect();
    let is_elsewhere = |entry: &Entry| match elsewhere(entry) {
        None => false,
        Some((_, url)) if entry.hash == Hash::Beside => {
            // The repository of a package that a registry serves. Where it moves, that is reported as such.
            let (host, is_new) = (host(url), !names.contains(entry.name.as_str()));
            is_new && change.format == LockFormat::Composer && !FORGES.contains(&host) && !hosts.contains(host)
        }
        Some(_) => true,
    };
    let known: HashSet<(&str, String)> = change
        .base_entries()
        .filter(|entry| is_elsewhere(entry))
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
            is_elsewhere(entry) && !known.contains(&key) && seen.insert(key)
        })
        .collect();
    reported(
        change,
        &new,
        "lock-file-source",
        |entry| {
            let (kind, url) = elsewhere(entry).unwrap_or_default();
            let (name, url) = (shown(&entry.name), shown(url));
            if entry.hash == Hash::Beside {
                format!(
                    "`{name}` has its repository (`{url}`) on a host of no other package, and can be installed from it."
                )
            } else {
                format!("`{name}` comes from {kind} (`{url}`), not from a registry.")
            }
        },
        "So do",
        "Only the owner of that place decides what code is there, and no registry keeps or scans it.",
    )
}

fn elsewhere(entry: &Entry) -> Option<(&'static str, &str)> {
    match &entry.source {
        Source::Git(url) => Some(("a Git repository", url)),
        Source::Url(url) => Some(("an address", url)),
        _ => None,
    }
}

/// The host of an address: `https://github.com/a/b`, `git@github.com:a/b`.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.split(':').next().unwrap_or_default()
}

/// Packages whose tarball has another name or version than they have.
pub(super) fn mislabeled(change: &Change<'_>) -> Vec<Finding> {
    if !change.is_npm() {
        return Vec::new();
    }
    let label = |entry: &Entry| (entry.name.clone(), entry.version.clone(), entry.source_text.clone());
    let known: HashSet<_> = change
        .base_entries()
        .filter(|entry| entry.has_other_address())
        .map(label)
        .collect();
    let mut seen = HashSet::new();
    let entries: Vec<&Entry> = change
        .head
        .entries
        .iter()
        .filter(|entry| entry.has_other_address())
        .filter(|entry| !known.contains(&label(entry)) && seen.insert(label(entry)))
        .collect();
    reported(
        change,
        &entries,
        "lock-file-source",
        |entry| {
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
        },
        "So it is with",
        OTHER_CODE,
    )
}

/// Words behind the name of a package that name a build of it.
const BUILDS: [&str; 2] = ["-cjs", "-esm"];

/// So many more aliases are named beside the first one.
const MAX_NAMED: usize = 5;

/// Names under which another package of npm is installed, as one finding. `moved` are the names of packages that are reported
/// as such already. A newer version of the same other package is nothing new.
pub(super) fn aliases(change: &Change<'_>, moved: &HashSet<&str>) -> Option<Finding> {
    if !change.is_npm() {
        return None;
    }
    let known: HashSet<(&str, &str)> = change
        .base_entries()
        .filter_map(|entry| alias(entry).map(|(name, package, _)| (name, package)))
        .collect();
    let names: HashSet<&str> = change.base_entries().map(|entry| entry.name.as_str()).collect();
    let mut seen = HashSet::new();
    let mut new: Vec<(&Entry, String)> = Vec::new();
    for entry in &change.head.entries {
        let Some((name, package, version)) = alias(entry) else {
            continue;
        };
        // Under a name that was there before, it takes the place of something else.
        let is_ordinary = !names.contains(name) && is_ordinary(change, name, package, version);
        let is_known = known.contains(&(name, package)) || moved.contains(name);
        if !is_ordinary && !is_known && seen.insert((name, package)) {
            new.push((entry, format!("`{}` in version `{}`", shown(package), shown(version))));
        }
    }
    let ((first, package), others) = new.split_first()?;
    let mut claim = format!(
        "What is installed as `{}` is another package: {package}.",
        shown(&first.name)
    );
    if !others.is_empty() {
        let shown_first = others.iter().take(MAX_NAMED);
        let list: Vec<String> = shown_first
            .map(|(entry, package)| format!("`{}` ({package})", shown(&entry.name)))
            .collect();
        let _ = write!(claim, " So it is with {}", list.join(", "));
        if others.len() > MAX_NAMED {
            let _ = write!(claim, " and {} more", others.len() - MAX_NAMED);
        }
        claim.push('.');
    }
    let severity = Severity::Warning;
    Some(finding(change, "lock-file-source", severity, claim, OTHER_CODE, first))
}

/// Name, package and version where a package is installed under another name, from the place of that package.
fn alias(entry: &Entry) -> Option<(&str, &str, &str)> {
    let (package, version) = entry.alias().filter(|_| !entry.has_other_address())?;
    Some((entry.name.as_str(), package, version))
}

/// Returns whether the project itself asks for the package under this name, in a file that reviewers read. Where it does not
/// ask for anything under the name, a package brings the alias: then the name has to be that of the package, with nothing
/// behind it but a build (`string-width-cjs`) or the major version that is installed (`react17`, `uuid-v4`). Any number would
/// be too much: `web3` is a package of its own, and not another one's `web`.
fn is_ordinary(change: &Change<'_>, name: &str, package: &str, version: &str) -> bool {
    let is_variant = || {
        let Some(behind) = name.strip_prefix(package) else {
            return false;
        };
        let number = behind.strip_prefix('-').unwrap_or(behind);
        let number = number.strip_prefix('v').unwrap_or(number);
        let major = version.split('.').next().unwrap_or_default();
        let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
        BUILDS.contains(&behind) || (is_number && number == major)
    };
    change.manifest.asks_for(package, name).unwrap_or_else(is_variant)
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
