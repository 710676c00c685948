//! Text for places that take less than a terminal of today: other character sets, and the prompts of other agents.

use std::{borrow::Cow, sync::OnceLock};

use crate::{
    env::Environment,
    output::door::{self, Keep},
};

/// Whether signs of ours have to be ASCII.
static ASCII_ONLY: OnceLock<bool> = OnceLock::new();

/// Looks at the character set once, before anything is printed.
pub(crate) fn set_locale(environment: &Environment) {
    let _ = ASCII_ONLY.set(!is_utf8(environment));
}

/// Returns whether signs of ours have to be ASCII.
pub(crate) fn is_ascii_only() -> bool {
    ASCII_ONLY.get().copied().unwrap_or_default()
}

/// Returns whether the locale's character set is UTF-8. Without any locale it is taken to be: so it is in most
/// containers.
fn is_utf8(environment: &Environment) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| environment.get(name));
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The text with our own signs in ASCII, where the terminal takes nothing else. What comes from the code stays as it is.
pub(crate) fn for_locale(text: &str) -> Cow<'_, str> {
    if is_ascii_only() {
        Cow::Owned(in_ascii(text))
    } else {
        Cow::Borrowed(text)
    }
}

fn in_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '─' | '–' | '·' => ascii.push('-'),
            '▌' | '│' => ascii.push('|'),
            '…' => ascii.push_str("..."),
            '✓' => ascii.push('+'),
            '✗' => ascii.push('x'),
            '▸' => ascii.push('>'),
            '→' => ascii.push_str("->"),
            other => ascii.push(other),
        }
    }
    ascii
}

/// The text for the prompt of another agent: without colours, and without anything that attaches a file to the prompt.
///
/// OpenCode, as others do, attaches every existing file whose path follows an `@` in the expanded text of a command. What
/// stands in a review can come from the author of the change.
pub(crate) fn for_prompt(text: &str) -> String {
    let text = door::clean(text, Keep::Text);
    let mut disarmed = String::with_capacity(text.len());
    for character in text.chars() {
        disarmed.push(character);
        if character == '@' {
            // Nobody sees it, and no file has it in its name.
            disarmed.push('\u{2060}');
        }
    }
    disarmed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_what_can_be_shown() {
        let of = |variables: &[(&str, &str)]| {
            is_utf8(&Environment::new(
                variables.iter().map(|(name, value)| (name.into(), value.into())),
            ))
        };
        assert!(of(&[]));
        assert!(of(&[("LANG", "de_DE.UTF-8")]) && of(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!of(&[("LANG", "C")]) && !of(&[("LC_ALL", "de_DE.ISO-8859-1"), ("LANG", "de_DE.UTF-8")]));
        assert_eq!(in_ascii("── ✓ Müller · 1…"), "-- + Müller - 1...");
    }

    #[test]
    fn nothing_in_a_prompt_names_a_file() {
        assert_eq!(
            for_prompt("\u{1b}CRITICAL\u{202e} @/etc/passwd and `x @~/.ssh/id`"),
            "CRITICAL @\u{2060}/etc/passwd and `x @\u{2060}~/.ssh/id`"
        );
    }
}
