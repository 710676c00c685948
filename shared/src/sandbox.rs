//! The grade of the operating system's sandbox around the agents.

use serde::{Deserialize, Serialize};

use crate::named_enum;

named_enum! {
    /// Grade of the sandbox. A later one is better.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum SandboxLevel {
        /// Files are open.
        None = "none",
        /// Files are shut, and something else is open.
        Partial = "partial",
        /// All of it holds.
        Enforced = "enforced",
    }
}
