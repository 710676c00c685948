//! The sections that prompts are made of, and the secret mark of their tags.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

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
    "agents_md_files",
    "review_panel",
    "established_facts",
    "hot_spots",
    "patch_texts",
    "open_questions",
];

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

    /// A section around trusted content or content that has been sanitized.
    pub fn section(&self, name: &str, content: &str) -> String {
        format!(
            "<{name}_{nonce}>\n{content}\n</{name}_{nonce}>",
            content = content.trim_end(),
            nonce = self.0
        )
    }
}
