//! The operating system's walls around a program that may be hostile.
//!
//! On Linux, without root and with nothing to install: Landlock for files, ports and signals; seccomp for system calls that
//! Landlock does not see; a watch that makes each connection itself, to exact addresses only; limits; no capabilities. A helper
//! puts them up, which is the same program started anew ([`run_helper`]), because between `fork` and `exec` of a process with
//! threads hardly anything is safe.
//!
//! What a kernel or a container does not have is left out, and [`SandboxStatus`] says so. What it has and what fails is an error.
//! Other systems have no sandbox.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod policy;
mod status;

pub use self::{
    policy::{Access, FileRule, Policy, system_files},
    status::{SandboxStatus, Walls},
};

#[cfg(target_os = "linux")]
pub use self::linux::{FilesError, Guard, Launch, confine_thread, kill_marked, new_mark, run_helper};
#[cfg(not(target_os = "linux"))]
pub use self::other::{FilesError, Guard, Launch, confine_thread, kill_marked, new_mark, run_helper};

/// Returns the reason why this system has no sandbox at all, if it has none.
pub const fn missing_here() -> Option<&'static str> {
    if cfg!(target_os = "linux") {
        None
    } else {
        Some("files: there is a sandbox on Linux only")
    }
}

/// Limit of core dumps, in bytes, with which none is made. At 0, Linux still hands one to a program that `kernel.core_pattern` names.
pub const NO_CORE: u64 = 1;

/// The exit code of a helper that did not become the program.
pub const HELPER_FAILED: i32 = 125;

/// The first argument that makes the program the helper.
pub const HELPER_ARGUMENT: &str = "__sandbox";
