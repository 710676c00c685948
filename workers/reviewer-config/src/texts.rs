//! Texts for operators and reviews.

use conclave_shared::{
    config::ConfigFault,
    model::ModelId,
    problem::{self, Problem, READERS_TOKEN},
};
use conclave_worker_common::{BAD_REQUEST, OTHER_PROJECT, ProblemKind};

use crate::keys::MAX_SWITCHES;

const BAD_BODY: ProblemKind = ProblemKind(400, "bad-body", "Unreadable body");
const BAD_REASON: ProblemKind = ProblemKind(400, "bad-reason", "Bad reason");
const READERS: ProblemKind = ProblemKind(401, READERS_TOKEN, "Unauthorized");
const NO_SUCH_REVISION: ProblemKind = ProblemKind(404, problem::NO_SUCH_REVISION, "No such revision");
const UNUSABLE_DOCUMENT: ProblemKind = ProblemKind(409, "unusable-document", "Unusable document");
const STALE: ProblemKind = ProblemKind(412, "stale", "Changed meanwhile");
const NOT_JSON: ProblemKind = ProblemKind(415, "not-json", "Not JSON");
const INVALID_DOCUMENT: ProblemKind = ProblemKind(422, "invalid-document", "Invalid document");
const INVALID_PROVIDER: ProblemKind = ProblemKind(422, "invalid-provider", "Invalid provider");
const TOO_MANY_SWITCHES: ProblemKind = ProblemKind(422, "too-many-switches", "Too many switches");
const IF_MATCH_NEEDED: ProblemKind = ProblemKind(428, "if-match-needed", "If-Match needed");

/// The stored document is left out.
pub(crate) fn ignored_document(key: &str, reason: &str) -> String {
    format!("{key}: {reason}; the built-in defaults are used instead")
}

/// A stored provider switch is left out.
pub(crate) fn ignored_switch(key: &str, reason: &str) -> String {
    format!("{key}: {reason}; the switch is ignored. It looks like {{\"enabled\":false,\"reason\":\"why\"}}")
}

/// There are more switches in KV than are read.
pub(crate) fn more_switches() -> String {
    format!(
        "provider/: KV has more than {MAX_SWITCHES} switches, of which only so many are read: those behind them that were written by hand do \
         not count, those that were written through the API do"
    )
}

/// There are as many switches as there may be.
pub(crate) fn too_many_switches() -> Problem {
    TOO_MANY_SWITCHES.with(format!(
        "There are {MAX_SWITCHES} switches already, and no more can be written: go back to a revision with fewer."
    ))
}

/// A stored value is not the JSON that is expected.
pub(crate) fn unreadable(error: &serde_json::Error) -> String {
    format!("cannot be read: {error}")
}

/// A document's faults, in one line.
pub(crate) fn faults(faults: &[ConfigFault]) -> String {
    let faults: Vec<String> = faults
        .iter()
        .map(|fault| match fault.pointer.as_str() {
            "" => fault.detail.clone(),
            pointer => format!("{pointer} {}", fault.detail),
        })
        .collect();
    format!("is not valid: {}", faults.join("; "))
}

/// The key does not end in a provider's name.
pub(crate) fn not_a_provider() -> String {
    "does not end in a provider's name".to_owned()
}

/// The query's project cannot be one.
pub(crate) fn bad_project(limit: usize) -> Problem {
    BAD_REQUEST.with(format!(
        "`project` is a path of at most {limit} bytes without control characters."
    ))
}

/// A job asks for another project than its own.
pub(crate) fn other_project(own: &str) -> Problem {
    OTHER_PROJECT.with(format!(
        "The job's token is of the project {own}, which may read its own configuration only."
    ))
}

/// KV cannot be read.
pub(crate) fn kv_down(revision: u64) -> String {
    format!("KV cannot be read; this is revision {revision}, the last that was written through the API")
}

/// The Durable Object cannot be read.
pub(crate) fn ledger_down(revision: u64) -> String {
    format!(
        "the ledger of revisions cannot be read; this is what KV holds, which may be a minute old (revision {revision})"
    )
}

/// Actions in the history.
pub(crate) fn action_replace() -> String {
    "wrote the document".to_owned()
}

pub(crate) fn action_switch(provider: &str, enabled: bool) -> String {
    format!("switched {provider} {}", if enabled { "on" } else { "off" })
}

pub(crate) fn action_failback() -> String {
    "set the fallback models".to_owned()
}

pub(crate) fn action_rollback(to: u64) -> String {
    format!("went back to revision {to}")
}

pub(crate) fn unknown_model(model: &ModelId) -> String {
    format!("`{model}` is in no price list that this Worker knows; check the spelling")
}

pub(crate) fn invalid() -> Problem {
    INVALID_DOCUMENT.with("Nothing was changed. `errors` lists every fault with its place.")
}

pub(crate) fn bad_provider() -> Problem {
    INVALID_PROVIDER.with("A provider's name has at most 64 letters, digits, `-`, `_` and `.`, as in `anthropic`.")
}

pub(crate) fn misspelled_provider(name: &str, near: &str) -> Problem {
    INVALID_PROVIDER.with(format!(
        "`{name}` is not a provider; did you mean `{near}`? Nothing was changed."
    ))
}

pub(crate) fn no_such_revision(revision: u64) -> Problem {
    NO_SUCH_REVISION.with(format!(
        "There is no revision {revision}; the history lists those that there are."
    ))
}

pub(crate) fn stale(current: u64) -> Problem {
    stale_tag(&format!("\"{current}\""))
}

pub(crate) fn stale_tag(current: &str) -> Problem {
    STALE.with(format!(
        "It was changed after you read it; nothing was written. Read it again (it is {current} now) and repeat your change."
    ))
}

pub(crate) fn if_match_needed(current: &str) -> Problem {
    IF_MATCH_NEEDED.with(format!(
        "Send the `ETag` of the document that your change is based on as `If-Match`, so that no other change is lost. It is {current} now."
    ))
}

pub(crate) fn not_json() -> Problem {
    NOT_JSON.with("Send the body with `Content-Type: application/json`.")
}

pub(crate) fn bad_body(error: &serde_json::Error) -> Problem {
    BAD_BODY.with(format!("The body cannot be read: {error}."))
}

pub(crate) fn bad_reason(limit: usize) -> Problem {
    BAD_REASON.with(format!("A reason is one line of at most {limit} bytes."))
}

/// A reason with a character that a reader does not see.
pub(crate) fn hidden_in_reason(hidden: &str) -> Problem {
    BAD_REASON.with(format!("The reason {hidden}. Nothing was changed."))
}

/// A token that only reads, where an administrator's is needed.
pub(crate) fn readers_token() -> Problem {
    READERS.with("This is one of READER_TOKENS, which may only read what is in force. Send one of ADMIN_TOKENS.")
}

/// The stored document was written by hand and is not a JSON object, so nothing can be changed in it.
pub(crate) fn unusable_document() -> Problem {
    UNUSABLE_DOCUMENT.with(
        "The stored document was written by hand and is not a JSON object. Nothing was changed: write a whole document first \
         (`conclave config get`, `conclave config apply`).",
    )
}

pub(crate) fn bad_number(name: &str) -> Problem {
    BAD_REQUEST.with(format!("`{name}` is a whole number."))
}
