//! The agent runtime of a review.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

conclave_shared::named_enum! {
    /// An agent runtime.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RuntimeName {
        /// `OpenCode`, a child process.
        OpenCode = "opencode",
        /// Conclave's own, in process.
        Native = "native",
    }
}

impl RuntimeName {
    /// The name for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::OpenCode => "OpenCode",
            Self::Native => "the native runtime",
        }
    }
}
