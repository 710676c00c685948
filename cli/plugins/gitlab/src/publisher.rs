//! Posting a review: findings beside their lines, the summary, and what the merge request shows of the bot.
//!
//! The order makes every step repeatable. What is there is read first, right before anything is written, because another
//! job may have posted since the merge request was loaded. Findings go first, so that the summary can say where they are;
//! nothing is approved before the summary is there. A run that dies in between leaves what the next one finds and goes on
//! from.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use conclave_engine::{
    diff::FilteredFile,
    ports::{Forge, ForgeError, Publication, PublishOutcome, StopSignal},
    review::{JudgedFinding, Ledger, Meanwhile, Review, Stance},
};
use conclave_shared::finding::Fingerprint;
use tokio::sync::Mutex;

use crate::{
    GitLabError, GitLabSettings,
    approval::{self, Standing},
    client::{Client, Patience},
    discussions::Conversation,
    inline::{self, Inline},
    latest::{Current, Latest},
    marker::SummaryState,
    merge_request::{self, MICROS, MergeRequestInfo, MergeRequestNow, Ourselves, Version},
    reviewers,
    stance::{self, Applied, Before},
    summary::{Memory, Summary},
    target::{Target, Watched},
    threads,
};

/// A merge request on a GitLab server.
#[derive(Debug)]
pub struct GitLab {
    pub(crate) client: Client,
    known: Mutex<Option<Arc<Known>>>,
    /// A merge request that was read before the review asked for it.
    early: Mutex<Option<MergeRequestInfo>>,
    /// The commit that the pipeline runs for, if there is a pipeline.
    pub(crate) pipeline_head: Option<String>,
    /// Tells when the run has to end.
    pub(crate) stop: Option<StopSignal>,
    /// What this run has written into our note.
    said: std::sync::Mutex<Vec<SummaryState>>,
    /// Whether this run has taken its stance.
    concluded: AtomicBool,
    /// Whose approval of ours this run has taken back, in words.
    pub(crate) taken_back: Mutex<Option<String>>,
    /// The files of a change that has none to review.
    pub(crate) left_out: std::sync::Mutex<Vec<FilteredFile>>,
}

/// What is known since the merge request was loaded.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) ourselves: Ourselves,
    pub(crate) version: Version,
    pub(crate) target: Target,
    /// What our note remembered.
    pub(crate) state: Option<SummaryState>,
    web_url: Option<String>,
    /// The newest note of each of our threads that the review knows of.
    pub(crate) newest: HashMap<String, u64>,
    /// Those of them that were resolved.
    pub(crate) resolved: HashSet<String>,
    /// What our note remembered of findings.
    pub(crate) ledger: Ledger,
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
            pipeline_head: None,
            stop: None,
            said: std::sync::Mutex::default(),
            concluded: AtomicBool::new(false),
            taken_back: Mutex::new(None),
            left_out: std::sync::Mutex::default(),
        })
    }

    /// The same in a pipeline that runs for this commit.
    #[must_use]
    pub fn in_pipeline_of(mut self, head: Option<String>) -> Self {
        self.pipeline_head = head;
        self
    }

    /// The same for a run that may be told to end: from then on it approves nothing and lifts nothing.
    #[must_use]
    pub fn stopped_by(mut self, stop: StopSignal) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Whether this run has taken its stance: what the merge request shows of the bot is of this run.
    pub fn has_concluded(&self) -> bool {
        self.concluded.load(Ordering::Relaxed)
    }

    pub(crate) fn conclude(&self) {
        self.concluded.store(true, Ordering::Relaxed);
    }

    /// What is known of the merge request, if it was loaded.
    pub(crate) async fn known(&self) -> Option<Arc<Known>> {
        self.known.lock().await.clone()
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
            target: info.target.clone(),
            state: info.ourselves.last_state(&info.conversation),
            newest: threads::newest(&info.ourselves, &info.conversation),
            resolved: threads::resolved(&info.ourselves, &info.conversation),
            ledger: info.ledger.clone(),
            web_url: info.subject.web_url.clone(),
        }));
        Ok(info)
    }

    /// Keeps what was read for whoever loads the merge request next.
    pub(crate) async fn keep(&self, info: MergeRequestInfo) {
        *self.early.lock().await = Some(info);
    }

    async fn post(&self, known: &Known, publication: Publication<'_>) -> Result<PublishOutcome, GitLabError> {
        let Known { ourselves, version, .. } = known;
        let client = &self.client;
        let mut conversation = Conversation::read(client).await?;
        let now = MergeRequestNow::read(client).await?;
        let state = ourselves.last_state(&conversation);
        if let Some(reason) = self.is_of_the_past(publication.review, publication.hurried, &now, state.as_ref()) {
            return self.step_aside(&now, state.as_ref(), reason).await;
        }
        let mut current = Current::new(publication.review, self.own_states(known));
        current
            .take_in(client, known, self.stop.as_ref(), &conversation)
            .await?;
        let mut inline = Inline::default();
        let mut changed = HashSet::new();
        if now.is_open() && !publication.hurried {
            let review = &current.review;
            let publication = Publication { review, ..publication };
            inline = inline::post(client, ourselves, &version.refs, &publication, &mut conversation).await?;
            inline::withdraw_twins(client, ourselves, &mut conversation, &mut inline).await?;
            let (warnings, done) =
                threads::apply(client, ourselves, review, &known.newest, &now, &mut conversation).await;
            inline.warnings.extend(warnings);
            changed = done;
        }
        if !inline.created.is_empty() || !changed.is_empty() {
            // That took its time, and the summary must not hide what another run has posted in it.
            conversation = Conversation::read(client).await?;
            current
                .take_in(client, known, self.stop.as_ref(), &conversation)
                .await?;
        }
        let written = Written {
            now: &now,
            state: state.as_ref(),
            inline,
            changed,
        };
        self.conclude_with(known, publication, current, written, conversation)
            .await
    }

    /// The states of our note that this run knows: the one that it read, and those that it wrote.
    fn own_states(&self, known: &Known) -> Vec<SummaryState> {
        let said = self.said.lock().map(|said| said.clone()).unwrap_or_default();
        known.state.iter().cloned().chain(said).collect()
    }

    /// Remembers what this run wrote into our note.
    fn remember(&self, summary: &Summary) {
        if let Ok(mut said) = self.said.lock() {
            said.push(summary.state.clone());
        }
    }

    /// Reads our approval for a review that does not approve, which says what becomes of it.
    async fn standing_before(
        &self,
        known: &Known,
        now: &MergeRequestNow,
        review: &mut Review,
    ) -> Result<Option<Standing>, GitLabError> {
        let standing = approval::read(&self.client, known.ourselves.bot()).await?;
        let taken_back = self.what_is_taken_back(standing.approved && now.is_open()).await;
        review.coverage.notes.extend(taken_back);
        // A finding that only the summary shows is seen by other runs from then on: only an approval that is read after it
        // cannot be missed.
        let shown = |entry: &JudgedFinding| entry.posted.is_some() || entry.thread.is_some();
        let in_summary = review.standing().any(|entry| entry.weighs() && !shown(entry));
        Ok(Some(standing).filter(|standing| standing.approved || !in_summary))
    }

    /// Posts the summary, and takes the stance.
    async fn conclude_with(
        &self,
        known: &Known,
        publication: Publication<'_>,
        mut current: Current,
        written: Written<'_>,
        mut conversation: Conversation,
    ) -> Result<PublishOutcome, GitLabError> {
        let Known {
            ourselves,
            version,
            web_url,
            target,
            ..
        } = known;
        let Written {
            now,
            state,
            inline,
            changed,
        } = written;
        let client = &self.client;
        let mut review = with_places(&current.review, &inline, &changed, web_url.as_deref());
        let watched = Watched {
            target,
            base: &version.refs.base,
            settings: publication.settings_watch,
        };
        let wanted = Stance::of(&review, publication.settings.mode);
        let requested = known.requested(now, &conversation);
        let lifts = review.lifts_blocks() && !now.is_newer_than(&review.head_sha) && watched.retargeted(now).is_none();
        let standing = match wanted {
            Stance::Approved => None,
            _ => self.standing_before(known, now, &mut review).await?,
        };
        let spent = spent(ourselves, &conversation, &review);
        let memory = |requested_changes| Memory {
            spent_micros: spent,
            spent_counts: review_costs(publication),
            requested_changes,
        };
        // What will be so if all goes well; where it does not, the note is corrected below.
        let expected = match wanted {
            Stance::RequestedChanges => now.is_open(),
            Stance::Approved => false,
            Stance::None => requested && !lifts,
        };
        let branch = (wanted == Stance::Approved).then_some(target.branch.as_str());
        let summary = Summary::of(&review, memory(expected)).approving(branch);
        let is_news = !known.says(&conversation, &summary);
        let note = summary.post(client, ourselves, &mut conversation).await?;
        self.remember(&summary);
        current.seen.push(summary.state.clone());
        let before = Before {
            now,
            version,
            requested,
            lifts,
            watched,
            state,
            is_news,
            bot: ourselves.bot(),
            standing,
            latest: Latest {
                client,
                known,
                review: &review,
                seen: &current.seen,
                stop: self.stop.as_ref(),
            },
        };
        let Applied {
            stance,
            approved,
            requested: stands,
            hold,
            meanwhile,
            mut warnings,
        } = stance::apply(client, wanted, &review, before).await?;
        if stands != expected || hold.is_some() || !meanwhile.is_empty() {
            let branch = branch.filter(|_| hold.is_none() && meanwhile.is_empty());
            review.approval_holds.extend(hold);
            review.add_meanwhile(&meanwhile);
            current.meanwhile.add(meanwhile);
            conversation.read_on(client).await?;
            let corrected = Summary::of(&review, memory(stands)).approving(branch);
            self.remember(&corrected);
            corrected.post(client, ourselves, &mut conversation).await?;
        }
        self.conclude();
        warnings.splice(0..0, inline.warnings);
        warnings.extend(reviewers::add(client, &review).await);
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
            amended: current.amends(publication.review),
        })
    }
}

/// The review with the places where its findings are shown, and with what the next one has to know of our threads.
fn with_places(review: &Review, inline: &Inline, changed: &HashSet<String>, web_url: Option<&str>) -> Review {
    let mut review = inline.mark(review, web_url);
    review.ledger.posted(inline.notes.keys());
    // A thread that was to be resolved and is not must not look as if a person had opened it again.
    let resolving = review.threads.iter().filter(|action| action.change.resolves());
    let left = resolving.filter(|action| !changed.contains(&action.thread));
    let left: Vec<Fingerprint> = left.map(|action| action.fingerprint.clone()).collect();
    review.ledger.left_open(&left);
    review
}

/// What was written before the summary.
struct Written<'a> {
    now: &'a MergeRequestNow,
    /// What our note remembered before.
    state: Option<&'a SummaryState>,
    inline: Inline,
    /// The threads that are as the review says.
    changed: HashSet<String>,
}

/// Whether the price has to be remembered.
fn review_costs(publication: Publication<'_>) -> bool {
    publication.review.cost_usd > 0.0 && publication.settings.remember_cost
}

impl Known {
    /// Whether our request for changes stands, as far as that is known.
    pub(crate) fn requested(&self, now: &MergeRequestNow, conversation: &Conversation) -> bool {
        let notes = conversation.notes();
        let summary = self.ourselves.summary(&notes);
        match summary.and_then(|note| self.ourselves.state(note)) {
            Some(state) => state.requested_changes,
            // Somebody may have deleted the note that remembers it.
            None => summary.is_none() && now.status() == "requested_changes",
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

    async fn meanwhile(&self, review: &Review) -> Result<Meanwhile, ForgeError> {
        let Some(known) = self.known().await else {
            return Ok(Meanwhile::default());
        };
        let seen = self.own_states(&known);
        let latest = Latest {
            client: &self.client,
            known: &known,
            review,
            seen: &seen,
            stop: self.stop.as_ref(),
        };
        let sight = latest.look().await.map_err(|error| ForgeError(error.to_string()))?;
        Ok(sight.meanwhile)
    }

    fn left_out(&self, files: &[FilteredFile]) {
        if let Ok(mut left_out) = self.left_out.lock() {
            *left_out = files.to_vec();
        }
    }

    fn limit_requests(&self, limit: Duration) {
        self.client.limit_requests(limit);
    }
}
