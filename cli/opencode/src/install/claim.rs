//! The package that an unknown tarball says it is. Nothing of it is believed or unpacked: it only makes the error more helpful.

use std::io::{self, BufReader, Read};

use camino::Utf8Path;
use flate2::read::GzDecoder;
use serde_json::Value;
use tokio::task::yield_now;

use super::package::{MAX_UNPACKED, PIECE, open};
use crate::machine::Machine;

/// The file of a package that describes it.
const MANIFEST: &[u8] = b"package/package.json";
/// Maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 4096;
/// Maximum length of the description, in bytes.
const MAX_MANIFEST: u64 = 64 << 10;
/// Characters of a word of it that a person gets to see.
const MAX_WORD: usize = 60;
/// Words of a list that count.
const MAX_WORDS: usize = 8;

/// The package that a tarball says it is, in words that are safe to show.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claim {
    name: String,
    version: String,
    systems: Vec<String>,
    processors: Vec<String>,
    libraries: Vec<String>,
}

/// Returns what a tarball says of itself. `None` if it is not a package of npm, or has too much in it to look at.
pub(super) async fn claim_of(file: &Utf8Path) -> Option<Claim> {
    let unpacked = GzDecoder::new(BufReader::new(open(file).ok()?)).take(MAX_UNPACKED);
    let mut archive = tar::Archive::new(unpacked);
    let mut piece = vec![0; PIECE];
    // Raw, because a long name would be read into memory, however long it is.
    for entry in archive.entries().ok()?.raw(true).take(MAX_ENTRIES) {
        let mut entry = entry.ok()?;
        if entry.path_bytes().as_ref() == MANIFEST && entry.header().entry_type().is_file() {
            return Claim::read(&beginning(entry).ok()?);
        }
        // The program stands before it, and takes a second or two.
        while entry.read(&mut piece).ok()? > 0 {
            yield_now().await;
        }
    }
    None
}

/// Reads up to a byte more than the description may have.
fn beginning(entry: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    entry.take(MAX_MANIFEST + 1).read_to_end(&mut text)?;
    Ok(text)
}

impl Claim {
    fn read(text: &[u8]) -> Option<Self> {
        if text.len() as u64 > MAX_MANIFEST {
            return None;
        }
        let manifest: Value = serde_json::from_slice(text).ok()?;
        let name = word(manifest["name"].as_str()?);
        let mut libraries = words(&manifest["libc"]);
        if libraries.is_empty() && name.ends_with("-musl") {
            libraries.push("musl".to_owned());
        }
        Some(Self {
            version: word(manifest["version"].as_str().unwrap_or("unknown")),
            systems: words(&manifest["os"]),
            processors: words(&manifest["cpu"]),
            libraries,
            name,
        })
    }

    /// The package's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The package with its version, as npm writes it.
    pub(super) fn package(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The kind of machine that it is for, if that is not this one, on which programs need glibc: `darwin on arm64`.
    pub(super) fn elsewhere(&self, machine: Machine) -> Option<String> {
        let system = match machine.system {
            "macos" => "darwin",
            system => system,
        };
        let processor = match machine.processor {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            processor => processor,
        };
        let fits = |list: &[String], own: &str| list.is_empty() || list.iter().any(|word| word == own);
        if fits(&self.systems, system) && fits(&self.processors, processor) && fits(&self.libraries, "glibc") {
            return None;
        }
        let shown = |list: &[String], any: &str| {
            if list.is_empty() {
                any.to_owned()
            } else {
                list.join(" or ")
            }
        };
        let (systems, processors) = (
            shown(&self.systems, "any system"),
            shown(&self.processors, "any processor"),
        );
        let libraries = match self.libraries.as_slice() {
            [] => String::new(),
            libraries => format!(" with {}", libraries.join(" or ")),
        };
        Some(format!("{systems} on {processors}{libraries}"))
    }
}

/// A word for people: what no name of npm has is masked, and what is longer than any is cut.
fn word(text: &str) -> String {
    let is_known = |character: char| character.is_ascii_alphanumeric() || "@/._+-".contains(character);
    let masked = |character: char| if is_known(character) { character } else { '?' };
    text.chars().take(MAX_WORD).map(masked).collect()
}

/// The words of a list, or of a single word; without those that it excludes.
fn words(value: &Value) -> Vec<String> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter()
        .filter_map(Value::as_str)
        .filter(|text| !text.starts_with('!'))
        .take(MAX_WORDS)
        .map(word)
        .collect()
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
