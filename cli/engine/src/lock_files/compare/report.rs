//! Findings about entries, each with the line that shows it.

use std::{collections::HashSet, fmt::Write};

use conclave_shared::{
    finding::{Finding, Quote},
    reviewer::ReviewerName,
    severity::Severity,
};

use super::Change;
use crate::lock_files::entry::Entry;

/// So many dependencies from elsewhere are reported one by one.
const ONE_BY_ONE: usize = 5;
/// So many lines an entry has at least; it is searched no further for the line that changed.
const ENTRY_LINES: usize = 8;
/// A rule is not sure of what it means, only of what it says.
const CONFIDENCE: f64 = 0.95;

/// A finding for each of the first packages, the last of which counts the others: `others` begins that sentence.
pub(super) fn reported(
    change: &Change<'_>,
    entries: &[&Entry],
    category: &str,
    claim: impl Fn(&Entry) -> String,
    others: &str,
    scenario: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, entry) in entries.iter().take(ONE_BY_ONE).enumerate() {
        let mut claim = claim(entry);
        if index + 1 == ONE_BY_ONE && entries.len() > ONE_BY_ONE {
            let _ = write!(claim, " {others} {} more packages.", entries.len() - ONE_BY_ONE);
        }
        findings.push(finding(change, category, Severity::Warning, claim, scenario, entry));
    }
    findings
}

pub(super) fn finding(
    change: &Change<'_>,
    category: &str,
    severity: Severity,
    claim: String,
    scenario: &str,
    entry: &Entry,
) -> Finding {
    let (line, code) = locate(change, entry);
    let quote = Quote {
        file: change.path.to_owned(),
        line,
        code,
    };
    Finding {
        claim,
        scenario: scenario.to_owned(),
        checked: "The lock file at base and at head, compared by rules.".to_owned(),
        confidence: CONFIDENCE,
        ..Finding::of_rules(ReviewerName::LOCK_FILES, severity, category, quote)
    }
}

/// The line that shows it: where the source is written, else where the entry begins; a line that is not in the base comes
/// first.
fn locate(change: &Change<'_>, entry: &Entry) -> (u32, String) {
    let text = change.head_text;
    let base: HashSet<&str> = change.base_text.lines().map(str::trim_end).collect();
    // The place of this entry, if its beginning is found; else the whole file is searched.
    let start = text.find(&entry.anchor).unwrap_or(0);
    let start_index = text[..start].matches('\n').count();
    let mut found: Option<(u8, usize, &str)> = None;
    let mut offset = 0;
    for (index, line) in text.split('\n').enumerate() {
        let end = offset + line.len();
        let shows = !entry.source_text.is_empty() && line.contains(&entry.source_text);
        let begins = offset <= start && start <= end;
        let rank = match (shows, begins, base.contains(line.trim_end())) {
            // The source, on a line of this merge request, at the entry or behind it.
            (true, _, false) if end >= start => 0,
            (true, _, false) => 1,
            (_, true, false) => 2,
            // Some other line of this merge request in the entry.
            (_, _, false) if end >= start && index < start_index + ENTRY_LINES => 3,
            (_, true, _) => 4,
            (true, ..) => 5,
            _ => 9,
        };
        if rank < 9 && found.is_none_or(|(known, ..)| rank < known) {
            found = Some((rank, index, line));
        }
        offset = end + 1;
    }
    let (_, index, line) = found.unwrap_or((9, 0, text.lines().next().unwrap_or_default()));
    let line: String = line.chars().take(400).collect();
    (u32::try_from(index + 1).unwrap_or(u32::MAX), line.trim_end().to_owned())
}

/// What the author of the merge request wrote, as a word that is no sentence: it stands in a text that models read.
pub(super) fn shown(text: &str) -> String {
    let harmless = |character: char| character.is_ascii_alphanumeric() || "-_./:@+~%=".contains(character);
    text.chars()
        .take(100)
        .map(|character| if harmless(character) { character } else { '?' })
        .collect()
}
