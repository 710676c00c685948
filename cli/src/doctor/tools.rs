//! The programs that a review starts.

use camino::Utf8Path;
use conclave_opencode::{OPENCODE_VERSION, check_version, find_binary, find_ripgrep};

use super::{Check, Found, Request};
use crate::env::names;

/// The agent runtime, and what it searches with.
pub(super) async fn agent(request: &Request<'_>) -> Found {
    let path = request.env.get("PATH").unwrap_or_default();
    let configured = request.env.get(names::OPENCODE).map(Utf8Path::new);
    let opencode = match find_binary(configured, path) {
        Err(error) => Check::of_error("opencode", &error),
        Ok(binary) => match check_version(&binary, path).await {
            Err(error) => Check::of_error("opencode", &error),
            Ok(()) => Check::ok("opencode", format!("{OPENCODE_VERSION} at {binary}")),
        },
    };
    let ripgrep = match find_ripgrep(path) {
        Ok(binary) => Check::ok("ripgrep", binary.to_string()),
        Err(error) => Check::of_error("ripgrep", &error),
    };
    Found {
        checks: vec![opencode, ripgrep],
        not_set_up: Vec::new(),
    }
}

pub(super) async fn git() -> Found {
    Found::one(match conclave_git::version().await {
        Ok(version) => Check::ok("git", version),
        Err(error) => Check::of_error("git", &error),
    })
}
