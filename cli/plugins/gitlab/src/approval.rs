//! Our approval: given for one commit, taken back, and read back.

use chrono::{DateTime, FixedOffset};
use serde::Deserialize;
use serde_json::json;

use crate::{GitLabError, client::Client, marker::SummaryState, merge_request::Version};

#[derive(Debug, Deserialize)]
struct Approvals {
    #[serde(default)]
    user_has_approved: Option<bool>,
    #[serde(default)]
    approved_by: Option<Vec<Approver>>,
}

#[derive(Debug, Deserialize)]
struct Approver {
    #[serde(default)]
    user: Option<crate::discussions::User>,
    #[serde(default)]
    approved_at: Option<String>,
}

/// Our approval as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Whether GitLab counts it.
    pub(crate) approved: bool,
    /// When it was given, as far as GitLab tells.
    pub(crate) since: Option<DateTime<FixedOffset>>,
}

impl Standing {
    /// Whether it is for this version of the diff: it was given when that was there, and GitLab takes an approval of ours for
    /// the newest commit only. Where GitLab does not tell the times, our own note has to say so.
    pub(crate) fn is_for(&self, version: &Version, state: Option<&SummaryState>) -> bool {
        self.approved
            && match (self.since, version.created_at) {
                (Some(since), Some(created)) => since >= created,
                _ => state.is_some_and(|state| {
                    state.approved_for.is_some() && state.head.as_deref() == Some(version.refs.head.as_str())
                }),
            }
    }
}

/// Reads it.
pub(crate) async fn read(client: &Client, bot: u64) -> Result<Standing, GitLabError> {
    let approvals: Approvals = client
        .get("read its approvals", &client.merge_request_path("/approvals"))
        .await?;
    let own = approvals
        .approved_by
        .unwrap_or_default()
        .into_iter()
        .find(|approver| approver.user.as_ref().is_some_and(|user| user.id == bot));
    Ok(Standing {
        approved: approvals.user_has_approved.unwrap_or(own.is_some()),
        since: own
            .and_then(|approver| approver.approved_at)
            .and_then(|time| time_of(&time)),
    })
}

/// A time as GitLab writes it.
pub(crate) fn time_of(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok()
}

/// Approves the commit, also when an approval stands already: it may stand for an older one. Returns why it was refused.
///
/// GitLab is told the commit and refuses any other: one that came after the reviewed one is not approved.
pub(crate) async fn approve(client: &Client, sha: &str, before: bool) -> Result<Option<String>, GitLabError> {
    let path = client.merge_request_path("/approve");
    match client.post("approve it", &path, &json!({"sha": sha})).await {
        Ok(()) => Ok(None),
        // GitLab looks at the commit first, so the approval that stands already stands for this one, too.
        Err(GitLabError::Unauthorized { .. }) if before => Ok(None),
        Err(error) => {
            if before {
                take_back(client).await?;
            }
            Ok(Some(why_not(&error)))
        }
    }
}

/// What is said when somebody has pushed since.
pub(crate) const NEWER: &str = "not approved: there is a newer commit than the reviewed one";

fn why_not(error: &GitLabError) -> String {
    match error {
        GitLabError::Status { status: 409, .. } if !error.is_lock() => NEWER.to_owned(),
        GitLabError::Unauthorized { .. } => {
            "not approved: GitLab does not let the bot approve it. The bot wrote it or a \
                                             commit of it, which the project's settings forbid"
                .to_owned()
        }
        _ => format!("not approved: {error}"),
    }
}

/// Takes it back. That this fails is an error, because what stands lets through what should not be.
pub(crate) async fn take_back(client: &Client) -> Result<(), GitLabError> {
    let path = client.merge_request_path("/unapprove");
    match client.post("take its approval back", &path, &json!({})).await {
        // There is none: that is what was wanted.
        Ok(()) | Err(GitLabError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
