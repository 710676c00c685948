//! The merge request as GitLab tells it, and as the engine sees it.

use conclave_engine::{
    ports::{Comment, ReviewSubject},
    prompt::Untrusted,
};
use secrecy::SecretString;
use serde::Deserialize;

use crate::{
    GitLabError,
    client::Client,
    marker::{self, marker},
};

/// Millionths of a dollar in a dollar.
pub(crate) const MICROS: f64 = 1_000_000.0;

#[derive(Debug, Deserialize)]
struct User {
    id: u64,
    #[serde(default)]
    username: Option<String>,
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
    body: Option<String>,
    #[serde(default)]
    author: Option<User>,
    #[serde(default)]
    system: Option<bool>,
    #[serde(default)]
    internal: Option<bool>,
}

/// Who we are: by this our note is known.
#[derive(Debug, Clone)]
pub(crate) struct Ourselves {
    bot: u64,
    pub(crate) marker: String,
    secret: SecretString,
    project: u64,
    iid: u64,
}

impl Ourselves {
    fn wrote(&self, note: &Note) -> bool {
        note.author.as_ref().is_some_and(|author| author.id == self.bot)
    }

    /// Our review among the notes. A marker that somebody copied is not ours, and neither is a note without one.
    pub(crate) fn summary<'n>(&self, notes: &'n [Note]) -> Option<&'n Note> {
        notes
            .iter()
            .find(|note| self.wrote(note) && note.body.as_deref().is_some_and(|body| body.contains(&self.marker)))
    }

    /// What our reviews have cost so far, in millionths of a dollar, as our note among these says.
    pub(crate) fn spent(&self, notes: &[Note]) -> u64 {
        let body = self.summary(notes).and_then(|note| note.body.as_deref());
        body.and_then(|body| marker::read_spent(&self.secret, self.project, self.iid, body))
            .unwrap_or_default()
    }

    /// The comment that says so for the next review.
    pub(crate) fn spent_marker(&self, micros: u64) -> String {
        marker::spent(&self.secret, self.project, self.iid, micros)
    }
}

/// What is known of the merge request before the review.
#[derive(Debug)]
pub struct MergeRequestInfo {
    /// For the engine; without commit messages, which git tells.
    pub subject: ReviewSubject,
    /// What earlier reviews of it have cost, in US dollars, as our note on it says.
    pub spent_before_usd: f64,
    pub(crate) ourselves: Ourselves,
}

/// All notes, oldest first.
pub(crate) async fn notes(client: &Client) -> Result<Vec<Note>, GitLabError> {
    let path = client.merge_request_path("/notes?sort=asc&order_by=created_at");
    client.list("read its comments", &path).await
}

/// Reads everything that a review needs to know.
pub(crate) async fn load(client: &Client) -> Result<MergeRequestInfo, GitLabError> {
    let bot: User = client.get("read whose token it is", "user").await?;
    let merge_request: MergeRequest = client
        .get("read the merge request", &client.merge_request_path(""))
        .await?;
    if let Some(state) = merge_request.state.filter(|state| state != "opened") {
        return Err(GitLabError::NotOpen { state });
    }
    let versions: Vec<Version> = client
        .get("read the versions of its diff", &client.merge_request_path("/versions"))
        .await?;
    let (base_sha, head_sha) = versions
        .first()
        .and_then(|version| Some((version.base_commit_sha.clone()?, version.head_commit_sha.clone()?)))
        .ok_or(GitLabError::NotPrepared)?;
    let settings = client.settings();
    let ourselves = Ourselves {
        bot: bot.id,
        marker: marker(&settings.secret, merge_request.project_id, settings.iid),
        secret: settings.secret.clone(),
        project: merge_request.project_id,
        iid: settings.iid,
    };
    let notes = notes(client).await?;
    let comments = notes
        .iter()
        // Everybody can read the review, so what only members can read stays out of it.
        .filter(|note| !ourselves.wrote(note) && note.system != Some(true) && note.internal != Some(true))
        .map(comment)
        .collect();
    let previous_review = ourselves.summary(&notes).and_then(|note| note.body.clone());
    let project = merge_request
        .references
        .as_ref()
        .and_then(|references| references.full.as_deref())
        .and_then(|full| full.rsplit_once('!'))
        .map_or_else(|| settings.project.clone(), |(project, _)| project.to_owned());
    let subject = ReviewSubject {
        forge: "gitlab",
        project,
        merge_request: Some(settings.iid),
        web_url: merge_request.web_url,
        base_sha,
        head_sha,
        title: merge_request.title.unwrap_or_default().into(),
        description: merge_request.description.unwrap_or_default().into(),
        source_branch: merge_request.source_branch.unwrap_or_default().into(),
        target_branch: merge_request.target_branch.unwrap_or_default().into(),
        commit_subjects: Vec::new(),
        comments,
        existing_findings: Vec::new(),
        previous_review: previous_review.map(Untrusted::from),
        draft: merge_request.draft.unwrap_or(false),
        // An unknown source is treated as a foreign one.
        from_fork: merge_request.source_project_id.is_none()
            || merge_request.source_project_id != merge_request.target_project_id,
    };
    #[expect(clippy::cast_precision_loss, reason = "amounts stay far below 2^53")]
    let spent_before_usd = ourselves.spent(&notes) as f64 / MICROS;
    Ok(MergeRequestInfo {
        subject,
        spent_before_usd,
        ourselves,
    })
}

fn comment(note: &Note) -> Comment {
    let author = note.author.as_ref().and_then(|author| author.username.clone());
    Comment {
        author: author.unwrap_or_default().into(),
        body: note.body.clone().unwrap_or_default().into(),
    }
}
