//! Whether a review would work from here: checks that run at once, each with a limit, none of which writes or costs
//! anything.
//!
//! They read what a review reads, by the same code, so that what passes here is what a review meets. Something
//! that is not set up is not checked, but listed as such.

mod forge;
mod github;
mod network;
mod page;
mod place;
mod project;
mod providers;
mod settings;
mod tools;
mod variables;
mod workers;

use std::{future::Future, time::Duration};

use camino::Utf8Path;
use conclave_engine::repo_config::RuntimeChoice;
use conclave_forge::ApiError;
use serde::Serialize;

use crate::{
    args::DoctorArguments,
    context::Context,
    env::Environment,
    exit::{Exit, Failure},
};

/// The request for a check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    env: &'a Environment,
    /// A merge request's address, in place of the pipeline's.
    address: Option<&'a str>,
    /// A directory in the repository, in place of the job's checkout or the current one.
    repository: Option<&'a Utf8Path>,
    /// The agent runtime that the job asks for; without one the repository's settings count.
    runtime: Option<RuntimeChoice>,
    /// Time for one check.
    limit: Duration,
}

impl<'a> Request<'a> {
    /// A directory in the repository that reviews are of.
    fn directory(&self) -> &'a Utf8Path {
        let checkout = self.env.job_checkout().map(Utf8Path::new);
        self.repository.or(checkout).unwrap_or(Utf8Path::new("."))
    }
}

/// `conclave doctor`: checks, and shows what was found.
pub(crate) async fn run(arguments: DoctorArguments, context: &Context) -> Result<Exit, Failure> {
    let report = Box::pin(examine(&Request {
        env: &context.env,
        address: arguments.mr.as_deref(),
        repository: arguments.repo.as_deref(),
        runtime: arguments.runtime,
        limit: Duration::from_secs(arguments.check_seconds),
    }))
    .await;
    if arguments.json {
        context.output.print_json(&report);
    } else {
        context.output.print(&page::doctor(&report));
    }
    Ok(if report.healthy { Exit::Reviewed } else { Exit::Blocked })
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// As it has to be.
    Ok,
    /// Reviews work, but not as well as they could, or not for long.
    Warning,
    /// What is set up does not work.
    Failure,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    /// Its name, which scripts may rely on.
    pub(crate) name: String,
    pub(crate) status: Status,
    /// What was found.
    pub(crate) detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_step: Option<String>,
}

impl Check {
    fn new(name: &str, status: Status, detail: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            status,
            detail: detail.into(),
            next_step: None,
        }
    }

    fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Ok, detail)
    }

    fn warning(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Warning, detail)
    }

    fn failure(name: &str, detail: impl Into<String>) -> Self {
        Self::new(name, Status::Failure, detail)
    }

    fn next(mut self, step: impl Into<String>) -> Self {
        self.next_step = Some(step.into());
        self
    }

    /// Says whether a change of this kind is open, by the state that the forge names; it is in a place of that kind.
    fn of_change(name: &str, place: &str, state: Result<&str, &ApiError>) -> Self {
        let change = name.replace('-', " ");
        match state {
            Ok("opened") => Self::ok(name, format!("the {change} is open and can be read")),
            Ok(state) => {
                let detail = format!("the {change} is {state}: only an open one is reviewed");
                Self::warning(name, detail).next("nothing, unless you wanted it reviewed")
            }
            Err(error) => {
                let step = format!("see that the number and the {place} are right");
                Self::failure(name, error.to_string()).next(step)
            }
        }
    }

    /// A failure in the words of an error, whose first sentence says what is wrong and whose others say what to do.
    fn of_error(name: &str, error: &dyn std::fmt::Display) -> Self {
        let text = error.to_string();
        match first_sentence(&text) {
            Some((wrong, step)) => Self::failure(name, wrong).next(step),
            None => Self::failure(name, text),
        }
    }
}

/// The first sentence, and the others; nothing if there is only one. A period that belongs to a path (`.`, or as in `/St. John/x`) ends
/// no sentence.
fn first_sentence(text: &str) -> Option<(&str, &str)> {
    text.match_indices(". ").find_map(|(at, period)| {
        let (sentence, others) = (&text[..at], &text[at + period.len()..]);
        let is_end = !sentence.ends_with(char::is_whitespace);
        let is_beginning = others.starts_with(|first: char| !first.is_lowercase() && !first.is_whitespace());
        let is_in_path = others.split(' ').next().is_some_and(|word| word.contains('/'));
        (is_end && is_beginning && !is_in_path).then_some((sentence, others))
    })
}

/// Everything that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The version of this shape.
    pub(crate) schema_version: u32,
    /// This program's version.
    pub(crate) conclave: &'static str,
    /// True if nothing failed.
    pub(crate) healthy: bool,
    pub(crate) checks: Vec<Check>,
    /// What is not in use here, and what would put it into use.
    pub(crate) not_set_up: Vec<String>,
}

/// What a group of checks has found.
#[derive(Debug, Default)]
struct Found {
    checks: Vec<Check>,
    not_set_up: Vec<String>,
}

impl Found {
    fn one(check: Check) -> Self {
        Self {
            checks: vec![check],
            not_set_up: Vec::new(),
        }
    }

    fn absent(what: &str) -> Self {
        Self {
            checks: Vec::new(),
            not_set_up: vec![what.to_owned()],
        }
    }
}

/// Runs all checks at once.
async fn examine(request: &Request<'_>) -> Report {
    let (variables, tools, git, place, network, forge, providers, config, tracker) = tokio::join!(
        ended(LOCAL, "variables", variables::examine(request)),
        ended(LOCAL, "runtime", tools::agent(request)),
        ended(LOCAL, "git", tools::git()),
        ended(LOCAL, "repository", place::examine(request)),
        within(request, "proxy", network::examine(request)),
        within(request, "gitlab", forge::examine(request)),
        within(request, "providers", providers::examine(request)),
        within(request, "reviewer-config", workers::config(request)),
        within(request, "review-tracker", workers::tracker(request)),
    );
    let mut all = Found::default();
    for found in [variables, tools, git, place, network, forge, providers, config, tracker] {
        all.checks.extend(found.checks);
        all.not_set_up.extend(found.not_set_up);
    }
    Report {
        schema_version: 1,
        conclave: env!("CARGO_PKG_VERSION"),
        healthy: all.checks.iter().all(|check| check.status != Status::Failure),
        checks: all.checks,
        not_set_up: all.not_set_up,
    }
}

/// Programs of this machine are not late because a server is: a busy machine may need some seconds to start one.
const LOCAL: Duration = Duration::from_secs(30);

/// Whatever a check has to wait for, it ends. Those that ask servers have the limit for each question, so a group of them
/// has some more.
async fn within(request: &Request<'_>, name: &str, checks: impl Future<Output = Found>) -> Found {
    ended(request.limit * 2 + Duration::from_secs(1), name, checks).await
}

async fn ended(limit: Duration, name: &str, checks: impl Future<Output = Found>) -> Found {
    tokio::time::timeout(limit, checks).await.unwrap_or_else(|_| {
        let late = format!("it did not end within {} s", limit.as_secs());
        Found::one(Check::failure(name, late).next("run it again with a larger --check-seconds"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_split_from_its_advice_behind_its_first_sentence_whatever_its_paths_are() {
        for (sentence, advice) in [
            (
                "the configuration of the repository at . takes /x for its files",
                "Name the directory",
            ),
            (
                "failed to make /st. john/St. John/x",
                "Set TMPDIR to a directory. It has to be absolute",
            ),
            ("OpenCode is not installed", "`conclave runtime install` fetches it"),
        ] {
            let text = format!("{sentence}. {advice}");
            assert_eq!(first_sentence(&text), Some((sentence, advice)));
        }
        assert_eq!(first_sentence("`git x` failed: no"), None);
    }
}
