//! Our approval: given for one commit, taken back, and always read back.

use conclave_engine::report::Review;
use serde::Deserialize;
use serde_json::json;

use crate::client::{Client, GitLabError};

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
/// A merge request from a fork is never approved, and a commit that came after the reviewed one neither: GitLab is told
/// the reviewed SHA and refuses. Whatever does not approve takes an earlier approval back.
pub(crate) async fn apply(client: &Client, review: &Review) -> Result<(bool, Vec<String>), GitLabError> {
    let wanted = review.verdict.approves() && !review.from_fork;
    let mut warnings = Vec::new();
    let before = has_approved(client).await?;
    if wanted {
        // Also when it stands already: it may stand for an older commit.
        let body = json!({"sha": review.head_sha});
        match client
            .post("approve it", &client.merge_request_path("/approve"), &body)
            .await
        {
            Ok(_) => {}
            Err(GitLabError::Status { status: 409, .. }) => {
                warnings.push("not approved: there is a newer commit than the reviewed one".to_owned());
                if before {
                    take_back(client).await?;
                }
            }
            Err(GitLabError::Unauthorized { .. }) if before => {}
            Err(error @ (GitLabError::Unauthorized { .. } | GitLabError::Forbidden { .. })) => {
                warnings.push(format!("not approved: {error}"));
            }
            Err(error) => return Err(error),
        }
    } else if before {
        take_back(client).await?;
    }
    let after = has_approved(client).await?;
    if after != wanted && warnings.is_empty() {
        warnings.push(format!(
            "GitLab shows the merge request as {} by the bot, which is not what was asked",
            if after { "approved" } else { "not approved" }
        ));
    }
    Ok((after, warnings))
}

async fn take_back(client: &Client) -> Result<(), GitLabError> {
    match client
        .post(
            "take its approval back",
            &client.merge_request_path("/unapprove"),
            &json!({}),
        )
        .await
    {
        // There is none: that is what was wanted.
        Ok(_) | Err(GitLabError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
