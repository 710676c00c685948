//! Reviewers of the merge request.

use conclave_forge::ApiError;
use serde::Deserialize;
use serde_json::json;

use crate::{GitLab, gitlab::encoded, people::User};

#[derive(Debug, Deserialize)]
struct MergeRequest {
    #[serde(default)]
    reviewers: Vec<User>,
}

impl User {
    fn is(&self, name: &str) -> bool {
        self.username.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }
}

/// Adds those who are not there yet, and returns what did not work, in words. Reviewers that people have chosen stay.
pub(crate) async fn add(gitlab: &GitLab, names: &[&str]) -> Result<Vec<String>, ApiError> {
    let mut warnings = Vec::new();
    let before = reviewers(gitlab).await?;
    let mut ids: Vec<u64> = before.iter().map(|user| user.id).collect();
    let mut added = Vec::new();
    for name in names.iter().filter(|name| !before.iter().any(|user| user.is(name))) {
        match find(gitlab, name).await? {
            Some(user) => {
                ids.push(user.id);
                added.push(*name);
            }
            None => warnings.push(format!(
                "{name} was not made a reviewer: GitLab shows the bot no user of that name (a group cannot be one)"
            )),
        }
    }
    if added.is_empty() {
        return Ok(warnings);
    }
    gitlab.put("add reviewers", "", &json!({ "reviewer_ids": ids })).await?;
    // GitLab drops what the licence does not cover, and says nothing.
    let after = reviewers(gitlab).await?;
    for name in added {
        if !after.iter().any(|user| user.is(name)) {
            warnings.push(format!(
                "GitLab did not make {name} a reviewer; more than one needs GitLab Premium"
            ));
        }
    }
    Ok(warnings)
}

async fn reviewers(gitlab: &GitLab) -> Result<Vec<User>, ApiError> {
    let merge_request: MergeRequest = gitlab.read("read its reviewers", "").await?;
    Ok(merge_request.reviewers)
}

async fn find(gitlab: &GitLab, name: &str) -> Result<Option<User>, ApiError> {
    let path = format!("users?username={}", encoded(name));
    let users: Vec<User> = gitlab.get("look for a reviewer", &path).await?;
    Ok(users.into_iter().find(|user| user.is(name)))
}
