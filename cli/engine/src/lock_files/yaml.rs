//! Lock files in YAML: pnpm, and Yarn since version 2.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};

use super::entry::{Entry, Hash, Source, npm_hashes, npm_source, origin, repository, split_name};

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_norway::from_str(text).map_err(|error| format!("it is not valid YAML: {error}"))
}

#[derive(Deserialize)]
struct PnpmFile {
    #[serde(default)]
    packages: BTreeMap<String, PnpmPackage>,
}

#[derive(Deserialize)]
struct PnpmPackage {
    #[serde(default)]
    resolution: PnpmResolution,
}

#[derive(Deserialize, Default)]
struct PnpmResolution {
    #[serde(default)]
    integrity: Option<String>,
    #[serde(default)]
    tarball: Option<String>,
    #[serde(default)]
    repo: Option<String>,
    #[serde(default)]
    directory: Option<String>,
}

pub(super) fn pnpm(text: &str) -> Result<Vec<Entry>, String> {
    let file: PnpmFile = read(text)?;
    let entries = file.packages.iter().map(|(key, package)| {
        let resolution = &package.resolution;
        let (source, source_text) = match (&resolution.repo, &resolution.tarball, &resolution.directory) {
            (Some(url), ..) => (Source::Git(repository(url)), url.clone()),
            (None, Some(url), _) => (npm_source(url), url.clone()),
            (None, None, Some(_)) => (Source::Local, String::new()),
            (None, None, None) => (Source::DefaultRegistry, String::new()),
        };
        // `/name@1.0.0`, `/name/1.0.0` and `name@1.0.0`, each perhaps followed by what it was resolved against.
        let plain = key.trim_start_matches('/').split('(').next().unwrap_or_default();
        let (name, version) = match split_name(plain) {
            (name, "") => name.rsplit_once('/').unwrap_or((name, "")),
            both => both,
        };
        Entry {
            name: name.to_owned(),
            version: version.to_owned(),
            source,
            hash: Hash::required(resolution.integrity.is_some()),
            integrity: npm_hashes(resolution.integrity.as_deref().unwrap_or_default()),
            source_text,
            anchor: key.clone(),
        }
    });
    Ok(entries.collect())
}

#[derive(Deserialize)]
struct BerryPackage {
    #[serde(default)]
    resolution: Option<String>,
    #[serde(default)]
    checksum: Option<String>,
    #[serde(default)]
    conditions: Option<String>,
}

pub(super) fn yarn_berry(text: &str) -> Result<Vec<Entry>, String> {
    let file: BTreeMap<String, BerryPackage> = read(text)?;
    let mut entries = Vec::new();
    for package in file.values() {
        let Some(resolution) = &package.resolution else {
            continue;
        };
        let (name, specifier) = split_name(resolution);
        let (source, source_text) = match specifier.split_once("__archiveUrl=") {
            Some((_, url)) => (Source::Registry(origin(&unescape(url))), url),
            None => (
                npm_source(specifier.strip_prefix("npm:").unwrap_or(specifier)),
                specifier,
            ),
        };
        entries.push(Entry {
            name: name.to_owned(),
            // What is behind is where the version comes from.
            version: specifier.split("::").next().unwrap_or_default().to_owned(),
            source,
            // What is for another platform may never have been fetched.
            hash: match (&package.checksum, &package.conditions) {
                (Some(_), _) => Hash::Present,
                (None, Some(_)) => Hash::Optional,
                (None, None) => Hash::Missing,
            },
            integrity: package.checksum.clone().unwrap_or_default(),
            source_text: source_text.to_owned(),
            anchor: format!("resolution: \"{resolution}\""),
        });
    }
    Ok(entries)
}

/// The two escapes that stand before the path of an address.
fn unescape(url: &str) -> String {
    let url = url.split("::").next().unwrap_or_default();
    url.replace("%3A", ":")
        .replace("%3a", ":")
        .replace("%2F", "/")
        .replace("%2f", "/")
        .replace("%40", "@")
}
