//! A fix that the author can commit with one click.

use std::collections::BTreeSet;

use conclave_shared::finding::Finding;

/// The most lines of a fix that is offered for committing, and of the code that it replaces.
const MAX_LINES: usize = 10;

/// Lines at head and what they become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The first line that is replaced.
    pub first: u32,
    /// The last line that is replaced.
    pub last: u32,
    /// The new lines, without a line break at the end.
    pub text: String,
}

/// The fix as something that can be committed as it stands, or nothing.
///
/// The code that it replaces is the finding's evidence, which its reviewer has to have quoted whole, and which has to stand in the file
/// byte for byte: a click commits exactly what was reviewed. A fix in words is none, nor is one that begins in another column
/// than that code, one whose lines the forge would read as something else than code, one in the form of a patch or of a listing, one
/// that leaves something out, nor one for the finding's second place.
pub fn committable(finding: &Finding, file: &str) -> Option<Suggestion> {
    if !finding.quoted_whole {
        return None;
    }
    let text = finding.fix.as_deref()?.trim_matches('\n');
    let old = finding.evidence.trim_matches('\n');
    let count = old.split('\n').count();
    if old.trim().is_empty() || count > MAX_LINES || text.split('\n').count() > MAX_LINES {
        return None;
    }
    if text == old
        || indentation(text) != indentation(old)
        || is_prose(text, old)
        || text.split('\n').any(acts)
        || is_adorned(text, old)
        || leaves_out(text, old)
        || is_for_second(finding, text)
    {
        return None;
    }
    let first = finding.line;
    let last = first.checked_add(u32::try_from(count - 1).ok()?)?;
    let start = usize::try_from(first.checked_sub(1)?).ok()?;
    // Not `lines()`, which would take a carriage return for nothing.
    let stands = file.split('\n').skip(start).take(count).eq(old.split('\n'));
    stands.then(|| Suggestion {
        first,
        last,
        text: text.to_owned(),
    })
}

/// Marks of what must not be written: of ours, and of what models write for a secret.
const MASKS: [&str; 3] = [conclave_shared::redact::MARK, "<redacted>", "***"];

/// Returns whether a part of the fix is not written out: a masked secret, or lines that stay as they are (`...`, `# ... as before`).
fn leaves_out(text: &str, old: &str) -> bool {
    let is_gap = |line: &str| {
        let line = line.trim();
        let inside = line.trim_start_matches(['/', '#', '*', '-', '<', '!', '%', ';', ' ']);
        let is_comment = inside.len() < line.len();
        ["...", "…"]
            .iter()
            .any(|gap| line == *gap || (is_comment && inside.starts_with(gap)))
    };
    let text_in_lower_case = text.to_lowercase();
    MASKS.iter().any(|mask| text_in_lower_case.contains(mask))
        || (text.split('\n').any(is_gap) && !old.split('\n').any(is_gap))
}

/// Returns whether lines of the fix begin with what patches, listings and Markdown have in front of code, and those that it replaces do not.
fn is_adorned(text: &str, old: &str) -> bool {
    let marks: [fn(&str) -> bool; 5] = [
        |line| line.starts_with('+'),
        |line| line.starts_with('-'),
        |line| line.starts_with("@@"),
        |line| line.trim_start().starts_with('`'),
        is_numbered,
    ];
    let has = |text: &str, mark: fn(&str) -> bool| text.split('\n').any(mark);
    marks.into_iter().any(|mark| has(text, mark) && !has(old, mark))
}

fn is_numbered(line: &str) -> bool {
    let line = line.trim_start();
    let behind = line.trim_start_matches(|character: char| character.is_ascii_digit());
    behind.len() < line.len() && behind.trim_start().starts_with([':', '|', '→'])
}

/// Returns whether the fix is more like the code of the finding's second place than like the code that it would replace.
fn is_for_second(finding: &Finding, text: &str) -> bool {
    fn words(code: &str) -> BTreeSet<&str> {
        let words = code.split(|character: char| !character.is_alphanumeric() && character != '_');
        words.filter(|word| !word.is_empty()).collect()
    }
    let fixed = words(text);
    // Shared words, and all words of both.
    let likeness = |code: &str| {
        let code = words(code);
        (code.intersection(&fixed).count(), code.union(&fixed).count())
    };
    finding.second.as_ref().is_some_and(|second| {
        let (of_second, of_own) = (likeness(&second.code), likeness(&finding.evidence));
        of_second.0 * of_own.1 > of_own.0 * of_second.1
    })
}

/// Returns whether the forge could take a line of a code block for something else.
fn acts(line: &str) -> bool {
    let command = line
        .strip_prefix('/')
        .is_some_and(|name| name.starts_with(|character: char| character.is_ascii_alphabetic()));
    command
        || line.contains("```")
        || line
            .chars()
            .any(|character| (character.is_control() && character != '\t') || is_invisible(character))
}

/// Characters that make a line look different from what is committed.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The white space that the first line begins with.
fn indentation(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches([' ', '\t']).len()]
}

/// Verbs that begin a sentence about code, in the order of the alphabet.
const VERBS: &str = "add append apply assign avoid bind call catch change check clear close compare compute consider convert copy define \
    delete derive do document drop encode ensure escape extract fix guard handle hash inject inline insert introduce join keep limit \
    load log make move open parse pass pin prefer provide put raise read reject remove rename replace restore restrict reuse revert \
    sanitize see set skip split store strip switch throw trim update use validate verify wrap write";

/// Returns whether a fix is a sentence about code. Reviewers write either, and only code may be committed.
fn is_prose(text: &str, old: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain = |word: &str| {
        word.trim_end_matches([',', '.', ':', ';', '!'])
            .chars()
            .all(|character| character.is_alphabetic() || matches!(character, '\'' | '-' | '/'))
    };
    let Some(first) = words.first().copied() else {
        return false;
    };
    let begins = |verb: &str| first.trim_end_matches(['.', ':', '!']).eq_ignore_ascii_case(verb);
    let is_verb = first.starts_with(char::is_uppercase) && VERBS.split_ascii_whitespace().any(begins);
    // The replaced code may begin with that word, as Dockerfiles and statements of SQL do.
    if is_verb && old.split_whitespace().next() != Some(first) {
        return true;
    }
    if text.contains('\n') {
        return false;
    }
    let sentence = words.len() >= 3 && text.trim_start().starts_with(char::is_uppercase) && text.ends_with(['.', '!']);
    let mostly_words = words.len() >= 4 && words.iter().filter(|word| plain(word)).count() * 4 >= words.len() * 3;
    // "See above", "N/A", "none": words, where code has been with more than words.
    let is_name = words
        .iter()
        .any(|word| old.split(|c: char| !c.is_alphanumeric()).any(|known| known == *word));
    let is_filler = ["none", "n/a", "-", "nothing", "todo", "same"].contains(&text.trim().to_lowercase().as_str());
    let capital = first.starts_with(char::is_uppercase);
    let words_alone = capital && !is_name && words.iter().all(|word| plain(word)) && !old.split_whitespace().all(plain);
    sentence || (mostly_words && !text.ends_with([';', '{', '}', ')', ':', ','])) || words_alone || is_filler
}

#[cfg(test)]
#[path = "suggestion_tests.rs"]
mod tests;
