//! The state that the merge request shows of the bot: approved, changes requested, or neither. Set, taken back, and read back.
//!
//! A request for changes stays until the same user approves or takes it back: neither a push nor taking an approval back does. Not
//! every forge shows reliably whether one stands, so the summary remembers it.

use conclave_engine::{
    ports::{AppliedState, PublishSettings},
    publish::SummaryState,
    review::{ApprovalHold, HoldCause, Meanwhile, ReviewState},
};

use crate::{
    ApiError, Approval, Change, Lifecycle, Lifted, MergeRequestState, Publisher, RequestShown,
    change::{dismissal, is_dismissed},
    conversation::Attempts,
    meanwhile::{CurrentReview, Sight},
    target::{Watched, hold},
};

/// Why a review that would approve leaves an earlier block as it is.
const BLOCK_STANDS: &str =
    "An earlier review requested changes, and this one was not judged or not finished, so it settles nothing.";

/// A run that sets the state.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) publisher: &'a Publisher,
    pub(crate) change: &'a Change,
    /// The review, and what other runs post up to the last moment.
    pub(crate) current: &'a CurrentReview<'a>,
    /// The state that the review asks for.
    pub(crate) wanted: ReviewState,
    /// The merge request as it is now.
    pub(crate) now: &'a MergeRequestState,
    /// Whether a request for changes stands, as far as that is known.
    pub(crate) requested: bool,
    /// Whether this review may take such a request back.
    pub(crate) lifts: bool,
    /// The settings of what is posted.
    pub(crate) settings: &'a PublishSettings,
    /// The target branch, to be read again before it is approved.
    pub(crate) watched: Watched<'a>,
    /// The state that our newest note remembered before.
    pub(crate) state: Option<&'a SummaryState>,
    /// Whether the review says something else than the last one.
    pub(crate) is_news: bool,
    /// Our approval as it stands.
    pub(crate) approval: Approval,
    /// Filled while the state is set.
    pub(crate) notes: Notes,
}

/// Remarks about a state that was set.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Why it was not approved although the review asks for it.
    pub(crate) hold: Option<ApprovalHold>,
    /// Events in the way of an approval, or of lifting a block, at the last moment.
    pub(crate) meanwhile: Meanwhile,
    pub(crate) warnings: Vec<String>,
}

/// The result.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) state: AppliedState,
    pub(crate) approved: bool,
    /// Whether a request for changes stands now, as far as that is known.
    pub(crate) requested: bool,
    pub(crate) notes: Notes,
}

impl Run<'_> {
    /// Brings what the merge request shows to what the review wants.
    ///
    /// A merge request that is not open any more is left as it is, but a closed one, which can be opened again, loses our approval.
    /// One that has a newer commit is neither approved nor blocked; an approval for an older commit is taken back all the same, and
    /// one for the newest is another run's. A request for changes is taken back only by a review that may. That an approval was
    /// refused is a warning; that one could not be taken back is an error, because it lets through what should not be.
    pub(crate) async fn apply(mut self) -> Result<Applied, ApiError> {
        let now = self.now;
        if !now.is_open() {
            return self.over(now).await;
        }
        let head = &self.current.review.head_sha;
        if now.is_newer_than(head) {
            let newest = self.publisher.api.newest_version().await?;
            if self.approval.is_for(&newest, self.state) {
                let warning = format!("{}; another run has approved that one", self.newer());
                self.notes.warnings.push(warning);
                return Ok(self.end(None, false));
            }
        }
        if self.wanted != ReviewState::None && now.head.as_ref() != Some(head) {
            let warning = self.newer();
            self.notes.warnings.push(warning);
            let approved = self.withdraw_approval().await?;
            let shown = if approved {
                ReviewState::Approved
            } else {
                ReviewState::None
            };
            return Ok(self.end(shown, approved));
        }
        match self.wanted {
            ReviewState::Approved => self.approve().await,
            ReviewState::None => self.neither().await,
            ReviewState::RequestedChanges => self.request_changes().await,
        }
    }

    /// The end for a merge request that is not open any more.
    async fn over(mut self, now: &MergeRequestState) -> Result<Applied, ApiError> {
        let is_closed = now.lifecycle == Lifecycle::Closed;
        if is_closed {
            self.withdraw_approval().await?;
        }
        if self.wanted != ReviewState::None {
            let noun = self.publisher.api.traits().words.noun;
            let warning = format!("{}: the {noun} is {} by now", self.not(), now.lifecycle.word());
            self.notes.warnings.push(warning);
        }
        let approved = self.approval.stands && !is_closed;
        Ok(self.end(None, approved))
    }

    fn end(self, shown: impl Into<Option<ReviewState>>, approved: bool) -> Applied {
        Applied {
            state: AppliedState {
                wanted: self.wanted,
                shown: shown.into(),
            },
            approved,
            requested: self.requested,
            notes: self.notes,
        }
    }

    async fn approve(mut self) -> Result<Applied, ApiError> {
        let hold = if self.requested && !self.lifts {
            Some(ApprovalHold::new(HoldCause::BlockStands, BLOCK_STANDS))
        } else if let Some(dismissed) = self.dismissed_now().await? {
            Some(dismissed)
        } else {
            // Posting took its time.
            let now = self.publisher.api.state().await?;
            if !now.is_open() {
                return self.over(&now).await;
            }
            self.watched.changed(self.publisher.api.as_ref(), &now).await?
        };
        if let Some(hold) = hold {
            let approved = self.withdraw_approval().await?;
            return self.withheld(hold, approved).await;
        }
        let sight = self.current.look(self.publisher.asked_to_end()).await?;
        if !sight.meanwhile.is_empty() {
            let approved = self.withdraw_approval().await?;
            return self.overtaken(sight, approved).await;
        }
        if self.approval.is_for(&self.change.version, None) && !self.requested {
            return Ok(self.end(ReviewState::Approved, true));
        }
        let head = &self.current.review.head_sha;
        let asked = approve(self.publisher, head, &self.watched, self.approval.stands).await?;
        let refused = match asked {
            Asked::Given => None,
            Asked::Refused(refused) => Some(refused),
            Asked::TakenBack(hold) => {
                let approved = self.is_approved().await?;
                // Approving has taken back the same user's request for changes.
                if std::mem::take(&mut self.requested) {
                    self.request().await;
                }
                return self.withheld(hold, approved).await;
            }
        };
        if self.is_approved().await? {
            // Approving takes back the same user's request for changes.
            let requested = std::mem::take(&mut self.requested);
            // That this run was asked to end after the approval was on its way does not matter.
            let sight = self.current.look(None).await?;
            if !sight.meanwhile.is_empty() {
                return self.undo(sight, requested).await;
            }
            return Ok(self.end(ReviewState::Approved, true));
        }
        let warning = refused.unwrap_or_else(|| self.not_what_was_asked(false));
        self.notes.warnings.push(warning);
        let shown = self.without_request().await?;
        Ok(self.end(shown, false))
    }

    /// The end of a run that would approve, and has a reason not to.
    async fn withheld(mut self, hold: ApprovalHold, approved: bool) -> Result<Applied, ApiError> {
        self.notes.warnings.push(format!("not approved: {}", hold.reason));
        self.notes.hold = Some(hold);
        let shown = self.shown(approved).await?;
        Ok(self.end(shown, approved))
    }

    /// Takes an approval back that should not have been given, and asks again for the changes that it has lifted.
    async fn undo(mut self, sight: Sight, requested: bool) -> Result<Applied, ApiError> {
        self.publisher.api.withdraw_approval().await?;
        let approved = self.is_approved().await?;
        if requested || sight.requested {
            self.request().await;
        }
        self.overtaken(sight, approved).await
    }

    /// The end of a run that would approve and has seen at the last moment that it must not.
    async fn overtaken(mut self, sight: Sight, approved: bool) -> Result<Applied, ApiError> {
        let warning = format!("not approved: {}", sight.meanwhile.describe());
        self.notes.warnings.push(warning);
        self.requested |= sight.requested;
        self.notes.meanwhile = sight.meanwhile;
        let shown = self.shown(approved).await?;
        Ok(self.end(shown, approved))
    }

    async fn neither(mut self) -> Result<Applied, ApiError> {
        let approved = self.withdraw_approval().await?;
        let shown = self.without_request().await?;
        let shown = if approved { Some(ReviewState::Approved) } else { shown };
        Ok(self.end(shown, approved))
    }

    async fn request_changes(mut self) -> Result<Applied, ApiError> {
        let approved = self.withdraw_approval().await?;
        // A person who has taken our request back knows this review; only another one is worth asking again.
        if !self.is_news && !self.requested && self.is_dismissed() {
            let warning = "no changes requested: a person has dismissed the bot's review of this commit, and this one says the same";
            self.notes.warnings.push(warning.to_owned());
            return Ok(self.end(ReviewState::None, approved));
        }
        if (!self.requested || self.is_news) && !self.request().await {
            return Ok(self.end(ReviewState::None, approved));
        }
        let (api, bot) = (&self.publisher.api, self.change.bot.account);
        let mut shown = api.request_shown(bot).await?;
        if shown == RequestShown::Unmade && self.request().await {
            shown = api.request_shown(bot).await?;
        }
        let shown = match shown {
            RequestShown::Stands => Some(ReviewState::RequestedChanges),
            RequestShown::Hidden(warning) => {
                self.notes.warnings.push(warning);
                None
            }
            RequestShown::Absent(warning) => {
                self.notes.warnings.push(warning);
                Some(ReviewState::None)
            }
            RequestShown::Powerless(warning) => {
                if !self.settings.fails_job {
                    self.notes.warnings.push(warning);
                }
                Some(ReviewState::None)
            }
            RequestShown::Unmade => Some(ReviewState::None),
        };
        Ok(self.end(shown, approved))
    }

    /// Requests changes. Returns whether that worked.
    async fn request(&mut self) -> bool {
        let api = &self.publisher.api;
        let mut attempts = Attempts::new(api.http().retry());
        let failed = loop {
            match api.request_changes().await {
                Ok(()) => break None,
                Err(error) => {
                    if let Err(error) = attempts.fail(error).await.and_then(|()| attempts.go_on()) {
                        break Some(error);
                    }
                }
            }
        };
        let is_made = failed.is_none();
        self.requested |= is_made;
        let warning = failed.map(|error| format!("no changes requested: {error}"));
        self.notes.warnings.extend(warning);
        is_made
    }

    /// The state that is shown where nothing was done about a request for changes.
    async fn shown(&self, approved: bool) -> Result<ReviewState, ApiError> {
        Ok(if approved {
            ReviewState::Approved
        } else if self.requested && self.publisher.request_stands(self.change.bot.account).await? {
            ReviewState::RequestedChanges
        } else {
            ReviewState::None
        })
    }

    /// Returns whether a person has dismissed our review of this commit, as our note remembers.
    fn is_dismissed(&self) -> bool {
        let head = &self.current.review.head_sha;
        self.state.is_some_and(|state| is_dismissed(state, head))
    }

    /// Returns the reason not to approve if a person has dismissed our review, or taken our approval back by hand.
    async fn dismissed_now(&self) -> Result<Option<ApprovalHold>, ApiError> {
        self.publisher.dismissed(self.change, self.state, &self.approval).await
    }

    async fn is_approved(&self) -> Result<bool, ApiError> {
        Ok(self.publisher.api.approval(self.change.bot.account).await?.stands)
    }

    /// Takes our approval back. Returns whether it stands all the same.
    async fn withdraw_approval(&mut self) -> Result<bool, ApiError> {
        if !self.approval.stands {
            return Ok(false);
        }
        self.publisher.api.withdraw_approval().await?;
        let approved = self.is_approved().await?;
        if approved {
            let warning = self.not_what_was_asked(true);
            self.notes.warnings.push(warning);
        }
        Ok(approved)
    }

    /// Takes our request for changes back, if the review may. Returns what is shown then.
    async fn without_request(&mut self) -> Result<Option<ReviewState>, ApiError> {
        if !self.requested {
            return Ok(Some(ReviewState::None));
        }
        if !self.lifts {
            // Only a whole review that finds it fixed lifts it; a person may have.
            return self.shown(false).await.map(Some);
        }
        let sight = self.current.look(self.publisher.asked_to_end()).await?;
        if !sight.meanwhile.is_empty() {
            let warning = format!("the request for changes stays: {}", sight.meanwhile.describe());
            self.notes.warnings.push(warning);
            self.notes.meanwhile = sight.meanwhile;
            return self.shown(false).await.map(Some);
        }
        let shown = match self.publisher.api.lift_request(self.now.shows_request).await? {
            Lifted::Gone => Some(ReviewState::None),
            Lifted::Unseen => None,
            Lifted::Stands(advice) => {
                let warning = format!("the bot's earlier request for changes could not be taken back; {advice}");
                self.notes.warnings.push(warning);
                return Ok(Some(ReviewState::RequestedChanges));
            }
        };
        self.requested = false;
        Ok(shown)
    }

    /// The beginning of a sentence that says that what was wanted was not done.
    const fn not(&self) -> &'static str {
        match self.wanted {
            ReviewState::RequestedChanges => "no changes requested",
            ReviewState::Approved | ReviewState::None => "not approved",
        }
    }

    fn newer(&self) -> String {
        format!("{}: there is a newer commit than the reviewed one", self.not())
    }

    fn not_what_was_asked(&self, approved: bool) -> String {
        let words = self.publisher.api.traits().words;
        format!(
            "{} shows the {} as {} by the bot, which is not what was asked",
            words.name,
            words.noun,
            if approved { "approved" } else { "not approved" }
        )
    }
}

impl Publisher {
    /// Returns whether our request for changes, which our note remembers, stands: a person may have dismissed it. What the forge does
    /// not show stands.
    pub(crate) async fn request_stands(&self, bot: u64) -> Result<bool, ApiError> {
        let shown = self.api.request_shown(bot).await?;
        Ok(!matches!(
            shown,
            RequestShown::Absent(_) | RequestShown::Powerless(_) | RequestShown::Unmade
        ))
    }

    /// Returns the reason not to approve a commit if a person has dismissed our review of it, as the note with this state remembers, or
    /// has taken our approval of it back by hand: one was given, it does not stand, and no run of ours has said that it took it back.
    pub(crate) async fn dismissed(
        &self,
        change: &Change,
        state: Option<&SummaryState>,
        approval: &Approval,
    ) -> Result<Option<ApprovalHold>, ApiError> {
        let version = &change.version;
        if state.is_some_and(|state| is_dismissed(state, &version.head)) {
            return Ok(Some(dismissal()));
        }
        // Who deletes our note does not undo the dismissal.
        let is_noted = state.is_none_or(|state| {
            state.head.as_ref() == Some(&version.head) && state.approved_for.as_ref() == Some(&change.target.branch)
        });
        let may_be = !approval.stands && is_noted && self.taken_back().is_none();
        Ok((may_be && self.api.was_approved(change.bot.account, version).await?).then(dismissal))
    }
}

/// The answer to an approval.
#[derive(Debug)]
pub(crate) enum Asked {
    /// It is given.
    Given,
    /// The forge has refused it, in words.
    Refused(String),
    /// It was given, and taken back at once for this reason.
    TakenBack(ApprovalHold),
}

/// Approves the commit, and reads the merge request again: what came between is not approved. Where it is refused, an approval that
/// stands goes, because it may be for an older commit.
pub(crate) async fn approve(
    publisher: &Publisher,
    head: &str,
    watched: &Watched<'_>,
    stands: bool,
) -> Result<Asked, ApiError> {
    let api = publisher.api.as_ref();
    if let Some(refused) = api.approve(head, stands).await? {
        publisher.withdraw_standing(stands).await?;
        return Ok(Asked::Refused(refused));
    }
    let overtaken = match api.state().await {
        Ok(now) => watched.overtaken(api, &now, head),
        Err(error) => {
            let reason = format!("What has changed meanwhile could not be read ({error}). Run it again.");
            Some(hold(reason))
        }
    };
    let Some(overtaken) = overtaken else {
        return Ok(Asked::Given);
    };
    api.withdraw_approval().await?;
    Ok(Asked::TakenBack(overtaken))
}
