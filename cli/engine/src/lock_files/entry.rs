//! What all lock files have in common.

use std::collections::HashSet;

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// From a registry: its address, as far as it tells who serves it.
    Registry(String),
    /// From whatever registry is configured; the file does not say which.
    DefaultRegistry,
    /// From a repository: its address without the revision.
    Git(String),
    /// From an address.
    Url(String),
    /// From this very project.
    Local,
}

/// Whether the package's content is pinned by a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Present,
    /// The format has one for such a package, and it is not there.
    Missing,
    /// The format may do without.
    Optional,
    /// This is one more place of a package, whose hash stands in another entry.
    Beside,
}

impl Hash {
    /// The hash of a package that has to have one.
    pub(super) const fn required(is_there: bool) -> Self {
        if is_there { Self::Present } else { Self::Missing }
    }
}

/// Parts of addresses before which the package stands, and behind which its version:
/// `https://registry.npmjs.org/left-pad/-/left-pad-1.0.0.tgz`, `https://api.github.com/repos/owner/name/zipball/abc`.
const VERSIONS: [&str; 4] = ["/-/", "/zipball/", "/repository/archive", "/get/"];

/// Name of the entries for the places that a file lists for all of its packages.
pub(super) const LIST_OF_SOURCES: &str = "the list of sources";

/// A locked package, or one more place that one comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) source: Source,
    pub(super) hash: Hash,
    /// The hashes themselves, in a fixed order; empty where there is none.
    pub(super) integrity: String,
    /// Text that stands where the source is written; empty if it is not written.
    pub(super) source_text: String,
    /// Text that the entry begins with, perhaps over several lines.
    pub(super) anchor: String,
    /// The names of its files, as written, where a registry serves several files of one version.
    pub(super) files: Vec<String>,
}

impl Entry {
    /// Returns whether both say the same of the same package, wherever that stands.
    pub(super) fn is_same_package(&self, other: &Self) -> bool {
        (
            &self.name,
            &self.version,
            &self.source,
            &self.source_text,
            &self.integrity,
        ) == (
            &other.name,
            &other.version,
            &other.source,
            &other.source_text,
            &other.integrity,
        )
    }

    /// Name and version; the entries of a list of sources have none.
    pub(super) fn key(&self) -> Option<(&str, &str)> {
        (!self.version.is_empty()).then_some((self.name.as_str(), self.version.as_str()))
    }

    /// What one hash is for: name and version, and the commit of a repository, which moves also under one version.
    pub(super) fn hashed(&self) -> Option<(&str, &str, Option<&str>)> {
        let (name, version) = self.key()?;
        let commit = match &self.source {
            Source::Git(_) => self.source_text.split_once('#').map(|(_, commit)| commit),
            // Behind scheme, host, owner and name.
            Source::Url(url) => url.split('/').skip(5).find(|part| is_commit(part)),
            _ => None,
        };
        Some((name, version, commit))
    }

    /// The path of a package of this project, as seen from the lock file, behind the kind of place that is written before it;
    /// `None` if more than a path is written, or less.
    pub(super) fn path(&self) -> Option<(&'static str, &str)> {
        let mut kinds = ["file:", "remote: ", "workspace:"].into_iter();
        let kind = kinds
            .find(|kind| self.source_text.starts_with(*kind))
            .unwrap_or_default();
        let path = self.source_text.strip_prefix(kind)?;
        let is_path = !path.is_empty() && !path.contains([':', '%', '\\']);
        (is_path && self.source == Source::Local).then_some((kind, path))
    }

    /// The hash that Yarn 1 writes into the address. It checks that one also where there is a newer one beside it.
    pub(super) fn hash_in_address(&self) -> Option<&str> {
        let (_, hash) = self.source_text.split_once('#')?;
        let is_hash = hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hash && !matches!(self.source, Source::Git(_))).then_some(hash)
    }

    /// The address or the path itself, without the word that Bundler writes before it.
    fn written(&self) -> &str {
        self.source_text.strip_prefix("remote: ").unwrap_or(&self.source_text)
    }

    /// What serves the package, whatever its version: `None` where that is this very project.
    pub(super) fn origin(&self) -> Option<String> {
        match &self.source {
            Source::Registry(registry) => {
                let package = VERSIONS.iter().find_map(|mark| self.written().split_once(*mark));
                Some(match package {
                    Some((package, _)) if package.contains("://") => repository(package),
                    _ => registry.clone(),
                })
            }
            Source::DefaultRegistry => Some(String::new()),
            Source::Git(url) | Source::Url(url) => Some(url.clone()),
            Source::Local => None,
        }
    }

    /// The package of npm and its version that are installed under the name, if that is another package: `npm:other@1.0.0`.
    pub(super) fn alias(&self) -> Option<(&str, &str)> {
        let (package, version) = split_name(self.version.strip_prefix("npm:")?);
        (!version.is_empty() && package != self.name).then_some((package, version))
    }

    /// Returns whether it comes from a registry of npm by an address that names another package or another version.
    pub(super) fn has_other_address(&self) -> bool {
        let (name, version) = self.alias().unwrap_or((self.name.as_str(), self.version.as_str()));
        let address = self.source_text.split(['#', '?']).next().unwrap_or_default();
        let address = address.replace("%2F", "/").replace("%2f", "/").replace("%40", "@");
        // pnpm leaves the registry out where it is the one that is configured.
        let is_served = match &self.source {
            Source::Registry(_) => true,
            Source::DefaultRegistry => !address.contains("://"),
            _ => false,
        };
        let Some((package, file)) = address.split_once("/-/").filter(|_| is_served) else {
            return false;
        };
        // Behind `npm:`, and without what a tarball's name leaves out.
        let version = version.rsplit(':').next().unwrap_or_default();
        let version = version.split('+').next().unwrap_or_default();
        let (scope, bare) = name.rsplit_once('/').unwrap_or(("", name));
        let file = file.strip_prefix(scope).unwrap_or(file).trim_start_matches('/');
        let is_package = package == name || package.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'));
        !is_package || file != format!("{bare}-{version}.tgz")
    }

    /// The address of this very version, without a revision or a query.
    pub(super) fn address(&self) -> String {
        match &self.source {
            Source::Registry(_) => repository(self.written()),
            Source::Git(url) | Source::Url(url) => url.clone(),
            Source::DefaultRegistry | Source::Local => String::new(),
        }
    }

    /// The place behind the address, whatever the version or the commit: of an archive the repository, or the address with
    /// each version left out.
    pub(super) fn place(&self) -> String {
        match &self.source {
            Source::Url(url) => without_versions(url),
            _ => self.address(),
        }
    }
}

/// Beginnings of the hashes that the package managers of npm check. They pass over other words, and install without a check.
const NPM_HASHES: [&str; 4] = ["sha1-", "sha256-", "sha384-", "sha512-"];

/// The hashes of a package of the npm world, in a fixed order; empty if none of the words is one.
pub(super) fn npm_hashes(integrity: &str) -> String {
    let is_hash = |word: &&str| {
        let digest = |algorithm: &&str| word.strip_prefix(*algorithm).filter(|digest| !digest.is_empty());
        NPM_HASHES.iter().any(|algorithm| digest(algorithm).is_some())
    };
    joined(integrity.split_whitespace().filter(is_hash))
}

/// The hash without the key of the cache that Yarn writes before it since version 4, and did not before: `10c0/abc…`.
pub(super) fn without_cache_key(hash: &str) -> &str {
    let is_key = |key: &str| key == "10" || key.starts_with("10c");
    match hash.split_once('/') {
        Some((key, bare)) if is_key(key) => bare,
        _ => hash,
    }
}

/// Returns whether all that is new in the hashes is of other kinds than those before, and cannot be compared with them:
/// SHA-1 and SHA-512, or archives that Yarn compresses in another way.
pub(super) fn are_of_other_kinds(hashes: &str, before: &str) -> bool {
    let kind = |hash: &str| {
        hash.split_once(['-', ':', '/'])
            .map_or_else(String::new, |(kind, _)| kind.to_owned())
    };
    let known: HashSet<&str> = before.split(' ').collect();
    let kinds: HashSet<String> = before.split(' ').map(kind).collect();
    let new: Vec<&str> = hashes.split(' ').filter(|hash| !known.contains(hash)).collect();
    !new.is_empty() && new.iter().all(|hash| !kinds.contains(&kind(hash)))
}

/// Hashes in a fixed order, as one text.
pub(super) fn joined<'a>(hashes: impl IntoIterator<Item = &'a str>) -> String {
    let mut hashes: Vec<&str> = hashes.into_iter().filter(|hash| !hash.is_empty()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.join(" ")
}

/// A lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockFile {
    pub(super) entries: Vec<Entry>,
}

impl LockFile {
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        // A field for a hash that holds none pins nothing.
        for entry in entries.iter_mut().filter(|entry| entry.integrity.is_empty()) {
            if entry.hash == Hash::Present {
                entry.hash = Hash::Missing;
            }
        }
        Self { entries }
    }

    /// The names of the packages that it pins and that are fetched from somewhere.
    pub(super) fn pinned(&self) -> impl Iterator<Item = &str> {
        // A registry in a list of sources has neither a version nor a hash.
        let is_pinned = |entry: &&Entry| !(entry.version.is_empty() && entry.integrity.is_empty());
        let fetched = self.entries.iter().filter(|entry| entry.source != Source::Local);
        fetched.filter(is_pinned).map(|entry| entry.name.as_str())
    }

    pub(super) fn registries(&self) -> HashSet<&str> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.source {
                Source::Registry(registry) => Some(registry.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// Scheme and host of an address, without what could be a password: `https://registry.npmjs.org`.
pub(super) fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    if scheme.is_empty() {
        host
    } else {
        format!("{}://{host}", scheme.to_ascii_lowercase())
    }
}

/// An address without revision, query and user: two of them are equal if they lead to the same place.
pub(super) fn repository(url: &str) -> String {
    let url = url.split(['#', '?']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once(['/', '\\']).unwrap_or((rest, ""));
            let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
            format!("{scheme}://{host}/{}", path.trim_end_matches('/'))
        }
        None => url.to_owned(),
    }
}

/// Returns whether it is a commit, or a file that is named so: `abc….tar.gz`.
fn is_commit(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default();
    stem.len() == 40 && stem.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An address without its versions and commits: two of them are equal if they differ in nothing else. Of an archive that
/// GitHub makes it is the repository.
fn without_versions(url: &str) -> String {
    let is_plain = |part: &&str| {
        let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+@:".contains(&byte);
        !matches!(*part, "" | "." | "..") && part.bytes().all(is_harmless)
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let parts: Vec<&str> = rest.split('/').collect();
    // `..`, and what a client may read as such, leads elsewhere than the text shows.
    if !parts.iter().all(is_plain) {
        return url.to_owned();
    }
    if let [host @ ("github.com" | "codeload.github.com"), owner, name, _, ..] = parts.as_slice() {
        return format!("{scheme}://{host}/{owner}/{name}");
    }
    let parts = parts.into_iter().enumerate().map(|(index, part)| match index {
        0 => part.to_owned(),
        // Before that stand an owner and a name.
        3.. if is_commit(part) => format!("*{}", part.split_at(40).1),
        _ => without_version(part),
    });
    format!("{scheme}://{}", parts.collect::<Vec<_>>().join("/"))
}

/// A part of an address with `*` for each number that has a dot in it: `xlsx-*.tgz`.
fn without_version(part: &str) -> String {
    let (mut shown, mut rest) = (String::new(), part);
    while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
        let (before, behind) = rest.split_at(at);
        let is_other = |character: char| !character.is_ascii_digit() && character != '.';
        let (number, _) = behind.split_at(behind.find(is_other).unwrap_or(behind.len()));
        let number = number.trim_end_matches('.');
        shown.push_str(before);
        shown.push_str(if number.contains('.') { "*" } else { number });
        rest = behind.split_at(number.len()).1;
    }
    shown + rest
}

/// Where a package of the npm world comes from, by what stands behind its name.
pub(super) fn npm_source(specifier: &str) -> Source {
    // Spaces around an address do not belong to it.
    let specifier = specifier.trim_matches(|character: char| character.is_whitespace() || character.is_control());
    // A scheme may be written in capitals.
    let lower = specifier.to_ascii_lowercase();
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| lower.starts_with(prefix));
    if is(&[
        "git+",
        "git:",
        "git@",
        "ssh:",
        "github:",
        "gitlab:",
        "bitbucket:",
        "gist:",
    ]) || specifier
        .split(['#', '?'])
        .next()
        .is_some_and(|address| address.strip_suffix(".git").is_some())
        || specifier.contains("#commit=")
    {
        Source::Git(repository(specifier))
    } else if is(&["http:", "https:"]) {
        let path = specifier.split(['#', '?']).next().unwrap_or_default();
        if path.contains("/-/") || origin(path) == "https://npm.pkg.github.com" {
            Source::Registry(origin(path))
        } else {
            Source::Url(repository(specifier))
        }
    } else if is(&["//", r"/\", r"\"]) || specifier.contains(char::is_control) {
        // An address without its scheme.
        Source::Url(repository(specifier))
    } else if is(&[
        "file:",
        "link:",
        "workspace:",
        "portal:",
        "patch:",
        "root:",
        "symlink:",
        ".",
        "/",
    ]) {
        Source::Local
    } else if specifier.contains("://") {
        Source::Url(repository(specifier))
    } else {
        Source::DefaultRegistry
    }
}

/// The name of the file behind an address or a path, as written.
pub(super) fn file_name(address: &str) -> &str {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// `name@anything` cut at the last `@` that does not begin a scope.
pub(super) fn split_name(text: &str) -> (&str, &str) {
    let from = usize::from(text.starts_with('@'));
    match text.get(from..).and_then(|rest| rest.find('@')) {
        Some(at) => (&text[..from + at], &text[from + at + 1..]),
        None => (text, ""),
    }
}
