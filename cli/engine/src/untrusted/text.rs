//! Text that a user of the forge can write: it cannot close a section of a prompt.
//!
//! Boundary tags are removed until none is left ([`super::boundary`]), in any case and spacing, with attributes, as
//! entities and in look-alike or invisible characters. Besides, every section's tag carries a nonce that the author
//! cannot guess, so a tag that would slip through would still not be one.
//!
//! Patches and source files are no part of any section: they are files that the agent reads with its tools, byte for
//! byte, because findings quote them.

use std::fmt;

use conclave_shared::invisible::is_invisible;

use super::{KnownMarks, OwnWords, boundary};

/// Text from outside. Only [`Untrusted::sanitized`] takes it out.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Untrusted(String);

impl fmt::Debug for Untrusted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Untrusted({} bytes)", self.0.len())
    }
}

impl<T: Into<String>> From<T> for Untrusted {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Untrusted {
    /// The text without boundary tags and invisible characters: safe inside a section.
    pub fn sanitized(&self) -> String {
        let text: String = self.0.chars().filter(|character| !is_invisible(*character)).collect();
        boundary::remove(text).0
    }

    /// The text in one line: safe where a line means something, such as in a list of files.
    pub fn sanitized_line(&self) -> String {
        let ends_line = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        self.sanitized().split(ends_line).collect::<Vec<_>>().join(" ")
    }

    /// What its writer says in their own words. For deciding what a comment asks for; no prompt is made of it.
    pub fn own_words(&self) -> OwnWords {
        OwnWords::of(&self.0)
    }

    /// Returns whether one of these secret marks stands in the text.
    pub fn holds(&self, marks: &KnownMarks) -> bool {
        marks.stand_in(&self.0)
    }

    /// Whether there is anything but white space.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
