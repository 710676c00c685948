//! A line with its surroundings, as the rules see it.

use super::language::Language;
use super::patch::{Line, PatchFile};
use super::pattern::{found, group};

/// A line, its file, and the way to its neighbours.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) file: &'a PatchFile,
    pub(super) at: usize,
}

impl<'a> Spot<'a> {
    /// The line.
    pub(super) fn line(&self) -> &'a Line {
        &self.file.lines[self.at]
    }

    /// The line as it is written.
    pub(super) fn text(&self) -> &'a str {
        &self.line().text
    }

    /// The line without comments and the inside of strings.
    pub(super) fn code(&self) -> &'a str {
        &self.line().code
    }

    /// The language of the file.
    pub(super) fn language(&self) -> Language {
        self.file.language()
    }

    /// The lines before this one in its hunk, nearest first.
    pub(super) fn before(&self, most: usize) -> impl Iterator<Item = &'a Line> + use<'a> {
        let hunk = self.line().hunk;
        self.file.lines[..self.at]
            .iter()
            .rev()
            .take_while(move |line| line.hunk == hunk)
            .take(most)
    }

    /// The lines after this one in its hunk.
    pub(super) fn after(&self, most: usize) -> impl Iterator<Item = &'a Line> + use<'a> {
        let hunk = self.line().hunk;
        self.file.lines[self.at + 1..]
            .iter()
            .take_while(move |line| line.hunk == hunk)
            .take(most)
    }

    /// This line and as many before it, in order, as one text.
    pub(super) fn with_before(&self, most: usize) -> String {
        let mut lines: Vec<&str> = self.before(most).map(|line| line.text.as_str()).collect();
        lines.reverse();
        lines.push(self.text());
        lines.join("\n")
    }

    /// The head of the innermost block that this line is in and that `wanted` takes, up to the next function.
    fn enclosing(&self, wanted: impl Fn(&str) -> bool) -> Option<&'a Line> {
        let mut indent = indentation(self.text());
        for line in self.before(60) {
            if line.text.trim().is_empty() || indentation(&line.text) >= indent {
                continue;
            }
            indent = indentation(&line.text);
            if wanted(&line.code) {
                return Some(line);
            }
            if is_function(&line.code) {
                return None;
            }
        }
        None
    }

    /// The head of the loop that this line is in, when it goes over a collection: not a retry, a poll or a batch.
    pub(super) fn item_loop(&self) -> Option<&'a Line> {
        let head = self.enclosing(is_loop)?;
        // One page, batch or chunk is a collection; only going from one to the next is something else.
        let over_one = group!(
            &head.code,
            r"(?i)^(.*(?:\b(?:in|of|range)\s|:))\s*&?(?:page|batch|chunk)(?:\.\w+(?:\(\))?)?\s*(?:[:){]|$)"
        );
        let own = over_one.unwrap_or(&head.code);
        let repeated = found!(
            own,
            r"(?i)attempt|retr(y|ies)|\btries|while\s+true|while\s*\(\s*true|\bloop\b|page|cursor|offset|batch|chunk|await\s*\(|poll|range\(\s*\d+\s*\)"
        );
        (!repeated).then_some(head)
    }

    /// The line is in a test, as far as the patch shows.
    pub(super) fn in_test(&self) -> bool {
        self.file.is_test || self.file.tests_from.is_some_and(|from| from < self.at)
    }
}

/// The width of the blank beginning.
pub(super) fn indentation(text: &str) -> usize {
    text.chars()
        .take_while(|c| c.is_whitespace())
        .map(|c| if c == '\t' { 4 } else { 1 })
        .sum()
}

/// What a loop over elements calls each of them.
pub(super) fn loop_variable(head: &str) -> Option<&str> {
    group!(
        head,
        r"\bfor\s*\(?\s*(?:(?:const|let|var|mut)\s+|&)*(\w+)\s+(?:in|of)\b"
    )
    .or_else(|| group!(head, r"\bfor\s*\(\s*(?:final\s+)?[\w<>.]+\s+(\w+)\s*:"))
    .or_else(|| group!(head, r"\bfor\s+\w+\s*,\s*(\w+)\s*:=\s*range\b"))
    .or_else(|| group!(head, r"\.forEach\(\s*(?:async\s+)?\(?(\w+)"))
}

fn is_loop(code: &str) -> bool {
    found!(
        code,
        r"^\s*(async\s+)?(for|while)\b[^;]*:\s*$|\b(for|foreach|while)\s*\(|^\s*(for|while|loop)\b.*\{\s*$|\.forEach\(|\.each\s+do\b"
    )
}

fn is_function(code: &str) -> bool {
    found!(
        code,
        r"^\s*(async\s+)?def\s|\bfn\s+\w|\bfunction\b|^\s*func\b|=>\s*\{?\s*$"
    )
}
