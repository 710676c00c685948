//! Which patches are whose: each reviewer is told the files of its field, so that seven do not all read everything.
//!
//! A path says enough for that. What it does not say ends up as source, which every code reviewer reads; and a file in
//! whose field no required reviewer sits is given to one of them all the same, so that nothing stays unread by rule.

use std::collections::BTreeMap;

use conclave_shared::{
    path_globs::PathGlobs,
    path_kind::{PathKind, Role},
    reviewer::ReviewerName,
};

/// The reviewers that read what is in no required reviewer's field, in the order in which they are asked.
const FALLBACK_READERS: [&str; 5] = ["correctness", "generalist", "code_quality", "security", "performance"];

/// Returns whether files of this role are in the field of this reviewer. A reviewer that is not known here reads
/// everything.
fn is_in_field(reviewer: &str, role: Role) -> bool {
    use Role::{
        AgentInstructions, Build, BuildManifest, Changelog, Config, Container, Interface, Locale, LockFile, Manifest,
        Migration, Pipeline, Prose, Query, Source, Test,
    };
    let runs = matches!(role, Source | Query | Migration);
    let builds = matches!(role, Build | BuildManifest);
    // What decides how the program is installed, configured and run.
    let operates = matches!(role, Config | Container | Pipeline) || builds;
    match reviewer {
        "security" => runs || operates || matches!(role, Interface | LockFile | Manifest),
        "correctness" => runs || operates || role == Interface,
        "performance" => runs,
        "code_quality" => builds || matches!(role, Source | Query | Test),
        "documentation" => matches!(role, Prose | Changelog | Locale | Interface | Source),
        "release" => operates || matches!(role, Migration | Interface | LockFile | Query | Manifest | Changelog),
        "agents_md" => operates || matches!(role, AgentInstructions | Manifest),
        "types" => matches!(role, Source | Interface),
        "tests" => builds || matches!(role, Test | Pipeline),
        _ => true,
    }
}

/// For each member of the panel the positions of its patches, in the order of the index. A member is its name and
/// whether the review is inconclusive without it. The fields of a project's own reviewers are what `own` says.
pub fn assign(
    panel: &[(ReviewerName, bool)],
    paths: &[&str],
    own: &BTreeMap<ReviewerName, PathGlobs>,
) -> BTreeMap<ReviewerName, Vec<usize>> {
    let reads = |name: &ReviewerName, path: &str, role: Role| match own.get(name) {
        Some(globs) => globs.is_match(path),
        None => is_in_field(name.as_str(), role),
    };
    let required = |name: Option<&str>| {
        let mut members = panel.iter().filter(|(_, required)| *required);
        members.find(|(member, _)| name.is_none_or(|name| member.as_str() == name))
    };
    let fallback = FALLBACK_READERS
        .iter()
        .find_map(|name| required(Some(name)))
        .or_else(|| required(None))
        .or_else(|| panel.first());
    let mut fields: BTreeMap<ReviewerName, Vec<usize>> =
        panel.iter().map(|(name, _)| (name.clone(), Vec::new())).collect();
    for (position, path) in paths.iter().enumerate() {
        let role = PathKind::of(path).role;
        let is_left = !panel
            .iter()
            .any(|(name, required)| *required && reads(name, path, role));
        for (name, _) in panel {
            let takes_over = is_left && fallback.is_some_and(|(fallback, _)| fallback == name);
            if (reads(name, path, role) || takes_over)
                && let Some(field) = fields.get_mut(name)
            {
                field.push(position);
            }
        }
    }
    fields
}

#[cfg(test)]
#[path = "assign_tests.rs"]
mod tests;
