//! What becomes of the threads that earlier reviews have opened.

use conclave_shared::finding::Fingerprint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is to be done with one of our threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadAction {
    /// The thread's id on the forge.
    pub thread: String,
    /// The finding that it shows.
    pub fingerprint: Fingerprint,
    /// What is done.
    pub change: ThreadChange,
}

/// A change of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ThreadChange {
    /// It stays as it is.
    Keep,
    /// It is resolved.
    Resolve {
        /// Why, in a sentence.
        why: String,
    },
    /// It is answered, once.
    Answer {
        /// The answer.
        text: String,
        /// Whether it is resolved as well.
        resolve: bool,
    },
    /// It is answered with the code elsewhere that deals with its problem, and resolved.
    FixedElsewhere {
        /// The answer.
        text: String,
        /// The file of that code.
        file: String,
        /// Its first line.
        line: u32,
        /// Its last line, where there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end_line: Option<u32>,
    },
}

/// Beginning of the reason for which the thread of a problem that is gone is resolved.
pub(crate) const FIXED_IN: &str = "fixed in ";

impl ThreadChange {
    /// Returns true if the thread is resolved by it because the problem is gone.
    pub fn is_for_a_fix(&self) -> bool {
        matches!(self, Self::Resolve { why } if why.starts_with(FIXED_IN))
    }

    /// The cause for which it resolves the thread, as in `fixed in …`; none where it does not.
    pub fn settled_as(&self) -> Option<&str> {
        match self {
            Self::Keep | Self::Answer { resolve: false, .. } => None,
            Self::Resolve { why } => Some(why),
            Self::Answer { resolve: true, .. } => Some("withdrawn, as the last answer says"),
            Self::FixedElsewhere { .. } => Some("dealt with at another place, which the last answer names"),
        }
    }

    /// Whether the thread is resolved by it.
    pub fn resolves(&self) -> bool {
        self.settled_as().is_some()
    }
}
