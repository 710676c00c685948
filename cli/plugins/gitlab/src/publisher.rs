//! Posting: one note, found again and edited, never posted twice.

use async_trait::async_trait;
use conclave_engine::{
    ports::{Forge, ForgeError, PublishOutcome},
    report::Review,
};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    GitLabError, GitLabSettings, approval,
    client::{Client, Patience},
    length::limit,
    merge_request::{self, MICROS, MergeRequestInfo, Ourselves},
    reviewers,
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
    ourselves: Ourselves,
    web_url: Option<String>,
}

impl GitLab {
    /// A client for this merge request; nothing is asked yet.
    pub fn new(settings: GitLabSettings) -> Result<Self, GitLabError> {
        Self::with_patience(settings, Patience::default())
    }

    /// The same with other time limits.
    pub fn with_patience(settings: GitLabSettings, patience: Patience) -> Result<Self, GitLabError> {
        Ok(Self {
            client: Client::new(settings, patience)?,
            known: Mutex::new(None),
        })
    }

    /// Reads the merge request.
    pub async fn load(&self) -> Result<MergeRequestInfo, GitLabError> {
        let info = merge_request::load(&self.client).await?;
        *self.known.lock().await = Some(Known {
            ourselves: info.ourselves.clone(),
            web_url: info.subject.web_url.clone(),
        });
        Ok(info)
    }

    /// Posts the note, or edits the one that is there. Returns its id.
    async fn post_note(&self, ourselves: &Ourselves, text: &str) -> Result<Option<u64>, GitLabError> {
        let (path, body) = (self.client.merge_request_path("/notes"), json!({"body": text}));
        // A review takes minutes: another job may have posted since the merge request was read.
        if let Some(note) = self.edit_note(ourselves, &body).await? {
            return Ok(Some(note));
        }
        let mut failed = 0;
        loop {
            match self.client.post_once("post the review", &path, &body).await {
                Ok(note) => return Ok(note.get("id").and_then(Value::as_u64)),
                Err(error) if error.may_have_happened() => {
                    // GitLab may have stored the note and failed afterwards: look before anything is posted again.
                    tracing::warn!(%error, "looking whether the review was posted all the same");
                    failed += 1;
                    let again = self.client.pause(failed).await;
                    if let Some(note) = self.edit_note(ourselves, &body).await? {
                        return Ok(Some(note));
                    }
                    if !again {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives our note another text. Nothing if there is none, or if somebody deletes it meanwhile.
    async fn edit_note(&self, ourselves: &Ourselves, body: &Value) -> Result<Option<u64>, GitLabError> {
        let notes = merge_request::notes(&self.client).await?;
        let Some(note) = ourselves.summary(&notes) else {
            return Ok(None);
        };
        let path = self.client.merge_request_path(&format!("/notes/{}", note.id));
        match self.client.put("edit its review", &path, body).await {
            Ok(()) => Ok(Some(note.id)),
            Err(GitLabError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Dollars as millionths; nothing for what is no price.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is clamped, and never negative here"
)]
fn micros(usd: f64) -> u64 {
    (usd.max(0.0) * MICROS).round() as u64
}

#[async_trait]
impl Forge for GitLab {
    async fn publish(&self, review: &Review, text: &str) -> Result<PublishOutcome, ForgeError> {
        let forge = |error: GitLabError| ForgeError(error.to_string());
        let known = self.known.lock().await.clone();
        let known = known.ok_or_else(|| ForgeError("the merge request was never loaded".into()))?;
        // Read anew: another job may have posted, and paid, since the merge request was loaded.
        let notes = merge_request::notes(&self.client).await.map_err(forge)?;
        let spent = known.ourselves.spent(&notes).saturating_add(micros(review.cost_usd));
        let text = format!(
            "{}\n\n{}\n{}",
            limit(text.trim_end(), MOST_BYTES),
            known.ourselves.marker,
            known.ourselves.spent_marker(spent)
        );
        let note = self.post_note(&known.ourselves, &text).await.map_err(forge)?;
        let (approved, mut warnings) = approval::apply(&self.client, review).await.map_err(forge)?;
        warnings.extend(reviewers::add(&self.client, review).await);
        let url = known.web_url.zip(note).map(|(url, note)| format!("{url}#note_{note}"));
        Ok(PublishOutcome {
            url,
            approved,
            warnings,
        })
    }
}
