//! Making people reviewers of the merge request, because a rule of the organisation says that they have to look.

use conclave_engine::review::Review;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use crate::{GitLabError, client::Client};

#[derive(Debug, Deserialize)]
struct MergeRequest {
    #[serde(default)]
    reviewers: Vec<User>,
}

#[derive(Debug, Deserialize)]
struct User {
    id: u64,
    #[serde(default)]
    username: String,
}

impl User {
    fn is(&self, name: &str) -> bool {
        self.username.eq_ignore_ascii_case(name)
    }
}

/// Adds whom the rules name and who is not there yet. Reviewers that people have chosen stay. What does not work is a
/// warning: the review says who has to look, whether or not GitLab tells them.
pub(crate) async fn add(client: &Client, review: &Review) -> Vec<String> {
    let names = wanted(review);
    if names.is_empty() {
        return Vec::new();
    }
    add_all(client, &names)
        .await
        .unwrap_or_else(|error| vec![format!("no reviewers were added: {error}")])
}

/// Users that a rule wants as reviewers, each once. A group cannot be a reviewer; the review names it.
fn wanted(review: &Review) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in review
        .manual_reviews
        .iter()
        .filter(|manual| manual.add_as_reviewers)
        .flat_map(|manual| &manual.who)
    {
        let name = name.trim_start_matches('@');
        if !name.contains('/') && !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            names.push(name);
        }
    }
    names
}

async fn add_all(client: &Client, names: &[&str]) -> Result<Vec<String>, GitLabError> {
    let mut warnings = Vec::new();
    let before = reviewers(client).await?;
    let mut ids: Vec<u64> = before.iter().map(|user| user.id).collect();
    let mut added = Vec::new();
    for name in names.iter().filter(|name| !before.iter().any(|user| user.is(name))) {
        match find(client, name).await? {
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
    let path = client.merge_request_path("");
    client
        .put("add reviewers", &path, &json!({ "reviewer_ids": ids }))
        .await?;
    // GitLab drops what the licence does not cover, and says nothing.
    let after = reviewers(client).await?;
    for name in added {
        if !after.iter().any(|user| user.is(name)) {
            warnings.push(format!(
                "GitLab did not make {name} a reviewer; more than one needs GitLab Premium"
            ));
        }
    }
    Ok(warnings)
}

async fn reviewers(client: &Client) -> Result<Vec<User>, GitLabError> {
    let path = client.merge_request_path("");
    let merge_request: MergeRequest = client.get("read its reviewers", &path).await?;
    Ok(merge_request.reviewers)
}

async fn find(client: &Client, name: &str) -> Result<Option<User>, GitLabError> {
    let path = format!("users?username={}", utf8_percent_encode(name, NON_ALPHANUMERIC));
    let users: Vec<User> = client.get("look for a reviewer", &path).await?;
    Ok(users.into_iter().find(|user| user.is(name)))
}
