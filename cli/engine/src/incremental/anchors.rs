//! The code that a finding stands on, remembered as hashes: where it is now, and whether it has changed.
//!
//! Hashes of content and not a diff of two commits, because the commit of the earlier review is often gone: a shallow
//! clone does not have it, and after a force-push nobody has to.

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::{
    normal::normal,
    parts::{
        Haystack, MIN_CODE, find_code, find_words, hash_of, parts_of_code, parts_of_words, readings, whole_of_code,
        without_labels,
    },
    unbroken::unbroken,
    wording::Wording,
};
use crate::{
    findings::{decoded, single_blanks},
    review::{Anchor, AnchorState, QuotedPart, Squeezed},
};

/// So many lines either side belong to the neighbourhood: as many as a hunk of a diff shows. Many a fix is a line that
/// is put in front of the quoted one.
const NEIGHBOURS: usize = 3;

/// A file's text, prepared for looking for several anchors.
#[derive(Debug)]
pub struct Lines {
    pub(super) exact: Vec<String>,
    pub(super) loose: Vec<String>,
    /// Made when parts of its lines are looked for.
    code: OnceLock<Haystack>,
    words: OnceLock<[Haystack; 2]>,
    wording: OnceLock<[Wording; 2]>,
    unbroken: OnceLock<Box<Self>>,
    normal: OnceLock<Vec<String>>,
    normal_code: OnceLock<Haystack>,
}

/// A place where code stands, whatever its white space and its line breaks are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodePlace {
    /// The line that it begins in, from 1.
    pub(super) line: u32,
    /// The line that it ends in.
    pub(super) end_line: u32,
    /// True if that line ends with it.
    pub(super) is_whole: bool,
}

/// Where an anchor is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnchorPlace {
    /// The line, from 1; none if the code is gone.
    pub line: Option<u32>,
    /// Whether it has changed.
    pub state: AnchorState,
}

impl Lines {
    /// Takes the text apart.
    pub fn new(text: &str) -> Self {
        Self {
            exact: text.lines().map(|line| line.trim_end().to_owned()).collect(),
            loose: text.lines().map(single_blanks).collect(),
            code: OnceLock::new(),
            words: OnceLock::new(),
            wording: OnceLock::new(),
            unbroken: OnceLock::new(),
            normal: OnceLock::new(),
            normal_code: OnceLock::new(),
        }
    }

    fn code(&self) -> &Haystack {
        self.code.get_or_init(|| Haystack::of_code(&self.exact))
    }

    /// The same lines without what breaks code over several.
    fn unbroken(&self) -> &Self {
        self.unbroken
            .get_or_init(|| Box::new(Self::new(&unbroken(&self.exact).join("\n"))))
    }

    /// The same lines in the form in which code is compared, without what breaks it over several.
    fn normal(&self) -> &[String] {
        self.normal.get_or_init(|| unbroken(&normal(&self.exact)))
    }

    fn normal_code(&self) -> &Haystack {
        self.normal_code.get_or_init(|| Haystack::of_code(self.normal()))
    }

    fn words(&self) -> &[Haystack; 2] {
        self.words
            .get_or_init(|| Haystack::both_of_words(&self.exact.join("\n")))
    }

    fn wording(&self) -> &[Wording; 2] {
        self.wording
            .get_or_init(|| readings(&self.exact.join("\n")).map(|text| Wording::of(&text)))
    }

    /// The text without white space, and where each line that is not empty begins in it.
    fn squeezed(&self) -> (String, Vec<(u32, usize)>) {
        let mut text = String::new();
        let mut starts = Vec::new();
        for (number, line) in (1..).zip(&self.loose) {
            if !line.is_empty() {
                starts.push((number, text.len()));
                text.push_str(&without_space(line));
            }
        }
        (text, starts)
    }

    /// These lines as they stand, at most so many.
    pub fn excerpt(&self, line: u32, length: usize) -> String {
        let first = index(line);
        let lines = self.exact.iter().skip(first).take(length);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Squeezed {
    /// The identity of this code; none of code that is empty.
    pub(super) fn of(code: &str) -> Option<Self> {
        let code = without_space(code);
        (!code.is_empty()).then(|| Self {
            hash: hash_of(&code),
            length: code.len(),
        })
    }

    /// The lines in which the code begins, if it ends with a line or is long enough to be known by itself.
    fn lines_in(&self, lines: &Lines) -> Vec<u32> {
        let (text, starts) = lines.squeezed();
        let begins = |start: usize| {
            let end = start.saturating_add(self.length);
            let code = text.get(start..end).unwrap_or_default();
            let goes_on = |next: char| next.is_alphanumeric() || next == '_';
            let ends_line = || end == text.len() || starts.binary_search_by_key(&end, |(_, start)| *start).is_ok();
            let is_whole = || ends_line() || (self.length >= MIN_SQUEEZED && !text[end..].starts_with(goes_on));
            hash_of(code) == self.hash && is_whole()
        };
        let found = starts.iter().filter(|(_, start)| begins(*start));
        found.map(|(line, _)| *line).collect()
    }

    /// The places where the code begins in a line of the text, in their order.
    pub(super) fn places_in(&self, lines: &Lines) -> Vec<CodePlace> {
        let (text, starts) = lines.squeezed();
        let place = |(line, start): &(u32, usize)| {
            let end = start.saturating_add(self.length);
            let code = text.get(*start..end)?;
            if hash_of(code) != self.hash {
                return None;
            }
            let behind = starts.partition_point(|(_, start)| *start < end);
            let next = starts.get(behind).map_or(text.len(), |(_, start)| *start);
            let (end_line, _) = starts.get(behind.checked_sub(1)?)?;
            Some(CodePlace {
                line: *line,
                end_line: *end_line,
                is_whole: next == end,
            })
        };
        starts.iter().filter_map(place).collect()
    }
}

impl Anchor {
    /// The anchor of these lines, counted from 1; none if the text does not have them.
    pub fn of(lines: &Lines, line: u32, end_line: Option<u32>) -> Option<Self> {
        let first = index(line);
        let length = length(line, end_line);
        if line == 0 || first + length > lines.exact.len() {
            return None;
        }
        let parts = parts_of_code(&unbroken(&lines.exact[first..first + length]));
        let normal = normal_parts(&lines.normal()[first..first + length]);
        Some(Self {
            code: hash(&lines.loose[first..first + length]),
            around: around(lines, first, length),
            under: under(lines, first),
            each: each(&lines.loose[first..first + length]),
            squeezed: squeezed(&unbroken(&lines.loose[first..first + length])),
            normal: if normal == parts { Vec::new() } else { normal },
            parts,
            removed: Vec::new(),
            words: Vec::new(),
            wording: Vec::new(),
        })
    }

    /// The same for a finding about words in these lines, of which it quotes these: it stands on them wherever they stand, and not
    /// on the rest of their lines.
    #[must_use]
    pub(crate) fn of_words(self, lines: &Lines, line: u32, end_line: Option<u32>, quote: &str) -> Self {
        let words = parts_of_words(quote);
        // A quote as a tool has shown it has numbers and marks in front of its lines.
        let stands = !words.is_empty() && find_words(&words, lines.words(), line, &|_| true).is_some();
        let (words, quote) = if stands {
            (words, quote.to_owned())
        } else {
            let excerpt = lines.excerpt(line, length(line, end_line));
            (parts_of_words(&excerpt), excerpt)
        };
        Self {
            words,
            wording: Wording::of(&decoded(&without_labels(&quote))).remembered(),
            parts: Vec::new(),
            normal: Vec::new(),
            ..self
        }
    }

    /// Looks for the anchor in a text. Of several places one that is unchanged comes first, then one that is under the same
    /// line, then the nearest.
    pub fn find(&self, lines: &Lines, near: u32, end_line: Option<u32>) -> AnchorPlace {
        self.find_beside(lines, near, end_line, &[])
    }

    /// The same, at none of the lines that are `taken`.
    pub(super) fn find_beside(&self, lines: &Lines, near: u32, end_line: Option<u32>, taken: &[u32]) -> AnchorPlace {
        let length = length(near, end_line);
        let mut best: Option<(bool, bool, u32, u32)> = None;
        for (first, window) in lines.loose.windows(length).enumerate() {
            if hash(window) != self.code {
                continue;
            }
            let Ok(line) = u32::try_from(first + 1) else { break };
            if taken.contains(&line) {
                continue;
            }
            let changed = around(lines, first, length) != self.around;
            let elsewhere = self.under.is_some() && under(lines, first) != self.under;
            let place = (changed, elsewhere, line.abs_diff(near), line);
            best = Some(best.map_or(place, |best| best.min(place)));
        }
        if best.is_none()
            && let Some(line) = self.find_scattered(lines, near, taken)
        {
            return AnchorPlace {
                line: Some(line),
                state: AnchorState::ChangedBeside,
            };
        }
        AnchorPlace {
            line: best.map(|(.., line)| line),
            state: match best {
                Some((false, ..)) => AnchorState::Unchanged,
                Some((true, ..)) => AnchorState::ChangedBeside,
                None => AnchorState::Changed,
            },
        }
    }

    /// The line in which the quoted lines begin where others have come between them; the nearest that is not `taken`.
    fn find_scattered(&self, lines: &Lines, near: u32, taken: &[u32]) -> Option<u32> {
        let (head, rest) = self.each.split_first()?;
        let own: Vec<String> = lines.loose.iter().map(|line| hash_of_line(line)).collect();
        let goes_on = |first: usize| {
            let mut at = first;
            rest.iter().all(|sought| {
                let reach = own.iter().enumerate().skip(at + 1).take(MAX_BETWEEN + 1);
                let next = reach.into_iter().find(|(_, hash)| *hash == sought);
                next.map(|(found, _)| at = found).is_some()
            })
        };
        let begins = (0..own.len()).filter(|first| own[*first] == *head && goes_on(*first));
        let found = begins.filter_map(|first| u32::try_from(first + 1).ok());
        found
            .filter(|line| !taken.contains(line))
            .min_by_key(|line| line.abs_diff(near))
    }

    /// The line in which the same code begins, whatever its white space and its line breaks are now; of several the nearest that is
    /// not `taken`.
    pub(super) fn find_squeezed(&self, lines: &Lines, near: u32, taken: &[u32]) -> Option<u32> {
        let sought = self.squeezed.as_ref()?;
        // What an older version wrote is broken as it was.
        let found = sought
            .lines_in(lines.unbroken())
            .into_iter()
            .chain(sought.lines_in(lines));
        let found = found.filter(|line| !taken.contains(line) && self.tells_at(lines, *line, sought.length));
        found.min_by_key(|line| line.abs_diff(near))
    }

    /// The line in which the quoted lines stand as parts of others, folded as quotes are, if each of them does; of several the nearest
    /// that `may_hold` them. Words that are quoted stand also over the ends of lines, with marks between them, and if most of them do.
    pub(super) fn find_parts(&self, lines: &Lines, near: u32, may_hold: &dyn Fn(u32) -> bool) -> Option<u32> {
        if self.is_of_words() {
            let whole = find_words(&self.words, lines.words(), near, may_hold);
            if whole.is_some() || self.wording.is_empty() {
                return whole;
            }
            let mut texts = lines.wording().iter();
            return texts.find_map(|text| text.find(&self.wording, near, may_hold));
        }
        if self.parts.is_empty() && self.normal.is_empty() {
            return None;
        }
        let find = |text: &Lines| find_code(&self.parts, text.code(), near, may_hold);
        let found = find(lines).or_else(|| find(lines.unbroken()));
        found.or_else(|| self.find_normal(lines, near, may_hold))
    }

    /// The line in which the quoted lines stand in another writing.
    fn find_normal(&self, lines: &Lines, near: u32, may_hold: &dyn Fn(u32) -> bool) -> Option<u32> {
        // What an older version wrote has its own writing.
        let normal = if self.normal.is_empty() {
            &self.parts
        } else {
            &self.normal
        };
        let length: usize = normal.iter().map(|part| part.length).sum();
        let is_it = |line: u32| may_hold(line) && self.tells_at(lines, line, length);
        find_code(normal, lines.normal_code(), near, &is_it)
    }

    /// Returns whether it is about words.
    pub(super) fn is_of_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns whether equal code that begins in this line is this code and not some other that happens to be equal. `length`
    /// is that of the code, in bytes besides white space: enough of them, or at least some under the same line.
    pub(super) fn tells_at(&self, lines: &Lines, line: u32, length: usize) -> bool {
        length >= MIN_SQUEEZED || (length >= MIN_WHOLE && under(lines, index(line)) == self.under)
    }

    /// Returns whether it is the same code, wherever that stands.
    pub fn is_same_code(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

pub(super) fn index(line: u32) -> usize {
    usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn length(line: u32, end_line: Option<u32>) -> usize {
    let lines = end_line.map_or(1, |end| end.saturating_sub(line).saturating_add(1));
    usize::try_from(lines).unwrap_or(usize::MAX).max(1)
}

fn around(lines: &Lines, first: usize, length: usize) -> String {
    let from = first.saturating_sub(NEIGHBOURS);
    let to = (first + length + NEIGHBOURS).min(lines.exact.len());
    hash(&lines.exact[from..to])
}

/// The hash of the nearest line above that is indented less.
fn under(lines: &Lines, first: usize) -> Option<String> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let own = indentation(lines.exact.get(first)?);
    let above = lines.exact[..first].iter().rev();
    let mut above = above.filter(|line| !line.is_empty());
    let header = above.find(|line| indentation(line) < own)?;
    Some(hash(std::slice::from_ref(header)))
}

/// So many bytes besides white space a piece of code needs to be recognized by itself: fewer may be the beginning of any other.
const MIN_SQUEEZED: usize = MIN_CODE;

/// So many it needs to be recognized by the line that it is under: fewer are a bracket, an `else` or a `pass`.
pub(super) const MIN_WHOLE: usize = 6;

/// Maximum number of lines that may have come between two that were quoted.
const MAX_BETWEEN: usize = 8;

/// Maximum number of quoted lines that are remembered one by one.
const MAX_EACH: usize = 12;

/// The hashes of several lines, without those that are empty; none where nothing of them differs from other code.
fn each(lines: &[String]) -> Vec<String> {
    let lines: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
    let tells = lines.iter().any(|line| without_space(line).len() >= MIN_SQUEEZED);
    if lines.len() < 2 || lines.len() > MAX_EACH || !tells {
        return Vec::new();
    }
    lines.into_iter().map(|line| hash_of_line(line)).collect()
}

fn hash_of_line(line: &str) -> String {
    hex::encode(&Sha256::digest(line)[..4])
}

/// The parts by which lines are known in the form in which code is compared; short ones only together.
fn normal_parts(lines: &[String]) -> Vec<QuotedPart> {
    let parts = parts_of_code(lines);
    if !parts.is_empty() {
        return parts;
    }
    let whole = whole_of_code(lines).filter(|whole| whole.length >= MIN_WHOLE);
    whole.into_iter().collect()
}

fn squeezed(lines: &[String]) -> Option<Squeezed> {
    let code = without_space(&lines.concat());
    (code.len() >= MIN_WHOLE).then(|| Squeezed {
        hash: hash_of(&code),
        length: code.len(),
    })
}

pub(super) fn without_space(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

pub(super) fn hash(lines: &[String]) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.as_bytes());
        hash.update(b"\n");
    }
    hex::encode(&hash.finalize()[..8])
}

#[cfg(test)]
#[path = "anchors_tests.rs"]
mod tests;
