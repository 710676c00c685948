//! The lines around findings, for the terminal; kept with the run, so that it can be shown again without its repository.

use std::collections::BTreeMap;

use conclave_engine::review::Review;
use serde::{Deserialize, Serialize};

/// How many lines of a finding are shown.
pub(crate) const MAX_LINES: u32 = 8;

/// Lines of files, by path and number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Excerpts(BTreeMap<String, BTreeMap<u32, String>>);

impl Excerpts {
    /// The record's name in the run directory.
    pub(crate) const FILE: &str = "excerpts.json";

    /// Keeps the lines that the findings in this file need.
    pub(crate) fn add(&mut self, review: &Review, path: &str, text: &str) {
        let places: Vec<(u32, u32)> = review
            .surviving()
            .filter(|entry| entry.finding.file == path)
            .map(|entry| shown(entry.finding.line, entry.finding.end_line))
            .collect();
        let lines = (1..).zip(text.lines()).filter(|(number, _)| {
            places
                .iter()
                .any(|(first, last)| (first.saturating_sub(1)..=last + 1).contains(number))
        });
        let kept = lines.map(|(number, line)| (number, line.to_owned())).collect();
        self.0.insert(path.to_owned(), kept);
    }

    /// Returns whether the file has been asked for.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// A line, if it is there.
    pub(crate) fn line(&self, path: &str, number: u32) -> Option<&str> {
        self.0.get(path)?.get(&number).map(String::as_str)
    }
}

/// The first and the last line of a finding that are shown.
pub(crate) fn shown(line: u32, end: Option<u32>) -> (u32, u32) {
    let last = end.unwrap_or(line).max(line);
    (line, last.min(line.saturating_add(MAX_LINES - 1)))
}
