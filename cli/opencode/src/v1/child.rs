//! The child process: what it may see, how it starts, and that it always ends with all that it has started.

mod home;
mod listening;
mod orphans;
mod output;
mod process;
mod sandbox;
mod settings;
mod spawn_thread;
mod watchdog;

pub(crate) use listening::ProvenPort;
pub(crate) use process::Process;
pub use sandbox::probe_sandbox;
pub use settings::{LaunchSettings, Sandbox, SandboxSettings};
