//! Check runs, statuses and runs of workflows.

use serde_json::{Value, json};

use super::{fill, people, pull, repository, with};
use crate::ids::{Kind, PullRef, RepositoryId};
use crate::state::State;
use crate::state::checks::{CheckRun, Status, WorkflowRun};
use crate::state::pull::PullState;

/// A check run.
pub(crate) fn check_run(state: &State, at: RepositoryId, check: &CheckRun) -> Value {
    let name = state.full_name(at);
    let url = format!("{}/repos/{name}/check-runs/{}", state.api_url, check.id);
    let output = &check.fields["output"];
    let pulls = state
        .pulls()
        .filter(|(of, pull)| of.repository == at && pull.head == check.head && pull.head_repository == at);
    let open = pulls.filter(|(_, pull)| pull.state == PullState::Open);
    let known = json!({
        "id": check.id,
        "node_id": Kind::CheckRun.node(check.id),
        "head_sha": check.head,
        "url": url,
        "html_url": format!("{}/{name}/runs/{}", state.url, check.id),
        "check_suite": { "id": check.app.0 },
        "app": people::app(state, check.app),
        "pull_requests": open.map(|(at, _)| minimal_pull(state, at)).collect::<Vec<_>>(),
    });
    let more = json!({
        "output": {
            "title": output["title"],
            "summary": output["summary"],
            "text": output["text"],
            "annotations_count": check.annotations.len(),
            "annotations_url": format!("{url}/annotations"),
        },
    });
    fill("check-run", with(with(known, check.fields.clone()), more))
}

fn minimal_pull(state: &State, at: PullRef) -> Value {
    let pull = state.pull(at);
    let end = |repository: RepositoryId, branch: &str, sha: &str| {
        let url = format!("{}/repos/{}", state.api_url, state.full_name(repository));
        let name = &state.repository(repository).name;
        json!({ "ref": branch, "sha": sha, "repo": { "id": repository.0, "url": url, "name": name } })
    };
    json!({
        "id": pull.id,
        "number": at.number,
        "url": pull::url(state, at),
        "head": end(pull.head_repository, &pull.head_branch, &pull.head),
        "base": end(at.repository, &pull.base_branch, &pull.base),
    })
}

/// A commit status.
pub(crate) fn status(state: &State, at: RepositoryId, status: &Status, component: &str) -> Value {
    let mut known = json!({
        "id": status.id,
        "node_id": Kind::Status.node(status.id),
        "url": format!("{}/repos/{}/statuses/{}", state.api_url, state.full_name(at), status.sha),
        "state": status.state,
        "context": status.context,
        "description": status.description,
        "target_url": status.target_url,
        "created_at": status.created_at,
        "updated_at": status.created_at,
    });
    if component == "status" {
        known["creator"] = people::simple(state, status.creator);
    }
    fill(component, known)
}

/// A run of a workflow; a fork's has no pull requests.
pub(crate) fn workflow_run(state: &State, at: RepositoryId, run: &WorkflowRun) -> Value {
    let url = format!(
        "{}/repos/{}/actions/runs/{}",
        state.api_url,
        state.full_name(at),
        run.id
    );
    let own = run.pull.filter(|_| run.head_repository == at);
    let pulls = own.map(|number| minimal_pull(state, PullRef { repository: at, number }));
    let known = json!({
        "id": run.id,
        "node_id": Kind::Run.node(run.id),
        "name": "review",
        "display_title": "review",
        "path": ".github/workflows/review.yml",
        "run_attempt": 1,
        "run_number": 1,
        "event": run.event,
        "status": "completed",
        "conclusion": "success",
        "head_branch": run.head_branch,
        "head_sha": run.head,
        "url": url,
        "html_url": format!("{}/{}/actions/runs/{}", state.url, state.full_name(at), run.id),
        "artifacts_url": format!("{url}/artifacts"),
        "pull_requests": pulls.into_iter().collect::<Vec<_>>(),
        "repository": repository::repository(state, at, "minimal-repository"),
        "head_repository": repository::repository(state, run.head_repository, "minimal-repository"),
    });
    fill("workflow-run", known)
}

/// An artifact of a run.
pub(crate) fn artifact(
    state: &State,
    at: RepositoryId,
    run: &WorkflowRun,
    (id, name, bytes): &(u64, String, Vec<u8>),
) -> Value {
    let url = format!("{}/repos/{}/actions/artifacts/{id}", state.api_url, state.full_name(at));
    let known = json!({
        "id": id,
        "node_id": format!("MDg6{id}"),
        "name": name,
        "size_in_bytes": bytes.len(),
        "url": url,
        "archive_download_url": format!("{url}/zip"),
        "workflow_run": {
            "id": run.id, "repository_id": at.0, "head_repository_id": run.head_repository.0,
            "head_branch": run.head_branch, "head_sha": run.head,
        },
    });
    fill("artifact", known)
}
