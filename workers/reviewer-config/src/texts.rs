//! What operators and reviews read from this Worker.

use conclave_shared::{config::ConfigFault, problem::Problem};

use crate::keys::MAX_SWITCHES;

/// The stored document is left out.
pub(crate) fn ignored_document(key: &str, reason: &str) -> String {
    format!("{key}: {reason}; the built-in defaults are used instead")
}

/// A stored provider switch is left out.
pub(crate) fn ignored_switch(key: &str, reason: &str) -> String {
    format!("{key}: {reason}; the switch is ignored. It looks like {{\"enabled\":false,\"reason\":\"why\"}}")
}

/// There are more switches than are read.
pub(crate) fn too_many_switches() -> String {
    format!("provider/: there are more than {MAX_SWITCHES} switches; the rest is ignored")
}

/// A stored value is not the JSON that is expected.
pub(crate) fn unreadable(error: &serde_json::Error) -> String {
    format!("cannot be read: {error}")
}

/// A document's faults, in one line.
pub(crate) fn faults(faults: &[ConfigFault]) -> String {
    let faults: Vec<String> = faults
        .iter()
        .map(|fault| format!("{} {}", fault.pointer, fault.detail))
        .collect();
    format!("is not valid: {}", faults.join("; "))
}

/// The key does not end in a provider's name.
pub(crate) fn not_a_provider() -> String {
    "does not end in a provider's name".to_owned()
}

/// The query's project cannot be one.
pub(crate) fn bad_project(limit: usize) -> Problem {
    Problem::new(
        400,
        "bad-request",
        "Bad request",
        format!("`project` is a path of at most {limit} bytes without control characters."),
    )
}
