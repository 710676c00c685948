//! An approval of an earlier run, taken back by one that does not give it anew.
//!
//! It happens at two moments. When a run begins, an approval for another commit or another target branch goes at once: whatever
//! becomes of the run, nobody has reviewed what is there now. And when a run ends without a review of its own on the merge request
//! (nothing to review, stopped, failed), any approval goes, and our note says why. What another run has said of a newer commit
//! stays as it is.

use std::fmt::Write;

use conclave_engine::{
    ports::{AppliedStance, PublishOutcome},
    review::{Review, Stance},
    untrusted::{code_span, escape},
};

use crate::{
    GitLab, GitLabError,
    approval::{self, Standing},
    discussions::Conversation,
    marker::{SummaryState, hash},
    merge_request::{self, MergeRequestNow},
    publisher::Known,
    stance::CLOSED,
    summary::{Memory, Summary},
    threads,
};

/// The first words of our note when an approval was taken back without a new review.
const TITLE: &str = "## ⚪ The bot's approval was taken back";
/// What separates that from the last review.
const LAST_REVIEW: &str = "\n\n---\n\n*The last review that was posted, which no longer counts as an approval:*\n\n";
/// Maximum number of files that are named as left out.
const MAX_NAMED: usize = 50;
/// The most characters of a reason.
const MAX_REASON: usize = 400;

/// Why a run takes an approval back, and whether it was stopped from outside.
#[derive(Debug, Clone, Copy)]
pub struct Withdrawal<'a> {
    /// The reason in a sentence, for everybody to read. No secret may be in it.
    pub reason: &'a str,
    /// Whether somebody stopped the run, as GitLab does when a newer pipeline starts.
    pub stopped: bool,
}

impl GitLab {
    /// Takes an approval of ours back that is for another commit or another target branch than those that this run reviews.
    /// Returns whether it did. The merge request has to be loaded.
    pub async fn withdraw_outdated(&self) -> Result<bool, GitLabError> {
        let Some(known) = self.known().await else {
            return Ok(false);
        };
        let standing = approval::read(&self.client, known.ourselves.bot()).await?;
        if !standing.approved || known.is_approved_by(standing) {
            return Ok(false);
        }
        approval::take_back(&self.client).await?;
        let earlier = known.state.as_ref().and_then(|state| state.head.as_deref());
        let of = earlier.map_or_else(String::new, |head| format!(" of {}", short(head)));
        *self.taken_back.lock().await = Some(format!(
            "The bot took its earlier approval{of} back: it was not for {} and the merge into {}.",
            short(&known.version.refs.head),
            known.target.branch
        ));
        Ok(true)
    }

    /// Takes any approval of ours back, because the run ends without a review, and says so in our note. Returns whether one was
    /// taken back by this run.
    pub async fn withdraw(&self, why: Withdrawal<'_>) -> Result<bool, GitLabError> {
        if self.known().await.is_none() {
            // Without what is written there the approval goes all the same, and nothing is said.
            let loaded = self.load().await;
            if let Err(GitLabError::NotOpen { state }) = &loaded
                && state != CLOSED
            {
                return Ok(false);
            }
        }
        let known = self.known().await;
        let now = MergeRequestNow::read(&self.client).await?;
        if !now.is_open() && now.state() != CLOSED {
            return Ok(false);
        }
        let mut earlier = self.taken_back.lock().await.is_some();
        let standing = approval::read(&self.client, known.as_ref().map_or(0, |known| known.ourselves.bot())).await?;
        if standing.approved {
            if self
                .is_another_runs(known.as_deref(), standing, &now, why.stopped)
                .await?
            {
                return Ok(false);
            }
            approval::take_back(&self.client).await?;
            earlier = true;
        }
        if let Some(known) = known.filter(|_| earlier) {
            self.say_so(&known, &now, why).await?;
        }
        Ok(earlier)
    }

    /// Whether the approval is for a newer commit than those of this run: then it is another run's.
    async fn is_another_runs(
        &self,
        known: Option<&Known>,
        standing: Standing,
        now: &MergeRequestNow,
        stopped: bool,
    ) -> Result<bool, GitLabError> {
        let of_pipeline = self.pipeline_head.as_deref().filter(|_| stopped || known.is_none());
        let reviewed = known.map(|known| known.version.refs.head.as_str());
        let outdated = reviewed
            .into_iter()
            .chain(of_pipeline)
            .any(|head| now.is_newer_than(head));
        if !outdated {
            return Ok(false);
        }
        let newest = merge_request::newest_version(&self.client).await?;
        let state = match known {
            Some(known) => known.ourselves.last_state(&Conversation::read(&self.client).await?),
            None => None,
        };
        Ok(standing.is_for(&newest, state.as_ref()))
    }

    /// Puts the reason above the last review.
    async fn say_so(&self, known: &Known, now: &MergeRequestNow, why: Withdrawal<'_>) -> Result<(), GitLabError> {
        let ourselves = &known.ourselves;
        let mut conversation = Conversation::read(&self.client).await?;
        let requested = known.requested(now, &conversation);
        let notes = conversation.notes();
        let summary = ourselves.summary(&notes);
        let last = summary
            .map(|note| threads::without_markers(note.text()))
            .unwrap_or_default();
        // Of several in a row the newest reason counts.
        let last = match last.strip_prefix(TITLE) {
            Some(rest) => rest.split_once(LAST_REVIEW).map_or("", |(_, review)| review).to_owned(),
            None => last,
        };
        let reason: String = escape(why.reason).replace('\n', " ").chars().take(MAX_REASON).collect();
        let mut text = format!("{TITLE}\n\n{reason}{}", self.files_left_out());
        if requested {
            text.push_str(" Its request for changes stays.");
        }
        if !last.is_empty() {
            text.push_str(LAST_REVIEW);
            text.push_str(&last);
        }
        let ledger = summary.and_then(|note| ourselves.ledger(note));
        let concluded = summary.and_then(|note| ourselves.state(note)?.concluded);
        let memory = Memory {
            spent_micros: ourselves.spent(&notes),
            spent_counts: false,
            requested_changes: requested,
        };
        drop(notes);
        let conclusion = hash(&format!("withdrawn {}{}", why.reason, self.files_left_out()));
        let withdrawn = Summary::new(&text, conclusion, memory)
            .remembering(ledger)
            .concluding(concluded);
        withdrawn.post(&self.client, ourselves, &mut conversation).await?;
        Ok(())
    }

    /// The files of a change that has none to review, as a list.
    fn files_left_out(&self) -> String {
        let Ok(files) = self.left_out.lock() else {
            return String::new();
        };
        let mut list = String::new();
        for file in files.iter().take(MAX_NAMED) {
            let (path, reason) = (code_span(&file.path), file.reason.describe());
            let _ = write!(list, "\n- {path} ({reason})");
        }
        if files.len() > MAX_NAMED {
            let _ = write!(list, "\n- {} more", files.len() - MAX_NAMED);
        }
        if list.is_empty() { list } else { format!("\n{list}\n\n") }
    }

    /// Why this run has nothing to say any more: the merge request has a newer commit, and either the run was stopped for
    /// that, or another one has posted its review of that commit.
    pub(crate) fn is_of_the_past(
        &self,
        review: &Review,
        hurried: bool,
        now: &MergeRequestNow,
        state: Option<&SummaryState>,
    ) -> Option<String> {
        let newest = now.head()?;
        let stopped_for_it =
            hurried && (newest != review.head_sha || self.pipeline_head.as_deref().is_some_and(|head| head != newest));
        if stopped_for_it {
            return Some(format!(
                "nothing posted: the run was stopped, and there is a newer commit, {}, which another run reviews",
                short(newest)
            ));
        }
        let posted = newest != review.head_sha && state.and_then(|state| state.head.as_deref()) == Some(newest);
        posted.then(|| {
            format!(
                "nothing posted: another run has posted its review of a newer commit, {}",
                short(newest)
            )
        })
    }

    /// Leaves everything to the other run, but an approval that is for neither's commit.
    pub(crate) async fn step_aside(
        &self,
        now: &MergeRequestNow,
        state: Option<&SummaryState>,
        reason: String,
    ) -> Result<PublishOutcome, GitLabError> {
        if now.is_open() {
            let known = self.known().await;
            let standing = approval::read(&self.client, known.map_or(0, |known| known.ourselves.bot())).await?;
            if standing.approved && !standing.is_for(&merge_request::newest_version(&self.client).await?, state) {
                approval::take_back(&self.client).await?;
            }
        }
        self.conclude();
        Ok(PublishOutcome {
            stance: Some(AppliedStance {
                wanted: Stance::None,
                shown: None,
            }),
            warnings: vec![reason],
            ..PublishOutcome::default()
        })
    }

    /// What the note of a review that does not approve says of an earlier approval.
    pub(crate) async fn what_is_taken_back(&self, stands: bool) -> Option<String> {
        let earlier = self.taken_back.lock().await.clone();
        let now = || "The bot takes its earlier approval back: this review does not approve.".to_owned();
        earlier.or_else(|| stands.then(now))
    }
}

impl Known {
    /// Whether the approval is for what this run reviews.
    fn is_approved_by(&self, standing: Standing) -> bool {
        let same = self.state.as_ref().is_some_and(|state| {
            state.head.as_deref() == Some(self.version.refs.head.as_str())
                && state.approved_for.as_deref() == Some(self.target.branch.as_str())
        });
        same && standing.is_for(&self.version, self.state.as_ref())
    }
}

fn short(sha: &str) -> &str {
    sha.get(..8).unwrap_or(sha)
}
