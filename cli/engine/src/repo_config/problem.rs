//! What is wrong with a `.conclave.toml`, and where.

use std::{fmt, ops::Range};

use serde::Serialize;

use super::REPO_CONFIG_FILE;

/// How much a problem weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Something is not read, and may be meant for another version.
    Warning,
    /// Something cannot be read.
    Error,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepoConfigProblem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// How much it weighs.
    pub weight: Weight,
    /// What is wrong, and what would be right.
    pub message: String,
    /// True if a setting that protects may not be in force because of it.
    #[serde(skip)]
    pub protects: bool,
}

impl fmt::Display for RepoConfigProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{REPO_CONFIG_FILE}:{}:{}: {}",
            self.line, self.column, self.message
        )
    }
}

/// Collects problems of one text.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    text: &'a str,
    found: Vec<RepoConfigProblem>,
    /// Lines that could not be parsed: what was recovered of them is a guess, and problems with it mean nothing.
    broken_lines: Vec<usize>,
    /// Where settings stand that a review is as strict without.
    harmless: Vec<usize>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
            broken_lines: Vec::new(),
            harmless: Vec::new(),
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Notes where settings stand that a review is as strict without.
    pub(super) fn harmless(&mut self, places: Vec<usize>) {
        self.harmless = places;
    }

    /// Returns whether a setting that protects may be unread, as far as is known so far.
    pub(super) fn has_unread(&self) -> bool {
        self.found.iter().any(|problem| problem.protects)
    }

    pub(super) fn syntax(&mut self, span: &Range<usize>, message: &str) {
        // Whatever stands there.
        let line = self.add(span, Weight::Error, format!("this is not TOML: {message}"), true);
        self.broken_lines.push(line);
    }

    pub(super) fn error(&mut self, span: &Range<usize>, message: String) {
        let protects = !self.harmless.contains(&span.start);
        self.unless_broken(span, Weight::Error, message, protects);
    }

    pub(super) fn warning(&mut self, span: &Range<usize>, message: String, protects: bool) {
        self.unless_broken(span, Weight::Warning, message, protects);
    }

    fn unless_broken(&mut self, span: &Range<usize>, weight: Weight, message: String, protects: bool) {
        if !self.broken_lines.contains(&self.place(span).0) {
            self.add(span, weight, message, protects);
        }
    }

    fn add(&mut self, span: &Range<usize>, weight: Weight, message: String, protects: bool) -> usize {
        let (line, column) = self.place(span);
        self.found.push(RepoConfigProblem {
            line,
            column,
            weight,
            message,
            protects,
        });
        line
    }

    /// Line and character of a span's start.
    fn place(&self, span: &Range<usize>) -> (usize, usize) {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// All of them, in the order of the file.
    pub(super) fn finish(mut self) -> Vec<RepoConfigProblem> {
        self.found.sort_by_key(|problem| (problem.line, problem.column));
        self.found
    }
}
