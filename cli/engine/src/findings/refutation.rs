//! The check of a refutation: the code that is quoted against a finding has to stand at head, has to say something, and
//! counts in full only where the change leaves it as it was.

use std::fmt;

use conclave_shared::{finding::Finding, path_kind::PathKind};

use super::{
    code_lines::{CodeLine, code_lines, is_import},
    configuration::{self, Quote},
    fold::single_blanks,
    holder::Holder,
    locate::{Place, locate_whole},
    relation::Names,
};
use crate::diff::{ChangeKind, Content, FileDiff, RowKind};

/// The fewest letters, besides keywords, that a quoted line of code needs to say anything.
const MIN_LETTERS: usize = 4;

/// The most lines that a quote, and the range that it is said to have, may span: who quotes a whole file shows nothing in it.
pub(crate) const MAX_LINES: u32 = 60;

/// The fault of a quote that has nothing to do with the finding.
const UNRELATED: &str = "no line of the quote has to do with the finding: one has to use a name of two letters or more that the finding's own code, or \
    code in its claim, uses too, as in the check of that value or the definition of what is called, and to do more than to \
    copy it. Words of the language and what stands in texts do not count. Lines in front of it in the same function, the header and the marks of \
    that function or of its type, and lines that name the function count too, and a person approves. A guard of a base class needs the header of that \
    class in the quote, and a table of routes the line with the class and the method. In Terraform a line has to stand in the accused \
    block, or in one that names its resource; in a Dockerfile in the same stage; in SQL behind the statement in its file";

/// Words that stand everywhere, in lower case.
const EVERYWHERE: &str = "else elif end endif pass return break continue begin finally try catch do then fi done esac true false null \
    none nil void undefined const let var default case public private static self this";

/// Refuting code as it stands at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refuting {
    /// Its first line, from 1.
    pub(crate) line: u32,
    /// Its last one.
    pub(crate) end_line: u32,
    /// The lines as they stand there.
    pub(crate) code: String,
    /// Whether this change adds, alters or moves any of them; of code that was found again, also whether it alters its surroundings.
    pub(crate) is_of_this_change: bool,
}

/// The fault of a quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not stand, or says nothing: in words for the model.
    Invalid(String),
    /// It uses no name of the finding. It may have to do with it by its place.
    Unnamed(Refuting),
}

impl From<String> for Fault {
    fn from(words: String) -> Self {
        Self::Invalid(words)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(words) => formatter.write_str(words),
            Self::Unnamed(_) => formatter.write_str(UNRELATED),
        }
    }
}

/// What is known of the file that is quoted from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuotedFile<'a> {
    /// Its path.
    pub(crate) path: &'a str,
    /// Its text at head.
    pub(crate) head: &'a str,
    /// Its text at base, if it is there.
    pub(crate) base: Option<&'a str>,
    /// Its change, if its lines are known.
    pub(crate) change: Option<&'a FileDiff>,
}

/// Checks a quote against a finding, in a review in which these findings accuse code: it has to stand, and to say something that the
/// finding's own quote does not. `accused` is the text at head of the finding's file, if there is one.
pub(crate) fn check_refutation(
    accused: Option<&str>,
    finding: &Finding,
    accusing: &[Finding],
    file: QuotedFile<'_>,
    line: u32,
    quote: &str,
) -> Result<Refuting, Fault> {
    if file.change.is_some_and(|change| change.content != Content::Text) {
        return Err(format!("{} is not a text file", file.path).into());
    }
    if PathKind::of(file.path).is_prose() && !PathKind::of(&finding.file).is_prose() {
        return Err(format!("{} is prose, and words do not refute code", file.path).into());
    }
    if quote.lines().count() > usize::try_from(MAX_LINES).unwrap_or(usize::MAX) {
        return Err(too_long().into());
    }
    // Where the quote stands several times, a place of this change counts: the strict reading.
    let changed = |line: u32| file.change.is_some_and(|change| change.lines.is_added(line));
    let place = locate_whole(file.head, quote, line, changed)
        .ok_or_else(|| format!("the quoted code does not stand in {}", file.path))?;
    let lines = if PathKind::of(file.path).is_prose() {
        None
    } else {
        let unknown = "is not code in a language whose comments and texts can be separated from what runs, or is too large to be read";
        Some(code_lines(file.path, file.head).ok_or_else(|| format!("{} {unknown}", file.path))?)
    };
    let telling = telling_code(finding, accusing, file, lines.as_deref(), place, quote);
    if telling.is_empty() {
        return Err(
            "the quote is too little: it needs a whole line of code that is neither a comment nor an import, nor a bracket or keyword \
             alone, nor one that this finding or another one quotes"
                .to_owned()
                .into(),
        );
    }
    let found = Refuting {
        line: place.line,
        end_line: *place.lines().end(),
        code: place.code(file.head),
        is_of_this_change: at_base(file, place).is_none(),
    };
    // What people write has no names that a program could compare.
    if PathKind::of(&finding.file).is_prose() {
        return Ok(found);
    }
    let quote = Quote {
        path: file.path,
        head: file.head,
        lines: lines.as_deref(),
        place,
        telling: &telling,
    };
    match configuration::relation(accused, finding, &quote) {
        Some(false) => Err(UNRELATED.to_owned().into()),
        None if !shares_name(accused, finding, &quote) => Err(Fault::Unnamed(found)),
        _ => Ok(found),
    }
}

/// Returns whether quoted code has to do with the finding by the names that both use.
fn shares_name(accused: Option<&str>, finding: &Finding, quote: &Quote<'_>) -> bool {
    let names = if quote.path == finding.file {
        Names::of(finding)
    } else {
        Names::of_values(finding)
    };
    if quote.telling.iter().any(|code| names.are_in(code, quote.path)) {
        return true;
    }
    let quoted = quote.place.lines().filter_map(|line| {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        Some(quote.lines?.get(index)?.runs.as_str())
    });
    let quoted: Vec<&str> = quoted.collect();
    accused
        .and_then(|text| Holder::around(text, finding.line, &finding.evidence))
        .is_some_and(|holder| {
            let mut telling = quote.telling.iter();
            telling.any(|code| names.are_with(holder.name, code, quote.path))
                || holder.is_guarded_by(&quoted, quote.telling)
        })
}

/// The fault of a quote, or of the range of one, that is too long.
pub(crate) fn too_long() -> String {
    format!("it spans more than {MAX_LINES} lines: name and quote only those that make the claim untrue")
}

/// The quoted code that means something, and that no finding accuses, line by line. Without lines of code the file is prose.
fn telling_code(
    finding: &Finding,
    accusing: &[Finding],
    file: QuotedFile<'_>,
    lines: Option<&[CodeLine]>,
    place: Place,
    quote: &str,
) -> Vec<String> {
    let is_prose = lines.is_none();
    let own = Own::of(finding);
    // Else two findings would refute each other.
    let others = accusing.iter().filter(|other| other.id != finding.id);
    let others: Vec<Own<'_>> = others.map(Own::of).collect();
    let telling = place.lines().filter_map(|line| {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let whole = file.head.lines().nth(index)?;
        let code = lines.map_or(Some(whole), |lines| Some(lines.get(index)?.runs.as_str()))?;
        let is_accused = others.iter().any(|other| other.accuses(file.path, line, whole));
        if is_accused || own.has(file.path, line, whole) {
            return None;
        }
        let code = single_blanks(code);
        if own.lines.contains(&code) {
            return None;
        }
        let is_own_place = own.is_place(file.path, line);
        // One quoted line may lack what says nothing, as a keyword or a comment; the rest has to mean something, and has to be code.
        if place.length == 1 {
            let quoted = single_blanks(quote);
            let part = if code.contains(&quoted) {
                quoted
            } else {
                shared_end(&code, &quoted)
            };
            let is_own = is_own_place && own.lines.iter().any(|line| line.contains(&part));
            // A line of prose may be a paragraph.
            let is_whole = is_prose || (is_telling(&code) && !is_telling(&code.replacen(&part, " ", 1)));
            return (is_whole && is_telling(&part) && !is_own).then_some(part);
        }
        is_telling(&code).then_some(code)
    });
    telling.collect()
}

/// The code that a quote of code and comment, or of a line with a mark in front, holds.
fn shared_end(code: &str, quoted: &str) -> String {
    if !code.is_empty() && quoted.contains(code) {
        return code.to_owned();
    }
    // Behind the mark of a patch or a line's number.
    let bare = quoted.trim_start_matches(|character: char| {
        character.is_ascii_digit() || matches!(character, '+' | '-' | ':' | '|' | ' ')
    });
    if code.contains(bare) {
        bare.to_owned()
    } else {
        String::new()
    }
}

fn is_telling(code: &str) -> bool {
    // Names alone are a list: of what an import or an export makes known, of parameters.
    let is_list = code.split([',', ';', '{', '}', '[', ']']).all(|item| {
        item.trim()
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_')
    });
    if is_list || is_import(code) {
        return false;
    }
    let words = code.split(|character: char| !character.is_alphanumeric());
    let telling = words.filter(|word| {
        !word.chars().all(|character| character.is_ascii_digit())
            && !EVERYWHERE
                .split_ascii_whitespace()
                .any(|common| common.eq_ignore_ascii_case(word))
    });
    telling.map(|word| word.chars().count()).sum::<usize>() >= MIN_LETTERS
}

/// The lines that the finding itself quotes.
struct Own<'a> {
    places: Vec<(&'a str, u32, u32)>,
    lines: Vec<String>,
}

impl<'a> Own<'a> {
    fn of(finding: &'a Finding) -> Self {
        let mut own = Self {
            places: Vec::new(),
            lines: Vec::new(),
        };
        let end = finding.end_line.unwrap_or(finding.line);
        own.add(&finding.file, finding.line, end, &finding.evidence);
        if let Some(second) = &finding.second {
            own.add(&second.file, second.line, second.line, &second.code);
        }
        own
    }

    fn add(&mut self, file: &'a str, line: u32, end: u32, code: &str) {
        let quoted = u32::try_from(code.lines().count().max(1)).unwrap_or(u32::MAX);
        let end = end.max(line.saturating_add(quoted).saturating_sub(1));
        self.places.push((file, line, end));
        self.lines.extend(code.lines().map(single_blanks));
    }

    fn has(&self, file: &str, line: u32, text: &str) -> bool {
        let text = single_blanks(text);
        // What a fix has added to a quoted line is no part of the finding.
        let is_more = |own: &String| !own.is_empty() && text.len() > own.len() && text.contains(own.as_str());
        self.lines.contains(&text) || (self.is_place(file, line) && !self.lines.iter().any(is_more))
    }

    /// Returns whether the line at this place is one of those that are quoted. What stands there now is no part of the finding if it is
    /// other code, as where the quoted lines are removed.
    fn accuses(&self, file: &str, line: u32, text: &str) -> bool {
        let text = single_blanks(text);
        let is_quoted = |own: &String| !own.is_empty() && (text.contains(own.as_str()) || own.contains(&text));
        self.is_place(file, line) && self.lines.iter().any(is_quoted)
    }

    fn is_place(&self, file: &str, line: u32) -> bool {
        let here = |(own, first, last): &(&str, u32, u32)| *own == file && (*first..=*last).contains(&line);
        self.places.iter().any(here)
    }
}

/// Returns the first of these lines as base counts it, if the change leaves them as they were.
pub(crate) fn base_line(file: QuotedFile<'_>, line: u32, end_line: u32) -> Option<u32> {
    let length = end_line.saturating_sub(line).saturating_add(1);
    at_base(file, Place { line, length })
}

/// The first of the quoted lines at base, if the change leaves them as they were: they stand there too, in one piece, and none of
/// them is added or moved. What is not known counts as changed.
fn at_base(file: QuotedFile<'_>, place: Place) -> Option<u32> {
    let base = file.base?;
    if base == file.head {
        // A file whose mode or name changes is another one, even with the same text.
        return file.change.is_none().then_some(place.line);
    }
    let change = file.change?;
    if change.kind != ChangeKind::Modified || change.modes.0 != change.modes.1 || change.unread.is_some() {
        return None;
    }
    let mut before: Option<u32> = None;
    for line in place.lines() {
        let row = change.lines.row_at_head(line)?;
        let follows = before.is_none_or(|before| row.old == before + 1);
        if row.kind != RowKind::Context || !follows {
            return None;
        }
        before = Some(row.old);
    }
    // The map of lines and the text have to agree.
    let first = before.map_or(0, |last| last.saturating_sub(place.length.saturating_sub(1)));
    let at_base = Place {
        line: first,
        length: place.length,
    };
    let is_same = first > 0 && at_base.code(base).trim_end() == place.code(file.head).trim_end();
    is_same.then_some(first)
}

#[cfg(test)]
#[path = "refutation_tests.rs"]
mod tests;
