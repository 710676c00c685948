//! The programs that a review starts.

use camino::Utf8PathBuf;
use conclave_engine::{
    repo_config::{ReviewSettings, RuntimeChoice},
    review::RuntimeName,
};
use conclave_git::places_around;
use conclave_opencode::{OPENCODE_VERSION, ProcessError, shown_version};
use conclave_shared::sandbox::SandboxLevel;

use super::{Check, Found, Request, first_sentence, settings};
use crate::run::{
    prepare::ChosenBy,
    start::{
        choice::{Foreseen, foresee},
        sandbox::{required_here, sandbox_here},
    },
};

/// The agent runtime, what it searches with, and the sandbox around it.
pub(super) async fn agent(request: &Request<'_>) -> Found {
    let of_repository = settings_of_review(request).await;
    // A value that cannot be read has a check of its own; nothing is to run meanwhile that the right one may forbid.
    let required = required_here(request.env).unwrap_or(Some(SandboxLevel::Enforced));
    let required = required.max(of_repository.require_sandbox);
    let (choice, chosen_by) = chosen(request, of_repository.runtime);
    let foreseen = foresee(request.env, choice, &places(request), required, true).await;
    let runtime = foreseen.name();
    let mut checks = runtime_checks(foreseen, chosen_by);
    checks.push(sandbox(request, runtime, required).await);
    Found {
        checks,
        not_set_up: Vec::new(),
    }
}

/// The runtime that a review would be asked to use.
pub(super) async fn runtime_of_review(request: &Request<'_>) -> RuntimeChoice {
    let of_repository = settings_of_review(request).await;
    chosen(request, of_repository.runtime).0
}

fn chosen(request: &Request<'_>, of_repository: Option<RuntimeChoice>) -> (RuntimeChoice, ChosenBy) {
    ChosenBy::choose(request.runtime, of_repository, RuntimeChoice::Auto)
}

async fn settings_of_review(request: &Request<'_>) -> ReviewSettings {
    let settings = settings::of_review(request).await;
    settings.map(|settings| settings.review).unwrap_or_default()
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
fn runtime_checks(foreseen: Foreseen, chosen_by: ChosenBy) -> Vec<Check> {
    let chosen = match chosen_by {
        ChosenBy::Default => "",
        ChosenBy::Repo => ", chosen by .conclave.toml",
        ChosenBy::Job => ", chosen by the job",
    };
    let opencode = Check::ok("runtime", format!("OpenCode{chosen}"));
    match foreseen {
        Foreseen::Native { instead: None } => {
            vec![Check::ok("runtime", format!("native{chosen}"))]
        }
        Foreseen::Native { instead: Some(problem) } => {
            let why = problem.to_string();
            let why = first_sentence(&why).map_or(why.as_str(), |(why, _)| why);
            vec![Check::ok("runtime", format!("native, because {why}"))]
        }
        Foreseen::OpenCode {
            opencode: binary,
            ripgrep,
        } => {
            let binary = found("opencode", binary, |binary| format!("{OPENCODE_VERSION} at {binary}"));
            let ripgrep = found("ripgrep", ripgrep, |found| {
                format!("{} at {}", shown_version(&found.version), found.binary)
            });
            vec![opencode, binary, ripgrep]
        }
        Foreseen::Refused(failure) => vec![opencode, Check::of_error("opencode", &failure)],
    }
}

/// The check of a program that was looked for.
fn found<T>(name: &str, program: Result<T, ProcessError>, detail: impl FnOnce(&T) -> String) -> Check {
    match program {
        Ok(program) => Check::ok(name, detail(&program)),
        Err(problem) => Check::of_error(name, &problem),
    }
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
