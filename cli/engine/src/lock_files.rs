//! Lock files: what a cheap check by rules finds in them.
//!
//! Nobody reads a lock file, neither people nor models: it leaves the diff as noise. Whoever wants to smuggle code in knows
//! that, too. So each changed lock file is read whole, at base and at head, and compared: a registry that was not used
//! before, a dependency that newly comes from a repository or an address, a hash that is missing. What is found is a
//! finding like a reviewer's; no model takes part, and none is needed.

mod compare;
mod entry;
mod flake;
mod json;
mod lines;
mod manifest;
mod nesting;
mod plain;
mod pylock;
mod toml;
mod yaml;
mod yarn_classic;

use std::collections::BTreeSet;

use conclave_shared::{finding::Finding, path_kind::LockFormat};

use self::{
    entry::{Entry, LockFile},
    manifest::Manifest,
    plain::shortened,
};

/// Maximum size of a lock file that is read, in bytes.
pub const MAX_LOCK_FILE: usize = 24 << 20;

/// A lock file that could not be checked; completes "failed to check PATH: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LockFileFault(String);

/// A changed lock file, as texts.
#[derive(Debug, Clone, Copy)]
pub struct ChangedLockFile<'a> {
    /// Its path at head.
    pub path: &'a str,
    /// Its text at base; `None` where there was none.
    pub base: Option<&'a str>,
    /// Its text at head.
    pub head: &'a str,
    /// The text of the `package.json` beside it at head, if there is one.
    pub manifest: Option<&'a str>,
}

/// The result of a check by the rules.
#[derive(Debug, Default)]
pub struct CheckedLockFile {
    /// The findings, without ids yet.
    pub findings: Vec<Finding>,
    /// True if it pinned packages at base, and pins none at head.
    pub is_emptied: bool,
}

/// The registries that packages of this format come from by default.
const fn usual_registries(format: LockFormat) -> &'static [&'static str] {
    match format {
        LockFormat::Bun | LockFormat::Npm | LockFormat::Pnpm | LockFormat::Yarn => {
            &["https://registry.npmjs.org", "https://registry.yarnpkg.com"]
        }
        LockFormat::Cargo => &[
            "https://github.com/rust-lang/crates.io-index",
            "https://index.crates.io",
        ],
        LockFormat::Composer => &[
            "https://packagist.org",
            "https://repo.packagist.org",
            "https://api.github.com",
            "https://gitlab.com",
            "https://bitbucket.org",
        ],
        LockFormat::Flake => &[],
        LockFormat::Gem => &["https://rubygems.org"],
        LockFormat::Go => &[
            "bitbucket.org",
            "cel.dev",
            "cloud.google.com",
            "github.com",
            "gitlab.com",
            "go.etcd.io",
            "go.mongodb.org",
            "go.opentelemetry.io",
            "go.uber.org",
            "go.yaml.in",
            "golang.org",
            "google.golang.org",
            "gopkg.in",
            "gotest.tools",
            "honnef.co",
            "k8s.io",
            "modernc.org",
            "sigs.k8s.io",
        ],
        LockFormat::Pipfile | LockFormat::Poetry | LockFormat::Pylock | LockFormat::Uv => {
            &["https://pypi.org", "https://files.pythonhosted.org"]
        }
    }
}

fn read(format: LockFormat, text: &str) -> Result<LockFile, LockFileFault> {
    let entries = match format {
        LockFormat::Bun => json::bun(text),
        LockFormat::Composer => json::composer(text),
        LockFormat::Flake => flake::read(text),
        LockFormat::Npm => json::npm(text),
        LockFormat::Pipfile => json::pipfile(text),
        LockFormat::Cargo => toml::cargo(text),
        LockFormat::Poetry => toml::poetry(text),
        LockFormat::Pylock => pylock::read(text),
        LockFormat::Uv => toml::uv(text),
        LockFormat::Pnpm => yaml::pnpm(text),
        LockFormat::Yarn if yaml::is_berry(text) => yaml::yarn_berry(text),
        LockFormat::Yarn => yarn_classic::read(text),
        LockFormat::Gem => lines::gemfile(text),
        LockFormat::Go => lines::go_sum(text),
    };
    let mut entries = entries.and_then(refuse_backslashes).map_err(LockFileFault)?;
    for entry in &mut entries {
        entry.name = one_spelling(format, &entry.name);
    }
    Ok(LockFile::new(entries))
}

/// Refuses addresses with a backslash: some readers take it for a slash that ends the host, others for a part of a user's name
/// before the host.
fn refuse_backslashes(entries: Vec<Entry>) -> Result<Vec<Entry>, String> {
    let is_read_in_two_ways = |entry: &&Entry| entry.source_text.contains("://") && entry.source_text.contains('\\');
    match entries.iter().find(is_read_in_two_ways) {
        Some(entry) => Err(format!(
            "the address of `{}` has a backslash, so it can be read in two ways",
            shortened(&entry.name)
        )),
        None => Ok(entries),
    }
}

/// The name of a package as its package manager compares it: for Python's, `core-lib` and `Core_Lib` are one package
/// (<https://packaging.python.org/en/latest/specifications/name-normalization/>), and for Composer case does not count.
fn one_spelling(format: LockFormat, name: &str) -> String {
    match format {
        LockFormat::Composer => name.to_lowercase(),
        LockFormat::Pipfile | LockFormat::Poetry | LockFormat::Pylock | LockFormat::Uv => normalized(name),
        _ => name.to_owned(),
    }
}

/// The one spelling of a Python package's name.
fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Checks a lock file against its base.
pub fn check(file: &ChangedLockFile<'_>) -> Result<CheckedLockFile, LockFileFault> {
    let &ChangedLockFile { path, base, .. } = file;
    let Some(format) = LockFormat::of(path) else {
        return Ok(CheckedLockFile::default());
    };
    // Only line feeds, so that places are found; the numbers of the lines are the same.
    let head_text = file.head.replace("\r\n", "\n");
    let mut head = read(format, &head_text)?;
    // Without the base, nothing can be compared.
    let before = base.map(|base| read(format, base)).transpose();
    let before = before.map_err(|fault| LockFileFault(format!("at base {fault}")))?;
    if let (LockFormat::Flake, Some(before)) = (format, &before) {
        flake::without_known_inputs(&mut head.entries, &before.entries);
    }
    let findings = compare::compare(&compare::Change {
        path,
        format,
        base: before.as_ref(),
        base_text: base.unwrap_or_default(),
        head: &head,
        head_text: &head_text,
        manifest: &file.manifest.map(Manifest::read).unwrap_or_default(),
    });
    Ok(CheckedLockFile {
        findings,
        is_emptied: before.is_some_and(|before| before.pinned().next().is_some()) && head.pinned().next().is_none(),
    })
}

/// The names of the packages that a text pins, if it is a lock file of the format that its name says; else none.
pub fn pinned_packages(path: &str, text: &str) -> BTreeSet<String> {
    let file = LockFormat::of(path).and_then(|format| read(format, text).ok());
    let names = |file: LockFile| file.pinned().map(str::to_owned).collect();
    file.map(names).unwrap_or_default()
}

#[cfg(test)]
#[path = "lock_files/aliases_tests.rs"]
mod aliases_tests;
#[cfg(test)]
#[path = "lock_files/emptied_tests.rs"]
mod emptied_tests;
#[cfg(test)]
#[path = "lock_files/files_tests.rs"]
mod files_tests;
#[cfg(test)]
#[path = "lock_files/formats_tests.rs"]
mod formats_tests;
#[cfg(test)]
#[path = "lock_files/plain_tests.rs"]
mod plain_tests;
#[cfg(test)]
#[path = "lock_files_tests.rs"]
mod tests;
