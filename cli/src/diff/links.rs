//! Symbolic links under whose names a tool reads what no reviewer does.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use camino::Utf8Path;
use conclave_engine::diff::{FileDiff, FilterRules, FilteredDiff};
use conclave_git::{Blob, Repository};
use conclave_shared::path_kind::{Form, PathKind, is_document, language};

use crate::exit::Failure;

/// The mode of a symbolic link.
const LINK: &str = "120000";
/// The longest target of a link that is followed, in bytes; systems follow none that is longer.
const MAX_TARGET: usize = 4096;
/// The most links, one behind the other, that are followed, as Linux has it.
const MAX_FOLLOWED: usize = 40;

/// The links at head that give something that is left out the name of code, or a place that a tool obeys. By its own name it is
/// harmless, and not listed: a vendored `notes.md` that the project runs as `plugin.py`.
pub(super) async fn to_unread(
    repository: &Repository,
    head: &str,
    diff: &FilteredDiff,
    rules: FilterRules<'_>,
) -> Result<Vec<String>, Failure> {
    let listed: BTreeSet<&str> = diff.read_by_nobody.iter().map(String::as_str).collect();
    let left_out = diff.filtered.iter().map(|file| file.path.as_str());
    let unread: BTreeSet<&str> = left_out.filter(|path| !listed.contains(path)).collect();
    let is_link = |file: &&FileDiff| file.modes.1 == LINK;
    let changed = diff.files.iter().filter(is_link).map(|file| file.path.as_str());
    let changed: BTreeSet<&str> = changed.collect();
    if unread.is_empty() && changed.is_empty() {
        return Ok(Vec::new());
    }
    let targets = targets(repository, head).await?;
    let is_trusted = |path: &str| rules.trusted.is_match(path) || rules.ignore.is_match(path);
    let leads_to_unread = |link: &str| {
        let target = followed(&targets, link);
        let below = unread
            .range::<str, _>((Bound::Included(target.as_str()), Bound::Unbounded))
            .map_while(|path| Some((*path, path.strip_prefix(target.as_str())?)))
            .filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'));
        let mut below = below.map(|(path, rest)| (path, format!("{link}{rest}")));
        let is_new = changed.contains(link) && is_noise(&target) && !is_trusted(&target);
        (is_new && is_more(link, &target)) || below.any(|(path, name)| !is_trusted(path) && is_more(&name, path))
    };
    let links = targets.keys().map(String::as_str);
    let links = links.filter(|link| !listed.contains(link) && !is_trusted(link) && leads_to_unread(link));
    Ok(links.map(str::to_owned).collect())
}

/// All links of a commit that stay in the repository, with the paths that they lead to.
async fn targets(repository: &Repository, commit: &str) -> Result<BTreeMap<String, String>, Failure> {
    let links = repository.tree_links(commit).await?;
    let objects: Vec<&str> = links.iter().map(|link| link.object.as_str()).collect();
    let mut targets = BTreeMap::new();
    let take = |at: usize, blob: Option<Blob>| {
        let content = blob.and_then(|blob| String::from_utf8(blob.content).ok());
        let path = &links[at].path;
        if let Some(target) = content.and_then(|content| resolved(path, &content)) {
            targets.insert(path.clone(), target);
        }
    };
    repository.read_blobs(&objects, MAX_TARGET, take).await?;
    Ok(targets)
}

/// The path that a link's content leads to; none outside of the repository, or for the whole of it.
fn resolved(link: &str, content: &str) -> Option<String> {
    if content.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in content.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// The path behind all links, also those to directories above it.
fn followed(targets: &BTreeMap<String, String>, path: &str) -> String {
    let mut path = path.to_owned();
    for _ in 0..MAX_FOLLOWED {
        let next = Utf8Path::new(&path).ancestors().find_map(|part| {
            let target = targets.get(part.as_str())?;
            Some(format!("{target}{}", path.strip_prefix(part.as_str())?))
        });
        let Some(next) = next else { break };
        path = next;
    }
    path
}

/// Returns whether a file of this path, or those in a directory of this path, are noise by their names.
fn is_noise(path: &str) -> bool {
    PathKind::of(path).noise.is_some() || PathKind::of(&format!("{path}/_")).noise.is_some()
}

/// Returns whether a tool may take a file for more by the name of a link than by its own path.
fn is_more(name: &str, path: &str) -> bool {
    let kind = PathKind::of(name);
    let facts = |path: &str, kind: PathKind| (language(path), kind.form, kind.runs_by_itself);
    let is_harmless = !kind.runs_by_itself && (kind.form == Form::Inert || is_document(name));
    !is_harmless && facts(name, kind) != facts(path, PathKind::of(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_inside_of_the_repository() {
        let links = [
            ("src/lib", "../vendor/x"),
            ("src/plugin.py", "lib/./notes.md"),
            ("round", "round"),
            ("out", "../outside"),
            ("absolute", "/etc/passwd"),
            ("whole", "."),
        ];
        let targets = links
            .into_iter()
            .filter_map(|(link, content)| Some((link.to_owned(), resolved(link, content)?)));
        let targets: BTreeMap<String, String> = targets.collect();
        for (path, expected) in [
            ("src/plugin.py", "vendor/x/notes.md"),
            ("src/lib/a", "vendor/x/a"),
            ("src/other.py", "src/other.py"),
            ("round", "round"),
            ("out", "out"),
            ("absolute", "absolute"),
            ("whole", "whole"),
        ] {
            assert_eq!(followed(&targets, path), expected, "{path}");
        }
    }

    #[test]
    fn a_name_counts_that_makes_more_of_a_file() {
        for (name, path, expected) in [
            ("src/plugin.py", "vendor/x/notes.md", true),
            (".claude/commands/a.md", "vendor/x/a.md", true),
            ("run", "vendor/x/README.md", true),
            ("docs/x.md", "vendor/x/README.md", false),
            ("LICENSE", "vendor/x/LICENSE.txt", false),
            ("img/a.png", "vendor/x/a.png", false),
            ("public/blob.dat", "assets/blob.dat", false),
        ] {
            assert_eq!(is_more(name, path), expected, "{name} of {path}");
        }
    }
}
