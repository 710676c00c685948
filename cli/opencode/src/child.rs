//! The child process: what it may see, how it starts, and that it always ends with all that it has started.

mod home;
mod listening;
mod opened;
mod orphans;
mod output;
mod process;
mod question;
mod sandbox;
mod settings;
mod spawn_thread;
mod watchdog;

pub(crate) use listening::ProvenPort;
pub(crate) use process::Process;
pub(crate) use question::ask;
pub use sandbox::probe_sandbox;
pub use settings::{LaunchSettings, Sandbox, SandboxSettings};
