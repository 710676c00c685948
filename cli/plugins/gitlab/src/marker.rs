//! The hidden markers by which our own notes are found again, and what they remember.
//!
//! A marker is a comment that GitLab does not show. Only somebody who knows the installation's secret can make one, for
//! one merge request. It counts only where we wrote it: at the end of a note of our own account. A copy of one, in a quote, in
//! code, or anywhere above the end, counts for nothing.

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use conclave_engine::{
    review::{FindingRecord, Ledger},
    untrusted::begins_html,
};
use conclave_shared::verdict::Verdict;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// Bytes of a code: 128 bits.
const CODE_BYTES: usize = 16;

/// How each marker begins.
const START: &str = "<!-- conclave:";

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

/// Whether this marker is among those at the note's end.
pub(crate) fn has(body: &str, marker: &str) -> bool {
    split(body).1.lines().any(|line| line.trim() == marker)
}

/// The marker of a merge request's summary.
pub(crate) fn marker(secret: &SecretString, project: u64, iid: u64) -> String {
    let code = code(secret, &format!("conclave summary\0{project}\0{iid}"));
    format!("<!-- conclave:summary:{code} -->")
}

/// What the reviews of a merge request have cost so far, in millionths of a dollar, as a comment that GitLab does not
/// show. Nobody but the holder of the secret can make one.
pub(crate) fn spent(secret: &SecretString, project: u64, iid: u64, micros: u64) -> String {
    let code = code(secret, &format!("conclave spent\0{project}\0{iid}\0{micros}"));
    format!("<!-- conclave:spent:{micros}:{code} -->")
}

/// Reads such a comment; nothing if there is none, or none that was made with this secret for this merge request.
pub(crate) fn read_spent(secret: &SecretString, project: u64, iid: u64, body: &str) -> Option<u64> {
    let (_, body) = split(body);
    body.match_indices("<!-- conclave:spent:")
        .filter_map(|(at, start)| {
            let digits = body.get(at + start.len()..)?.split(':').next()?;
            let micros: u64 = digits.parse().ok()?;
            let genuine = spent(secret, project, iid, micros);
            // Compared as a whole by whoever already holds the note: its time tells nobody anything.
            body.get(at..)?.starts_with(&genuine).then_some(micros)
        })
        .max()
}

/// What a note beside its lines says of the finding that it shows.
pub(crate) fn finding_marker(secret: &SecretString, project: u64, iid: u64, record: &FindingRecord) -> String {
    write(secret, "finding", project, iid, record)
}

/// Reads such a marker; nothing if there is none, or none that was made with this secret for this merge request.
pub(crate) fn read_finding(secret: &SecretString, project: u64, iid: u64, body: &str) -> Option<FindingRecord> {
    read(secret, "finding", project, iid, body)
}

/// What the summary remembers of the run that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SummaryState {
    /// A hash of what the review concludes, without times, costs and wording.
    #[serde(default)]
    pub(crate) conclusion: String,
    /// A hash of the text as it was posted: whoever changes it does not change the next review.
    #[serde(default)]
    pub(crate) text: String,
    /// Whether changes were requested, which nothing else tells reliably.
    #[serde(default)]
    pub(crate) requested_changes: bool,
    /// The commit that was reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    /// The branch that the approval is for, if the review approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approved_for: Option<String>,
    /// What the last review concluded; also in a note that only says what became of its approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) concluded: Option<Concluded>,
}

/// The conclusion of a review, for other runs of the same merge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Concluded {
    /// The commit that was reviewed.
    pub(crate) head: String,
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// Whether it would let the bot approve, whatever the mode.
    #[serde(default)]
    pub(crate) may_approve: bool,
}

/// The summary's memory.
pub(crate) fn state_marker(secret: &SecretString, project: u64, iid: u64, state: &SummaryState) -> String {
    write(secret, "state", project, iid, state)
}

/// Reads such a marker.
pub(crate) fn read_state(secret: &SecretString, project: u64, iid: u64, body: &str) -> Option<SummaryState> {
    read(secret, "state", project, iid, body)
}

/// The summary's memory of what was reviewed, and of what stands.
pub(crate) fn ledger_marker(secret: &SecretString, project: u64, iid: u64, ledger: &Ledger) -> String {
    write(secret, "ledger", project, iid, ledger)
}

/// Reads such a marker.
pub(crate) fn read_ledger(secret: &SecretString, project: u64, iid: u64, body: &str) -> Option<Ledger> {
    read(secret, "ledger", project, iid, body)
}

/// The marker of an answer to a light-hearted question.
pub(crate) fn aside(secret: &SecretString, project: u64, iid: u64) -> String {
    let code = code(secret, &format!("conclave aside\0{project}\0{iid}"));
    format!("<!-- conclave:aside:{code} -->")
}

/// A short hash of a text.
pub(crate) fn hash(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

/// A value as a marker of this kind.
fn write<T: Serialize>(secret: &SecretString, kind: &str, project: u64, iid: u64, value: &T) -> String {
    let payload = BASE64_STANDARD_NO_PAD.encode(serde_json::to_vec(value).unwrap_or_default());
    let code = code(secret, &format!("conclave {kind}\0{project}\0{iid}\0{payload}"));
    format!("<!-- conclave:{kind}:{payload}.{code} -->")
}

/// The last genuine marker of this kind among those at the note's end.
fn read<T: DeserializeOwned>(secret: &SecretString, kind: &str, project: u64, iid: u64, body: &str) -> Option<T> {
    let start = format!("{START}{kind}:");
    let (_, body) = split(body);
    body.rmatch_indices(&start).find_map(|(at, start)| {
        let rest = body.get(at + start.len()..)?;
        let (sealed, _) = rest.split_once(" -->")?;
        let (payload, given) = sealed.rsplit_once('.')?;
        let message = format!("conclave {kind}\0{project}\0{iid}\0{payload}");
        let given = hex::decode(given).ok().filter(|given| given.len() == CODE_BYTES)?;
        mac(secret, &message)?.verify_truncated_left(&given).ok()?;
        serde_json::from_slice(&BASE64_STANDARD_NO_PAD.decode(payload).ok()?).ok()
    })
}

fn code(secret: &SecretString, message: &str) -> String {
    mac(secret, message).map_or_else(String::new, |mac| {
        hex::encode(&mac.finalize().into_bytes()[..CODE_BYTES])
    })
}

fn mac(secret: &SecretString, message: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()).ok()?;
    mac.update(message.as_bytes());
    Some(mac)
}

#[cfg(test)]
#[path = "marker_tests.rs"]
mod tests;
