//! The programs that a review starts.

use camino::Utf8Path;
use conclave_opencode::{OPENCODE_VERSION, check_version, find_binary, find_ripgrep};
use conclave_shared::sandbox::SandboxLevel;

use super::{Check, Found, Request};
use crate::{env::names, run::start::runtime::sandbox_here};

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

/// The operating system's sandbox around the agent runtime, as a review would put it up.
pub(super) async fn sandbox(request: &Request<'_>) -> Found {
    const NAME: &str = "sandbox";
    let required = request.env.get("CONCLAVE_REQUIRE_SANDBOX").map(|name| {
        let known = SandboxLevel::ALL.into_iter().find(|level| level.as_str() == name);
        known.unwrap_or(SandboxLevel::Enforced)
    });
    let status = match sandbox_here(request.env).await {
        Ok(status) => status,
        Err(failure) => return Found::one(Check::of_error(NAME, &failure)),
    };
    let detail = status.describe();
    let check = match status.level {
        level if required.is_some_and(|required| level < required) => Check::failure(NAME, detail),
        SandboxLevel::Enforced => return Found::one(Check::ok(NAME, detail)),
        SandboxLevel::Partial | SandboxLevel::None => Check::warning(NAME, detail),
    };
    let step = status
        .next_step
        .unwrap_or_else(|| "run reviews on a machine that has one".to_owned());
    Found::one(check.next(step))
}

pub(super) async fn git() -> Found {
    Found::one(match conclave_git::version().await {
        Ok(version) => Check::ok("git", version),
        Err(error) => Check::of_error("git", &error),
    })
}
