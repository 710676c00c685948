//! Lines that stand between the tags of JSX, where a sentence looks like code.

use super::Quote;
use crate::findings::without_texts;

/// Signs behind which a tag may begin in code.
const BEFORE_TAG: [char; 14] = ['(', '{', '[', '}', '>', '=', '?', ':', '&', '|', ',', ';', '!', ')'];

/// Words behind which one may.
const WORDS_BEFORE_TAG: [&str; 7] = ["return", "default", "case", "yield", "await", "else", "do"];

/// Returns whether one of the lines has a tag, or stands in one or between two.
pub(super) fn is_in_markup(quote: &Quote<'_>) -> bool {
    let mut reader = Reader::default();
    (0..quote.end).any(|at| {
        let was_open = reader.tag.is_some() || !reader.open.is_empty();
        let has_tag = reader.read(&without_texts(&quote.lines[at].runs));
        at >= quote.first && (was_open || has_tag)
    })
}

/// A tag whose end has not come yet.
#[derive(Debug)]
struct Tag {
    name: String,
    /// The braces that are open in it: what stands in them is code.
    braces: usize,
}

/// Reads lines for their tags.
#[derive(Debug, Default)]
struct Reader {
    /// The names of the elements that are open.
    open: Vec<String>,
    tag: Option<Tag>,
}

impl Reader {
    /// Reads the next line. Returns whether it holds a tag.
    fn read(&mut self, line: &str) -> bool {
        let mut has_tag = false;
        for (at, character) in line.char_indices() {
            let (before, rest) = line.split_at(at);
            if let Some(tag) = &mut self.tag {
                has_tag = true;
                match character {
                    '{' => tag.braces += 1,
                    '}' => tag.braces = tag.braces.saturating_sub(1),
                    '>' if tag.braces == 0 && !before.ends_with('=') => {
                        let ended = self.tag.take().map(|tag| tag.name);
                        self.open.extend(ended.filter(|_| !before.ends_with('/')));
                    }
                    _ => {}
                }
            } else if let Some(closed) = rest.strip_prefix("</") {
                let name = name_of(closed);
                if let Some(opening) = self.open.iter().rposition(|own| own == name) {
                    self.open.truncate(opening);
                    has_tag = true;
                }
            } else if character == '<' && self.may_begin(before, &rest[1..]) {
                has_tag = true;
                self.tag = Some(Tag {
                    name: name_of(&rest[1..]).to_owned(),
                    braces: 0,
                });
            }
        }
        has_tag
    }

    /// Returns whether `<` between these two opens a tag, as opposed to a comparison or to parameters of a type.
    fn may_begin(&self, before: &str, behind: &str) -> bool {
        let name = name_of(behind);
        let rest = &behind[name.len()..];
        let is_of_types = name.starts_with(char::is_uppercase)
            && (name.len() == 1 || (name.starts_with('T') && name[1..].starts_with(char::is_uppercase)));
        let is_generic = rest.starts_with(',')
            || rest.trim_start().starts_with("extends ")
            || (is_of_types && rest.starts_with(">("));
        let is_name = name.starts_with(|first: char| first.is_alphabetic() || matches!(first, '_' | '$'));
        if is_generic || !(is_name || behind.starts_with('>')) {
            return false;
        }
        let is_of_word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
        if !self.open.is_empty() {
            // What follows a name at once are the types of a call.
            return !before.ends_with(is_of_word);
        }
        let before = before.trim_end();
        let word = &before[before.trim_end_matches(is_of_word).len()..];
        before.is_empty() || before.ends_with(BEFORE_TAG) || WORDS_BEFORE_TAG.contains(&word)
    }
}

/// The name of an element; an empty one for a fragment.
fn name_of(text: &str) -> &str {
    let is_of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '.' | '-' | ':');
    &text[..text.find(|next| !is_of_name(next)).unwrap_or(text.len())]
}
