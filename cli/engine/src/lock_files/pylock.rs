//! Lock files of Python's standard: `pylock.toml`
//! (<https://packaging.python.org/en/latest/specifications/pylock-toml/>).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    entry::{Entry, Hash, Source, file_name, joined, origin, repository},
    json::{own_place, place},
    plain::shortened,
    toml,
};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pylock {
    lock_version: String,
    #[serde(default)]
    packages: Vec<Package>,
}

/// It has a repository, a directory or an archive, or else files of an index.
#[derive(Deserialize)]
struct Package {
    name: String,
    #[serde(default)]
    version: String,
    index: Option<String>,
    vcs: Option<Repository>,
    directory: Option<Directory>,
    archive: Option<File>,
    sdist: Option<File>,
    #[serde(default)]
    wheels: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Repository {
    url: Option<String>,
    path: Option<String>,
    commit_id: Option<String>,
}

#[derive(Deserialize)]
struct Directory {
    path: String,
}

#[derive(Deserialize)]
struct File {
    /// Its name, where the address does not end in it.
    name: Option<String>,
    url: Option<String>,
    path: Option<String>,
    /// Digests by their algorithms.
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

impl File {
    /// The digests with their algorithms; empty if none is one.
    fn hashes(&self) -> Vec<String> {
        let hashes = self.hashes.iter().filter(|(_, digest)| !digest.is_empty());
        hashes
            .map(|(algorithm, digest)| format!("{algorithm}:{digest}"))
            .collect()
    }
}

pub(super) fn read(text: &str) -> Result<Vec<Entry>, String> {
    let file: Pylock = toml::read(text)?;
    if file.lock_version.split('.').next() != Some("1") {
        return Err("its `lock-version` is not 1, the only one that is known".to_owned());
    }
    for package in &file.packages {
        let (vcs, directory, archive) = (&package.vcs, &package.directory, &package.archive);
        let places = [vcs.is_some(), directory.is_some(), archive.is_some()];
        if places.into_iter().filter(|is_there| *is_there).count() > 1 {
            return Err(format!("`{}` names more than one place", shortened(&package.name)));
        }
    }
    Ok(file.packages.iter().flat_map(entries).collect())
}

/// The package, and the places that its files come from.
fn entries(package: &Package) -> Vec<Entry> {
    let files: Vec<&File> = package
        .archive
        .iter()
        .chain(&package.sdist)
        .chain(&package.wheels)
        .collect();
    let (source, source_text) = source(package);
    let commit = package.vcs.as_ref().and_then(|vcs| vcs.commit_id.as_deref());
    let version = if package.version.is_empty() {
        commit.unwrap_or_default()
    } else {
        &package.version
    };
    let mut entries = Vec::new();
    if matches!(source, Source::Registry(_) | Source::DefaultRegistry) {
        for file in &files {
            let urls = file.url.iter();
            entries.extend(urls.map(|url| place(&package.name, version, url)));
            // A file beside the lock file is installed as it is.
            let paths = file.path.iter();
            entries.extend(paths.map(|path| own_place(&package.name, version, path)));
        }
    }
    let served = package.sdist.iter().chain(&package.wheels);
    let names = served.flat_map(|file| [&file.name, &file.url, &file.path]).flatten();
    let names = names.map(|name| file_name(name).to_owned()).collect();
    let hashes: Vec<Vec<String>> = files.iter().map(|file| file.hashes()).collect();
    let is_hashed = !hashes.is_empty() && hashes.iter().all(|hashes| !hashes.is_empty());
    entries.push(Entry {
        name: package.name.clone(),
        version: version.to_owned(),
        source,
        hash: Hash::required(is_hashed),
        integrity: joined(hashes.iter().flatten().map(String::as_str)),
        source_text,
        anchor: match package.version.as_str() {
            "" => format!("name = \"{}\"", package.name),
            version => toml::anchor(&package.name, version),
        },
        files: names,
    });
    entries
}

/// Where the package comes from, and the text that says so.
fn source(package: &Package) -> (Source, String) {
    match (&package.vcs, &package.directory, &package.archive, &package.index) {
        (Some(vcs), ..) => remote(vcs.url.as_deref(), vcs.path.as_deref(), Source::Git),
        (None, Some(directory), ..) => (Source::Local, directory.path.clone()),
        (None, None, Some(archive), _) => remote(archive.url.as_deref(), archive.path.as_deref(), Source::Url),
        (None, None, None, Some(index)) => (Source::Registry(origin(index)), index.clone()),
        (None, None, None, None) => (Source::DefaultRegistry, String::new()),
    }
}

/// An address, unless a path stands beside it, which may be what is installed.
fn remote(url: Option<&str>, path: Option<&str>, kind: fn(String) -> Source) -> (Source, String) {
    match (url, path) {
        (Some(url), None) => (kind(repository(url)), url.to_owned()),
        (_, path) => (Source::Local, path.unwrap_or_default().to_owned()),
    }
}
