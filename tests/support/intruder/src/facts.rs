//! An intruder's knowledge of its surroundings: as much as it could find out, so that only the sandbox is in its way.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The variable that holds the facts as JSON.
pub(crate) const VARIABLE: &str = "INTRUDER_FACTS";
/// Text in the user's files and in the victim's environment.
pub(crate) const SECRET: &str = "a-secret-of-the-user";
/// A descriptor that the host leaves open.
pub(crate) const LEFT_OPEN: i32 = 77;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// Which attempts to make.
    pub(crate) group: String,
    /// The process that stands for Conclave.
    pub(crate) parent: i32,
    /// Another process of the same user.
    pub(crate) victim: i32,
    /// The user's home, with `.ssh/id`, `checkout/file` and `checkout/.git/config`.
    pub(crate) user: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) runtime: PathBuf,
    pub(crate) home: PathBuf,
    /// The port of 127.0.0.1 that may be reached.
    pub(crate) gateway: u16,
    /// Another port of 127.0.0.1.
    pub(crate) other: u16,
    /// A port of 127.0.0.1 for datagrams.
    pub(crate) datagrams: u16,
    /// A server's socket file, and the same for datagrams.
    pub(crate) socket_file: PathBuf,
    pub(crate) datagram_file: PathBuf,
    /// A server's abstract name.
    pub(crate) abstract_name: String,
}

impl Facts {
    pub(crate) fn read() -> Self {
        let text = std::env::var(VARIABLE).expect("facts");
        serde_json::from_str(&text).expect("facts")
    }
}
