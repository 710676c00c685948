//! The surroundings of code that refutes a finding: by them a later review knows that the code stands where the judge saw it, and that
//! no copy of it stands in for it.

use super::anchors::{CodePlace, Lines, hash, index};
use crate::{
    findings::{QuotedFile, base_line},
    review::{Squeezed, Surroundings},
};

/// Marks that open something of several lines, with those that close it: what stands behind an open one may be a comment, left out, or
/// under a condition.
const PAIRS: [(&str, &str); 4] = [("{", "}"), ("/*", "*/"), ("<!--", "-->"), ("#if", "#endif")];

/// Marks that open a text of several lines, and close it too.
const QUOTES: [&str; 3] = ["\"\"\"", "'''", "`"];

/// The beginnings of lines that hold nothing, whatever their indentation is.
const REMARKS: [&str; 4] = ["#", "//", "/*", "*"];

/// Refuting code as it stands at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its first line, from 1.
    pub(super) line: u32,
    /// Its last one.
    pub(super) end_line: u32,
    /// The lines.
    pub(super) code: String,
    /// True if the change itself has brought it there, or has altered its surroundings.
    pub(super) is_of_this_change: bool,
}

/// A piece of text at head that is the code.
#[derive(Debug)]
struct Piece {
    place: CodePlace,
    /// Its first line at base, if the change leaves it as it was.
    base_line: Option<u32>,
    /// See [`Surroundings::under`].
    under: String,
}

impl Piece {
    /// All pieces of this code in the file.
    fn all(code: &Squeezed, file: QuotedFile<'_>, head: &Lines) -> Vec<Self> {
        let places = code.places_in(head).into_iter();
        let piece = |place: CodePlace| Self {
            base_line: place
                .is_whole
                .then(|| base_line(file, place.line, place.end_line))
                .flatten(),
            under: under(head, place.line),
            place,
        };
        places.map(piece).collect()
    }

    fn beside(&self, head: &Lines) -> String {
        beside(head, self.place.line, self.place.end_line)
    }

    /// The same at base, if it stands there.
    fn beside_at_base(&self, base: &Lines) -> Option<String> {
        let length = self.place.end_line.saturating_sub(self.place.line);
        self.base_line
            .map(|line| beside(base, line, line.saturating_add(length)))
    }
}

impl Surroundings {
    /// The surroundings of these lines of the file, counted from 1; none where they hold no code.
    pub(crate) fn of(file: QuotedFile<'_>, line: u32, end_line: u32) -> Option<Self> {
        let head = Lines::new(file.head);
        let code = Squeezed::of(&excerpt(&head, line, end_line))?;
        let own = under(&head, line);
        let pieces = Piece::all(&code, file, &head).into_iter();
        let copies = pieces.filter(|piece| piece.base_line.is_some() && piece.under == own);
        Some(Self {
            copies: copies.count(),
            under: own,
            beside: beside(&head, line, end_line),
        })
    }
}

/// Returns where the code stands: where it is as it was in the surroundings that are known of it, or else in lines of the change in their
/// place. Without known surroundings, as in what older versions wrote, any place will do.
pub(super) fn standing(code: &Squeezed, known: Option<&Surroundings>, file: QuotedFile<'_>) -> Option<Standing> {
    let (head, base) = (Lines::new(file.head), Lines::new(file.base.unwrap_or_default()));
    let pieces = Piece::all(code, file, &head);
    let is_own = |piece: &Piece| known.is_none_or(|known| piece.under == known.under);
    let kept: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| is_own(piece) && piece.base_line.is_some())
        .collect();
    // Of several copies any may be the one that is missing.
    let is_complete = known.is_none_or(|known| kept.len() >= known.copies);
    let is_as_seen = |piece: &Piece| {
        let beside = piece.beside(&head);
        // What has come beside it with the target branch is not of the change.
        known.is_none_or(|known| beside == known.beside || piece.beside_at_base(&base) == Some(beside))
    };
    // The line that it is under may be another one by the change, or by the target branch.
    let is_alone = pieces.len() == 1 && code.places_in(&base).len() == 1;
    let is_under_another = |piece: &Piece| {
        let under_at_base = piece.base_line.map(|line| under(&base, line));
        under_at_base.is_some_and(|under| is_alone || known.is_some_and(|known| under == known.under))
    };
    let as_it_was = kept.into_iter().find(|piece| is_complete && is_as_seen(piece));
    let of_change = || pieces.iter().find(|piece| is_own(piece) || is_under_another(piece));
    let piece = as_it_was.or_else(of_change)?;
    let (line, end_line) = (piece.place.line, piece.place.end_line);
    Some(Standing {
        line,
        end_line,
        code: excerpt(&head, line, end_line),
        is_of_this_change: as_it_was.is_none(),
    })
}

fn excerpt(lines: &Lines, line: u32, end_line: u32) -> String {
    let length = end_line.saturating_sub(line).saturating_add(1);
    lines.excerpt(line, usize::try_from(length).unwrap_or(usize::MAX))
}

fn indentation(lines: &Lines, at: usize) -> usize {
    let line = lines.exact.get(at).map(String::as_str).unwrap_or_default();
    line.len() - line.trim_start().len()
}

/// The hash of the lines that this one is under. A line that begins with a bracket is the end of one that stands above it, which counts
/// with it: `{` alone would be the same for every function.
fn under(lines: &Lines, line: u32) -> String {
    let first = index(line).min(lines.loose.len());
    let mut bound = indentation(lines, first);
    let mut is_end = false;
    let mut above = Vec::new();
    for (at, text) in lines.loose.iter().enumerate().take(first).rev() {
        let own = indentation(lines, at);
        let is_over = own < bound || (is_end && own == bound);
        if !is_over || text.is_empty() || REMARKS.iter().any(|mark| text.starts_with(mark)) {
            continue;
        }
        (bound, is_end) = (own, text.starts_with(['{', '}', '(', ')', '[', ']']));
        above.push(text.clone());
    }
    hash(&above)
}

/// The hash of the nearest lines beside these in their block, and of what is open where they begin.
fn beside(lines: &Lines, line: u32, end_line: u32) -> String {
    let (first, behind) = (index(line), index(end_line).saturating_add(1));
    let own = indentation(lines, first);
    let text = |at: Option<usize>| at.and_then(|at| lines.loose.get(at)).cloned().unwrap_or_default();
    let before = nearest(lines, (0..first).rev(), own);
    let mut parts = vec![text(before), text(nearest(lines, behind..lines.exact.len(), own))];
    let count = |mark: &str| -> usize {
        let above = lines.loose.iter().take(first);
        above.map(|line| line.matches(mark).count()).sum()
    };
    let open = |(open, close): &(&str, &str)| count(open).wrapping_sub(count(close));
    parts.extend(PAIRS.iter().map(|pair| open(pair).to_string()));
    parts.extend(QUOTES.iter().map(|mark| (count(mark) % 2).to_string()));
    hash(&parts)
}

/// The nearest of these lines that is not empty, if it stands in the same block: not under a smaller indentation, and outside of
/// any block not behind an empty line.
fn nearest(lines: &Lines, mut at: impl Iterator<Item = usize>, own: usize) -> Option<usize> {
    let is_empty = |at: usize| lines.exact.get(at).is_none_or(String::is_empty);
    let next = if own == 0 {
        at.next()
    } else {
        at.find(|at| !is_empty(*at))
    };
    next.filter(|at| !is_empty(*at) && indentation(lines, *at) >= own)
}

#[cfg(test)]
#[path = "surroundings_tests.rs"]
mod tests;
