//! Notes that other runs have posted on the merge request since this one read it.
//!
//! It is asked before a review is printed, before anything is posted, right before an approval or the lifting of a block, and once
//! more right after an approval: a run posts its findings before it reads the bot's approval, and an approval is followed by
//! reading the findings, so of two runs that end at once, one sees the other.

use conclave_engine::{
    publish::{Conversation, OtherRuns, SummaryState},
    review::{ApprovalHold, Meanwhile, Review, StopCause},
};

use crate::{ApiError, Change, Publisher, conversation::LiveConversation};

/// The findings of a look at the merge request.
#[derive(Debug)]
pub(crate) struct Sight {
    pub(crate) meanwhile: Meanwhile,
    /// Whether our note remembers a request for changes.
    pub(crate) requested: bool,
}

/// A review that takes in what other runs post, until it is posted itself.
#[derive(Debug)]
pub(crate) struct CurrentReview<'a> {
    publisher: &'a Publisher,
    change: &'a Change,
    /// The review with all of that.
    pub(crate) review: Review,
    /// States of our note that hold no news any more.
    seen: Vec<SummaryState>,
    /// Everything that was taken in.
    taken_in: Meanwhile,
    /// Why the forge does not show the approval that the review asks for.
    holds: Vec<ApprovalHold>,
}

impl<'a> CurrentReview<'a> {
    pub(crate) fn new(publisher: &'a Publisher, change: &'a Change, review: &Review) -> Self {
        Self {
            publisher,
            change,
            review: review.clone(),
            seen: publisher.own_states(change),
            taken_in: Meanwhile::default(),
            holds: Vec::new(),
        }
    }

    /// Notes a state of our note that this run has written.
    pub(crate) fn wrote(&mut self, state: &SummaryState) {
        self.publisher.wrote(state);
        self.seen.push(state.clone());
    }

    /// Reads the comments, and reports what has happened. `stopped` is why this run has to end, if that counts.
    pub(crate) async fn look(&self, stopped: Option<StopCause>) -> Result<Sight, ApiError> {
        let (api, bot) = (self.publisher.api.as_ref(), &self.change.bot);
        let conversation = LiveConversation::read(api, bot.account).await?;
        let meanwhile = Meanwhile {
            stopped,
            ..self.among(&conversation).await?
        };
        let state = bot.last_state(&conversation);
        Ok(Sight {
            meanwhile,
            requested: state.is_some_and(|state| state.requested_changes),
        })
    }

    fn others(&self) -> OtherRuns<'_> {
        OtherRuns {
            bot: &self.change.bot,
            before: &self.change.conversation,
            review: &self.review,
            seen: &self.seen,
            heads: None,
        }
    }

    /// Returns what these comments hold that the review does not have.
    async fn among(&self, conversation: &Conversation) -> Result<Meanwhile, ApiError> {
        let others = self.others();
        if let Ok(meanwhile) = others.among(conversation) {
            return Ok(meanwhile);
        }
        let heads = self.publisher.api.heads().await?;
        let others = OtherRuns {
            heads: Some(&heads),
            ..others
        };
        Ok(others.among(conversation).unwrap_or_default())
    }

    /// Returns whether another run has written over our note without having read what this one wrote there.
    pub(crate) fn is_written_over(&self, conversation: &Conversation) -> bool {
        self.others().have_written_over(conversation)
    }

    /// Takes in what these comments hold. Returns whether that makes it another review.
    pub(crate) async fn take_in(&mut self, conversation: &Conversation) -> Result<bool, ApiError> {
        let mut meanwhile = self.among(conversation).await?;
        meanwhile.stopped = self.publisher.asked_to_end();
        let before = self.review.clone();
        self.add(meanwhile);
        self.seen.extend(self.change.bot.last_state(conversation));
        Ok(self.review != before)
    }

    /// Everything that was taken in.
    pub(crate) const fn taken_in(&self) -> &Meanwhile {
        &self.taken_in
    }

    /// Takes in what was seen.
    pub(crate) fn add(&mut self, meanwhile: Meanwhile) {
        self.review.add_meanwhile(&meanwhile);
        self.taken_in.add(meanwhile);
    }

    /// Notes why it was not approved although it would be.
    pub(crate) fn withhold(&mut self, hold: ApprovalHold) {
        if !self.holds.contains(&hold) {
            self.holds.push(hold);
        }
    }

    /// The review as it stands now, if that is another one.
    pub(crate) fn amends(&self, review: &Review) -> Option<Box<Review>> {
        let mut amended = review.clone();
        amended.approval_holds.extend(self.holds.iter().cloned());
        amended.add_meanwhile(&self.taken_in);
        (amended != *review).then(|| Box::new(amended))
    }
}
