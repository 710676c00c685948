//! The merge request as GitLab tells it, and as the engine sees it.

use conclave_engine::{
    ports::{Comment, ReviewSubject},
    prompt::Untrusted,
};
use serde::Deserialize;

use crate::{
    client::{Client, GitLabError},
    marker::marker,
};

#[derive(Debug, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) username: Option<String>,
}

#[derive(Debug, Deserialize)]
struct MergeRequest {
    project_id: u64,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    draft: Option<bool>,
    #[serde(default)]
    source_branch: Option<String>,
    #[serde(default)]
    target_branch: Option<String>,
    #[serde(default)]
    source_project_id: Option<u64>,
    #[serde(default)]
    target_project_id: Option<u64>,
    #[serde(default)]
    web_url: Option<String>,
    #[serde(default)]
    references: Option<References>,
}

#[derive(Debug, Deserialize)]
struct References {
    #[serde(default)]
    full: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Version {
    head_commit_sha: Option<String>,
    base_commit_sha: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Note {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) body: Option<String>,
    #[serde(default)]
    pub(crate) author: Option<User>,
    #[serde(default)]
    pub(crate) system: Option<bool>,
}

/// What is known of the merge request before the review.
#[derive(Debug)]
pub struct MergeRequestInfo {
    /// For the engine; without commit messages, which git tells.
    pub subject: ReviewSubject,
    pub(crate) bot: u64,
    pub(crate) marker: String,
    /// Our note, if there is one.
    pub(crate) summary: Option<u64>,
    pub(crate) web_url: Option<String>,
}

/// Reads everything that a review needs to know.
pub(crate) async fn load(client: &Client) -> Result<MergeRequestInfo, GitLabError> {
    let bot: User = client.get("read whose token it is", "user").await?;
    let merge_request: MergeRequest = client
        .get("read the merge request", &client.merge_request_path(""))
        .await?;
    let state = merge_request.state.as_deref().unwrap_or("opened");
    let refused = |message: String| GitLabError::Status {
        what: "review the merge request".into(),
        status: 409,
        message,
    };
    if state != "opened" {
        return Err(refused(format!("it is {state}")));
    }
    let versions: Vec<Version> = client
        .get("read the versions of its diff", &client.merge_request_path("/versions"))
        .await?;
    let (base_sha, head_sha) = versions
        .first()
        .and_then(|version| Some((version.base_commit_sha.clone()?, version.head_commit_sha.clone()?)))
        .ok_or_else(|| refused("GitLab has not prepared its diff yet; run the job again".into()))?;
    let marker = marker(
        &client.settings().secret,
        merge_request.project_id,
        client.settings().iid,
    );
    let notes: Vec<Note> = client
        .list(
            "read its comments",
            &client.merge_request_path("/notes?sort=asc&order_by=created_at"),
        )
        .await?;
    let own = |note: &Note| note.author.as_ref().is_some_and(|author| author.id == bot.id);
    let summary = notes
        .iter()
        .find(|note| own(note) && note.body.as_deref().is_some_and(|body| body.contains(&marker)));
    let comments = notes
        .iter()
        .filter(|note| !own(note) && note.system != Some(true))
        .map(|note| Comment {
            author: note
                .author
                .as_ref()
                .and_then(|author| author.username.clone())
                .unwrap_or_default()
                .into(),
            body: note.body.clone().unwrap_or_default().into(),
        })
        .collect();
    let project = merge_request
        .references
        .as_ref()
        .and_then(|references| references.full.as_deref())
        .and_then(|full| full.rsplit_once('!'))
        .map_or_else(|| client.settings().project.clone(), |(project, _)| project.to_owned());
    let subject = ReviewSubject {
        forge: "gitlab",
        project,
        merge_request: Some(client.settings().iid),
        web_url: merge_request.web_url.clone(),
        base_sha,
        head_sha,
        title: merge_request.title.unwrap_or_default().into(),
        description: merge_request.description.unwrap_or_default().into(),
        source_branch: merge_request.source_branch.unwrap_or_default().into(),
        target_branch: merge_request.target_branch.unwrap_or_default().into(),
        commit_subjects: Vec::new(),
        comments,
        previous_review: summary.and_then(|note| note.body.clone()).map(Untrusted::from),
        draft: merge_request.draft.unwrap_or(false),
        // An unknown source is treated as a foreign one.
        from_fork: merge_request.source_project_id.is_none()
            || merge_request.source_project_id != merge_request.target_project_id,
    };
    Ok(MergeRequestInfo {
        subject,
        bot: bot.id,
        marker,
        summary: summary.map(|note| note.id),
        web_url: merge_request.web_url,
    })
}
