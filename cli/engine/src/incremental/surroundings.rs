//! The surroundings of code that refutes a finding: with them it counts as code that the change leaves alone, and by them a later review
//! knows that it stands where the judge saw it, and that no copy of it stands in for it.

mod assigned;
mod block;
mod declared;
mod imported;
mod near;
mod parameters;
mod uses;

use self::block::Code;
pub(crate) use self::near::is_near;
pub use self::uses::UsedAs;
use super::anchors::{CodePlace, Lines, hash, index};
use crate::{
    findings::{QuotedFile, Refuting, base_line, without_texts},
    review::{Squeezed, Surroundings},
};

/// Marks that open a text of several lines, and close it too.
const QUOTES: [&str; 3] = ["\"\"\"", "'''", "`"];

/// The beginnings of lines that hold nothing, whatever their indentation is.
const REMARKS: [&str; 4] = ["#", "//", "/*", "*"];

/// A piece of text at head that is the code.
#[derive(Debug)]
struct Piece {
    place: CodePlace,
    /// Its first line at base, if the change leaves it as it was.
    base_line: Option<u32>,
    /// See [`Surroundings::under`].
    under: String,
}

/// One version of a file.
struct Version {
    lines: Lines,
    code: Code,
}

impl Version {
    fn new(path: &str, text: &str) -> Self {
        Self {
            lines: Lines::new(text),
            code: Code::new(path, text),
        }
    }

    /// All that decides what happens in these lines: those that they are under, the code around them, and what is open where they
    /// begin, as a text or a part for a preprocessor.
    fn around(&self, line: u32, end_line: u32) -> Vec<String> {
        let (first, behind) = (index(line), index(end_line).saturating_add(1));
        let above = || self.code.above(first);
        let count = |mark: &str| -> usize { above().map(|line| line.matches(mark).count()).sum() };
        let braces = |mark: &str| -> usize {
            let bare = above().map(without_texts);
            bare.map(|line| line.matches(mark).count()).sum()
        };
        // What is a comment in one language is a directive in another.
        let written = self.lines.loose.iter().take(first);
        let directives = |mark: &str| written.clone().filter(|line| line.starts_with(mark)).count();
        let mut around = vec![
            under(&self.lines, line),
            braces("{").wrapping_sub(braces("}")).to_string(),
            directives("#if").wrapping_sub(directives("#endif")).to_string(),
        ];
        around.extend(QUOTES.iter().map(|mark| (count(mark) % 2).to_string()));
        around.extend(self.code.around(first..behind));
        around
    }
}

/// A file before the change and after it.
struct Versions<'a> {
    file: QuotedFile<'a>,
    base: Version,
    head: Version,
}

impl<'a> Versions<'a> {
    fn of(file: QuotedFile<'a>) -> Self {
        Self {
            file,
            base: Version::new(file.path, file.base.unwrap_or_default()),
            head: Version::new(file.path, file.head),
        }
    }

    /// All pieces of this code at head, also where a comment has come to its lines.
    fn pieces(&self, code: &Squeezed) -> Vec<Piece> {
        let mut places = code.places_in(&self.head.lines);
        let has_whole = |places: &[CodePlace]| places.iter().any(|place| place.is_whole);
        if !has_whole(&places) {
            let bare: Vec<&str> = self.head.code.lines().collect();
            let bare = code.places_in(&Lines::new(&bare.join("\n")));
            if has_whole(&bare) {
                places = bare;
            }
        }
        let piece = |place: CodePlace| Piece {
            base_line: place
                .is_whole
                .then(|| base_line(self.file, place.line, place.end_line))
                .flatten(),
            under: under(&self.head.lines, place.line),
            place,
        };
        places.into_iter().map(piece).collect()
    }

    /// Returns whether the change leaves these lines as they were, and all that decides what happens in them.
    fn leave_alone(&self, line: u32, end_line: u32) -> bool {
        let Some(before) = base_line(self.file, line, end_line) else {
            return false;
        };
        let end_before = before.saturating_add(end_line.saturating_sub(line));
        self.file.base == Some(self.file.head)
            || self.head.around(line, end_line) == self.base.around(before, end_before)
    }
}

impl Surroundings {
    /// The surroundings of these lines of the file, counted from 1; none where the change brings them, alters them or alters what decides
    /// what happens in them, or where they hold no code.
    pub(crate) fn of(file: QuotedFile<'_>, line: u32, end_line: u32) -> Option<Self> {
        let versions = Versions::of(file);
        let head = &versions.head.lines;
        let code = Squeezed::of(&excerpt(head, line, end_line))?;
        let own = under(head, line);
        let is_kept = versions.leave_alone(line, end_line);
        let pieces = versions.pieces(&code).into_iter();
        let copies = pieces.filter(|piece| piece.base_line.is_some() && piece.under == own);
        is_kept.then(|| Self {
            copies: copies.count(),
            under: own.clone(),
        })
    }
}

/// Returns where the code stands: where the change leaves it as it was, under the lines that are known of it, or else in lines of the change
/// in their place. Without known surroundings, as in what older versions wrote, any place will do.
pub(super) fn standing(code: &Squeezed, known: Option<&Surroundings>, file: QuotedFile<'_>) -> Option<Refuting> {
    let versions = Versions::of(file);
    let (head, base) = (&versions.head.lines, &versions.base.lines);
    let pieces = versions.pieces(code);
    let is_own = |piece: &Piece| known.is_none_or(|known| piece.under == known.under);
    let kept: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| is_own(piece) && piece.base_line.is_some())
        .collect();
    // Of several copies any may be the one that is missing.
    let is_complete = known.is_none_or(|known| kept.len() >= known.copies);
    let is_left_alone = |piece: &Piece| versions.leave_alone(piece.place.line, piece.place.end_line);
    // The line that it is under may be another one by the change, or by the target branch.
    let is_alone = pieces.len() == 1 && code.places_in(base).len() == 1;
    let is_under_another = |piece: &Piece| {
        let under_at_base = piece.base_line.map(|line| under(base, line));
        under_at_base.is_some_and(|under| is_alone || known.is_some_and(|known| under == known.under))
    };
    let as_it_was = kept.into_iter().find(|piece| is_complete && is_left_alone(piece));
    let of_change = || pieces.iter().find(|piece| is_own(piece) || is_under_another(piece));
    let piece = as_it_was.or_else(of_change)?;
    let (line, end_line) = (piece.place.line, piece.place.end_line);
    Some(Refuting {
        line,
        end_line,
        code: excerpt(head, line, end_line),
        is_of_this_change: as_it_was.is_none(),
    })
}

/// Returns whether the target branch, which has this text of the file by now, has that code of its head too, with all that decides what
/// happens in it.
pub(crate) fn is_at_target(code: &Refuting, file: QuotedFile<'_>, target: &str) -> bool {
    if target == file.head || file.base == Some(target) {
        return true;
    }
    let (head, target) = (Version::new(file.path, file.head), Version::new(file.path, target));
    let Some(squeezed) = Squeezed::of(&excerpt(&head.lines, code.line, code.end_line)) else {
        return false;
    };
    let around = head.around(code.line, code.end_line);
    let is_same = |place: &CodePlace| place.is_whole && target.around(place.line, place.end_line) == around;
    squeezed.places_in(&target.lines).iter().any(is_same)
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

#[cfg(test)]
#[path = "surroundings_tests.rs"]
mod tests;
