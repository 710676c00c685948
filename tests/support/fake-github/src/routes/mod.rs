//! The handlers of REST, one file for each resource.

mod actions;
mod checks;
mod comments;
mod contents;
mod identity;
mod pulls;
mod reviews;
mod rules;

use crate::call::Call;
use crate::reply::{Outcome, Refusal};

/// Calls the handler of an operation.
pub(crate) fn dispatch(method: &str, path: &str, call: &mut Call<'_>) -> Outcome {
    match (method, path.strip_prefix("/repos/{owner}/{repo}").unwrap_or(path)) {
        ("GET", "/user") => identity::viewer(call),
        ("GET", "/users/{username}") => identity::user(call),
        ("GET", "/app") => Err(Refusal::new(401, "A JSON web token could not be decoded")),
        ("GET", "") => identity::repository(call),
        ("GET", "/collaborators/{username}/permission") => identity::permission(call),
        ("GET", "/pulls") => pulls::list(call),
        ("GET", "/pulls/{pull_number}") => pulls::get(call),
        ("GET", "/pulls/{pull_number}/files") => pulls::files(call),
        ("GET", "/pulls/{pull_number}/commits") => pulls::commits(call),
        ("GET", "/commits/{commit_sha}/pulls") => pulls::of_commit(call),
        (_, "/pulls/{pull_number}/requested_reviewers") => pulls::reviewers(call, method),
        ("GET", "/pulls/{pull_number}/comments") => comments::list(call),
        ("POST", "/pulls/{pull_number}/comments") => comments::create(call),
        ("POST", "/pulls/{pull_number}/comments/{comment_id}/replies") => comments::reply(call),
        (_, "/pulls/comments/{comment_id}") => comments::one(call, method),
        ("GET", "/issues/{issue_number}/comments") => comments::list_issue(call),
        ("POST", "/issues/{issue_number}/comments") => comments::create_issue(call),
        (_, "/issues/comments/{comment_id}") => comments::one_issue(call, method),
        ("GET", "/pulls/{pull_number}/reviews") => reviews::list(call),
        ("POST", "/pulls/{pull_number}/reviews") => reviews::create(call),
        (_, "/pulls/{pull_number}/reviews/{review_id}") => reviews::one(call, method),
        ("GET", "/pulls/{pull_number}/reviews/{review_id}/comments") => reviews::comments(call),
        ("PUT", "/pulls/{pull_number}/reviews/{review_id}/dismissals") => reviews::dismiss(call),
        ("POST", "/pulls/{pull_number}/reviews/{review_id}/events") => reviews::submit(call),
        ("POST", "/check-runs") => checks::create(call),
        ("GET", "/check-runs/{check_run_id}") => checks::get(call),
        ("PATCH", "/check-runs/{check_run_id}") => checks::update(call),
        ("GET", "/check-runs/{check_run_id}/annotations") => checks::annotations(call),
        ("GET", "/commits/{ref}/check-runs") => checks::of_commit(call),
        ("POST", "/statuses/{sha}") => checks::create_status(call),
        ("GET", "/commits/{ref}/status") => checks::statuses(call),
        ("GET", "/commits/{ref}") => contents::commit(call),
        ("GET", "/compare/{basehead}") => contents::compare(call),
        ("GET", "/contents/{path}") => contents::contents(call),
        ("GET", "/branches/{branch}/protection") => rules::protection(call),
        ("GET", "/rules/branches/{branch}") => rules::of_branch(call),
        ("GET", "/actions/permissions/workflow") => rules::workflow_permissions(call),
        ("GET", "/actions/runs/{run_id}") => actions::run(call),
        ("GET", "/actions/runs/{run_id}/attempts/{attempt_number}/jobs") => actions::jobs(call),
        ("GET", "/actions/jobs/{job_id}") => actions::job(call),
        ("GET", "/actions/runs/{run_id}/artifacts") => actions::artifacts(call),
        ("GET", "/actions/artifacts/{artifact_id}/{archive_format}") => actions::download(call),
        ("POST", "/code-scanning/sarifs") => actions::upload_sarif(call),
        ("GET", "/code-scanning/sarifs/{sarif_id}") => actions::sarif(call),
        _ => Err(Refusal::new(501, "the stand-in has no handler for this operation")),
    }
}
