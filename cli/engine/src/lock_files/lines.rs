//! Lock files in formats of their own: Go, Bundler.

use std::collections::{HashMap, HashSet};

use super::{
    entry::{Entry, Hash, LIST_OF_SOURCES, Source, origin, repository},
    plain::{refuse_characters, shortened},
};

/// `module version hash`; the module's first part is where it is served.
pub(super) fn go_sum(text: &str) -> Result<Vec<Entry>, String> {
    let entries = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (module, version, hash) = match words.as_slice() {
            [module, version] => (module, version, ""),
            [module, version, hash] => (module, version, *hash),
            _ => return Err(format!("`{}` is not a module with its version", shortened(line))),
        };
        let is_whole = hash.starts_with("h1:") && hash.len() > 40;
        Ok(Entry {
            name: (*module).to_owned(),
            version: (*version).to_owned(),
            source: Source::Registry(module.split('/').next().unwrap_or_default().to_ascii_lowercase()),
            hash: Hash::required(is_whole),
            integrity: hash.to_owned(),
            source_text: format!("{module} {version}"),
            anchor: line.to_owned(),
            files: Vec::new(),
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
    refuse_characters(text)?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut hashes: Option<HashMap<&str, &str>> = None;
    let (mut section, mut remotes, mut options, mut has_specs) = ("", Vec::new(), HashSet::new(), false);
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let depth = line.len() - line.trim_start_matches(' ').len();
        let content = line.trim();
        let is_source = matches!(section, "GEM" | "GIT" | "PATH" | "PLUGIN SOURCE");
        if depth == 0 {
            if !SECTIONS.contains(&line) {
                return Err(format!("`{}` is not a section", shortened(line)));
            }
            section = line;
            remotes.clear();
            options.clear();
            has_specs = false;
            if section == "CHECKSUMS" {
                hashes = Some(HashMap::new());
            }
        } else if section == "CHECKSUMS" {
            let (gem, hash) = content.rsplit_once(" sha256=").unwrap_or((content, ""));
            hashes.get_or_insert_default().insert(gem, hash);
        } else if is_source && depth == 2 && content == "specs:" && !has_specs {
            has_specs = true;
        } else if is_source && depth == 4 && has_specs {
            let url = remotes.last().copied().unwrap_or_default();
            let (name, version) = content.split_once(' ').unwrap_or((content, ""));
            let bare = version.strip_prefix('(').and_then(|version| version.strip_suffix(')'));
            let version = bare.unwrap_or(version);
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
                files: Vec::new(),
            });
        } else if is_source && (depth != 6 || !has_specs) {
            // Bundler makes the source where its specifications begin: what stands elsewhere counts for us, or for Bundler, only.
            let option = content.split_once(": ").filter(|_| depth == 2 && !has_specs);
            let Some((option, value)) = option.filter(|&(option, _)| may_stand(section, option, &mut options)) else {
                let line = index + 1;
                return Err(format!(
                    "line {line} is not as Bundler writes it: `{}`",
                    shortened(content)
                ));
            };
            if option == "remote" {
                remotes.push(value);
                if section == "GEM" {
                    entries.push(super::json::place(LIST_OF_SOURCES, "", value));
                }
            }
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

/// Returns whether an option of a source is not there yet, and adds it. Only a list of gems may be served from several places.
fn may_stand<'a>(section: &str, option: &'a str, options: &mut HashSet<&'a str>) -> bool {
    options.insert(option) || (section == "GEM" && option == "remote")
}
