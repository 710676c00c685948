//! The OpenCode agent runtime: finding and fetching the program, and an adapter for each major version of its server.
//!
//! What knows the server of one major version (its command line, configuration, API, events and tools) is in the module of that
//! version, and implements the engine's `AgentRuntime`; the rest of this crate knows no server. A second version stands beside
//! [`v1`] as a module of its own.

mod binary;
mod child;
mod errors;
mod install;
mod machine;
mod path;
mod search;
#[cfg(test)]
mod test_support;
pub mod v1;

pub use binary::{Answered, check_version, shown_version};
pub use child::{LaunchSettings, Sandbox, SandboxSettings, probe_sandbox};
pub use errors::{ProcessError, StartError};
pub use install::{InstallError, InstallSettings, InstallSource, install, remove_installed};
pub use search::{Programs, Search, no_opencode, unfit_place};

/// The version of OpenCode that Conclave is made for and tested with; any other is refused.
pub const OPENCODE_VERSION: &str = "1.18.33";
