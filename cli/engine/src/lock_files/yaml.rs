//! Lock files in YAML: pnpm, and Yarn since version 2.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_norway::{Deserializer, Value};

use super::{
    entry::{Entry, Hash, Source, npm_hashes, npm_source, origin, repository, split_name},
    json::place,
    nesting::refuse_nesting,
    plain::{Unambiguous, refuse_characters, shortened},
};

/// Refuses what another reader of YAML takes for something else, and no package manager writes: anchors, aliases, tags, merge
/// keys, and keys that stand twice.
fn refuse_indirections(text: &str) -> Result<(), String> {
    refuse_characters(text)?;
    refuse_nesting(text, |piece| each::<IgnoredAny>(piece).is_ok())?;
    each::<IgnoredAny>(text).map_err(|error| format!("it is not valid YAML: {error}"))?;
    // With `@` no word may begin. So a text that is as good with it in the place of what begins an anchor, an alias or a tag
    // has none of them: within a word, a quote or a comment nothing changes.
    each::<IgnoredAny>(&text.replace(['&', '*', '!'], "@"))
        .map_err(|error| format!("it has an anchor, an alias or a tag: {error}"))?;
    each::<Unambiguous>(text).map_err(|error| format!("it can be read in two ways: {error}"))
}

/// Reads each document and drops it.
fn each<T: DeserializeOwned>(text: &str) -> Result<(), serde_norway::Error> {
    Deserializer::from_str(text).try_for_each(|document| T::deserialize(document).map(|_| ()))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    refuse_indirections(text)?;
    serde_norway::from_str(text).map_err(|error| format!("it is not valid YAML: {error}"))
}

/// Reads each document: pnpm keeps itself, and what its settings load, in one of its own before that of the project.
fn read_all<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, String> {
    refuse_indirections(text)?;
    let mut documents = Vec::new();
    for document in Deserializer::from_str(text) {
        // A document without anything in it is null.
        let document = Option::<T>::deserialize(document).map_err(|error| format!("it is not valid YAML: {error}"))?;
        documents.extend(document);
    }
    if documents.is_empty() {
        return Err("it is not valid YAML: it is empty".to_owned());
    }
    Ok(documents)
}

/// Dependencies by the names under which they are installed, each with a version, or the key of another package, perhaps as
/// `version` beside what was asked for.
type Dependencies = BTreeMap<String, Value>;

#[derive(Deserialize)]
struct PnpmFile {
    #[serde(default)]
    packages: BTreeMap<String, PnpmPackage>,
    /// Dependencies of the project's directories.
    #[serde(default)]
    importers: BTreeMap<String, PnpmNeeds>,
    /// Dependencies of packages, since version 9 of the format.
    #[serde(default)]
    snapshots: BTreeMap<String, PnpmNeeds>,
    /// Dependencies of a project of one directory, before version 9.
    #[serde(default)]
    dependencies: Dependencies,
    #[serde(default, rename = "devDependencies")]
    dev_dependencies: Dependencies,
    #[serde(default, rename = "optionalDependencies")]
    optional_dependencies: Dependencies,
}

#[derive(Deserialize)]
struct PnpmNeeds {
    #[serde(default, rename = "dependencies")]
    always: Dependencies,
    #[serde(default, rename = "devDependencies")]
    dev: Dependencies,
    #[serde(default, rename = "optionalDependencies")]
    optional: Dependencies,
    #[serde(default, rename = "configDependencies")]
    config: Dependencies,
    #[serde(default, rename = "packageManagerDependencies")]
    package_manager: Dependencies,
}

impl PnpmNeeds {
    fn all(&self) -> [&Dependencies; 5] {
        [
            &self.always,
            &self.dev,
            &self.optional,
            &self.config,
            &self.package_manager,
        ]
    }
}

#[derive(Deserialize)]
struct PnpmPackage {
    /// Its name, where the key is a place. pnpm installs the package of this name and version also where the key has others.
    name: Option<String>,
    version: Option<Value>,
    #[serde(default)]
    resolution: PnpmResolution,
    #[serde(default)]
    dependencies: Dependencies,
    #[serde(default, rename = "optionalDependencies")]
    optional_dependencies: Dependencies,
}

#[derive(Deserialize, Default)]
struct PnpmResolution {
    integrity: Option<String>,
    tarball: Option<String>,
    repo: Option<String>,
    directory: Option<String>,
    /// The server, where a very old version wrote it.
    registry: Option<String>,
    /// Where a program is fetched from as it is, such as a runtime.
    url: Option<String>,
    /// The same for several platforms.
    #[serde(default)]
    variants: Vec<PnpmVariant>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[expect(clippy::zero_sized_map_values, reason = "fields are flattened into a map alone")]
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

impl PnpmResolution {
    /// Fields beside those of the type that pnpm writes, and kinds that it knows itself, not by a plugin.
    const FIELDS: [&str; 7] = ["archive", "bin", "commit", "gitHosted", "path", "prefix", "revision"];
    const KINDS: [&str; 4] = ["binary", "directory", "git", "variations"];

    /// Refuses what may decide where the package comes from in a way that no rule knows.
    fn refuse_unknown(&self, key: &str) -> Result<(), String> {
        let mut others = self.others.keys().map(String::as_str);
        let field = others.find(|field| !Self::FIELDS.contains(field));
        let kind = self.kind.as_deref().filter(|kind| !Self::KINDS.contains(kind));
        let tarball = self.tarball.as_deref().filter(|tarball| !is_plain_address(tarball));
        if let Some(unknown) = field.or(kind).or(tarball) {
            let (key, unknown) = (shortened(key), shortened(unknown));
            return Err(format!(
                "the resolution of `{key}` has `{unknown}`, which pnpm does not write"
            ));
        }
        // Which of several places counts, pnpm decides by the type.
        let is = |kind: &str| self.kind.as_deref() == Some(kind);
        let places = [&self.tarball, &self.repo, &self.directory, &self.url];
        let fits = is("git") == self.repo.is_some() && is("directory") == self.directory.is_some();
        if !fits || places.into_iter().flatten().count() > 1 {
            let key = shortened(key);
            return Err(format!(
                "the resolution of `{key}` names another place than its type is for, or more than one"
            ));
        }
        let mut variants = self.variants.iter();
        variants.try_for_each(|variant| variant.resolution.refuse_unknown(key))
    }
}

/// Returns whether a tarball has a whole address, or a path that can lead nowhere but to the registry or into the project.
fn is_plain_address(tarball: &str) -> bool {
    let is_plain = tarball.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    tarball.starts_with("file:")
        || is_plain && (tarball.contains("://") || !tarball.contains(':') && !tarball.starts_with('/'))
}

#[derive(Deserialize)]
struct PnpmVariant {
    resolution: PnpmResolution,
}

impl PnpmResolution {
    /// Adds the addresses of programs, and the registry, each as one more place of this package.
    fn add_programs(&self, package: &Entry, places: &mut Vec<Entry>) {
        let urls = self.url.iter().chain(&self.registry);
        places.extend(urls.map(|url| place(&package.name, &package.version, url)));
        for PnpmVariant { resolution } in &self.variants {
            let archives = resolution.tarball.iter();
            places.extend(archives.map(|url| place(&package.name, &package.version, url)));
            resolution.add_programs(package, places);
        }
    }
}

pub(super) fn pnpm(text: &str) -> Result<Vec<Entry>, String> {
    let documents: Vec<PnpmFile> = read_all(text)?;
    for (key, package) in documents.iter().flat_map(|file| &file.packages) {
        package.resolution.refuse_unknown(key)?;
    }
    Ok(documents.iter().flat_map(pnpm_document).collect())
}

fn pnpm_document(file: &PnpmFile) -> Vec<Entry> {
    let entries = file.packages.iter().map(|(key, package)| {
        let resolution = &package.resolution;
        let (source, source_text) = match (&resolution.repo, &resolution.tarball, &resolution.directory) {
            (Some(url), ..) => (Source::Git(repository(url)), url.clone()),
            (None, Some(url), _) => (npm_source(url), url.clone()),
            (None, None, Some(_)) => (Source::Local, String::new()),
            (None, None, None) => (Source::DefaultRegistry, String::new()),
        };
        let is_served = matches!(source, Source::Registry(_) | Source::DefaultRegistry);
        let (name, version) = pnpm_name(key, package, is_served);
        Entry {
            name,
            version,
            source,
            hash: Hash::required(resolution.integrity.is_some()),
            integrity: npm_hashes(resolution.integrity.as_deref().unwrap_or_default()),
            source_text,
            anchor: key.clone(),
            files: Vec::new(),
        }
    });
    let mut entries: Vec<Entry> = entries.collect();
    let mut more = pnpm_aliases(file, &entries);
    for (package, entry) in file.packages.values().zip(&entries) {
        package.resolution.add_programs(entry, &mut more);
    }
    entries.append(&mut more);
    entries
}

/// Name and version of a package. One of a registry whose field names another package than its key is an alias.
fn pnpm_name(key: &str, package: &PnpmPackage, is_served: bool) -> (String, String) {
    // `/name@1.0.0`, `/name/1.0.0` and `name@1.0.0`, each perhaps followed by what it was resolved against.
    let plain = key.trim_start_matches('/').split('(').next().unwrap_or_default();
    let (name, version) = match split_name(plain) {
        (name, "") => name.rsplit_once('/').unwrap_or((name, "")),
        both => both,
    };
    let Some(written) = &package.name else {
        return (name.to_owned(), version.to_owned());
    };
    let installed = package.version.as_ref().and_then(Value::as_str);
    if !is_served {
        (written.clone(), version.to_owned())
    } else if is_in_key(written, key) {
        (written.clone(), installed.unwrap_or(version).to_owned())
    } else {
        let other = installed.unwrap_or(version);
        (name.to_owned(), format!("npm:{written}@{other}"))
    }
}

/// Returns whether a key of pnpm is that of a package of this name, perhaps behind the host of its registry:
/// `/name/1.0.0`, `npm.example.com/name/1.0.0`, `@registry.npmjs.org/name/-/name-1.0.0.tgz`.
fn is_in_key(name: &str, key: &str) -> bool {
    let follows = |rest: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['/', '@']));
    if follows(key.strip_prefix('/').unwrap_or(key)) {
        return true;
    }
    match key.split_once('/') {
        // What begins with `@` is a scope, unless a tarball is behind it.
        Some((host, rest)) if host.starts_with('@') => {
            follows(rest) && rest.strip_prefix(name).is_some_and(|rest| rest.starts_with("/-/"))
        }
        Some((host, rest)) => host.contains('.') && follows(rest),
        None => false,
    }
}

/// Names under which another package is installed, or a directory of the project.
fn pnpm_aliases(file: &PnpmFile, entries: &[Entry]) -> Vec<Entry> {
    let of_registries = file.packages.keys().map(String::as_str).zip(entries);
    let of_registries: HashMap<&str, &Entry> = of_registries
        .filter(|(_, entry)| matches!(entry.source, Source::Registry(_) | Source::DefaultRegistry))
        .collect();
    let needs = file.importers.values().chain(file.snapshots.values());
    let needs = needs.flat_map(PnpmNeeds::all);
    let of_packages = file.packages.values();
    let of_packages = of_packages.flat_map(|package| [&package.dependencies, &package.optional_dependencies]);
    let root = [&file.dependencies, &file.dev_dependencies, &file.optional_dependencies];
    let mut seen = BTreeSet::new();
    let mut aliases = Vec::new();
    for (name, dependency) in needs.chain(of_packages).chain(root).flatten() {
        let version = dependency.as_str().or_else(|| dependency.get("version")?.as_str());
        // Perhaps followed by what it was resolved against.
        let plain = version.and_then(|version| version.split('(').next());
        let mut keys = [version, plain].into_iter().flatten();
        let Some((key, package)) = keys.find_map(|key| of_registries.get_key_value(key)) else {
            // A version of the package of that name, or a place. A directory that is linked stands nowhere else.
            if let Some(link) = version.filter(|version| version.starts_with("link:"))
                && seen.insert((name, link))
            {
                aliases.push(Entry {
                    name: name.clone(),
                    version: String::new(),
                    source: Source::Local,
                    hash: Hash::Beside,
                    integrity: String::new(),
                    source_text: String::new(),
                    anchor: link.to_owned(),
                    files: Vec::new(),
                });
            }
            continue;
        };
        if package.name != *name && seen.insert((name, *key)) {
            aliases.push(Entry {
                name: name.clone(),
                version: format!("npm:{}@{}", package.name, package.version),
                source: Source::DefaultRegistry,
                // That of the package itself.
                hash: Hash::Beside,
                integrity: String::new(),
                source_text: (*key).to_owned(),
                anchor: (*key).to_owned(),
                files: Vec::new(),
            });
        }
    }
    aliases
}

#[derive(Deserialize)]
struct BerryPackage {
    resolution: Option<String>,
    checksum: Option<String>,
    conditions: Option<String>,
    #[expect(clippy::zero_sized_map_values, reason = "fields are flattened into a map alone")]
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// The entry about the file itself.
const BERRY_METADATA: &str = "__metadata";

/// Fields of a package, beside those of the type, that Yarn writes since version 2.
const BERRY_FIELDS: [&str; 9] = [
    "bin",
    "dependencies",
    "dependenciesMeta",
    "languageName",
    "linkType",
    "optionalDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "version",
];

/// Returns whether a lock file of Yarn is one of version 2 or newer. One that names the older format in a comment is read as
/// that by each version.
pub(super) fn is_berry(text: &str) -> bool {
    let is_older = |line: &str| line.starts_with('#') && line.to_lowercase().contains("lockfile");
    let begins = |line: &str| {
        line.strip_prefix(BERRY_METADATA)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    text.lines().any(begins) && !text.lines().any(is_older)
}

pub(super) fn yarn_berry(text: &str) -> Result<Vec<Entry>, String> {
    let mut file: BTreeMap<String, BerryPackage> = read(text)?;
    file.remove(BERRY_METADATA);
    let mut entries = Vec::new();
    for (requests, package) in &file {
        if let Some(field) = package
            .others
            .keys()
            .find(|field| !BERRY_FIELDS.contains(&field.as_str()))
        {
            let (requests, field) = (shortened(requests), shortened(field));
            return Err(format!("`{requests}` has `{field}`, which Yarn does not write"));
        }
        let Some(resolution) = &package.resolution else {
            return Err(format!("`{}` has no resolution", shortened(requests)));
        };
        let (installed, written) = split_name(resolution);
        let patched = builtin_patch(written);
        let (name, specifier) = match &patched {
            Some((locator, _)) => split_name(locator),
            None => (installed, written),
        };
        let (source, source_text) = match specifier.split_once("__archiveUrl=") {
            Some((_, url)) => (Source::Registry(archive_origin(url)), url),
            None => (npm_source(specifier.strip_prefix("npm:").unwrap_or(specifier)), written),
        };
        // What is behind is where the version comes from.
        let version = specifier.split("::").next().unwrap_or_default();
        let is_served = matches!(source, Source::Registry(_) | Source::DefaultRegistry);
        if is_served {
            let names = requests.split(", ").map(|request| split_name(request).0);
            let others: BTreeSet<&str> = names.chain([installed]).filter(|other| *other != name).collect();
            let version = version.strip_prefix("npm:").unwrap_or(version);
            entries.extend(others.into_iter().map(|other| Entry {
                name: other.to_owned(),
                version: format!("npm:{name}@{version}"),
                source: source.clone(),
                // That of the package itself.
                hash: Hash::Beside,
                integrity: String::new(),
                source_text: source_text.to_owned(),
                anchor: format!("\"{requests}\":"),
                files: Vec::new(),
            }));
        }
        entries.push(Entry {
            name: name.to_owned(),
            version: match &patched {
                Some((_, patch)) => format!("{version}+{patch}"),
                None => version.to_owned(),
            },
            source,
            hash: match (&package.checksum, &package.conditions) {
                (Some(_), _) => Hash::Present,
                // Yarn makes it of the package that the registry serves, which has an entry of its own.
                (None, _) if is_served && patched.is_some() => Hash::Beside,
                // What is for another platform may never have been fetched.
                (None, Some(_)) => Hash::Optional,
                (None, None) => Hash::Missing,
            },
            integrity: package.checksum.clone().unwrap_or_default(),
            source_text: source_text.to_owned(),
            anchor: format!("resolution: \"{resolution}\""),
            files: Vec::new(),
        });
    }
    Ok(entries)
}

/// The package that a patch of Yarn itself is for, as its own locator, and the patch; `None` for a patch of the project.
/// Both stand in `patch:typescript@npm%3A5.3.3#optional!builtin<compat/typescript>::version=5.3.3&hash=e012d7`.
fn builtin_patch(specifier: &str) -> Option<(String, &str)> {
    let (locator, patch) = specifier.strip_prefix("patch:")?.split_once('#')?;
    let patch = patch.split("::").next().unwrap_or_default();
    let patch = patch.trim_start_matches("optional!").trim_start_matches('~');
    let name = patch.strip_prefix("builtin<")?.strip_suffix('>')?;
    // More than one patch is a list.
    let is_one = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte));
    is_one.then(|| (unescape(locator), patch))
}

fn archive_origin(url: &str) -> String {
    origin(&unescape(url.split("::").next().unwrap_or_default()))
}

/// The escapes of locators and addresses, undone once.
pub(super) fn unescape(text: &str) -> String {
    text.replace("%3A", ":")
        .replace("%3a", ":")
        .replace("%2F", "/")
        .replace("%2f", "/")
        .replace("%40", "@")
        .replace("%23", "#")
        .replace("%25", "%")
}
