//! Files of Python packages that are named as those of another package.

use std::collections::HashSet;

use conclave_shared::finding::Finding;

use super::{
    Change,
    report::{reported, shown},
    sources::OTHER_CODE,
};
use crate::lock_files::{entry::Entry, normalized};

/// Ends of the names of source archives.
const ARCHIVES: [&str; 6] = [".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".zip"];

/// Parts of a version that are words.
const VERSION_WORDS: [&str; 5] = ["a", "b", "dev", "post", "rc"];

/// Files that name another package or another version than their entry, and did not at base.
pub(super) fn of_others(change: &Change<'_>) -> Vec<Finding> {
    let known: HashSet<(&str, &str, &str)> = change.base_entries().flat_map(others).collect();
    let mut new: Vec<Entry> = Vec::new();
    for entry in &change.head.entries {
        for (_, _, file) in others(entry).filter(|other| !known.contains(other)) {
            new.push(Entry {
                // So the line of the file is found.
                source_text: file.to_owned(),
                ..entry.clone()
            });
        }
    }
    reported(
        change,
        &new.iter().collect::<Vec<_>>(),
        "lock-file-source",
        |entry| {
            format!(
                "`{}` in version `{}` has the file `{}`, which is named as one of another package or another version.",
                shown(&entry.name),
                shown(&entry.version),
                shown(&entry.source_text)
            )
        },
        "So it is with",
        OTHER_CODE,
    )
}

/// Name, version and file for each file of an entry that names another package or another version.
fn others(entry: &Entry) -> impl Iterator<Item = (&str, &str, &str)> {
    let files = entry.files.iter().filter(move |file| is_of_other(entry, file));
    files.map(move |file| (entry.name.as_str(), entry.version.as_str(), file.as_str()))
}

fn is_of_other(entry: &Entry, file: &str) -> bool {
    // What versions have of characters that addresses escape.
    let file = file.replace("%2B", "+").replace("%2b", "+").replace("%21", "!");
    let is_name = |name: &str| normalized(name) == entry.name;
    let is_unversioned = entry.version.is_empty();
    if let Some(stem) = file.strip_suffix(".whl") {
        // `name-version-build-python-abi-platform.whl`, of which the build may be missing.
        let mut parts = stem.split('-');
        let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        return !(is_name(name) && (is_unversioned || version_parts(version) == version_parts(&entry.version)));
    }
    match ARCHIVES.iter().find_map(|end| file.strip_suffix(end)) {
        // The name may have hyphens, too.
        Some(stem) => !stem.match_indices('-').any(|(at, _)| {
            let (name, version) = stem.split_at(at);
            is_name(name) && (is_unversioned || begins_with(version, &entry.version))
        }),
        // An installer or the like, which only old lock files list.
        None => !normalized(&file).starts_with(&format!("{}-", entry.name)),
    }
}

/// Returns whether what is behind a name is the version, perhaps followed by a platform.
fn begins_with(text: &str, version: &str) -> bool {
    let (parts, version) = (version_parts(text), version_parts(version));
    let rest = parts.strip_prefix(version.as_slice());
    rest.is_some_and(|rest| {
        rest.first()
            .is_none_or(|next| !is_number(next) && !VERSION_WORDS.contains(&next.as_str()))
    })
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

/// The numbers and words of a version, equal for all spellings of one (<https://peps.python.org/pep-0440/>): `1.0.0-beta.1` is
/// `1.0b1`.
fn version_parts(version: &str) -> Vec<String> {
    let lower = version.to_ascii_lowercase();
    let mut parts: Vec<String> = Vec::new();
    for mut rest in lower.split(|character: char| !character.is_ascii_alphanumeric()) {
        while let Some(first) = rest.chars().next() {
            let is_other = |character: char| character.is_ascii_digit() != first.is_ascii_digit();
            let (part, behind) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
            rest = behind;
            let part = match part {
                "alpha" => "a",
                "beta" => "b",
                "c" | "pre" | "preview" => "rc",
                "r" | "rev" => "post",
                "v" => continue,
                part if is_number(part) => part.trim_start_matches('0'),
                part => part,
            };
            parts.push(part.to_owned());
        }
    }
    // A zero, now empty, says nothing at the end of the numbers.
    let mut told: Vec<String> = Vec::new();
    for part in parts.into_iter().rev() {
        let is_last = told.last().is_none_or(|next| !is_number(next));
        if !(is_last && part.is_empty()) {
            told.push(part);
        }
    }
    told.reverse();
    told
}
