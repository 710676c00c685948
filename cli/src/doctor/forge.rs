//! The forge. GitLab: the token, its rights, the merge request, and whether both clocks agree.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use conclave_forge::{ApiError, ApiErrorKind};
use conclave_plugin_gitlab::{Examination, MIN_ROLE, ProjectFacts, TokenFacts, examine as ask};

use conclave_plugin_github::PullRequestAddress;

use crate::{
    args::switch,
    env::{
        ci::{CiEnvironment, ForgeSettings},
        names,
    },
    run::prepare::checkout::acceptable,
};

use super::{Check, Found, Request, github, network::unreachable_step, project};

/// What a token that will do is like.
const GOOD_TOKEN: &str = "make a project access token with the scope `api` and the role Developer (Settings, Access tokens), \
     and store it as the CI/CD variable GITLAB_TOKEN: masked, not protected";
/// A token that ends sooner is worth a word.
const SOON: i64 = 14;
/// Clocks that differ by less are taken for the same.
const TOLERANCE: TimeDelta = TimeDelta::seconds(60);
/// From here on certificates and job tokens are refused.
const TOO_MUCH: TimeDelta = TimeDelta::minutes(10);

pub(super) async fn examine(request: &Request<'_>) -> Found {
    let (forge, with_merge_request) = match request.env.forge(request.address, request.repository).await {
        Ok(Some(forge)) => forge,
        Ok(None) => {
            return Found::absent(
                "a forge: run it in a job of GitLab CI or GitHub Actions, or name a merge request with --mr URL, a pull request with --pr URL",
            );
        }
        Err(failure) => {
            let text = failure.to_string();
            let (wrong, step) = text.split_once(": ").unwrap_or((&text, GOOD_TOKEN));
            let is_github = request
                .address
                .map_or_else(|| request.env.is_github_job(), PullRequestAddress::is_one);
            if is_github {
                return Found::one(Check::failure("github", wrong).next(step));
            }
            return Found::one(Check::failure("gitlab", wrong).next(step));
        }
    };
    let mut checks = vec![secret(request, &forge)];
    if with_merge_request {
        checks.extend(checkout(&forge).await);
    }
    let mut found = examined(request, forge, with_merge_request).await;
    found.checks.extend(checks);
    found
}

/// The secret that signs what is posted: one that is made of another secret changes with it.
fn secret(request: &Request<'_>, forge: &CiEnvironment) -> Check {
    const NAME: &str = "secret";
    if request.env.get(names::SECRET).is_some() {
        return Check::ok(NAME, format!("{} is set", names::SECRET));
    }
    let made_of = match forge.forge {
        ForgeSettings::GitLab(_) => names::GITLAB_TOKEN,
        ForgeSettings::GitHub(_) => "the provider's key",
    };
    let detail = format!(
        "{} is not set, and is made of {made_of}: with another one a review does not know what earlier ones have posted",
        names::SECRET
    );
    Check::warning(NAME, detail).next(format!(
        "store a long random text as a secret, and hand it to the job as {}",
        names::SECRET
    ))
}

/// Why a review would refuse the repository in its directory.
async fn checkout(forge: &CiEnvironment) -> Option<Check> {
    let error = acceptable(forge).await.err()?;
    Some(Check::of_error("checkout", &error))
}

/// Asks the forge itself.
async fn examined(request: &Request<'_>, forge: CiEnvironment, with_merge_request: bool) -> Found {
    let project = forge.project_path;
    let gitlab = match forge.forge {
        ForgeSettings::GitLab(gitlab) => gitlab,
        ForgeSettings::GitHub(github) => {
            let uploads = request
                .env
                .get(names::UPLOAD_SARIF)
                .is_some_and(|value| switch(value) != Ok(false));
            let check = request.env.get(names::CHECK_NAME).unwrap_or("conclave");
            return github::examine(&github, (check, uploads), request.limit).await;
        }
    };
    let host = gitlab.api_url.host_str().unwrap_or_default().to_owned();
    let examination = match ask(&gitlab, with_merge_request, request.limit).await {
        Ok(examination) => examination,
        Err(error) => return Found::one(refused(&error)),
    };
    let Examination {
        account,
        date,
        token,
        project: seen,
        merge_request,
        settings,
    } = examination;
    let now = Utc::now();
    let mut found = Found::one(Check::ok(
        "gitlab",
        format!("{host} knows the token as {}", account.username),
    ));
    found.checks.push(scope(&token));
    found.checks.extend(token.ok().and_then(|token| end(&token, now)));
    found.checks.push(role(&seen, &project));
    if let Some(merge_request) = merge_request {
        let state = merge_request.as_ref().map(|facts| facts.state.as_str());
        found.checks.push(Check::of_change("merge-request", "project", state));
    } else {
        let detail = "this is not a merge-request pipeline: `conclave review` has nothing to review in it";
        let step =
            "add `rules: [{if: $CI_PIPELINE_SOURCE == \"merge_request_event\"}]` to the job, or use the component";
        found.checks.push(Check::warning("merge-request", detail).next(step));
    }
    found.checks.extend(project::settings(&settings));
    found.checks.extend(date.map(|date| clock(now, date)));
    found
}

/// A token that GitLab does not take, or no GitLab at all.
fn refused(error: &ApiError) -> Check {
    match error.kind {
        ApiErrorKind::Unauthorized => {
            let message = &error.words;
            let what = if message.to_lowercase().contains("expired") {
                "GITLAB_TOKEN has expired"
            } else if message.to_lowercase().contains("revoked") {
                "GITLAB_TOKEN was revoked"
            } else {
                "GitLab does not know GITLAB_TOKEN"
            };
            Check::failure("gitlab", format!("{what} (401 {message})")).next(GOOD_TOKEN)
        }
        ApiErrorKind::Scope => Check::failure(
            "token-scope",
            "the token lacks the scope `api`: it may not even say whose it is",
        )
        .next(GOOD_TOKEN),
        ApiErrorKind::Unreachable | ApiErrorKind::TimedOut => {
            Check::failure("gitlab", error.to_string()).next(unreachable_step(&error.words))
        }
        ApiErrorKind::UnusableToken | ApiErrorKind::Settings => Check::of_error("gitlab", error),
        _ => Check::failure("gitlab", error.to_string())
            .next("see that the address is GitLab's own, and that no proxy or log-in page answers in its place"),
    }
}

fn scope(token: &Result<TokenFacts, ApiError>) -> Check {
    const NAME: &str = "token-scope";
    match token {
        Ok(token) if token.scopes.iter().any(|scope| scope == "api") => {
            Check::ok(NAME, "the token has the scope `api`")
        }
        Ok(token) => {
            let has = token.scopes.join(", ");
            Check::failure(
                NAME,
                format!("the token lacks the scope `api`: it has {has}, with which it can post nothing"),
            )
            .next(GOOD_TOKEN)
        }
        Err(error) if error.kind == ApiErrorKind::Scope => {
            Check::failure(NAME, "the token lacks the scope `api`").next(GOOD_TOKEN)
        }
        Err(_) => Check::warning(
            NAME,
            "this GitLab does not say which scopes the token has; it needs `api`",
        )
        .next("see them under Settings, Access tokens"),
    }
}

/// When the token ends, if that is soon.
fn end(token: &TokenFacts, now: DateTime<Utc>) -> Option<Check> {
    const NAME: &str = "token-expiry";
    let day: NaiveDate = token.expires_at.as_ref()?.parse().ok()?;
    let left = (day - now.date_naive()).num_days();
    let detail = format!("the token ends on {day}, in {left} days");
    Some(if left <= SOON {
        Check::warning(NAME, detail)
            .next("rotate it (Settings, Access tokens) and renew the CI/CD variable GITLAB_TOKEN")
    } else {
        Check::ok(NAME, detail)
    })
}

/// The name of a role; GitLab adds new ones in between.
fn role_name(role: u8) -> &'static str {
    match role {
        0..10 => "Minimal access",
        10..15 => "Guest",
        15..20 => "Planner",
        20..30 => "Reporter",
        30..40 => "Developer",
        40..50 => "Maintainer",
        _ => "Owner",
    }
}

fn role(project: &Result<ProjectFacts, ApiError>, wanted: &str) -> Check {
    const NAME: &str = "role";
    let step = "give the token's account the role Developer in the project";
    match project {
        Ok(ProjectFacts { path, role: Some(role) }) if *role >= MIN_ROLE => {
            Check::ok(NAME, format!("{} in {path}", role_name(*role)))
        }
        Ok(ProjectFacts { path, role: Some(role) }) => Check::failure(
            NAME,
            format!(
                "only {} in {path}: it may neither approve nor resolve threads of others, which Developer may",
                role_name(*role)
            ),
        )
        .next(step),
        Ok(ProjectFacts { path, role: None }) => {
            Check::failure(NAME, format!("the token's account is not a member of {path}")).next(step)
        }
        Err(error) if error.kind == ApiErrorKind::NotFound => Check::failure(
            NAME,
            format!(
                "the token does not see the project {wanted}: it is of another project, or the account is not a member"
            ),
        )
        .next(step),
        Err(error) => Check::failure(NAME, error.to_string()).next(step),
    }
}

fn clock(now: DateTime<Utc>, server: DateTime<Utc>) -> Check {
    const NAME: &str = "clock";
    let ahead = now - server;
    let seconds = ahead.num_seconds().abs();
    if ahead.abs() <= TOLERANCE {
        return Check::ok(NAME, "this machine and GitLab agree on the time");
    }
    let way = if ahead > TimeDelta::zero() {
        "ahead of"
    } else {
        "behind"
    };
    let detail = format!("this machine's clock is {seconds} s {way} GitLab's");
    let check = if ahead.abs() > TOO_MUCH {
        Check::failure(
            NAME,
            format!("{detail}: certificates and job tokens look expired or not yet valid"),
        )
    } else {
        Check::warning(NAME, format!("{detail}: times of events are wrong by as much"))
    };
    check.next("set the clock of the machine that runs the job, for example by NTP")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    #[test]
    fn clocks_may_differ_by_a_minute() {
        let server = at("2026-03-01T12:00:00Z");
        for (now, status) in [
            ("2026-03-01T12:00:59Z", Status::Ok),
            ("2026-03-01T11:59:01Z", Status::Ok),
            ("2026-03-01T12:02:00Z", Status::Warning),
            ("2026-03-01T11:49:00Z", Status::Failure),
        ] {
            assert_eq!(clock(at(now), server).status, status, "{now}");
        }
        assert!(
            clock(at("2026-03-01T11:58:00Z"), server)
                .detail
                .contains("120 s behind")
        );
    }

    #[test]
    fn a_token_that_ends_soon_is_told() {
        let token = |day: Option<&str>| TokenFacts {
            scopes: vec!["api".to_owned()],
            expires_at: day.map(str::to_owned),
        };
        let now = at("2026-03-01T12:00:00Z");
        assert_eq!(end(&token(None), now), None);
        assert_eq!(
            end(&token(Some("2026-03-15")), now).map(|check| check.status),
            Some(Status::Warning)
        );
        assert_eq!(
            end(&token(Some("2026-03-16")), now).map(|check| check.status),
            Some(Status::Ok)
        );
    }
}
