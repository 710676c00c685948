//! Posting a review: findings beside their lines, the summary, and what the merge request shows of the bot.
//!
//! The order makes every step repeatable. What is there is read first, right before anything is written, because another
//! job may have posted since the merge request was loaded. Findings go first, so that the summary can say where they are;
//! nothing is approved before the summary is there. A run that dies in between leaves what the next one finds and goes on
//! from.

use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    ApiError, ApiErrorKind, Approval, Change, LastRequest, MergeRequestState, Publisher, RequestFate, answers,
    change::{dismissal, is_dismissed},
    conversation::LiveConversation,
    meanwhile::CurrentReview,
    openings::{self, BesideLines},
    review_state::{self, Applied, Notes},
    roles::Roles,
    summary::{self, Posted},
    target::Watched,
    thread_changes::{self, Changed},
    unreadable,
};
use async_trait::async_trait;
use conclave_engine::{
    diff::FilteredFile,
    ports::{Forge, ForgeError, Publication, PublishOutcome},
    publish::{Conversation, Summary, SummaryState, plan_openings, reviewers_to_add, spent_with},
    review::{ApprovalHold, HoldCause, JudgedFinding, Meanwhile, Review, ReviewState, ThreadAction, ThreadChange},
};

#[async_trait]
impl Forge for Publisher {
    async fn publish(&self, publication: Publication<'_>) -> Result<PublishOutcome, ForgeError> {
        let change = self.change();
        let change =
            change.ok_or_else(|| ForgeError(format!("the {} was never loaded", self.api.traits().words.noun)))?;
        let outcome = self.post(&change, publication).await;
        outcome.map_err(|error| {
            let is_denied = matches!(error.kind, ApiErrorKind::Forbidden | ApiErrorKind::Scope);
            // A token that has written something may write: what it may not do besides is a failure like any other.
            let has_written = self.api.http().has_written();
            self.denied.store(is_denied && !has_written, Ordering::Relaxed);
            let is_refused = is_denied || error.kind == ApiErrorKind::Unauthorized;
            self.refused.store(is_refused, Ordering::Relaxed);
            ForgeError(error.to_string())
        })
    }

    fn was_denied(&self) -> bool {
        self.denied.load(Ordering::Relaxed)
    }

    fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    fn has_written(&self) -> bool {
        self.api.http().has_written() && !self.aside.load(Ordering::Relaxed)
    }

    async fn meanwhile(&self, review: &Review) -> Result<Meanwhile, ForgeError> {
        let Some(change) = self.change() else {
            return Ok(Meanwhile::default());
        };
        let current = CurrentReview::new(self, &change, review);
        let sight = current.look(self.asked_to_end()).await;
        Ok(sight.map_err(|error| ForgeError(error.to_string()))?.meanwhile)
    }

    fn left_out(&self, files: &[FilteredFile]) {
        self.remember_left_out(files);
    }

    fn limit_requests(&self, limit: Duration) {
        Self::limit_requests(self, limit);
    }
}

impl Publisher {
    async fn post(&self, change: &Change, publication: Publication<'_>) -> Result<PublishOutcome, ApiError> {
        let (api, bot) = (self.api.as_ref(), &change.bot);
        let mut conversation = LiveConversation::read(api, bot.account).await?;
        let now = api.state().await?;
        let state = bot.last_state(&conversation);
        // Right after reading: what this run and others write from here on explains nothing that was there before.
        let lost = unreadable::lost_request(api, bot, change.author, &conversation).await;
        if let Some(reason) = self.is_of_the_past(publication.review, publication.hurried, &now, state.as_ref()) {
            return self.step_aside(bot, (&now, conversation), publication, reason).await;
        }
        let mut current = CurrentReview::new(self, change, publication.review);
        current.take_in(&conversation).await?;
        let (mut beside, mut changed) = (BesideLines::default(), Changed::default());
        if now.is_open() && !publication.hurried {
            let review = &current.review;
            let publication = Publication { review, ..publication };
            let openings = plan_openings(bot, &publication, &conversation, api.traits().form);
            beside = openings::open(api, bot, &change.version, openings, &mut conversation).await?;
            openings::withdraw_twins(api, bot, &mut conversation, &mut beside).await?;
            changed = thread_changes::apply(api, bot, (review, publication.files), change, &now, &conversation).await;
            let url = change.subject.web_url.as_deref();
            answers::give(
                api,
                bot,
                (review.answers.as_slice(), url),
                &mut conversation,
                &mut changed,
            )
            .await;
        }
        let posting = Posting {
            publisher: self,
            change,
            publication,
            now,
            state,
            lost,
            beside,
            changed,
        };
        posting.conclude(current, conversation).await
    }
}

/// Maximum number of times that the summary is written because of what other runs write at the same time.
const MAX_WRITES: u32 = 4;

/// The bot's request for changes.
struct Request {
    /// True if one stood before, as far as that is known.
    stood: bool,
    /// True if the review may take it back.
    lifts: bool,
    /// True if one stands in the end, as the summary says.
    stands: bool,
}

/// A review whose summary is posted.
struct Written {
    /// The review as the summary says it.
    review: Review,
    wanted: ReviewState,
    request: Request,
    approval: Approval,
    spent_micros: u64,
    is_news: bool,
    note: Option<u64>,
}

/// A review whose threads are posted.
struct Posting<'a> {
    publisher: &'a Publisher,
    change: &'a Change,
    publication: Publication<'a>,
    /// The merge request when posting began.
    now: MergeRequestState,
    /// The state that our note remembered then.
    state: Option<SummaryState>,
    /// The request for changes that nothing explained then.
    lost: Option<LastRequest>,
    beside: BesideLines,
    changed: Changed,
}

impl Posting<'_> {
    /// Posts the summary, and sets the bot's review state.
    async fn conclude(
        self,
        mut current: CurrentReview<'_>,
        mut conversation: LiveConversation<'_>,
    ) -> Result<PublishOutcome, ApiError> {
        let (publisher, change) = (self.publisher, self.change);
        let (api, bot) = (publisher.api.as_ref(), &change.bot);
        let Written {
            mut review,
            wanted,
            request,
            approval,
            spent_micros,
            is_news,
            note,
        } = self.write(&mut current, &mut conversation).await?;
        let run = review_state::Run {
            publisher,
            change,
            current: &current,
            wanted,
            now: &self.now,
            requested: request.stood,
            lifts: request.lifts,
            settings: &self.publication.settings,
            watched: self.watched(),
            state: self.state.as_ref(),
            is_news,
            approval,
            notes: Notes::default(),
        };
        let Applied {
            state: applied_state,
            approved,
            requested: stands,
            notes: Notes {
                hold,
                meanwhile,
                warnings,
            },
        } = run.apply().await?;
        if stands != request.stands || hold.is_some() || !meanwhile.is_empty() {
            let approves = wanted == ReviewState::Approved && hold.is_none() && meanwhile.is_empty();
            review.approval_holds.extend(hold.clone());
            if let Some(hold) = hold {
                current.withhold(hold);
            }
            current.add(meanwhile);
            conversation.read_again().await?;
            current.take_in(&conversation).await?;
            review.add_meanwhile(current.taken_in());
            let spent_micros = spent_micros.max(bot.spent_micros(&conversation));
            let corrected = self.summary(&review, spent_micros, stands, approves);
            publisher.wrote(&corrected.state);
            summary::post(api, bot, &corrected, &mut conversation).await?;
        }
        publisher.conclude();
        let retargeted = self.retargeted().map(|hold| hold.reason);
        let posted_inline = self.beside.opened();
        let mut all_warnings = [self.beside.warnings, self.changed.warnings, warnings].concat();
        all_warnings.extend(retargeted);
        all_warnings.extend(publisher.add_reviewers(&review).await);
        Ok(PublishOutcome {
            url: note.and_then(|note| publisher.link(change, note)),
            approved,
            applied_state: Some(applied_state),
            posted_inline,
            placements: self
                .beside
                .shown
                .into_iter()
                .map(|(print, shown)| (print, shown.placement))
                .collect(),
            warnings: all_warnings,
            amended: current.amends(self.publication.review),
        })
    }

    fn watched(&self) -> Watched<'_> {
        Watched {
            target: &self.change.target,
            base: &self.change.version.base,
            settings: self.publication.settings_watch,
        }
    }

    /// Writes the summary over what was read right before, and looks whether another run has written over it since: a forge takes every
    /// edit of a note, whatever it was made of, and of two runs that write at once the first would be lost.
    async fn write(
        &self,
        current: &mut CurrentReview<'_>,
        conversation: &mut LiveConversation<'_>,
    ) -> Result<Written, ApiError> {
        let (change, now) = (self.change, &self.now);
        let (api, bot) = (self.publisher.api.as_ref(), &change.bot);
        let (mut attempt, mut is_news) = (0, false);
        loop {
            attempt += 1;
            // A run that is stopped has no time to look again.
            let is_last = attempt == MAX_WRITES || self.publication.hurried;
            let mut review = self.with_places(&current.review);
            self.hold_back(&mut review, current, conversation).await;
            let wanted = ReviewState::of(&review, self.publication.settings.mode);
            let approval = match wanted {
                ReviewState::Approved => None,
                _ => self.approval_before(&mut review).await?,
            };
            if !is_last {
                api.http().until_write().await;
                conversation.read_again().await?;
                if current.take_in(conversation).await? {
                    continue;
                }
            }
            let request = self.request(&review, wanted, conversation);
            let spent_micros = spent_with(bot, conversation, &review);
            let summary = self.summary(&review, spent_micros, request.stands, wanted == ReviewState::Approved);
            is_news |= summary.is_news(bot, conversation);
            let note = if is_last {
                summary::post(api, bot, &summary, conversation).await?
            } else {
                match summary::post_unless_second(api, bot, &summary, conversation).await? {
                    Posted::In(note) => note,
                    Posted::Second => continue,
                }
            };
            current.wrote(&summary.state);
            if !is_last {
                conversation.read_again().await?;
                // The review of a newer commit has the last word.
                if !now.is_newer_than(&review.head_sha) && current.is_written_over(conversation) {
                    continue;
                }
            }
            let approval = match approval {
                Some(approval) => approval,
                None => api.approval(bot.account).await?,
            };
            return Ok(Written {
                review,
                wanted,
                request,
                approval,
                spent_micros,
                is_news,
                note,
            });
        }
    }

    /// The request for changes before this review and after it, if all goes well; where it does not, the note is corrected in the end.
    fn request(&self, review: &Review, wanted: ReviewState, conversation: &Conversation) -> Request {
        let now = &self.now;
        let is_lost = |lost: &LastRequest| lost.fate == RequestFate::Stands;
        let stood = self.change.is_requested(now, conversation) || self.lost.as_ref().is_some_and(is_lost);
        let is_of_now = !now.is_newer_than(&review.head_sha) && self.watched().retargeted(now).is_none();
        let lifts = review.lifts_blocks() && is_of_now;
        let stands = match wanted {
            ReviewState::RequestedChanges => now.is_open(),
            ReviewState::Approved => false,
            ReviewState::None => stood && !lifts,
        };
        Request { stood, lifts, stands }
    }

    /// The review with the places where its findings are shown, and with what the next one has to know of our threads.
    fn with_places(&self, review: &Review) -> Review {
        let mut review = review.clone();
        for entry in &mut review.findings {
            if let Some(shown) = self.beside.shown.get(&entry.finding.fingerprint) {
                let link = self.publisher.link(self.change, shown.note);
                entry.posted = link.or(entry.posted.take());
            }
        }
        let read = self.change.conversation.notes();
        let owed = review
            .answers
            .iter()
            .filter(|answer| !self.changed.answered.contains(&answer.note));
        let orders = owed.filter_map(|answer| read.iter().find(|note| note.id == answer.note).map(|note| note.order));
        if let Some(first) = orders.min() {
            // The next review asks again.
            review.carry_over.heard = review.carry_over.heard.min(first.saturating_sub(1));
        }
        review.carry_over.posted(self.beside.shown.keys());
        let is_left = |action: &&ThreadAction| !self.changed.threads.contains(&action.thread);
        let is_due = |action: &&ThreadAction| action.change != ThreadChange::Keep && is_left(action);
        let unsaid = review.threads.iter().filter(is_due);
        let unsaid = unsaid.map(|action| &action.fingerprint);
        review.carry_over.left_unsaid(unsaid);
        // A thread that was to be resolved and is not must not look as if a person had opened it again.
        let resolving = review.threads.iter().filter(|action| action.change.resolves());
        let left = resolving.filter(is_left);
        let left = left.map(|action| (&action.fingerprint, action.change.is_for_a_fix()));
        review.carry_over.left_open(left);
        review
    }

    /// The reason not to approve if the merge request is for another branch by now: whatever the mode, this is not a review of that merge.
    fn retargeted(&self) -> Option<ApprovalHold> {
        self.watched().retargeted(&self.now).filter(|_| self.now.is_open())
    }

    /// Adds the reasons not to approve that stand on the merge request and that the review does not have yet: another target branch, a
    /// person's dismissal, and earlier reviews that cannot be read.
    async fn hold_back(&self, review: &mut Review, current: &mut CurrentReview<'_>, conversation: &Conversation) {
        let (api, change) = (self.publisher.api.as_ref(), self.change);
        let state = self.state.as_ref();
        let is_dismissed = state.is_some_and(|state| is_dismissed(state, &review.head_sha));
        let mut roles = Roles::new(api, &change.bot, change.author, conversation);
        let url = change.subject.web_url.as_deref();
        let lost = self.lost.as_ref();
        let unreadable = unreadable::hold(api, &change.bot, conversation, &mut roles, (lost, url)).await;
        let holds = self.retargeted().into_iter().chain(is_dismissed.then(dismissal));
        for hold in holds.chain(unreadable) {
            if review.approval_holds.iter().all(|known| known.cause != hold.cause) {
                review.approval_holds.push(hold.clone());
                current.withhold(hold);
            }
        }
    }

    /// Reads our approval for a review that does not approve, which says what becomes of it.
    async fn approval_before(&self, review: &mut Review) -> Result<Option<Approval>, ApiError> {
        let approval = self.publisher.api.approval(self.change.bot.account).await?;
        let now = || "The bot takes its earlier approval back: this review does not approve.".to_owned();
        let goes = approval.stands && self.now.is_open();
        let taken_back = self.publisher.taken_back().or_else(|| goes.then(now));
        review.coverage.notes.extend(taken_back);
        // What only the summary shows is seen by other runs from then on: only an approval that is read after it cannot be missed.
        let shown = |entry: &JudgedFinding| entry.posted.is_some() || entry.thread.is_some();
        let in_summary = review.surviving().any(|entry| entry.weighs() && !shown(entry));
        let in_summary = in_summary || !review.approval_holds.is_empty();
        Ok(Some(approval).filter(|approval| approval.stands || !in_summary))
    }

    fn summary(&self, review: &Review, spent_micros: u64, requested_changes: bool, approves: bool) -> Summary {
        let mut summary = Summary::of(review, self.publisher.api.traits().form);
        summary.spent_micros = spent_micros;
        summary.must_be_written = self.publication.review.spent_usd() > 0.0 && self.publication.settings.remember_cost;
        summary.state.requested_changes = requested_changes;
        summary.state.unexplained = self.lost.is_some();
        let is_dismissed = review
            .approval_holds
            .iter()
            .any(|hold| hold.cause == HoldCause::Dismissed);
        summary.state.dismissed = if is_dismissed {
            Some(review.head_sha.clone())
        } else {
            self.state.as_ref().and_then(|state| state.dismissed.clone())
        };
        summary.state.approved_for = approves.then(|| self.change.target.branch.clone());
        summary
    }
}

impl Publisher {
    /// The address of a note.
    fn link(&self, change: &Change, note: u64) -> Option<String> {
        let url = change.subject.web_url.as_ref()?;
        Some(self.api.link(url, note))
    }

    /// Adds whom the rules name as reviewers. What does not work is a warning: the review says who has to look, whether or not the
    /// forge notifies them.
    async fn add_reviewers(&self, review: &Review) -> Vec<String> {
        let names = reviewers_to_add(review);
        if names.is_empty() {
            return Vec::new();
        }
        let added = self.api.add_reviewers(&names).await;
        added.unwrap_or_else(|error| vec![format!("no reviewers were added: {error}")])
    }
}
