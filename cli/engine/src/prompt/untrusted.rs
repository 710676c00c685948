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
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{KnownMarks, boundary};
use crate::own_words::OwnWords;

/// The names of all sections that prompts are made of.
pub const SECTIONS: &[&str] = &[
    "mr_input",
    "mr_details",
    "mr_body",
    "mr_comments",
    "changed_files",
    "existing_inline_findings",
    "previous_review",
    "custom_review_instructions",
    "agents_md_template_instructions",
    "commit_messages",
    "codex_rules",
    "materiality_hints",
    "review_panel",
    "established_facts",
    "hot_spots",
];

/// Text from outside. Only [`Untrusted::sealed`] takes it out.
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
    pub fn sealed(&self) -> String {
        let text: String = self.0.chars().filter(|character| !is_invisible(*character)).collect();
        boundary::remove(text).0
    }

    /// The text in one line: safe where a line means something, such as in a list of files.
    pub fn sealed_line(&self) -> String {
        let ends_line = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
        self.sealed().split(ends_line).collect::<Vec<_>>().join(" ")
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

/// What every section's tag carries: the same in all runs of one head commit, unknown to its author, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of a subject, such as a commit of a merge request, under the installation's secret.
    pub fn new(secret: &[u8], subject: &str) -> Self {
        let digest = match Hmac::<Sha256>::new_from_slice(secret) {
            Ok(mut mac) => {
                mac.update(b"conclave prompt nonce\0");
                mac.update(subject.as_bytes());
                mac.finalize().into_bytes()
            }
            // HMAC takes keys of every length, so this cannot happen; an all-zero nonce would still be removed.
            Err(_) => hmac::digest::Output::<Hmac<Sha256>>::default(),
        };
        Self(hex::encode(&digest[..6]))
    }

    /// The nonce of a recorded run, whose prompts are to be made again; `None` if this is none.
    pub fn recorded(text: &str) -> Option<Self> {
        let digits = text.len() == 12 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        digits.then(|| Self(text.to_owned()))
    }

    /// The nonce as it stands in the prompts. Whoever can write into a prompt must not know it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A section around trusted content or content that has been sealed.
    pub fn section(&self, name: &str, content: &str) -> String {
        format!(
            "<{name}_{nonce}>\n{content}\n</{name}_{nonce}>",
            content = content.trim_end(),
            nonce = self.0
        )
    }
}

#[cfg(test)]
#[path = "untrusted_tests.rs"]
mod tests;
