//! GitHub: the token, what it may do, and the pull request.

use std::time::Duration;

use conclave_forge::{ApiError, ApiErrorKind};
use conclave_plugin_github::{Examination, GitHubSettings, Right, examine as ask};

use super::{Check, Found, network::unreachable_step};

/// A token that will do.
const GOOD_TOKEN: &str = "hand the job's token to the step: `env: { GITHUB_TOKEN: \"${{ github.token }}\" }`; elsewhere make a \
                          fine-grained access token for the repository with `Pull requests: write` and `Contents: read`";

pub(super) async fn examine(github: &GitHubSettings, (check_name, uploads): (&str, bool), limit: Duration) -> Found {
    let host = github.api_url.host_str().unwrap_or_default();
    let Examination {
        account,
        pull_request,
        rights,
        required_checks,
        workflows_may_approve,
    } = match ask(github, uploads, limit).await {
        Ok(examination) => examination,
        Err(error) => return Found::one(refused(&error)),
    };
    let mut found = Found::one(Check::ok("github", format!("{host} knows the token as {account}")));
    let checks = judged("permission-checks", "checks", &rights.checks);
    // A commit status is needed only where check runs cannot be written.
    let statuses = (!matches!(rights.checks, Ok(Right::Granted)))
        .then(|| judged("permission-statuses", "statuses", &rights.statuses));
    let comments = judged("permission-pull-requests", "pull-requests", &rights.pull_requests);
    found.checks.push(match rights.pull_requests {
        Ok(_) => required(comments),
        Err(_) => comments,
    });
    found.checks.push(checks);
    found.checks.extend(statuses);
    let code_scanning = rights.security_events.as_ref();
    found
        .checks
        .extend(code_scanning.map(|right| judged("permission-security-events", "security-events", right)));
    let state = pull_request.as_ref().map(String::as_str);
    found.checks.push(Check::of_change("pull-request", "repository", state));
    found
        .checks
        .extend(required_checks.map(|required| gate(check_name, &required)));
    found.checks.push(approvals(workflows_may_approve));
    found
}

/// Says whether the job's own token may approve. GitHub shows that setting to administrators, and no job's token is one.
fn approvals(may: Option<bool>) -> Check {
    const NAME: &str = "approvals";
    match may {
        Some(true) => Check::ok(NAME, "workflows may approve pull requests"),
        Some(false) => {
            let detail = "workflows may not approve: with the job's token `--mode approve` approves nothing";
            Check::warning(NAME, detail)
                .next("allow it under Settings, Actions, General, or use the token of an App of your own")
        }
        None => Check::ok(
            NAME,
            "whether workflows may approve pull requests cannot be seen with this token; it matters where the bot approves \
             with the job's own token",
        ),
    }
}

/// A token that GitHub does not take, or no GitHub at all.
fn refused(error: &ApiError) -> Check {
    let check = Check::of_error("github", error);
    match error.kind {
        ApiErrorKind::Unreachable | ApiErrorKind::TimedOut => check.next(unreachable_step(&error.words)),
        ApiErrorKind::Unauthorized => check.next(GOOD_TOKEN),
        _ => check,
    }
}

/// A right, and the line that gives it. Without it a review works, but not as well.
fn judged(name: &str, right: &str, has: &Result<Right, ApiError>) -> Check {
    let without = match right {
        "checks" => "there is no check on the commit, only a commit status or the job's exit code",
        "statuses" => "the job's exit code is the only gate",
        "security-events" => {
            "the findings cannot be handed to code scanning, or it is not switched on in the repository"
        }
        _ => "nothing can be posted",
    };
    let add =
        || format!("add `{right}: write` to the `permissions` of the workflow, or to the App or token that is used");
    match has {
        Ok(Right::Granted) => Check::ok(name, format!("the token has `{right}: write`")),
        Ok(Right::MissingForPerson) if right == "checks" => {
            let detail =
                format!("a personal access token cannot make check runs, whatever its permissions are: {without}");
            Check::warning(name, detail).next(
                "use the job's own GITHUB_TOKEN or the token of a GitHub App, or require the commit status in place of the check",
            )
        }
        Ok(Right::Unfound) if right == "checks" => {
            let detail = format!("the token lacks `{right}: write`, or the server has no check runs: {without}");
            Check::warning(name, detail).next(add())
        }
        Ok(Right::Missing | Right::MissingForPerson | Right::Unfound) => {
            Check::warning(name, format!("the token lacks `{right}: write`: {without}")).next(add())
        }
        Err(error) => Check::warning(
            name,
            format!("whether the token has `{right}: write` cannot be seen: {error}"),
        )
        .next("see the permissions of the workflow, the App or the token"),
    }
}

/// The same for a right without which there is nothing.
fn required(check: Check) -> Check {
    match check.status {
        super::Status::Warning => Check {
            status: super::Status::Failure,
            ..check
        },
        _ => check,
    }
}

/// Says whether a merge waits for the check, as far as rulesets show it.
fn gate(name: &str, required: &[String]) -> Check {
    const NAME: &str = "gate";
    if required.iter().any(|required| required == name) {
        return Check::ok(
            NAME,
            format!("a ruleset of the target branch requires the check `{name}`"),
        );
    }
    let detail = format!("no ruleset of the target branch requires the check `{name}`: no merge waits for it");
    Check::warning(NAME, detail).next(format!(
        "require `{name}` in a ruleset (Settings, Rules), unless an older branch protection does, which only administrators see"
    ))
}
