//! Lock files in TOML: Cargo, Poetry, uv.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use super::{
    entry::{Entry, Hash, Source, file_name, joined, origin, repository},
    json::{own_place, place},
};

pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    ::toml::from_str(text).map_err(|error| format!("it is not valid TOML: {}", error.message()))
}

/// Returns whether a field for a hash holds one.
fn is_hashed(hash: Option<&str>) -> bool {
    hash.is_some_and(|hash| !hash.is_empty())
}

pub(super) fn anchor(name: &str, version: &str) -> String {
    format!("name = \"{name}\"\nversion = \"{version}\"")
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CargoFile {
    package: Vec<CargoPackage>,
    /// The first version of the format keeps the hashes apart.
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

pub(super) fn cargo(text: &str) -> Result<Vec<Entry>, String> {
    let file: CargoFile = read(text)?;
    let entries = file.package.iter().map(|package| {
        let written = package.source.clone().unwrap_or_default();
        let key = format!("checksum {} {} ({written})", package.name, package.version);
        let checksum = package.checksum.as_ref().or_else(|| file.metadata.get(&key));
        let source = match written.split_once('+') {
            Some(("registry", url)) => Source::Registry(repository(url)),
            Some(("sparse", url)) => Source::Registry(repository(url).trim_end_matches('/').to_owned()),
            Some(("git", url)) => Source::Git(repository(url)),
            Some((_, url)) => Source::Url(repository(url)),
            None => Source::Local,
        };
        Entry {
            name: package.name.clone(),
            version: package.version.clone(),
            source,
            hash: Hash::required(checksum.is_some()),
            integrity: checksum.cloned().unwrap_or_default(),
            anchor: anchor(&package.name, &package.version),
            source_text: written,
            files: Vec::new(),
        }
    });
    Ok(entries.collect())
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PoetryFile {
    package: Vec<PoetryPackage>,
    metadata: PoetryMetadata,
}

#[derive(Deserialize, Default)]
struct PoetryMetadata {
    /// Where older versions keep the hashes.
    #[serde(default)]
    files: BTreeMap<String, Vec<PoetryArtefact>>,
}

#[derive(Deserialize)]
struct PoetryPackage {
    name: String,
    version: String,
    #[serde(default)]
    files: Vec<PoetryArtefact>,
    source: Option<PoetrySource>,
}

#[derive(Deserialize)]
struct PoetryArtefact {
    file: Option<String>,
    hash: Option<String>,
}

#[derive(Deserialize)]
struct PoetrySource {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    url: String,
}

pub(super) fn poetry(text: &str) -> Result<Vec<Entry>, String> {
    let file: PoetryFile = read(text)?;
    let entries = file.package.iter().map(|package| {
        let source = match &package.source {
            None => Source::DefaultRegistry,
            Some(source) => match source.kind.as_str() {
                "git" => Source::Git(repository(&source.url)),
                "url" => Source::Url(repository(&source.url)),
                "directory" | "file" => Source::Local,
                _ => Source::Registry(origin(&source.url)),
            },
        };
        let older = file.metadata.files.get(&package.name).map_or(&[][..], Vec::as_slice);
        let artefacts = if package.files.is_empty() {
            older
        } else {
            &package.files
        };
        // At an address of its own, a file may have any name.
        let is_served = matches!(source, Source::Registry(_) | Source::DefaultRegistry);
        let files = artefacts.iter().filter_map(|artefact| artefact.file.clone());
        let files = files.filter(|_| is_served).collect();
        let hashed = !artefacts.is_empty() && artefacts.iter().all(|artefact| is_hashed(artefact.hash.as_deref()));
        Entry {
            name: package.name.clone(),
            version: package.version.clone(),
            source,
            hash: Hash::required(hashed),
            integrity: joined(artefacts.iter().filter_map(|artefact| artefact.hash.as_deref())),
            source_text: package
                .source
                .as_ref()
                .map(|source| source.url.clone())
                .unwrap_or_default(),
            anchor: anchor(&package.name, &package.version),
            files,
        }
    });
    Ok(entries.collect())
}

#[derive(Deserialize)]
struct UvFile {
    #[serde(default)]
    package: Vec<UvPackage>,
}

#[derive(Deserialize)]
struct UvPackage {
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    source: UvSource,
    sdist: Option<UvArtefact>,
    #[serde(default)]
    wheels: Vec<UvArtefact>,
}

#[derive(Deserialize, Default)]
struct UvSource {
    registry: Option<String>,
    git: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct UvArtefact {
    url: Option<String>,
    path: Option<String>,
    hash: Option<String>,
}

pub(super) fn uv(text: &str) -> Result<Vec<Entry>, String> {
    let file: UvFile = read(text)?;
    let mut entries = Vec::new();
    for package in &file.package {
        let written = &package.source;
        let (source, source_text) = match (&written.registry, &written.git, &written.url) {
            (Some(url), ..) if url.contains("://") => (Source::Registry(origin(url)), url.as_str()),
            (None, Some(url), _) => (Source::Git(repository(url)), url.as_str()),
            (None, None, Some(url)) => (Source::Url(repository(url)), url.as_str()),
            _ => (Source::Local, ""),
        };
        let artefacts: Vec<&UvArtefact> = package.sdist.iter().chain(&package.wheels).collect();
        let hashed = artefacts.iter().all(|artefact| is_hashed(artefact.hash.as_deref()));
        if matches!(source, Source::Registry(_)) {
            let urls = artefacts.iter().filter_map(|artefact| artefact.url.as_deref());
            entries.extend(
                urls.filter(|url| url.contains("://"))
                    .map(|url| place(&package.name, &package.version, url)),
            );
            let paths = artefacts.iter().filter_map(|artefact| artefact.path.as_deref());
            entries.extend(paths.map(|path| own_place(&package.name, &package.version, path)));
        }
        // At an address of its own, a file may have any name.
        let served = artefacts.iter().filter(|_| written.registry.is_some());
        let addresses = served.flat_map(|artefact| [&artefact.url, &artefact.path]).flatten();
        let files = addresses.map(|address| file_name(address).to_owned()).collect();
        entries.push(Entry {
            name: package.name.clone(),
            version: package.version.clone(),
            source,
            hash: Hash::required(hashed && !artefacts.is_empty()),
            integrity: joined(artefacts.iter().filter_map(|artefact| artefact.hash.as_deref())),
            source_text: source_text.to_owned(),
            anchor: anchor(&package.name, &package.version),
            files,
        });
    }
    Ok(entries)
}
