//! The programs that a review starts.

use camino::Utf8Path;
use conclave_opencode::{OPENCODE_VERSION, ProcessError, Search, check_version, find_ripgrep, reported_version};
use conclave_shared::sandbox::SandboxLevel;

use super::{Check, Found, Request};
use crate::{
    env::names,
    run::{directory::programs_directory, start::runtime::sandbox_here},
};

/// The agent runtime, and what it searches with.
pub(super) async fn agent(request: &Request<'_>) -> Found {
    let installed = programs_directory(request.env);
    let search = Search {
        configured: request.env.get(names::OPENCODE).map(Utf8Path::new),
        installed: installed.as_deref(),
        path: request.env.path(),
    };
    let opencode = async {
        let binary = search.opencode().await?;
        check_version(&binary, search.path).await?;
        Ok::<_, ProcessError>(binary)
    };
    let opencode = match opencode.await {
        Ok(binary) => Check::ok("opencode", format!("{OPENCODE_VERSION} at {binary}")),
        Err(error) => Check::of_error("opencode", &error),
    };
    Found {
        checks: vec![opencode, ripgrep(search).await],
        not_set_up: Vec::new(),
    }
}

async fn ripgrep(search: Search<'_>) -> Check {
    const NAME: &str = "ripgrep";
    let binary = match find_ripgrep(search.installed, search.path) {
        Ok(binary) => binary,
        Err(error) => return Check::of_error(NAME, &error),
    };
    let reported = reported_version(&binary, search.path).await;
    match reported.as_deref().map(|text| text.lines().next().unwrap_or_default()) {
        Ok(version) if version.starts_with("ripgrep ") => Check::ok(NAME, format!("{version} at {binary}")),
        Ok(_) => Check::failure(NAME, format!("{binary} is not ripgrep")).next("install the package `ripgrep`"),
        Err(error) => Check::failure(NAME, format!("{binary} does not run: {error}"))
            .next("install the package `ripgrep`, or fetch it: conclave runtime install"),
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
