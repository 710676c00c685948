//! The rules: what is new in a lock file, and should not be.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::Write,
};

use conclave_shared::{
    finding::{Finding, Quote},
    reviewer::ReviewerName,
    severity::Severity,
};

use super::entry::{Entry, Hash, LockFile, Source, are_of_other_kinds, without_cache_key};

/// So many dependencies from elsewhere are reported one by one.
const ONE_BY_ONE: usize = 5;
/// So many lines an entry has at least; it is searched no further for the line that changed.
const ENTRY_LINES: usize = 8;
/// A rule is not sure of what it means, only of what it says.
const CONFIDENCE: f64 = 0.95;

/// The origin of packages that are files of the project.
const THIS_PROJECT: &str = "this project";

/// Directories that package managers fill: what is there is not the project's own.
const FILLED: [&str; 3] = ["node_modules", "site-packages", "vendor"];

/// Names of entries that are no packages, but places that packages come from.
const LISTS: [&str; 1] = ["the list of sources"];

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
    let mut findings = registries(change);
    findings.extend(from_elsewhere(change));
    findings.extend(without_hash(change));
    findings.extend(moved(change));
    findings.extend(with_other_hash(change));
    let reported: HashSet<u32> = findings.iter().map(|finding| finding.line).collect();
    let mislabeled = mislabeled(change).into_iter();
    findings.extend(mislabeled.filter(|finding| !reported.contains(&finding.line)));
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// Registries that the base does not use. Without a base, the usual ones are nothing to wonder about.
fn registries(change: &Change<'_>) -> Vec<Finding> {
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
fn is_new_registry(change: &Change<'_>, base: &HashSet<&str>, registry: &str) -> bool {
    let private = !base.is_empty() && !base.iter().any(|registry| change.usual.contains(registry));
    !base.contains(registry) && (private || !change.usual.contains(&registry))
}

fn packages(entries: &[&Entry]) -> String {
    let names: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    match names.len() {
        1 => format!("`{}` comes", shown(&entries[0].name)),
        count => format!("`{}` and {} more packages come", shown(&entries[0].name), count - 1),
    }
}

/// Dependencies that come from a repository or an address, and did not at base.
fn from_elsewhere(change: &Change<'_>) -> Vec<Finding> {
    let known: HashSet<(&str, String)> = change
        .base
        .iter()
        .flat_map(|base| &base.entries)
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

/// Packages whose hash is missing, and that are not the same as at base. A project whose lock file never had hashes is
/// not told so in each merge request.
fn without_hash(change: &Change<'_>) -> Vec<Finding> {
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
        .base
        .iter()
        .flat_map(|base| &base.entries)
        .filter(|entry| entry.hash == Hash::Present)
        .map(|entry| entry.name.as_str())
        .collect();
    // Only a package of a registry could have had one: the project's own files, or repositories, say nothing.
    let could_have = |entry: &Entry| {
        matches!(entry.source, Source::Registry(_) | Source::DefaultRegistry) && entry.hash != Hash::Beside
    };
    let never = hashed_names.is_empty() && change.base.is_some_and(|base| base.entries.iter().any(could_have));
    // What comes from a repository or an address may do without, unless it had one there.
    let hashed_places: HashSet<(&str, String)> = change
        .base
        .iter()
        .flat_map(|base| &base.entries)
        .filter(|entry| entry.hash == Hash::Present)
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

/// Packages that were there before, and now come from another place that the rules above do not report: another registry
/// that the project uses already, another package of the same registry, another address for the same version, a registry in
/// the place of the project's own files or of a repository, or no registry any more but files of the project itself.
fn moved(change: &Change<'_>) -> Vec<Finding> {
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

/// Packages whose tarball has another name or version than they have. An alias is one, too: what is installed under the name is
/// another package. A newer version of the same other package is nothing new.
fn mislabeled(change: &Change<'_>) -> Vec<Finding> {
    if !change.is_npm {
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
        .base
        .iter()
        .flat_map(|base| &base.entries)
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
            _ => format!(
                "`{}` in version `{}` is installed from `{}`, which is another package or another version.",
                shown(&entry.name),
                shown(&entry.version),
                shown(&entry.address())
            ),
        },
        "So it is with",
        "Who reads the name and the version believes to have other code than what is installed.",
    )
}

/// Packages whose version is the same as before, and whose hash is not.
fn with_other_hash(change: &Change<'_>) -> Vec<Finding> {
    let mut known: HashMap<(&str, &str, Option<&str>), HashSet<&str>> = HashMap::new();
    let mut hashed_names = HashSet::new();
    for entry in change.base.iter().flat_map(|base| &base.entries) {
        if let Some(key) = entry.hashed().filter(|_| !entry.integrity.is_empty()) {
            known.entry(key).or_default().insert(&entry.integrity);
        }
        if entry.hash == Hash::Present {
            hashed_names.insert(entry.name.as_str());
        }
    }
    let mut seen = HashSet::new();
    let (mut others, mut of_other_kinds) = (Vec::new(), Vec::new());
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
        if before.iter().all(|hash| are_of_other_kinds(&entry.integrity, hash)) {
            of_other_kinds.push(entry);
        } else {
            others.push(entry);
        }
    }
    let mut findings = reported(
        change,
        &others,
        "lock-file-integrity",
        |entry| {
            format!(
                "`{}` has another integrity hash than before, and is still version `{}`.",
                shown(&entry.name),
                shown(&entry.version)
            )
        },
        "So it is with",
        "A version that was published does not change: the package manager installs other content than what was used so far.",
    );
    findings.extend(reported(
        change,
        &of_other_kinds,
        "lock-file-integrity",
        |entry| {
            format!(
                "`{}` has an integrity hash of another kind than before, which cannot be compared with it, and is still \
                 version `{}`.",
                shown(&entry.name),
                shown(&entry.version)
            )
        },
        "So it is with",
        "Nothing in the file shows that the new hash is of the content that was used so far.",
    ));
    findings
}

/// Returns whether a package still has the hash that it had before, perhaps beside a newer one.
fn keeps_hash(change: &Change<'_>, entry: &Entry, before: &str) -> bool {
    // Of all package managers, only Yarn 1 checks one that stands in the address.
    let in_address = entry.hash_in_address().filter(|_| change.is_npm);
    before == entry.integrity || before == without_cache_key(&entry.integrity) || in_address == Some(before)
}

/// A finding for each of the first packages, the last of which counts the others: `others` begins that sentence.
fn reported(
    change: &Change<'_>,
    entries: &[&Entry],
    category: &str,
    claim: impl Fn(&Entry) -> String,
    others: &str,
    scenario: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, entry) in entries.iter().take(ONE_BY_ONE).enumerate() {
        let mut claim = claim(entry);
        if index + 1 == ONE_BY_ONE && entries.len() > ONE_BY_ONE {
            let _ = write!(claim, " {others} {} more packages.", entries.len() - ONE_BY_ONE);
        }
        findings.push(finding(change, category, Severity::Warning, claim, scenario, entry));
    }
    findings
}

fn finding(
    change: &Change<'_>,
    category: &str,
    severity: Severity,
    claim: String,
    scenario: &str,
    entry: &Entry,
) -> Finding {
    let (line, code) = locate(change, entry);
    let quote = Quote {
        file: change.path.to_owned(),
        line,
        code,
    };
    Finding {
        claim,
        scenario: scenario.to_owned(),
        checked: "The lock file at base and at head, compared by rules.".to_owned(),
        confidence: CONFIDENCE,
        ..Finding::of_rules(ReviewerName::LOCK_FILES, severity, category, quote)
    }
}

/// The line that shows it: where the source is written, else where the entry begins; a line that is not in the base comes
/// first.
fn locate(change: &Change<'_>, entry: &Entry) -> (u32, String) {
    let text = change.head_text;
    let base: HashSet<&str> = change.base_text.lines().map(str::trim_end).collect();
    // The place of this entry, if its beginning is found; else the whole file is searched.
    let start = text.find(&entry.anchor).unwrap_or(0);
    let start_index = text[..start].matches('\n').count();
    let mut found: Option<(u8, usize, &str)> = None;
    let mut offset = 0;
    for (index, line) in text.split('\n').enumerate() {
        let end = offset + line.len();
        let shows = !entry.source_text.is_empty() && line.contains(&entry.source_text);
        let begins = offset <= start && start <= end;
        let rank = match (shows, begins, base.contains(line.trim_end())) {
            // The source, on a line of this merge request, at the entry or behind it.
            (true, _, false) if end >= start => 0,
            (true, _, false) => 1,
            (_, true, false) => 2,
            // Some other line of this merge request in the entry.
            (_, _, false) if end >= start && index < start_index + ENTRY_LINES => 3,
            (_, true, _) => 4,
            (true, ..) => 5,
            _ => 9,
        };
        if rank < 9 && found.is_none_or(|(known, ..)| rank < known) {
            found = Some((rank, index, line));
        }
        offset = end + 1;
    }
    let (_, index, line) = found.unwrap_or((9, 0, text.lines().next().unwrap_or_default()));
    let line: String = line.chars().take(400).collect();
    (u32::try_from(index + 1).unwrap_or(u32::MAX), line.trim_end().to_owned())
}

/// What the author of the merge request wrote, as a word that is no sentence: it stands in a text that models read.
fn shown(text: &str) -> String {
    let harmless = |character: char| character.is_ascii_alphanumeric() || "-_./:@+~%=".contains(character);
    text.chars()
        .take(100)
        .map(|character| if harmless(character) { character } else { '?' })
        .collect()
}
