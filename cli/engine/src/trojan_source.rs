//! Trojan source: added code that shows something else than what runs.
//!
//! Characters that turn the order of a line, that nothing is seen of, that end a line in one tool and not in another, and
//! letters of one script that look like those of another: people and models read past them. So rules look at each added
//! line of code; no model takes part, and none is needed. Text that people write is left alone: documents, translations,
//! words of right-to-left and non-Latin languages in comments and strings, joined emoji.

mod characters;
mod encoding;
mod surroundings;
mod typography;

use std::{collections::BTreeMap, path::Path};

use conclave_shared::{
    comment_marks::CommentMarks,
    finding::{Finding, Quote},
    path_kind::{Form, PathKind, Role, Wording},
    reviewer::ReviewerName,
    severity::Severity,
};

use self::{
    characters::{Trick, named, trick},
    surroundings::{Surroundings, surroundings},
    typography::{Harm, harm},
};
use crate::{
    look_alike::{Known, is_disguised_whole, is_look_alike, is_mixed, named_letter, words},
    review::{ApprovalHold, HoldCause},
};

/// The category of these findings.
const CATEGORY: &str = "trojan-source";
/// Lines named in one finding.
const MAX_LINES: usize = 5;
/// Characters of a line that are shown.
const MAX_EVIDENCE: usize = 400;
/// A rule is sure of the characters, not of what they are for.
const CONFIDENCE: f64 = 0.95;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Character(Trick, Severity),
    LooksLike,
    Encoding,
}

/// A place in the file.
struct Place {
    line: u32,
    code: String,
    what: String,
}

/// Returns whether this file holds code, as far as these rules go. Documents that steer a tool, such as `AGENTS.md`, do.
pub fn is_checked(path: &str) -> bool {
    let PathKind { form, wording, .. } = PathKind::of(path);
    match wording {
        Wording::Program => true,
        Wording::Document | Wording::Text => form == Form::Code,
        Wording::Translation => false,
    }
}

/// Returns whether a patch can hold anything that these rules look for.
fn is_plain(patch: &[u8]) -> bool {
    let lone = |at: usize| patch.get(at + 1).is_some_and(|next| *next != b'\n');
    let control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t' | b'\r');
    patch.is_ascii() && !memchr::memchr_iter(b'\r', patch).any(lone) && !patch.iter().any(control)
}

/// Returns whether the path of a file holds characters that show another one: invisible ones, and letters of other
/// scripts that look like Latin ones.
pub fn is_disguised_path(path: &str) -> bool {
    let characters: Vec<char> = path.chars().collect();
    (0..characters.len()).any(|at| trick(&characters, at, false).is_some())
        || words(&characters).any(|(_, word)| is_look_alike(&word))
}

/// Checks the added lines of a file's patch, as git wrote it. The findings have no ids yet.
pub fn check(path: &str, diff: &[u8]) -> Vec<Finding> {
    let is_plain = is_plain(diff);
    if !is_checked(path) || (is_plain && !encoding::is_declared_in(path)) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(diff);
    if is_plain {
        return encoding::check(path, lines(&text)).into_iter().collect();
    }
    let mut known = Known::default();
    let mut added: Vec<(u32, Vec<char>)> = Vec::new();
    for (line, before, code) in lines(&text) {
        let code: Vec<char> = code.chars().collect();
        known.note(&code);
        if before.is_none() {
            added.push((line, code));
        }
    }
    let marks = CommentMarks::of(path);
    let is_prose = PathKind::of(path).is_prose();
    let mut faults: BTreeMap<Fault, Vec<Place>> = BTreeMap::new();
    for (line, code) in added {
        let shown: String = code.iter().collect();
        let mut note = |fault: Fault, what: String| {
            let places = faults.entry(fault).or_default();
            if places.last().is_none_or(|place| place.line != line) {
                places.push(Place {
                    line,
                    code: shown.chars().take(MAX_EVIDENCE).collect(),
                    what,
                });
            }
        };
        if !code
            .iter()
            .any(|character| !character.is_ascii() || (character.is_control() && *character != '\t'))
        {
            continue;
        }
        for at in 0..code.len() {
            let Some(trick) = trick(&code, at, line == 1) else {
                continue;
            };
            let Some(severity) = severity(path, trick, &code, at, marks) else {
                continue;
            };
            note(Fault::Character(trick, severity), named(code[at]));
        }
        // In prose, words of any language are at home.
        for (at, word) in words(&code).filter(|(_, word)| !is_prose && !word.is_ascii()) {
            let place = surroundings(&code, at, marks);
            if place == Surroundings::Comment {
                continue;
            }
            let twin = known.twin(&word).filter(|_| place == Surroundings::Code);
            let alike = is_mixed(&word) || (is_disguised_whole(&word) && twin.is_some());
            if alike {
                let foreign = word.chars().find(|character| !character.is_ascii());
                note(Fault::LooksLike, foreign.map(named_letter).unwrap_or_default());
            }
        }
    }
    let mut findings: Vec<Finding> = faults
        .iter()
        .map(|(fault, places)| finding(path, fault, places))
        .collect();
    findings.extend(encoding::check(path, lines(&text)));
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// The severity of a character by what it can do at its place; none where it is a part of ordinary writing.
fn severity(path: &str, trick: Trick, code: &[char], at: usize, marks: &CommentMarks) -> Option<Severity> {
    match trick {
        Trick::Control => (!may_be_output(path)).then_some(Severity::Warning),
        Trick::Invisible => match surroundings(code, at, marks) {
            Surroundings::Comment => Some(Severity::Warning),
            place => match harm(path, code, at, place) {
                Harm::No => None,
                Harm::Perhaps => Some(Severity::Warning),
                Harm::Likely => Some(Severity::Critical),
            },
        },
        Trick::Direction | Trick::Separator | Trick::Tag => Some(Severity::Critical),
    }
}

/// Returns whether a file may be what a program has printed, with the colors of a terminal: the snapshot of a test, or another text beside
/// tests that is in no known language. A name without an extension may be a script's.
fn may_be_output(path: &str) -> bool {
    let PathKind { role, form, .. } = PathKind::of(path);
    matches!(role, Role::Data | Role::Test) && form == Form::Unknown && Path::new(path).extension().is_some()
}

/// Why the approval is withheld for these findings.
pub fn hold(findings: &[Finding], disguised_paths: &[String]) -> Option<ApprovalHold> {
    if findings.is_empty() && disguised_paths.is_empty() {
        return None;
    }
    let reason = "Added code, or the name of a file, holds characters that show something else than what runs.";
    let places = findings
        .iter()
        .map(|finding| format!("{}:{}", finding.file, finding.line))
        .chain(disguised_paths.iter().cloned());
    Some(ApprovalHold::new(HoldCause::TrojanSource, reason).at(places))
}

/// The lines of a patch at head: the number, the number at base if it stood there, and the code.
fn lines(patch: &str) -> impl Iterator<Item = (u32, Option<u32>, &str)> {
    let (mut before, mut number) = (0, 0);
    let mut in_hunk = false;
    patch.split('\n').filter_map(move |line| {
        if let Some(hunk) = line.strip_prefix("@@ ") {
            let first = |side: char| {
                let begin = hunk.split(side).nth(1)?.split([',', ' ']).next()?;
                begin.parse::<u32>().ok()
            };
            (before, number) = (first('-').unwrap_or(1), first('+').unwrap_or(1));
            in_hunk = true;
            return None;
        }
        if !in_hunk {
            return None;
        }
        let (mark, code) = line.split_at_checked(1)?;
        let code = code.strip_suffix('\r').unwrap_or(code);
        let at_base = before;
        if matches!(mark, "-" | " ") {
            before += 1;
        }
        if matches!(mark, "+" | " ") {
            number += 1;
        }
        match mark {
            "+" => Some((number - 1, None, code)),
            " " => Some((number - 1, Some(at_base), code)),
            _ => None,
        }
    })
}

fn finding(path: &str, fault: &Fault, places: &[Place]) -> Finding {
    let first = &places[0];
    let (severity, claim, scenario) = match fault {
        Fault::Character(trick, severity) => {
            let (effect, scenario) = match trick {
                Trick::Direction => (
                    "changes the order in which its characters are shown",
                    "Who reads the line sees other code than the compiler or the interpreter does.",
                ),
                Trick::Separator => (
                    "ends a line for some tools and not for others",
                    "What looks like a comment or a string can end there, and what follows runs.",
                ),
                Trick::Tag => (
                    "people do not see and which programs and models read",
                    "Text that no reviewer sees is compared, executed or obeyed.",
                ),
                Trick::Control => (
                    "terminals and editors act on",
                    "A terminal, a pager or a log shows another line than the one that runs.",
                ),
                Trick::Invisible => (
                    "people do not see",
                    "Two names or strings that look the same are different, and a check that seems to match does not.",
                ),
            };
            let claim = format!("This line holds {}, which {effect}.", first.what);
            (*severity, claim, scenario)
        }
        Fault::Encoding => (
            Severity::Critical,
            format!(
                "This file declares the encoding {}, in which its text means something else than it shows.",
                first.what
            ),
            "Code that looks like a comment or a string runs.",
        ),
        Fault::LooksLike => (
            Severity::Warning,
            format!(
                "A name in this line has a letter of another script ({}) that looks like a Latin one.",
                first.what
            ),
            "Two names that look the same are different, and the code uses another one than a reader thinks.",
        ),
    };
    let others: Vec<String> = places
        .iter()
        .skip(1)
        .take(MAX_LINES)
        .map(|place| place.line.to_string())
        .collect();
    let scenario = if others.is_empty() {
        scenario.to_owned()
    } else {
        format!("{scenario} The same in line {}.", others.join(", "))
    };
    let quote = Quote {
        file: path.to_owned(),
        line: first.line,
        code: first.code.clone(),
    };
    Finding {
        claim,
        scenario,
        checked: "Each added line of the file, by rules.".to_owned(),
        confidence: CONFIDENCE,
        ..Finding::of_rules(ReviewerName::TROJAN_SOURCE, severity, CATEGORY, quote)
    }
}

#[cfg(test)]
#[path = "trojan_source_tests.rs"]
mod tests;
