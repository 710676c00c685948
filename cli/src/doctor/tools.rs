//! The programs that a review starts.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{repo_config::RuntimeChoice, review::RuntimeName};
use conclave_git::{Repository, places_around};
use conclave_opencode::{OPENCODE_VERSION, ProcessError, Search, check_version, shown_version};
use conclave_shared::sandbox::SandboxLevel;

use super::{Check, Found, Request, first_sentence, settings};
use crate::{
    env::names,
    run::{
        directory::programs_directory,
        start::sandbox::{around_question, required_here, sandbox_here},
    },
};

/// The agent runtime, what it searches with, and the sandbox around it.
pub(super) async fn agent(request: &Request<'_>) -> Found {
    let required = required(request).await;
    let (runtime, mut checks) = runtime(request, required).await;
    checks.push(sandbox(request, runtime, required).await);
    Found {
        checks,
        not_set_up: Vec::new(),
    }
}

/// The sandbox that the job and the settings of the target branch require of a review.
async fn required(request: &Request<'_>) -> Option<SandboxLevel> {
    let of_repository = match Repository::open(request.directory()).await {
        Ok(repository) => settings::required_sandbox(request, &repository).await,
        // The check of the repository says it.
        Err(_) => None,
    };
    required_here(request.env).max(of_repository)
}

/// Directories of the repository that reviews are of.
fn places(request: &Request<'_>) -> Vec<Utf8PathBuf> {
    let repository = request.repository.map(|repository| {
        let mut places = places_around(repository);
        places.push(repository.to_owned());
        places
    });
    repository.unwrap_or_default()
}

/// The agent runtime that a review would use, and what it needs.
async fn runtime(request: &Request<'_>, required: Option<SandboxLevel>) -> (RuntimeName, Vec<Check>) {
    if request.runtime == RuntimeChoice::Native {
        let check = Check::ok("runtime", "native, which needs no other program");
        return (RuntimeName::Native, vec![check]);
    }
    let installed = programs_directory(request.env);
    // Nothing of OpenCode runs in less of a sandbox than is required.
    let around = match around_question(request.env, &places(request), required).await {
        Ok(around) => around,
        Err(failure) => return (RuntimeName::OpenCode, vec![Check::of_error("opencode", &failure)]),
    };
    let search = Search {
        configured: request.env.get(names::OPENCODE).map(Utf8Path::new),
        installed: installed.as_deref(),
        path: request.env.path(),
        sandbox: &around,
    };
    let may_be_native = request.runtime == RuntimeChoice::Auto && search.configured.is_none();
    let opencode = async {
        let binary = search.opencode().await?;
        check_version(&binary, search.path, &around).await?;
        Ok::<_, ProcessError>(binary)
    };
    // Both at once: one that does not answer does not add its time to the other's.
    let (opencode, ripgrep) = tokio::join!(opencode, search.ripgrep());
    let opencode = match opencode {
        Err(problem) if may_be_native => return native(&problem),
        Err(error) => Err(Check::of_error("opencode", &error)),
        Ok(binary) => Ok(Check::ok("opencode", format!("{OPENCODE_VERSION} at {binary}"))),
    };
    let ripgrep = match ripgrep {
        Err(problem) if may_be_native => return native(&problem),
        Err(error) => Check::of_error("ripgrep", &error),
        Ok(found) => {
            let version = shown_version(&found.version);
            Check::ok("ripgrep", format!("{version} at {}", found.binary))
        }
    };
    let runtime = opencode.is_ok().then(|| Check::ok("runtime", "OpenCode"));
    let checks = runtime
        .into_iter()
        .chain([opencode.unwrap_or_else(|failure| failure), ripgrep])
        .collect();
    (RuntimeName::OpenCode, checks)
}

/// The native runtime in the place of an OpenCode that cannot be used.
fn native(problem: &ProcessError) -> (RuntimeName, Vec<Check>) {
    let why = problem.to_string();
    let why = first_sentence(&why).map_or(why.as_str(), |(why, _)| why);
    let check = Check::ok("runtime", format!("native, because {why}"));
    (RuntimeName::Native, vec![check])
}

/// The operating system's sandbox around the agent runtime, as a review would put it up.
async fn sandbox(request: &Request<'_>, runtime: RuntimeName, required: Option<SandboxLevel>) -> Check {
    const NAME: &str = "sandbox";
    let status = match sandbox_here(request.env, &places(request), runtime).await {
        Ok(status) => status,
        Err(failure) => return Check::of_error(NAME, &failure),
    };
    let detail = status.describe();
    let check = match (status.level, runtime) {
        (level, _) if required.is_some_and(|required| level < required) => Check::failure(NAME, detail),
        // More there cannot be around threads of one's own.
        (SandboxLevel::Enforced, _) | (SandboxLevel::Partial, RuntimeName::Native) => return Check::ok(NAME, detail),
        (SandboxLevel::Partial | SandboxLevel::None, _) => Check::warning(NAME, detail),
    };
    let step = status
        .next_step
        .unwrap_or_else(|| "run reviews on a machine that has one".to_owned());
    check.next(step)
}

pub(super) async fn git() -> Found {
    Found::one(match conclave_git::version().await {
        Ok(version) => Check::ok("git", version),
        Err(error) => Check::of_error("git", &error),
    })
}
