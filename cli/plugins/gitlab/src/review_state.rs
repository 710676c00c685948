//! The state that the merge request shows of the bot, in GitLab's ways.
//!
//! Requesting changes blocks the merge on GitLab Premium. Nothing tells reliably whether a request stands: the merge status shows
//! only the first check that fails, and the list of reviewers only those who were asked.

use async_trait::async_trait;
use conclave_forge::{
    ApiError, ApiErrorKind, Approval, ApprovedCommit, LastRequest, Lifted, RequestShown, ReviewStateApi, Version,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitLab,
    discussions::NoteRow,
    merge_request::{Now, REQUESTED, time_of},
    people::User,
};

/// The first version whose `bulk_publish` takes a reviewer's state.
const TAKES_STATE: (u64, u64) = (19, 2);
/// GitLab's operation for taking a request for changes back.
const MUTATION: &str = "mergeRequestDestroyRequestedChanges";

/// Statuses behind which a request for changes cannot be seen, because GitLab looks at something else first.
const MASKS: [&str; 19] = [
    "approvals_syncing",
    "checking",
    "ci_must_pass",
    "ci_still_running",
    "commits_status",
    "conflict",
    "discussions_not_resolved",
    "draft_status",
    "jira_association_missing",
    "locked_lfs_files",
    "locked_paths",
    "merge_request_blocked",
    "merge_time",
    "need_rebase",
    "not_approved",
    "preparing",
    "security_policy_violations",
    "status_checks_must_pass",
    "unchecked",
];

#[derive(Debug, Deserialize)]
struct Approvals {
    user_has_approved: Option<bool>,
    approved_by: Option<Vec<Approver>>,
}

#[derive(Debug, Deserialize)]
struct Approver {
    user: Option<User>,
    approved_at: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Reviewer {
    user: Option<User>,
    state: Option<String>,
}

#[async_trait]
impl ReviewStateApi for GitLab {
    async fn approval(&self, bot: u64) -> Result<Approval, ApiError> {
        let approvals: Approvals = self.read("read its approvals", "/approvals").await?;
        let mut all = approvals.approved_by.unwrap_or_default().into_iter();
        let own = all.find(|approver| approver.user.as_ref().is_some_and(|user| user.id == bot));
        let is_listed = own.is_some();
        let since = own.and_then(|approver| time_of(&approver.approved_at?));
        Ok(Approval {
            stands: approvals.user_has_approved.unwrap_or(is_listed),
            of: since.map_or(ApprovedCommit::Unknown, ApprovedCommit::Since),
        })
    }

    async fn was_approved(&self, bot: u64, version: &Version) -> Result<bool, ApiError> {
        let Some(since) = version.created_at else {
            return Ok(false);
        };
        let url = self.merge_request("/notes?activity_filter=only_activity");
        let (rows, _): (Vec<NoteRow>, u64) = self.http.list_from("read its activity", &url, 1).await?;
        Ok(rows.iter().any(|row| row.is_approval(bot, since)))
    }

    async fn approve(&self, head: &str, stands: bool) -> Result<Option<String>, ApiError> {
        let asked = self.ask("approve it", "/approve", &json!({ "sha": head })).await;
        Ok(match asked {
            Ok(()) => None,
            // GitLab looks at the commit first, so the approval that stands already stands for this one, too.
            Err(error) if error.kind == ApiErrorKind::Unauthorized && stands => None,
            Err(error) => Some(match error.kind {
                ApiErrorKind::Conflict => "not approved: there is a newer commit than the reviewed one".to_owned(),
                ApiErrorKind::Unauthorized => {
                    "not approved: GitLab does not let the bot approve it. The bot wrote it or a commit of \
                     it, which the project's settings forbid"
                        .to_owned()
                }
                _ => format!("not approved: {error}"),
            }),
        })
    }

    async fn withdraw_approval(&self) -> Result<(), ApiError> {
        // That there is none is what was wanted.
        ApiError::found(self.ask("take its approval back", "/unapprove", &json!({})).await).map(drop)
    }

    async fn request_changes(&self) -> Result<(), ApiError> {
        let command = json!({ "body": "/submit_review requested_changes" });
        self.ask("request changes", "/notes", &command).await
    }

    async fn request_shown(&self, bot: u64) -> Result<RequestShown, ApiError> {
        let status = status(self).await?;
        if status == REQUESTED {
            return Ok(RequestShown::Stands);
        }
        let reviewers: Vec<Reviewer> = self.read("read its reviewers' states", "/reviewers").await?;
        let is_ours = |reviewer: &Reviewer| {
            reviewer.user.as_ref().is_some_and(|user| user.id == bot) && reviewer.state.as_deref() == Some(REQUESTED)
        };
        Ok(if reviewers.iter().any(is_ours) {
            RequestShown::Stands
        } else if MASKS.contains(&status.as_str()) {
            RequestShown::Hidden(format!(
                "changes were requested; whether that blocks the merge cannot be seen, because GitLab looks at something \
                 else first (`{status}`)"
            ))
        } else {
            RequestShown::Powerless(format!(
                "changes were requested, but GitLab shows the merge request as `{status}`: a request blocks on GitLab Premium \
                 only, and the bot needs the role Developer. What blocks everywhere is a failed job, with --gate block"
            ))
        })
    }

    async fn last_request(&self, _bot: u64) -> Option<LastRequest> {
        // Only maintainers can delete our notes, and who does lets the next review begin anew.
        None
    }

    async fn lift_request(&self, shown: bool) -> Result<Lifted, ApiError> {
        const WHAT: &str = "take its request for changes back";
        if takes_state(self).await {
            let body = json!({ "reviewer_state": "reviewed" });
            let sent = self.ask(WHAT, "/draft_notes/bulk_publish", &body).await;
            if sent.is_ok() && shown && status(self).await? != REQUESTED {
                return Ok(Lifted::Gone);
            }
        }
        if remove(self, WHAT).await {
            return Ok(Lifted::Gone);
        }
        let command = json!({ "body": "/submit_review approved" });
        let sent = self.ask(WHAT, "/notes", &command).await;
        let status = status(self).await?;
        Ok(if sent.is_err() || status == REQUESTED {
            let advice = "anyone who may merge can remove or bypass it on the merge request's page";
            Lifted::Stands(advice.to_owned())
        } else if shown || !MASKS.contains(&status.as_str()) {
            Lifted::Gone
        } else {
            Lifted::Unseen
        })
    }
}

async fn status(gitlab: &GitLab) -> Result<String, ApiError> {
    Ok(Now::read(gitlab).await?.status().to_owned())
}

/// Returns whether this server's `bulk_publish` takes a reviewer's state. Older ones ignore it without a word.
async fn takes_state(gitlab: &GitLab) -> bool {
    let version: Result<Value, _> = gitlab.get("read GitLab's version", "metadata").await;
    version.is_ok_and(|value| value["version"].as_str().and_then(major_minor) >= Some(TAKES_STATE))
}

fn major_minor(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split(['.', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Takes the request back the way GitLab's own page does. Returns whether that worked.
async fn remove(gitlab: &GitLab, what: &str) -> bool {
    let Ok(now) = Now::read(gitlab).await else { return false };
    let Some(project) = now.project_path() else {
        return false;
    };
    let query = format!(
        "mutation($projectPath: ID!, $iid: String!) {{ {MUTATION}(input: {{ projectPath: $projectPath, iid: $iid }}) \
         {{ errors }} }}"
    );
    let variables = json!({ "projectPath": project, "iid": gitlab.iid.to_string() });
    let body = json!({ "query": query, "variables": variables });
    let answer = gitlab.graphql(what, &body).await;
    answer.is_ok_and(|answer| answer["data"][MUTATION]["errors"].as_array().is_some_and(Vec::is_empty))
}

#[cfg(test)]
#[path = "review_state_tests.rs"]
mod tests;
