//! A fix that the author can commit with one click.

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
/// The code that it replaces is the finding's evidence, and has to stand in the file byte for byte: whoever commits it
/// commits exactly what was reviewed. A fix in words is none, nor is one that begins in another column than that code, one whose lines the forge would read as something
/// else than code, nor one that a secret was taken out of.
pub fn committable(finding: &Finding, file: &str) -> Option<Suggestion> {
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
        || text.contains(conclave_shared::redact::MARK)
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

/// Whether the forge could take a line of a code block for something else.
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

/// Whether a fix is a sentence about code. Reviewers write either, and only code may be committed.
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
