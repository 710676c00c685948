//! Posting: one note, found again and edited, never posted twice.

use async_trait::async_trait;
use conclave_engine::{
    ports::{Forge, ForgeError, PublishOutcome},
    report::Review,
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    GitLabSettings, approval,
    client::{Client, GitLabError},
    merge_request::{self, MergeRequestInfo, Note},
};

/// The longest note, in bytes; GitLab takes more, but nobody reads it.
const MOST_BYTES: usize = 60_000;

/// A merge request on a GitLab server.
#[derive(Debug)]
pub struct GitLab {
    client: Client,
    known: Mutex<Option<Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    bot: u64,
    marker: String,
    summary: Option<u64>,
    web_url: Option<String>,
}

impl GitLab {
    /// A client for this merge request; nothing is asked yet.
    pub fn new(settings: GitLabSettings) -> Result<Self, GitLabError> {
        Ok(Self {
            client: Client::new(settings)?,
            known: Mutex::new(None),
        })
    }

    /// Reads the merge request.
    pub async fn load(&self) -> Result<MergeRequestInfo, GitLabError> {
        let info = merge_request::load(&self.client).await?;
        *self.known.lock().await = Some(Known {
            bot: info.bot,
            marker: info.marker.clone(),
            summary: info.summary,
            web_url: info.web_url.clone(),
        });
        Ok(info)
    }

    async fn post_note(&self, known: &Known, text: &str) -> Result<Option<u64>, GitLabError> {
        let body = json!({"body": text});
        if let Some(note) = known.summary {
            let path = self.client.merge_request_path(&format!("/notes/{note}"));
            match self.client.put("edit its review", &path, &body).await {
                Ok(_) => return Ok(Some(note)),
                // Somebody deleted our note: a new one is posted.
                Err(GitLabError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let path = self.client.merge_request_path("/notes");
        match self.client.post("post the review", &path, &body).await {
            Ok(note) => Ok(note.get("id").and_then(Value::as_u64)),
            Err(error) if error.may_have_happened() => {
                // GitLab may have stored the note and failed afterwards: look before anything is posted again.
                tracing::warn!(%error, "looking whether the review was posted all the same");
                if let Some(note) = self.find_note(known).await? {
                    return Ok(Some(note));
                }
                let note = self.client.post("post the review", &path, &body).await?;
                Ok(note.get("id").and_then(Value::as_u64))
            }
            Err(error) => Err(error),
        }
    }

    async fn find_note(&self, known: &Known) -> Result<Option<u64>, GitLabError> {
        let notes: Vec<Note> = self
            .client
            .list(
                "read its comments",
                &self.client.merge_request_path("/notes?sort=asc&order_by=created_at"),
            )
            .await?;
        let ours = notes.iter().find(|note| {
            note.author.as_ref().is_some_and(|author| author.id == known.bot)
                && note.body.as_deref().is_some_and(|body| body.contains(&known.marker))
        });
        Ok(ours.map(|note| note.id))
    }
}

#[async_trait]
impl Forge for GitLab {
    async fn publish(&self, review: &Review, text: &str) -> Result<PublishOutcome, ForgeError> {
        let forge = |error: GitLabError| ForgeError(error.to_string());
        let known = self.known.lock().await.clone();
        let known = known.ok_or_else(|| ForgeError("the merge request was never loaded".into()))?;
        let text = format!("{}\n\n{}", limit(text), known.marker);
        let note = self.post_note(&known, &text).await.map_err(forge)?;
        let (approved, warnings) = approval::apply(&self.client, review).await.map_err(forge)?;
        let url = known.web_url.zip(note).map(|(url, note)| format!("{url}#note_{note}"));
        Ok(PublishOutcome {
            url,
            approved,
            warnings,
        })
    }
}

fn limit(text: &str) -> String {
    if text.len() <= MOST_BYTES {
        return text.to_owned();
    }
    let mut end = MOST_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!(
        "{}\n\n```\nThe review is longer than a note can be; the whole of it is in the job's artifacts.\n```",
        &text[..end]
    )
}
