//! The child process: what it may see, how it starts, and that it always ends with all that it has started.

mod binary;
mod home;
mod listening;
mod orphans;
mod output;
mod process;
mod sandbox;
mod settings;
mod spawn_thread;
mod watchdog;

pub(crate) use binary::same_version;
pub use binary::{check_version, find_binary, find_opencode, find_ripgrep};
pub(crate) use listening::ProvenPort;
pub(crate) use process::Process;
pub use sandbox::probe_sandbox;
pub use settings::{LaunchSettings, Sandbox, SandboxSettings};
