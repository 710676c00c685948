//! Posting a review: findings beside their lines, the summary, and what the merge request shows of the bot.
//!
//! The order makes every step repeatable. What is there is read first, right before anything is written, because another
//! job may have posted since the merge request was loaded. Findings go first, so that the summary can say where they are;
//! nothing is approved before the summary is there. A run that dies in between leaves what the next one finds and goes on
//! from.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use conclave_engine::{
    ports::{Forge, ForgeError, Publication, PublishOutcome, Stance},
    report::Review,
};
use tokio::sync::Mutex;

use crate::{
    GitLabError, GitLabSettings,
    client::{Client, Patience},
    discussions::Conversation,
    inline::{self, Inline},
    merge_request::{self, MICROS, MergeRequestInfo, MergeRequestNow, Ourselves, Version},
    reviewers,
    stance::{self, Applied, Before},
    summary::{Memory, Summary},
    threads,
};

/// A merge request on a GitLab server.
#[derive(Debug)]
pub struct GitLab {
    pub(crate) client: Client,
    known: Mutex<Option<Arc<Known>>>,
    /// A merge request that was read before the review asked for it.
    early: Mutex<Option<MergeRequestInfo>>,
}

/// What is known since the merge request was loaded.
#[derive(Debug)]
struct Known {
    ourselves: Ourselves,
    version: Version,
    web_url: Option<String>,
    /// The newest note of each of our threads that the review knows of.
    newest: HashMap<String, u64>,
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
            early: Mutex::new(None),
        })
    }

    /// Reads the merge request.
    pub async fn load(&self) -> Result<MergeRequestInfo, GitLabError> {
        if let Some(info) = self.early.lock().await.take() {
            return Ok(info);
        }
        let info = merge_request::load(&self.client).await?;
        *self.known.lock().await = Some(Arc::new(Known {
            ourselves: info.ourselves.clone(),
            version: info.version.clone(),
            newest: threads::newest(&info.ourselves, &info.conversation),
            web_url: info.subject.web_url.clone(),
        }));
        Ok(info)
    }

    /// Keeps what was read for whoever loads the merge request next.
    pub(crate) async fn keep(&self, info: MergeRequestInfo) {
        *self.early.lock().await = Some(info);
    }

    async fn post(&self, known: &Known, publication: Publication<'_>) -> Result<PublishOutcome, GitLabError> {
        let Known {
            ourselves,
            version,
            web_url,
            newest,
        } = known;
        let (client, review) = (&self.client, publication.review);
        let mut conversation = Conversation::read(client).await?;
        let now = MergeRequestNow::read(client).await?;
        let mut inline = Inline::default();
        let mut changed = HashSet::new();
        if now.is_open() && !publication.hurried {
            inline = inline::post(client, ourselves, &version.refs, &publication, &mut conversation).await?;
            inline::withdraw_twins(client, ourselves, &mut conversation, &mut inline).await?;
            let (warnings, done) = threads::apply(client, ourselves, review, newest, &now, &mut conversation).await;
            inline.warnings.extend(warnings);
            changed = done;
        }
        let mut review_with_places = inline.mark(review, web_url.as_deref());
        review_with_places.ledger.posted(inline.notes.keys());
        // A thread that was to be resolved and is not must not look as if a person had opened it again.
        let left = review
            .threads
            .iter()
            .filter(|action| action.change.resolves() && !changed.contains(&action.thread));
        review_with_places
            .ledger
            .left_open(left.map(|action| &action.fingerprint));
        let wanted = Stance::of(review, publication.settings.mode);
        let before = known.before(&now, &conversation);
        let spent = spent(ourselves, &conversation, review);
        let memory = |requested_changes| Memory {
            spent_micros: spent,
            spent_counts: review.cost_usd > 0.0 && publication.settings.remember_cost,
            requested_changes,
        };
        // What will be so if all goes well; where it does not, the note is corrected below.
        let requested = wanted == Stance::RequestedChanges && now.is_open();
        let summary = Summary::of(ourselves, &review_with_places, memory(requested));
        let is_news = !known.says(&conversation, &summary);
        let note = summary.post(client, ourselves, &mut conversation).await?;
        let before = Before { is_news, ..before };
        let Applied {
            stance,
            approved,
            requested: stands,
            mut warnings,
        } = stance::apply(client, wanted, review, before).await?;
        if stands != requested {
            conversation.read_on(client).await?;
            let corrected = Summary::of(ourselves, &review_with_places, memory(stands));
            corrected.post(client, ourselves, &mut conversation).await?;
        }
        warnings.splice(0..0, inline.warnings);
        warnings.extend(reviewers::add(client, review).await);
        Ok(PublishOutcome {
            url: web_url
                .as_ref()
                .zip(note)
                .map(|(url, note)| format!("{url}#note_{note}")),
            approved,
            stance: Some(stance),
            posted_inline: inline.created.len(),
            placements: inline.placements,
            warnings,
        })
    }
}

impl Known {
    /// What has to be known before the stance is taken.
    fn before<'a>(&'a self, now: &'a MergeRequestNow, conversation: &Conversation) -> Before<'a> {
        let notes = conversation.notes();
        let summary = self.ourselves.summary(&notes);
        let remembered = summary.and_then(|note| self.ourselves.state(note));
        Before {
            now,
            version: &self.version,
            requested: match remembered {
                Some(state) => state.requested_changes,
                // Somebody may have deleted the note that remembers it.
                None => summary.is_none() && now.status() == "requested_changes",
            },
            is_news: true,
            bot: self.ourselves.bot(),
        }
    }

    /// Whether the last summary concluded the same.
    fn says(&self, conversation: &Conversation, summary: &Summary) -> bool {
        let notes = conversation.notes();
        let known = self
            .ourselves
            .summary(&notes)
            .and_then(|note| self.ourselves.state(note));
        known.is_some_and(|known| known.conclusion == summary.state.conclusion)
    }
}

/// What the reviews of the merge request have cost with this one, by the note as it is now: another job may have paid since
/// the merge request was loaded.
fn spent(ourselves: &Ourselves, conversation: &Conversation, review: &Review) -> u64 {
    ourselves
        .spent(&conversation.notes())
        .saturating_add(micros(review.cost_usd))
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
    async fn publish(&self, publication: Publication<'_>) -> Result<PublishOutcome, ForgeError> {
        let known = self.known.lock().await.clone();
        let known = known.ok_or_else(|| ForgeError("the merge request was never loaded".into()))?;
        let outcome = self.post(&known, publication).await;
        outcome.map_err(|error| ForgeError(error.to_string()))
    }
}
