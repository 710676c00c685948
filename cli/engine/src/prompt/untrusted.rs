//! Text that a user of the forge can write: it cannot close a section of a prompt.
//!
//! Boundary tags are removed until none is left, because a single pass can be defeated by nesting
//! (`<mr_b<mr_body>ody>`). Case, white space, attributes, HTML entities, full-width brackets, zero-width and
//! bidirectional characters are all taken into account. Besides, every section's tag carries a nonce that the author
//! cannot guess, so a tag that would slip through would still not be one.

use std::{fmt, sync::LazyLock};

use hmac::{Hmac, KeyInit, Mac};
use regex::Regex;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The names of all sections that prompts are made of.
pub const SECTIONS: [&str; 13] = [
    "mr_input",
    "mr_details",
    "mr_body",
    "mr_comments",
    "changed_files",
    "existing_inline_findings",
    "previous_review",
    "custom_review_instructions",
    "agents_md_template_instructions",
    "project_instructions",
    "commit_messages",
    "codex_rules",
    "review_panel",
];

/// Text from outside. Only [`Untrusted::sealed`] takes it out.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
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
        let mut text: String = self.0.chars().filter(|character| !is_invisible(*character)).collect();
        loop {
            let cleaned = BOUNDARY.replace_all(&text, "");
            if cleaned == text {
                return text;
            }
            text = cleaned.into_owned();
        }
    }

    /// The text in one line: safe where a line means something, such as in a list of files.
    pub fn sealed_line(&self) -> String {
        self.sealed().split(char::is_control).collect::<Vec<_>>().join(" ")
    }

    /// Whether there is anything but white space.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by every test")]
static BOUNDARY: LazyLock<Regex> = LazyLock::new(|| {
    let open = r"(?:<|&lt;?|&#0*60;?|&#x0*3c;?|\x{FF1C}|\x{FE64}|\x{2039}|\x{3008})";
    let close = r"(?:>|&gt;?|&#0*62;?|&#x0*3e;?|\x{FF1E}|\x{FE65}|\x{203A}|\x{3009})";
    let names = SECTIONS.map(|name| name.replace('_', r"[\s_-]*")).join("|");
    // The tag's end is optional: the opening alone is enough to confuse a model.
    Regex::new(&format!(
        r"(?i){open}[\s/\\!?]*(?:{names})[\w-]*(?:[^<>]{{0,200}}?{close})?"
    ))
    .unwrap()
});

fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180E}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
        || (character.is_control() && !matches!(character, '\n' | '\t' | '\r'))
}

/// What every section's tag carries: the same in all runs of one merge request, unknown to its author, never posted.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl Nonce {
    /// The nonce of a merge request (or of a local range) under the installation's secret.
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
