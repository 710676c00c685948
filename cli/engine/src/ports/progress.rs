//! Signs of life: what a run tells while it goes on.

use conclave_shared::{finding::Finding, model::ModelId};

use super::SessionId;

/// Signs of life for the person who waits.
pub trait Progress: Send + Sync {
    /// Something happened.
    fn report(&self, event: ProgressEvent<'_>);
}

/// What [`Progress`] is told.
#[derive(Debug, Clone, Copy)]
pub enum ProgressEvent<'a> {
    /// A stage of the run began.
    Stage(&'a str),
    /// A session was prompted.
    SessionStarted {
        /// Whose session: a reviewer, or the coordinator.
        reviewer: &'a str,
        /// The session's name in the runtime.
        session: &'a SessionId,
        /// The model that it was prompted with.
        model: &'a ModelId,
        /// From 1.
        attempt: u32,
    },
    /// A session goes on, without anything to show for it since then.
    Thinking {
        /// Whose session.
        reviewer: &'a str,
        /// Seconds since the last output.
        seconds: u64,
    },
    /// A session goes on, and waits until a model may be asked again: no call is open.
    Waiting {
        /// The session's reviewer, or the coordinator.
        reviewer: &'a str,
        /// Seconds until then.
        seconds: u64,
    },
    /// What a session has used so far.
    Usage {
        /// Whose session.
        reviewer: &'a str,
        /// Tokens of all kinds.
        tokens: u64,
        /// US dollars.
        cost_usd: f64,
    },
    /// A session ended.
    SessionDone {
        /// Whose session.
        reviewer: &'a str,
        /// `ok`, `failed`, …
        outcome: &'a str,
        /// Findings after the evidence check; `None` for the coordinator, who has none of its own.
        findings: Option<&'a [Finding]>,
        /// Seconds since its first prompt.
        seconds: f64,
        /// Why it did not end well.
        reason: Option<&'a str>,
    },
    /// Something that the person should know.
    Warning(&'a str),
}
