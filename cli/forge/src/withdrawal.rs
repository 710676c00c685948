//! An approval of an earlier run, taken back by one that does not give it anew.
//!
//! It happens at two moments. When a run begins, an approval for another commit or another target branch goes at once: whatever
//! becomes of the run, what is there now has not been reviewed. And when a run ends without a review of its own on the merge
//! request (nothing to review, stopped, failed), any approval goes, and our note says why. What another run has said of a newer
//! commit stays as it is.

use std::sync::atomic::Ordering;

use conclave_engine::{
    ports::{AppliedState, Publication, PublishOutcome},
    publish::{BotIdentity, SummaryState, nothing_summary, spent_with, withdrawal_summary},
    review::{Review, ReviewState},
};

use crate::{
    ApiError, ApiErrorKind, Approval, Change, Lifecycle, MergeRequestState, Publisher, conversation::LiveConversation,
    summary,
};

/// Why a run takes an approval back, and whether it was stopped from outside.
#[derive(Debug, Clone, Copy)]
pub struct Withdrawal<'a> {
    /// The reason in a sentence, for everyone to read. No secret may be in it.
    pub reason: &'a str,
    /// Whether the run was stopped, as a forge does when a newer pipeline starts.
    pub stopped: bool,
    /// True if a note is to say that there was nothing to review, where no review has one yet: a run without a check shows that nowhere else.
    pub explains: bool,
}

impl Publisher {
    /// Takes an approval of ours back that is for another commit or another target branch than those that this run reviews.
    /// Returns whether it did. The merge request has to be loaded.
    pub async fn withdraw_outdated(&self) -> Result<bool, ApiError> {
        let Some(change) = self.change() else {
            return Ok(false);
        };
        let approval = self.api.approval(change.bot.account).await?;
        if !approval.stands || change.is_approved_by(&approval) {
            return Ok(false);
        }
        self.api.withdraw_approval().await?;
        let earlier = change.state().and_then(|state| state.head);
        let of = earlier.map_or_else(String::new, |head| format!(" of `{}`", short(&head)));
        self.remember_taken_back(format!(
            "The bot took its earlier approval{of} back: it was not for `{}` and the merge into {}.",
            short(&change.version.head),
            change.target.branch
        ));
        Ok(true)
    }

    /// Takes any approval of ours back, because the run ends without a review, and says so in our note. Returns whether one was
    /// taken back by this run.
    pub async fn withdraw(&self, why: Withdrawal<'_>) -> Result<bool, ApiError> {
        let is_over = |lifecycle: &Lifecycle| matches!(lifecycle, Lifecycle::Over(_));
        if self.change().is_none() {
            // Without what is written there the approval goes all the same, and nothing is said.
            match self.load().await.map_err(|error| error.kind) {
                Err(ApiErrorKind::NotOpen(word)) if word != Lifecycle::Closed.word() => return Ok(false),
                _ => {}
            }
        }
        let change = self.change();
        let now = self.api.state().await?;
        if is_over(&now.lifecycle) {
            return Ok(false);
        }
        let mut earlier = self.taken_back().is_some();
        let bot = change.as_ref().map_or(0, |change| change.bot.account);
        let approval = self.api.approval(bot).await?;
        if approval.stands {
            if self
                .is_another_runs(change.as_deref(), &approval, &now, why.stopped)
                .await?
            {
                return Ok(false);
            }
            self.api.withdraw_approval().await?;
            earlier = true;
        }
        let left_out = self.left_out();
        let explains = why.explains && !left_out.is_empty();
        if let Some(change) = change.filter(|_| earlier || explains) {
            let mut conversation = LiveConversation::read(self.api.as_ref(), change.bot.account).await?;
            let max_bytes = self.api.traits().form.max_summary;
            let note = if earlier {
                let requested = change.is_requested(&now, &conversation) && self.request_stands(bot).await?;
                withdrawal_summary(&change.bot, &conversation, why.reason, &left_out, requested, max_bytes)
            } else if change.bot.summary(&conversation).is_some() {
                return Ok(false);
            } else {
                nothing_summary(&left_out, max_bytes)
            };
            summary::post(self.api.as_ref(), &change.bot, &note, &mut conversation).await?;
        }
        Ok(earlier)
    }

    /// Returns whether the approval is for a newer commit than those of this run: then it is another run's.
    async fn is_another_runs(
        &self,
        change: Option<&Change>,
        approval: &Approval,
        now: &MergeRequestState,
        stopped: bool,
    ) -> Result<bool, ApiError> {
        let of_pipeline = self.pipeline_head.as_deref().filter(|_| stopped || change.is_none());
        let reviewed = change.map(|change| change.version.head.as_str());
        if !reviewed
            .into_iter()
            .chain(of_pipeline)
            .any(|head| now.is_newer_than(head))
        {
            return Ok(false);
        }
        let newest = self.api.newest_version().await?;
        let state = match change {
            Some(change) => {
                let conversation = LiveConversation::read(self.api.as_ref(), change.bot.account).await?;
                change.bot.last_state(&conversation)
            }
            None => None,
        };
        Ok(approval.is_for(&newest, state.as_ref()))
    }

    /// Why this run has nothing to say any more: the merge request has a newer commit, and either the run was stopped for
    /// that, or another one has posted its review of that commit.
    pub(crate) fn is_of_the_past(
        &self,
        review: &Review,
        hurried: bool,
        now: &MergeRequestState,
        state: Option<&SummaryState>,
    ) -> Option<String> {
        let newest = now.head.as_deref()?;
        let is_other = |head: &str| head != newest;
        if hurried && (is_other(&review.head_sha) || self.pipeline_head.as_deref().is_some_and(is_other)) {
            return Some(format!(
                "nothing posted: the run was stopped, and there is a newer commit, {}, which another run reviews",
                short(newest)
            ));
        }
        let posted = is_other(&review.head_sha) && state.and_then(|state| state.head.as_deref()) == Some(newest);
        posted.then(|| {
            format!(
                "nothing posted: another run has posted its review of a newer commit, {}",
                short(newest)
            )
        })
    }

    /// Leaves everything to the other run, but an approval that is for neither's commit, and what this run has cost.
    pub(crate) async fn step_aside(
        &self,
        bot: &BotIdentity,
        (now, conversation): (&MergeRequestState, LiveConversation<'_>),
        publication: Publication<'_>,
        reason: String,
    ) -> Result<PublishOutcome, ApiError> {
        let state = bot.last_state(&conversation);
        if now.is_open() {
            let approval = self.api.approval(bot.account).await?;
            if approval.stands && !approval.is_for(&self.api.newest_version().await?, state.as_ref()) {
                self.api.withdraw_approval().await?;
            }
        }
        self.conclude();
        self.aside.store(true, Ordering::Relaxed);
        let mut warnings = vec![reason];
        if publication.settings.remember_cost
            && let Err(error) = self.add_spent(bot, conversation, publication.review).await
        {
            warnings.push(format!("what this run has cost is in no sum: {error}"));
        }
        Ok(PublishOutcome {
            applied_state: Some(AppliedState {
                wanted: ReviewState::None,
                shown: None,
            }),
            warnings,
            ..PublishOutcome::default()
        })
    }

    /// Adds what a review has cost to the sum that our note remembers, and changes nothing else of the note. Where another run writes it
    /// just now, its text is worth more than our sum.
    async fn add_spent(
        &self,
        bot: &BotIdentity,
        mut conversation: LiveConversation<'_>,
        review: &Review,
    ) -> Result<(), ApiError> {
        if review.spent_usd() <= 0.0 {
            return Ok(());
        }
        let before = bot.last_state(&conversation);
        conversation.read_again().await?;
        let note = bot.summary(&conversation);
        let Some(note) = note.filter(|_| bot.last_state(&conversation) == before) else {
            return Ok(());
        };
        match bot
            .signer
            .with_spent(&note.text, spent_with(bot, &conversation, review))
        {
            Some(body) => self.api.edit_summary(note.id, &body).await,
            None => Ok(()),
        }
    }
}

fn short(sha: &str) -> &str {
    sha.get(..8).unwrap_or(sha)
}
