//! Our approval: given for one commit, taken back, and always read back.

use conclave_engine::report::Review;
use serde::Deserialize;
use serde_json::json;

use crate::{GitLabError, client::Client};

#[derive(Debug, Deserialize)]
struct Approvals {
    #[serde(default)]
    user_has_approved: Option<bool>,
}

async fn has_approved(client: &Client) -> Result<bool, GitLabError> {
    let approvals: Approvals = client
        .get("read its approvals", &client.merge_request_path("/approvals"))
        .await?;
    Ok(approvals.user_has_approved.unwrap_or(false))
}

/// Brings our approval to what the review says. Returns whether it stands now, and what did not work.
///
/// A merge request from a fork is never approved, nor one that a person has to look at, and a commit that came after the reviewed one neither: GitLab is told
/// the reviewed SHA and refuses. Whatever does not approve takes an earlier approval back. That an approval was refused
/// is a warning; that one could not be taken back is an error, because it lets through what should not be.
pub(crate) async fn apply(client: &Client, review: &Review) -> Result<(bool, Vec<String>), GitLabError> {
    let wanted = review.may_approve();
    let before = has_approved(client).await?;
    let mut refused = None;
    if wanted {
        refused = approve(client, &review.head_sha, before).await?;
    } else if before {
        take_back(client).await?;
    }
    let after = has_approved(client).await?;
    if after == wanted {
        return Ok((after, Vec::new()));
    }
    let warning = refused.unwrap_or_else(|| {
        format!(
            "GitLab shows the merge request as {} by the bot, which is not what was asked",
            if after { "approved" } else { "not approved" }
        )
    });
    Ok((after, vec![warning]))
}

/// Approves the commit, also when an approval stands already: it may stand for an older one. Returns why it was refused.
async fn approve(client: &Client, sha: &str, before: bool) -> Result<Option<String>, GitLabError> {
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

fn why_not(error: &GitLabError) -> String {
    match error {
        GitLabError::Status { status: 409, .. } if !error.is_lock() => {
            "not approved: there is a newer commit than the reviewed one".to_owned()
        }
        GitLabError::Unauthorized { .. } => {
            "not approved: GitLab does not let the bot approve it. Either it is not open \
                                             any more, or the bot wrote it or a commit of it, which the project's \
                                             settings forbid"
                .to_owned()
        }
        _ => format!("not approved: {error}"),
    }
}

async fn take_back(client: &Client) -> Result<(), GitLabError> {
    let path = client.merge_request_path("/unapprove");
    match client.post("take its approval back", &path, &json!({})).await {
        // There is none: that is what was wanted.
        Ok(()) | Err(GitLabError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
