//! The relation of configuration to the finding that it is quoted against. There a name in common is mostly a word of the schema, as the
//! name of an attribute or an instruction is: it stands in every block and in every file, and does not say which thing is meant.

use std::collections::HashSet;

use conclave_shared::finding::Finding;

use super::{
    code_lines::{CodeLine, code_lines},
    fold::single_blanks,
    locate::Place,
    relation::without_texts,
    schema::{Language, is_one_of},
};

/// The first words of statements of SQL after which the database is another one, in lower case.
const CHANGING: [&str; 8] = [
    "alter", "create", "drop", "grant", "rename", "revoke", "set", "truncate",
];

/// The prefixes of values in HCL that belong to no resource.
const VALUES: [&str; 3] = ["var", "local", "module"];

/// Quoted lines of a file.
pub(super) struct Quote<'a> {
    /// The file's path.
    pub(super) path: &'a str,
    /// Its text at head.
    pub(super) head: &'a str,
    /// Its lines of code; none in prose.
    pub(super) lines: Option<&'a [CodeLine]>,
    /// The place of the quote.
    pub(super) place: Place,
    /// The quoted lines that say something.
    pub(super) telling: &'a [String],
}

/// Returns whether quoted lines of a configuration can have to do with the finding; nothing where their names decide.
pub(super) fn relation(accused: Option<&str>, finding: &Finding, quote: &Quote<'_>) -> Option<bool> {
    let is_same_file = quote.path == finding.file;
    let place = quote.place;
    match Language::of(quote.path)? {
        Language::Hcl => Some(quote.is_of_resource(accused, finding)),
        // In another image, or before its last stage begins, it says nothing of this one.
        Language::Dockerfile if Language::of(&finding.file) == Some(Language::Dockerfile) => {
            let accused = stage(quote.head, finding.line);
            let is_same = is_same_file
                && [place.line, *place.lines().end()]
                    .iter()
                    .all(|line| stage(quote.head, *line) == accused);
            (!is_same).then_some(false)
        }
        // What ran before cannot undo what runs later. In which order files run is unknown.
        Language::Sql if Language::of(&finding.file) == Some(Language::Sql) => {
            let first = |line: &str| is_one_of(&CHANGING, line.split_whitespace().next().unwrap_or_default());
            let is_before = !is_same_file || place.line < finding.line;
            (is_before && finding.evidence.lines().any(first)).then_some(false)
        }
        Language::Keys | Language::Dockerfile | Language::Sql => None,
    }
}

/// Returns whether a file is configuration, or statements of SQL.
pub(crate) fn is_configuration(path: &str) -> bool {
    Language::of(path).is_some()
}

/// Returns whether a file says how an image is built.
pub(crate) fn is_image(path: &str) -> bool {
    Language::of(path) == Some(Language::Dockerfile)
}

/// The number of the stage of an image in which a line stands, from 1.
fn stage(text: &str, line: u32) -> usize {
    let lines = text.lines().take(usize::try_from(line).unwrap_or(usize::MAX));
    let begins = |line: &&str| {
        line.split_whitespace()
            .next()
            .is_some_and(|first| first.eq_ignore_ascii_case("from"))
    };
    lines.filter(begins).count()
}

impl Quote<'_> {
    /// Returns whether one of them stands in the accused block, or names what this one is or names.
    fn is_of_resource(&self, accused: Option<&str>, finding: &Finding) -> bool {
        let lines = self.lines.unwrap_or_default();
        let accused = accused.and_then(|text| accused_block(text, finding));
        let named: HashSet<(&str, &str)> = references(&finding.evidence).collect();
        let own = accused.as_ref().and_then(|(_, header)| address(header, ""));
        let mut quoted = self.place.lines().filter_map(|line| {
            let at = index(line)?;
            Some((at, lines.get(at)?.runs.as_str()))
        });
        quoted.any(|(at, line)| {
            if resources(line).any(|resource| named.contains(&resource) || Some(resource) == own) {
                return true;
            }
            let Some((header, begins)) = block(lines, at).filter(|(header, _)| *header != at) else {
                return false;
            };
            let is_accused = self.path == finding.file && accused.as_ref().is_some_and(|(at, _)| *at == header);
            let is_named = address(begins, line).is_some_and(|address| named.contains(&address));
            let tells = self.place.length == 1 || self.telling.contains(&single_blanks(line));
            tells && (is_accused || is_named)
        })
    }
}

/// The block that the finding accuses: the index and the text of its first line.
fn accused_block(text: &str, finding: &Finding) -> Option<(usize, String)> {
    if Language::of(&finding.file) != Some(Language::Hcl) {
        return None;
    }
    let at = index(finding.line)?;
    let first = finding.evidence.lines().find(|line| !line.trim().is_empty())?;
    // Lines that the change removes are counted at base.
    if !single_blanks(text.lines().nth(at)?).contains(&single_blanks(first)) {
        return None;
    }
    let lines = code_lines(&finding.file, text)?;
    block(&lines, at).map(|(header, begins)| (header, begins.to_owned()))
}

fn index(line: u32) -> Option<usize> {
    usize::try_from(line).ok()?.checked_sub(1)
}

/// The outermost block around a line: the index and the text of its first line.
fn block(lines: &[CodeLine], at: usize) -> Option<(usize, &str)> {
    let (mut depth, mut header) = (0_usize, None);
    for (at, line) in lines.iter().enumerate().take(at.saturating_add(1)) {
        let bare = without_texts(&line.runs);
        let (opens, closes) = (bare.matches('{').count(), bare.matches('}').count());
        if depth == 0 {
            header = (opens > 0).then_some((at, line.runs.as_str()));
        }
        depth = (depth + opens).saturating_sub(closes);
    }
    header
}

/// The name by which other blocks refer to this one, or to a line of it.
fn address<'l>(header: &'l str, line: &'l str) -> Option<(&'l str, &'l str)> {
    let mut words = header
        .split(|character: char| character.is_whitespace() || "\"{".contains(character))
        .filter(|word| !word.is_empty());
    match words.next()? {
        "resource" | "data" => Some((words.next()?, words.next()?)),
        "module" => Some(("module", words.next()?)),
        "variable" => Some(("var", words.next()?)),
        "locals" => Some(("local", line.split_once('=')?.0.trim())),
        _ => None,
    }
}

/// The types and names of resources in code.
fn resources(code: &str) -> impl Iterator<Item = (&str, &str)> {
    references(code).filter(|(kind, _)| !VALUES.contains(kind))
}

/// The same, with variables, local values and modules.
fn references(code: &str) -> impl Iterator<Item = (&str, &str)> {
    let words = code.split(|character: char| !(character.is_alphanumeric() || "_-.".contains(character)));
    words.filter_map(|word| {
        let mut parts = word.split('.').filter(|part| *part != "data");
        // The provider stands in front of the type.
        let kind = parts
            .next()
            .filter(|kind| kind.contains('_') || VALUES.contains(kind))?;
        Some((kind, parts.next()?))
    })
}

#[cfg(test)]
#[path = "configuration_tests.rs"]
mod tests;
