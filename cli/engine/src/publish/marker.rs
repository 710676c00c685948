//! The hidden markers by which our own notes are found again, and what they remember.
//!
//! A marker is a comment that the forge does not show. Only with the installation's secret can one be made, for one merge
//! request. It counts only where we wrote it: at the end of a note of our own account. A copy of one, in a quote, in
//! code, or anywhere above the end, counts for nothing.

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::{
    review::{CarryOver, FindingRecord},
    untrusted::begins_html,
};

/// Bytes of a code: 128 bits.
const CODE_BYTES: usize = 16;

/// The beginning of each marker.
const START: &str = "<!-- conclave:";

/// The kind of the marker of a summary.
const SUMMARY: &str = "summary";

/// A note's text, and the markers at its end.
pub(crate) fn split(body: &str) -> (&str, &str) {
    let body = body.trim_end();
    let mut begin = body.len();
    loop {
        let above = body[..begin].trim_end();
        let line = above.rfind('\n').map_or(0, |at| at + 1);
        let is_marker =
            above[line..].starts_with(START) && above.ends_with("-->") && above[line..].matches("-->").count() == 1;
        if !is_marker {
            break;
        }
        begin = line;
    }
    if begin < body.len() && begins_html(body, begin) {
        body.split_at(begin)
    } else {
        (body, "")
    }
}

/// Returns whether this marker is among those at the note's end.
pub(crate) fn has(body: &str, marker: &str) -> bool {
    split(body).1.lines().any(|line| line.trim() == marker)
}

/// Returns whether a marker of this kind is among those at the note's end, whichever secret has signed it.
fn has_kind(body: &str, kind: &str) -> bool {
    let start = format!("{START}{kind}:");
    split(body).1.lines().any(|line| line.trim().starts_with(&start))
}

/// The text without our markers.
pub fn without_markers(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, marker)) = rest.split_once(START) {
        kept.push_str(before);
        rest = marker.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    // The first line keeps its indentation: Markdown takes an indented line for code.
    let blank = kept.len() - kept.trim_start().len();
    let begin = kept[..blank].rfind('\n').map_or(0, |at| at + 1);
    kept[begin..].trim_end().to_owned()
}

/// A secret for markers, made from another one that is as stable: a provider's key. Nothing of that key can be found out from what
/// it signs.
pub fn installation_secret(key: &SecretString) -> SecretString {
    let mac = Hmac::<Sha256>::new_from_slice(key.expose_secret().as_bytes()).map(|mut mac| {
        mac.update(b"conclave markers");
        hex::encode(mac.finalize().into_bytes())
    });
    SecretString::from(mac.unwrap_or_default())
}

/// A short hash of a text.
pub fn text_hash(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

/// A value that a marker holds.
pub trait Marker: Serialize + DeserializeOwned {
    /// The word in the marker. Notes of earlier versions have it, so it stays.
    const KIND: &'static str;
}

/// The record of a finding, in the note that shows it.
impl Marker for FindingRecord {
    const KIND: &'static str = "finding";
}

/// The memory of what was reviewed, and of what stands, in the summary.
impl Marker for CarryOver {
    const KIND: &'static str = "ledger";
}

/// Signs the markers of one merge request, and knows its own signature.
#[derive(Debug, Clone)]
pub struct Signer {
    secret: SecretString,
    scope: String,
}

impl Signer {
    /// Signs with the installation's secret. `scope` names the merge request: two of them never have the same, also on two
    /// forges. It is a part of each signature, so one that is put together differently finds no earlier review.
    pub const fn new(secret: SecretString, scope: String) -> Self {
        Self { secret, scope }
    }

    /// The marker of the summary.
    pub fn summary(&self) -> String {
        self.fixed(SUMMARY)
    }

    /// The marker of an answer to a light-hearted question.
    pub fn aside(&self) -> String {
        self.fixed("aside")
    }

    /// A marker without a value.
    fn fixed(&self, kind: &str) -> String {
        format!("{START}{kind}:{} -->", self.signature(kind, None))
    }

    /// The marker of what the reviews have cost so far, in millionths of a dollar.
    pub fn spent(&self, micros: u64) -> String {
        format!(
            "{START}spent:{micros}:{} -->",
            self.signature("spent", Some(&micros.to_string()))
        )
    }

    /// Reads the genuine marker of the highest costs.
    pub fn read_spent(&self, body: &str) -> Option<u64> {
        let (_, body) = split(body);
        body.match_indices("<!-- conclave:spent:")
            .filter_map(|(at, start)| {
                let digits = body.get(at + start.len()..)?.split(':').next()?;
                let micros: u64 = digits.parse().ok()?;
                // Compared as a whole by a reader that already holds the note: the time that it takes reveals nothing.
                body.get(at..)?.starts_with(&self.spent(micros)).then_some(micros)
            })
            .max()
    }

    /// The note with these costs in place of those that it remembers; nothing where it remembers none.
    pub fn with_spent(&self, body: &str, micros: u64) -> Option<String> {
        let known = self.spent(self.read_spent(body)?);
        let (before, after) = body.rsplit_once(&known)?;
        Some(format!("{before}{}{after}", self.spent(micros)))
    }

    /// A value as a marker.
    pub fn sign<M: Marker>(&self, value: &M) -> String {
        let payload = BASE64_STANDARD_NO_PAD.encode(serde_json::to_vec(value).unwrap_or_default());
        let signature = self.signature(M::KIND, Some(&payload));
        format!("{START}{}:{payload}.{signature} -->", M::KIND)
    }

    /// Reads the last genuine marker of this kind among those at the note's end.
    pub fn read<M: Marker>(&self, body: &str) -> Option<M> {
        let start = format!("{START}{}:", M::KIND);
        let (_, body) = split(body);
        body.rmatch_indices(&start).find_map(|(at, start)| {
            let rest = body.get(at + start.len()..)?;
            let (signed, _) = rest.split_once(" -->")?;
            let (payload, given) = signed.rsplit_once('.')?;
            let given = hex::decode(given).ok().filter(|given| given.len() == CODE_BYTES)?;
            self.mac(M::KIND, Some(payload))?.verify_truncated_left(&given).ok()?;
            serde_json::from_slice(&BASE64_STANDARD_NO_PAD.decode(payload).ok()?).ok()
        })
    }

    /// Returns whether the note ends with the marker of a summary, and this signature is on none of them. Of another secret or of
    /// another merge request: a marker does not say which.
    pub(crate) fn is_foreign_summary(&self, body: &str) -> bool {
        has_kind(body, SUMMARY) && !has(body, &self.summary())
    }

    /// Returns whether the note ends with a marker of this kind, and none of them can be read. Of another secret or of another merge
    /// request: a marker does not say which.
    pub fn is_foreign<M: Marker>(&self, body: &str) -> bool {
        has_kind(body, M::KIND) && self.read::<M>(body).is_none()
    }

    fn signature(&self, kind: &str, payload: Option<&str>) -> String {
        self.mac(kind, payload).map_or_else(String::new, |mac| {
            hex::encode(&mac.finalize().into_bytes()[..CODE_BYTES])
        })
    }

    fn mac(&self, kind: &str, payload: Option<&str>) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.expose_secret().as_bytes()).ok()?;
        mac.update(format!("conclave {kind}\0{}", self.scope).as_bytes());
        if let Some(payload) = payload {
            mac.update(format!("\0{payload}").as_bytes());
        }
        Some(mac)
    }
}

#[cfg(test)]
#[path = "marker_tests.rs"]
mod tests;
