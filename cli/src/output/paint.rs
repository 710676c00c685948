//! Colours and links of our own, in a form that no text from outside can have.
//!
//! What is printed is made of our words and of words that others wrote. An escape sequence among them could be either's, so
//! ours are no escape sequences before the last moment: each is a run of characters without a width that begins with a key of
//! this process. [`super::door`] turns those into sequences, and leaves out everything else that a terminal acts on.

use std::{
    fmt::Display,
    hash::{BuildHasher, Hasher, RandomState},
    sync::LazyLock,
};

/// Begins a sign of ours.
pub(crate) const OPEN: char = '\u{E0001}';
/// Ends it.
pub(crate) const CLOSE: char = '\u{E007F}';
/// Where printable ASCII is among the characters that have no width.
const TAGS: u32 = 0xE0000;

/// What every sign of this process begins with: nobody outside can know it.
static KEY: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().build_hasher().finish()));

/// What a sign of ours stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The parameters of a style.
    Style(String),
    /// The address of a link that begins here; empty where one ends.
    Link(String),
}

impl Sign {
    fn text(&self) -> String {
        let content = match self {
            Self::Style(parameters) => format!("{}s{parameters}", KEY.as_str()),
            Self::Link(address) => format!("{}l{address}", KEY.as_str()),
        };
        let hidden = content.chars().filter(|character| matches!(character, ' '..='~'));
        let hidden = hidden.filter_map(|character| char::from_u32(TAGS + u32::from(character)));
        std::iter::once(OPEN).chain(hidden).chain([CLOSE]).collect()
    }

    /// Reads the sign that the text begins with, and its length; `None` if it is not one of ours.
    pub(crate) fn read(text: &str) -> Option<(Self, usize)> {
        let end = text.strip_prefix(OPEN)?.find(CLOSE)? + OPEN.len_utf8();
        let hidden = &text[OPEN.len_utf8()..end];
        let content: Option<String> = hidden
            .chars()
            .map(|character| u32::from(character).checked_sub(TAGS).and_then(char::from_u32))
            .collect();
        let content = content?;
        let content = content.strip_prefix(KEY.as_str())?;
        let sign = match content.split_at_checked(1)? {
            ("s", parameters) => Self::Style(parameters.to_owned()),
            ("l", address) => Self::Link(address.to_owned()),
            _ => return None,
        };
        Some((sign, end + CLOSE.len_utf8()))
    }

    /// The sequence that a terminal understands.
    pub(crate) fn sequence(&self) -> String {
        match self {
            Self::Style(parameters) => format!("\x1b[{parameters}m"),
            Self::Link(address) => format!("\x1b]8;;{address}\x1b\\"),
        }
    }
}

/// A link on a text.
pub(crate) fn link(text: &str, address: &str) -> String {
    let (open, close) = (Sign::Link(address.to_owned()), Sign::Link(String::new()));
    format!("{}{text}{}", open.text(), close.text())
}

/// Text with a style.
pub(crate) trait Paint: Display {
    /// The text, red.
    fn red(&self) -> String {
        painted(self, "31", "39")
    }

    /// The text, green.
    fn green(&self) -> String {
        painted(self, "32", "39")
    }

    /// The text, yellow.
    fn yellow(&self) -> String {
        painted(self, "33", "39")
    }

    /// The text, blue.
    fn blue(&self) -> String {
        painted(self, "34", "39")
    }

    /// The text, cyan.
    fn cyan(&self) -> String {
        painted(self, "36", "39")
    }

    /// The text, bold.
    fn bold(&self) -> String {
        painted(self, "1", "22")
    }

    /// The text, paler than others.
    fn dimmed(&self) -> String {
        painted(self, "2", "22")
    }
}

impl<T: Display + ?Sized> Paint for T {}

fn painted(text: &(impl Display + ?Sized), on: &str, off: &str) -> String {
    let (on, off) = (Sign::Style(on.to_owned()), Sign::Style(off.to_owned()));
    format!("{}{text}{}", on.text(), off.text())
}

#[cfg(test)]
mod tests {
    use textwrap::core::display_width;

    use super::*;

    #[test]
    fn a_sign_is_read_back_and_takes_no_room() {
        let text = "x".red().bold();
        assert_eq!(display_width(&text), 1);
        let (sign, length) = Sign::read(&text).expect("a sign");
        assert_eq!(
            (sign.sequence().as_str(), Sign::read(&text[length..]).is_some()),
            ("\x1b[1m", true)
        );
        let link = link("there", "https://example.org/a?b=c");
        assert_eq!(display_width(&link), 5);
        let (sign, _) = Sign::read(&link).expect("a sign");
        assert_eq!(sign, Sign::Link("https://example.org/a?b=c".to_owned()));
    }

    #[test]
    fn nobody_else_can_make_one() {
        let foreign: String = "0123456789abcdefs8"
            .chars()
            .filter_map(|c| char::from_u32(TAGS + u32::from(c)))
            .collect();
        assert_eq!(Sign::read(&format!("{OPEN}{foreign}{CLOSE}")), None);
        assert_eq!(Sign::read("\u{E0001}"), None);
        assert_eq!(Sign::read(""), None);
    }
}
