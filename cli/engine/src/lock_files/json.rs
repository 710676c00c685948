//! Lock files in JSON: npm, bun, Pipenv, Composer.
//!
//! Only the fields that matter are kept, so that a large file costs little.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    entry::{Entry, Hash, LIST_OF_SOURCES, Source, joined, npm_hashes, npm_source, origin, repository, split_name},
    plain::{Unambiguous, shortened, without_mark},
};

/// Reads a document that no two readers take for two things.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = without_mark(text);
    let checked = serde_json::from_str::<Unambiguous>(text).map(|_| ());
    checked.map_err(|error| {
        let fault = if error.is_data() {
            "it can be read in two ways"
        } else {
            "it is not valid JSON"
        };
        format!("{fault}: {error}")
    })?;
    serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NpmFile {
    lockfile_version: Option<u32>,
    packages: BTreeMap<String, NpmPackage>,
    dependencies: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NpmPackage {
    /// The name of the package, where it is installed under another one.
    name: Option<String>,
    version: Option<String>,
    resolved: Option<Value>,
    integrity: Option<String>,
    link: bool,
    in_bundle: bool,
    bundled: bool,
    dependencies: Option<Value>,
    optional_dependencies: Option<Value>,
    peer_dependencies: Option<Value>,
    /// The names of packages that come within its archive.
    bundle_dependencies: Option<Value>,
}

impl NpmPackage {
    /// The names of the packages that it needs.
    fn needs(&self) -> impl Iterator<Item = &str> {
        let kinds = [&self.dependencies, &self.optional_dependencies, &self.peer_dependencies];
        let kinds = kinds.into_iter().flatten().filter_map(Value::as_object);
        kinds.flat_map(|needs| needs.keys().map(String::as_str))
    }

    /// The names of the packages that it bundles.
    fn bundles(&self) -> Vec<&str> {
        match &self.bundle_dependencies {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::Bool(true)) => self.needs().collect(),
            _ => Vec::new(),
        }
    }
}

/// The text between the place of a package and the name of one below it.
const BELOW: &str = "/node_modules/";

/// The most directories above a package in which one is looked for that it needs.
const MAX_DEPTH: usize = 32;

/// The places of packages that come within the archive of another one, and are not fetched. As npm does, it goes by what that one
/// says, and by what its bundled packages need; the field of the package itself proves nothing. The project's own bundle is
/// fetched like all packages.
fn bundled(packages: &BTreeMap<String, NpmPackage>) -> HashSet<&str> {
    let mut below: HashMap<&str, HashMap<&str, &str>> = HashMap::new();
    for place in packages.keys() {
        if let Some((owner, name)) = place.rsplit_once(BELOW) {
            below.entry(owner).or_default().insert(name, place);
        }
    }
    let mut open: Vec<(&str, &str)> = Vec::new();
    for (owner, package) in packages.iter().filter(|(place, _)| place.contains("node_modules/")) {
        let inside = below.get(owner.as_str());
        let places = package.bundles().into_iter().filter_map(|name| inside?.get(name));
        open.extend(places.map(|place| (owner.as_str(), *place)));
    }
    let mut bundled = HashSet::new();
    while let Some((owner, place)) = open.pop() {
        let Some(package) = packages.get(place).filter(|_| bundled.insert(place)) else {
            continue;
        };
        // All that is below it is in the archive, too.
        let inside = below.get(place).into_iter().flat_map(HashMap::values);
        open.extend(inside.map(|place| (owner, *place)));
        let above = std::iter::successors(Some(place), |place| Some(place.rsplit_once(BELOW)?.0));
        let above = above.take(MAX_DEPTH).take_while(|place| place.len() >= owner.len());
        let above: Vec<&HashMap<&str, &str>> = above.filter_map(|place| below.get(place)).collect();
        let found = |name: &str| above.iter().find_map(|inside| inside.get(name));
        open.extend(package.needs().filter_map(found).map(|place| (owner, *place)));
    }
    bundled
}

pub(super) fn npm(text: &str) -> Result<Vec<Entry>, String> {
    let file: NpmFile = read(text)?;
    if let Some(version @ 4..) = file.lockfile_version {
        return Err(format!("its format is version {version}, which is not known"));
    }
    let bundled = bundled(&file.packages);
    let mut entries = Vec::new();
    for (path, package) in &file.packages {
        // Without `node_modules` it is a directory of this project.
        if let Some((_, name)) = path.rsplit_once("node_modules/") {
            let is_bundled = package.in_bundle && bundled.contains(path.as_str());
            entries.push(npm_entry(path, name, package, is_bundled));
        }
    }
    // Since version 2 this part only repeats the other one; older versions of npm install from it all the same.
    let mut older = Vec::new();
    npm_tree(&file.dependencies, false, &mut older)?;
    older.retain(|entry| !entries.iter().any(|known: &Entry| known.is_same_package(entry)));
    entries.append(&mut older);
    Ok(entries)
}

fn npm_tree(packages: &BTreeMap<String, NpmPackage>, is_nested: bool, entries: &mut Vec<Entry>) -> Result<(), String> {
    for (name, package) in packages {
        entries.push(npm_entry(name, name, package, is_nested && package.bundled));
        if let Some(nested @ Value::Object(_)) = &package.dependencies {
            let nested = BTreeMap::deserialize(nested).map_err(|error| format!("below {name}: {error}"))?;
            npm_tree(&nested, true, entries)?;
        }
    }
    Ok(())
}

fn npm_entry(key: &str, name: &str, package: &NpmPackage, is_bundled: bool) -> Entry {
    let version = package.version.clone().unwrap_or_default();
    let resolved = match &package.resolved {
        Some(Value::String(resolved)) => resolved.clone(),
        // Version 1 has the address of a repository where the version should be.
        _ if version.contains(':') => version.clone(),
        _ => String::new(),
    };
    // A directory of the project, or a part of another package: nothing is fetched for it. What has an address is fetched
    // from there, also in a bundle.
    let is_link = package.link && !resolved.contains("://");
    let is_local = is_link || (is_bundled && resolved.is_empty());
    let other = package.name.as_deref().filter(|other| *other != name && !is_link);
    Entry {
        name: name.to_owned(),
        version: other.map_or_else(|| version.clone(), |other| format!("npm:{other}@{version}")),
        source: match resolved.as_str() {
            _ if is_local => Source::Local,
            "" => Source::DefaultRegistry,
            resolved => npm_source(resolved),
        },
        hash: if is_local {
            Hash::Beside
        } else {
            Hash::required(package.integrity.is_some())
        },
        integrity: npm_hashes(package.integrity.as_deref().unwrap_or_default()),
        source_text: resolved,
        anchor: format!("\"{key}\":"),
        files: Vec::new(),
    }
}

#[derive(Deserialize)]
struct BunFile {
    #[serde(default)]
    packages: BTreeMap<String, Vec<Value>>,
}

pub(super) fn bun(text: &str) -> Result<Vec<Entry>, String> {
    let file: BunFile = read(&without_trailing_commas(text))?;
    let mut entries = Vec::new();
    for (key, fields) in &file.packages {
        let Some(Value::String(id)) = fields.first() else {
            return Err(format!("`{}` does not say which package it is", shortened(key)));
        };
        let (name, specifier) = split_name(id);
        let registry = fields.get(1).and_then(Value::as_str);
        let (source, source_text) = match (npm_source(specifier), registry) {
            (Source::DefaultRegistry, Some(url)) if !url.is_empty() => (Source::Registry(origin(url)), url),
            (source, _) => (source, specifier),
        };
        let hashes = fields.iter().skip(1).filter_map(Value::as_str).map(npm_hashes);
        let hashes: Vec<String> = hashes.filter(|hash| !hash.is_empty()).collect();
        // What is below the package `a` is written as `a/b`.
        let (before, last) = key.rsplit_once('/').unwrap_or(("", key));
        let scope = before.rsplit('/').next().filter(|scope| scope.starts_with('@'));
        let installed = scope.map_or_else(|| last.to_owned(), |scope| format!("{scope}/{last}"));
        let is_alias = installed != name && matches!(source, Source::Registry(_) | Source::DefaultRegistry);
        entries.push(Entry {
            name: if is_alias { installed } else { name.to_owned() },
            version: if is_alias {
                format!("npm:{id}")
            } else {
                specifier.to_owned()
            },
            source,
            hash: Hash::required(!hashes.is_empty()),
            integrity: joined(hashes.iter().map(String::as_str)),
            source_text: source_text.to_owned(),
            anchor: format!("\"{key}\": ["),
            files: Vec::new(),
        });
    }
    Ok(entries)
}

/// JSON as bun writes it, made into what every reader takes. The text keeps its length.
fn without_trailing_commas(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut in_string, mut escaped, mut comma) = (false, false, None);
    for at in 0..bytes.len() {
        let byte = bytes[at];
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => (in_string, comma) = (true, None),
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Deserialize)]
struct Pipfile {
    #[serde(rename = "_meta", default)]
    meta: PipfileMeta,
    #[serde(flatten)]
    sections: BTreeMap<String, BTreeMap<String, PipfilePackage>>,
}

#[derive(Deserialize, Default)]
struct PipfileMeta {
    #[serde(default)]
    sources: Vec<PipfileSource>,
}

#[derive(Deserialize)]
struct PipfileSource {
    #[serde(default)]
    name: String,
    url: String,
    /// False if any certificate will do.
    verify_ssl: Option<bool>,
}

impl PipfileSource {
    /// Its server. One that anybody can be taken for is another one.
    fn origin(&self) -> String {
        let origin = origin(&self.url);
        match self.verify_ssl {
            Some(false) => format!("{origin}?verify_ssl=false"),
            _ => origin,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PipfilePackage {
    version: String,
    hashes: Vec<String>,
    /// The name of the source that it is from.
    index: Option<String>,
    #[serde(alias = "bzr", alias = "hg", alias = "svn")]
    git: Option<String>,
    file: Option<String>,
    path: Option<String>,
}

pub(super) fn pipfile(text: &str) -> Result<Vec<Entry>, String> {
    let file: Pipfile = read(text)?;
    let mut entries: Vec<Entry> = file
        .meta
        .sources
        .iter()
        .map(|source| Entry {
            source: Source::Registry(source.origin()),
            ..place(LIST_OF_SOURCES, "", &source.url)
        })
        .collect();
    for (name, package) in file.sections.values().flatten() {
        let index = package.index.as_ref();
        let index = index.and_then(|index| file.meta.sources.iter().find(|source| source.name == *index));
        let url = package.file.as_deref().filter(|file| file.contains("://"));
        let (source, source_text) = match (&package.git, url, &package.path, &package.file) {
            (Some(git), ..) => (Source::Git(repository(git)), git.as_str()),
            (None, Some(url), ..) => (Source::Url(repository(url)), url),
            (None, None, None, None) => match index {
                Some(index) => (Source::Registry(index.origin()), index.url.as_str()),
                None => (Source::DefaultRegistry, ""),
            },
            _ => (Source::Local, ""),
        };
        entries.push(Entry {
            name: name.clone(),
            version: package.version.clone(),
            source,
            hash: Hash::required(!package.hashes.is_empty()),
            integrity: joined(package.hashes.iter().map(String::as_str)),
            source_text: source_text.to_owned(),
            anchor: format!("\"{name}\": {{"),
            files: Vec::new(),
        });
    }
    Ok(entries)
}

/// One more registry that packages come from.
pub(super) fn place(name: &str, version: &str, url: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        version: version.to_owned(),
        source: Source::Registry(origin(url)),
        hash: Hash::Beside,
        integrity: String::new(),
        source_text: url.to_owned(),
        anchor: url.to_owned(),
        files: Vec::new(),
    }
}

/// Files of this project that a package can come from.
pub(super) fn own_place(name: &str, version: &str, path: &str) -> Entry {
    Entry {
        source: Source::Local,
        ..place(name, version, path)
    }
}

#[derive(Deserialize)]
struct ComposerFile {
    #[serde(default)]
    packages: Vec<ComposerPackage>,
    #[serde(default, rename = "packages-dev")]
    packages_dev: Vec<ComposerPackage>,
}

#[derive(Deserialize)]
struct ComposerPackage {
    name: String,
    #[serde(default)]
    version: String,
    source: Option<ComposerSource>,
    dist: Option<ComposerSource>,
    #[serde(rename = "notification-url")]
    notification_url: Option<String>,
}

#[derive(Deserialize)]
struct ComposerSource {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    url: String,
    reference: Option<String>,
    shasum: Option<String>,
    mirrors: Option<Vec<ComposerMirror>>,
}

#[derive(Deserialize)]
struct ComposerMirror {
    url: String,
}

pub(super) fn composer(text: &str) -> Result<Vec<Entry>, String> {
    let file: ComposerFile = read(text)?;
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    for package in file.packages.iter().chain(&file.packages_dev) {
        if !names.insert(package.name.to_lowercase()) {
            return Err(format!(
                "it can be read in two ways: `{}` stands twice",
                shortened(&package.name)
            ));
        }
        let dist = package.dist.as_ref().filter(|dist| !dist.url.is_empty());
        let reference = dist
            .or(package.source.as_ref())
            .and_then(|from| from.reference.as_deref());
        // A branch is what it is at a commit.
        let is_branch = package.version.starts_with("dev-") || package.version.ends_with("-dev");
        let version = match reference.filter(|_| is_branch) {
            Some(reference) => format!("{}@{reference}", package.version),
            None => package.version.clone(),
        };
        let repository_url = package
            .source
            .as_ref()
            .map(|source| source.url.as_str())
            .filter(|url| !url.is_empty());
        // Only a registry wants to be notified; a package without that address, or without an archive, is fetched from where
        // it is developed.
        // Beside a directory of the project a repository is what Composer prefers for a branch, and takes if the directory is
        // not there.
        let archive = dist.filter(|dist| dist.kind != "path");
        let (source, source_text) = match (&package.notification_url, repository_url, archive) {
            (_, None, None) if dist.is_some() => (Source::Local, ""),
            (Some(url), _, Some(_)) | (Some(url), None, None) => (Source::Registry(origin(url)), url.as_str()),
            (_, Some(url), _) => (Source::Git(repository(url)), url),
            (None, None, Some(dist)) => (Source::Url(repository(&dist.url)), dist.url.as_str()),
            (None, None, None) => (Source::Local, ""),
        };
        if source != Source::Local {
            // The code comes from the first one that answers, or that a setting prefers.
            let both = [&package.source, &package.dist].into_iter().flatten();
            let mirrors = both.flat_map(|from| from.mirrors.iter().flatten());
            let archive = archive.filter(|_| !matches!(source, Source::Url(_)));
            let urls = archive.map(|archive| &archive.url).into_iter();
            entries.extend(
                urls.chain(mirrors.map(|mirror| &mirror.url))
                    .map(|url| place(&package.name, &version, url)),
            );
        }
        // Except for a branch's version, the directory is what Composer takes.
        if let Some(dist) = dist.filter(|dist| dist.kind == "path" && source != Source::Local) {
            entries.push(own_place(&package.name, &version, &dist.url));
        }
        if let (Source::Registry(_), Some(url)) = (&source, repository_url) {
            entries.push(Entry {
                source: Source::Git(repository(url)),
                ..place(&package.name, &version, url)
            });
        }
        let has_hash = dist.is_some_and(|dist| dist.shasum.as_deref().is_some_and(|sum| !sum.is_empty()));
        entries.push(Entry {
            name: package.name.clone(),
            version,
            source,
            hash: if has_hash { Hash::Present } else { Hash::Optional },
            integrity: dist.and_then(|dist| dist.shasum.clone()).unwrap_or_default(),
            source_text: source_text.to_owned(),
            anchor: format!("\"name\": \"{}\"", package.name),
            files: Vec::new(),
        });
    }
    Ok(entries)
}
