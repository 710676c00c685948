//! Lock files in formats of their own: Yarn 1, Go, Bundler.

use std::collections::HashMap;

use super::entry::{Entry, Hash, Source, npm_hashes, npm_source, origin, repository, split_name};

/// Blocks: a line with the requests, then indented fields.
pub(super) fn yarn_classic(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    // One package may be requested by several names; each of them is installed.
    let mut block = 0;
    let mut others = Vec::new();
    for line in text.lines() {
        let is_field = line.starts_with(char::is_whitespace);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !is_field {
            block = entries.len();
            for request in line.trim_end_matches(':').split(", ") {
                let (name, range) = split_name(request.trim_matches('"'));
                // A directory has no address but the one that is asked for. An address that follows is what counts.
                let asked = if npm_source(range) == Source::Local {
                    Source::Local
                } else {
                    Source::DefaultRegistry
                };
                if let Some(entry) = entries[block..].iter_mut().find(|entry| entry.name == name) {
                    if asked != Source::Local {
                        entry.source = asked;
                    }
                    continue;
                }
                if let Some(other) = range.strip_prefix("npm:") {
                    others.push((entries.len(), split_name(other).0));
                }
                entries.push(Entry {
                    name: name.to_owned(),
                    version: String::new(),
                    source: asked,
                    hash: Hash::Missing,
                    integrity: String::new(),
                    source_text: String::new(),
                    anchor: line.to_owned(),
                });
            }
            continue;
        }
        // Deeper lines are dependencies, which may have any name.
        let depth = line.len() - line.trim_start().len();
        let Some((field, value)) = line.trim().split_once(' ').filter(|_| depth <= 2) else {
            continue;
        };
        for entry in &mut entries[block..] {
            take_field(entry, field.trim_matches('"'), value.trim_matches('"'));
        }
    }
    if let Some(entry) = entries.iter().find(|entry| entry.version.is_empty()) {
        return Err(format!("`{}` begins no package", shortened(&entry.anchor)));
    }
    for (at, other) in others {
        let entry = &mut entries[at];
        if entry.name != other {
            entry.version = format!("npm:{other}@{}", entry.version);
        }
    }
    Ok(entries)
}

/// Takes a field of a package of Yarn 1.
fn take_field(entry: &mut Entry, field: &str, value: &str) {
    match field {
        "version" => value.clone_into(&mut entry.version),
        "resolved" => {
            entry.source = npm_source(value);
            value.clone_into(&mut entry.source_text);
            // Before it had a field, the hash was a part of the address. Of a repository that part is the commit.
            if let Some(hash) = entry.hash_in_address().map(str::to_owned) {
                if entry.hash == Hash::Missing {
                    entry.hash = Hash::Optional;
                }
                if entry.integrity.is_empty() {
                    entry.integrity = hash;
                }
            }
        }
        "integrity" => {
            let hashes = npm_hashes(value);
            if !hashes.is_empty() {
                (entry.hash, entry.integrity) = (Hash::Present, hashes);
            }
        }
        _ => {}
    }
}

/// A line as a message can show it.
fn shortened(line: &str) -> String {
    line.chars()
        .filter(|character| !character.is_control())
        .take(60)
        .collect()
}

/// `module version hash`; the module's first part is where it is served.
pub(super) fn go_sum(text: &str) -> Result<Vec<Entry>, String> {
    let entries = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [module, version, hashes @ ..] = words.as_slice() else {
            return Err(format!("`{}` is not a module with its version", shortened(line)));
        };
        let hash = hashes.first().copied().unwrap_or_default();
        let is_whole = hash.starts_with("h1:") && hash.len() > 40;
        Ok(Entry {
            name: (*module).to_owned(),
            version: (*version).to_owned(),
            source: Source::Registry(module.split('/').next().unwrap_or_default().to_ascii_lowercase()),
            hash: Hash::required(is_whole),
            integrity: hash.to_owned(),
            source_text: format!("{module} {version}"),
            anchor: line.to_owned(),
        })
    });
    entries.collect()
}

/// Sections with a `remote:` and specifications; the hashes are a section of their own, if there are any.
pub(super) fn gemfile(text: &str) -> Result<Vec<Entry>, String> {
    const SECTIONS: [&str; 9] = [
        "GEM",
        "GIT",
        "PATH",
        "PLUGIN SOURCE",
        "PLATFORMS",
        "DEPENDENCIES",
        "CHECKSUMS",
        "RUBY VERSION",
        "BUNDLED WITH",
    ];
    let mut entries: Vec<Entry> = Vec::new();
    let mut hashes: Option<HashMap<&str, &str>> = None;
    let (mut section, mut remotes) = ("", Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start().len();
        let content = line.trim();
        if depth == 0 {
            if !SECTIONS.contains(&content) {
                return Err(format!("`{}` is not a section", shortened(content)));
            }
            section = content;
            remotes.clear();
            if section == "CHECKSUMS" {
                hashes = Some(HashMap::new());
            }
        } else if let Some(url) = content.strip_prefix("remote: ") {
            remotes.push(url);
            if section == "GEM" {
                entries.push(super::json::place("the list of sources", "", url));
            }
        } else if section == "CHECKSUMS" {
            let (gem, hash) = content.rsplit_once(" sha256=").unwrap_or((content, ""));
            hashes.get_or_insert_default().insert(gem, hash);
        } else if depth == 4 && matches!(section, "GEM" | "GIT" | "PATH" | "PLUGIN SOURCE") {
            let url = remotes.last().copied().unwrap_or_default();
            let (name, version) = content.split_once(' ').unwrap_or((content, ""));
            let source = match section {
                "GIT" => Source::Git(repository(url)),
                "PATH" => Source::Local,
                // With several remotes, nothing says which of them a gem is from.
                _ if remotes.len() == 1 => Source::Registry(origin(url)),
                _ => Source::DefaultRegistry,
            };
            entries.push(Entry {
                name: name.to_owned(),
                version: version.to_owned(),
                source,
                hash: Hash::Optional,
                integrity: String::new(),
                source_text: format!("remote: {url}"),
                anchor: line.to_owned(),
            });
        }
    }
    if let Some(hashes) = hashes {
        for entry in entries.iter_mut().filter(|entry| !entry.version.is_empty()) {
            let known = hashes.get(entry.anchor.trim()).copied().unwrap_or_default();
            entry.hash = if known.is_empty() { Hash::Missing } else { Hash::Present };
            known.clone_into(&mut entry.integrity);
        }
    }
    Ok(entries)
}
