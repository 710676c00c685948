//! The same on GitHub: its tokens, its event, its limits, and what becomes of the pull request meanwhile.

use std::time::Duration;

use conclave_fake_github::{FakeGithub, Fault, FaultKind, Job, Permissions, PullState, ReviewState};
use conclave_scripted_provider::ScriptedProvider;

use super::Shown;
use crate::support::{Outcome, Repository, Workflow};

/// Time that a model is waited for to be asked.
const ASKED: Duration = Duration::from_mins(3);
/// The comments on the pull request as a whole.
const COMMENTS: &str = "/repos/*/*/issues/*/comments";

/// Breaks what the row says, and runs the review; it may approve.
pub(super) async fn play(provider: &ScriptedProvider, name: &str) -> (Outcome, Shown) {
    let repository = Repository::clean();
    let github = match name {
        "github_enterprise_without_threads" => FakeGithub::builder().enterprise("3.17.0").start().await,
        _ => FakeGithub::start().await,
    };
    let mut workflow = Workflow::on(github, &repository);
    let (server, at) = (&workflow.github, workflow.repository);
    server.allow_actions_to_approve(at, name != "github_workflows_may_not_approve");
    server.set_private(at, name == "github_no_contents");
    if let Some(permissions) = permissions(name) {
        workflow.token = server.actions_token(at, permissions);
    }
    if let Some(fault) = fault(name) {
        server.inject(fault);
    }
    if let Some(state) = state(name.strip_suffix("_before")) {
        server.set_state(workflow.pull, state);
    }
    let job = workflow.opened(repository.path());
    spoil_event(&job, name);
    let call = workflow.review_in(&job, &repository, &["--mode", "approve"]);
    let call = call.anthropic(provider).env("CONCLAVE_SECRET", "a long random text");
    let outcome = call
        .run_while(|_| async {
            if let Some(what) = name.strip_suffix("_meanwhile") {
                asked(provider).await;
                change(&workflow, &repository, what);
            }
        })
        .await;
    let found = workflow.snapshot();
    let shown = Shown {
        notes: workflow.comments(),
        approved: found.reviews.iter().any(|review| review.state == ReviewState::Approved),
        violations: format!("{:?}", workflow.github.violations()),
    };
    (outcome, shown)
}

fn permissions(name: &str) -> Option<Permissions> {
    let read = Permissions::none().read("contents");
    Some(match name {
        "github_read_only_token" => Permissions::read_only(),
        "github_no_pull_requests" => read.write("checks"),
        "github_no_contents" => Permissions::none().write("pull_requests").write("checks"),
        "github_no_checks" => read.write("pull_requests"),
        _ => return None,
    })
}

fn fault(name: &str) -> Option<Fault> {
    let limit = FaultKind::SecondaryLimit { retry_after: Some(1) };
    let unknown_field = FaultKind::GraphqlError {
        kind: "undefinedField".to_owned(),
        message: "Field 'reviewThreads' doesn't exist on type 'PullRequest'".to_owned(),
    };
    Some(match name {
        "github_token_expires" => Fault::once("POST", COMMENTS, FaultKind::BadCredentials).times(1000),
        "github_secondary_limit" => Fault::once("POST", COMMENTS, limit),
        "github_502_after_the_write" => Fault::once("POST", COMMENTS, FaultKind::ErrorAfterStore),
        "github_cut_after_the_write" => Fault::once("POST", COMMENTS, FaultKind::CutAfterStore),
        "github_502_always" => Fault::once("POST", COMMENTS, FaultKind::BadGateway).times(1000),
        "github_enterprise_without_threads" => Fault::once("POST", "/graphql", unknown_field)
            .containing("reviewThreads")
            .times(1000),
        _ => return None,
    })
}

fn state(name: Option<&str>) -> Option<PullState> {
    match name? {
        "github_closed" => Some(PullState::Closed),
        "github_merged" => Some(PullState::Merged),
        _ => None,
    }
}

/// Spoils the file with the job's event.
fn spoil_event(job: &Job, name: &str) {
    let file = job.directory().join("event.json");
    let whole = job.event.to_string();
    match name {
        "github_event_missing" => std::fs::remove_file(file).unwrap(),
        "github_event_truncated" => std::fs::write(file, &whole[..whole.len() / 2]).unwrap(),
        "github_event_of_another" => {
            let mut event = job.event.clone();
            event["repository"]["full_name"] = "acme/other".into();
            std::fs::write(file, event.to_string()).unwrap();
        }
        _ => {}
    }
}

/// Changes the pull request while a model is at work.
fn change(workflow: &Workflow, repository: &Repository, what: &str) {
    if let Some(state) = state(Some(what)) {
        return workflow.github.set_state(workflow.pull, state);
    }
    match what {
        "github_retargeted" => {
            repository.git(&["branch", "--quiet", "release", "main"]);
            workflow.github.push(workflow.repository, repository.path(), "release");
            workflow.github.retarget(workflow.pull, "release");
        }
        "github_force_pushed" => {
            repository.git(&["checkout", "--quiet", "feature"]);
            repository.git(&["commit", "--quiet", "--amend", "--message", "Another one"]);
            repository.git(&["checkout", "--quiet", "main"]);
            workflow.push(repository);
        }
        other => panic!("nobody knows how to change {other}"),
    }
}

/// Returns once a model was asked.
async fn asked(provider: &ScriptedProvider) {
    let asking = async {
        while provider.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(ASKED, asking).await.expect("a model is asked");
}
