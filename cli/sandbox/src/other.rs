//! Systems without a sandbox. Nothing is started in one there: [`crate::missing_here`] says so first.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    io,
    process::{Command, ExitCode},
};

use camino::Utf8Path;

use crate::{FileRule, Policy, SandboxStatus};

/// A rule that could not be set; there are no rules here.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {}

/// A confined program, of which there is none here.
#[derive(Debug)]
pub struct Launch(std::convert::Infallible);

impl Launch {
    /// Fails.
    pub fn prepare(_: &Utf8Path, _: impl AsRef<OsStr>, _: Policy, _: u64) -> io::Result<(Self, Command)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Is never called.
    pub fn started(self, _: u32) -> io::Result<Guard> {
        match self.0 {}
    }
}

/// See [`Launch`].
#[derive(Debug, Clone)]
pub struct Guard(std::convert::Infallible);

impl Guard {
    /// Is never called.
    pub async fn status(&self) -> Option<SandboxStatus> {
        match self.0 {}
    }

    /// Is never called.
    pub fn forbid_new(&self) {
        match self.0 {}
    }

    /// Is never called.
    pub fn is_empty(&self) -> bool {
        match self.0 {}
    }

    /// Is never called.
    pub fn is_marked(&self) -> bool {
        match self.0 {}
    }

    /// Is never called.
    pub fn refused(&self) -> BTreeSet<String> {
        match self.0 {}
    }
}

/// No call is one of the helper.
pub fn run_helper() -> Option<ExitCode> {
    None
}

/// Leaves the thread as it is, and says so by its 0.
pub fn confine_thread(_: &[FileRule]) -> Result<u8, FilesError> {
    Ok(0)
}

/// There are no marks here.
pub fn new_mark() -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Finds nothing.
pub fn kill_marked(_: u64, _: impl Fn() -> bool) -> Vec<String> {
    Vec::new()
}
