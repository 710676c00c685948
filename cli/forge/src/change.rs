//! The merge request as a run has read it: with what is written on it, and what our earlier reviews left there.

use std::collections::HashSet;

use conclave_engine::{
    publish::{Account, BotIdentity, Conversation, Note, Signer, SummaryState, Thread, spent_usd},
    review::{
        ApprovalHold, AuthorRole, Before, CarryOver, Comment, CommentPlace, ExistingFinding, HoldCause, Reply,
        ReviewSubject, ThreadState,
    },
    untrusted::Untrusted,
};
use secrecy::SecretString;

use crate::{
    ApiError, Approval, ForgeApi, LoadedChange, MergeRequestState, Target, Version, conversation::LiveConversation,
    roles::Roles, target::hold, unreadable,
};

/// A merge request, read before the review.
#[derive(Debug)]
pub struct Change {
    /// For the engine; without commit messages, which git has.
    pub subject: ReviewSubject,
    /// The costs of earlier reviews of it, in US dollars, as our note on it says.
    pub spent_before_usd: f64,
    /// The memory of our last summary of what was reviewed, and of what stands.
    pub carry_over: CarryOver,
    /// The number of the account that opened it.
    pub author: Option<u64>,
    /// Why the bot will not approve, as far as that is known before the review.
    pub holds: Vec<ApprovalHold>,
    pub(crate) bot: BotIdentity,
    /// The version that is reviewed.
    pub(crate) version: Version,
    /// The target branch when it was read.
    pub(crate) target: Target,
    pub(crate) conversation: Conversation,
    /// The page that its newest threads are on.
    pub(crate) last_page: u64,
}

impl Change {
    /// Reads everything that a review needs to know.
    pub(crate) async fn read(api: &dyn ForgeApi, secret: &SecretString) -> Result<Self, ApiError> {
        let LoadedChange {
            bot,
            marker_scope,
            mut subject,
            version,
            target,
            author,
        } = api.load().await?;
        let bot = BotIdentity {
            account: bot,
            signer: Signer::new(secret.clone(), marker_scope),
        };
        let (conversation, last_page) = LiveConversation::read(api, bot.account).await?.into_parts();
        let in_own_threads: HashSet<u64> = bot
            .threads(&conversation)
            .iter()
            .flat_map(|own| own.thread.notes.iter().map(|note| note.id))
            .collect();
        // Everyone can read the review, so what only members can read stays out of it. What is said in our threads comes with our
        // findings.
        subject.comments = comments(&bot, &conversation, &in_own_threads);
        subject.aside_given = bot.has_aside(&conversation);
        subject.previous_review = bot.summary_text(&conversation).map(Into::into);
        let mut roles = Roles::new(api, &bot, author, &conversation);
        let carry_over: CarryOver = bot.remembered(&conversation).unwrap_or_default();
        subject.existing_findings = existing_findings(&mut roles, &bot, &conversation, &carry_over).await;
        let url = subject.web_url.as_deref();
        let lost = unreadable::lost_request(api, &bot, author, &conversation).await;
        let unreadable = unreadable::hold(api, &bot, &conversation, &mut roles, (lost.as_ref(), url)).await;
        let state = bot.last_state(&conversation);
        let dismissed = state
            .filter(|state| is_dismissed(state, &version.head))
            .map(|_| dismissal());
        let unknown = || {
            let (forge, branch) = (api.traits().words.name, &target.branch);
            hold(format!(
                "{forge} does not tell the newest commit of the target branch {branch}, so its newest settings are unknown."
            ))
        };
        Ok(Self {
            subject,
            spent_before_usd: spent_usd(&bot, &conversation),
            carry_over,
            author,
            holds: target
                .tip
                .is_none()
                .then(unknown)
                .into_iter()
                .chain(dismissed)
                .chain(unreadable)
                .collect(),
            bot,
            version,
            target,
            conversation,
            last_page,
        })
    }

    /// The conversation as it was when the merge request was read.
    pub(crate) fn live<'a>(&self, api: &'a dyn ForgeApi) -> LiveConversation<'a> {
        LiveConversation::read_before(api, self.bot.account, self.conversation.clone(), self.last_page)
    }

    /// The state that our note remembered.
    pub(crate) fn state(&self) -> Option<SummaryState> {
        self.bot.last_state(&self.conversation)
    }

    /// Returns whether the approval is for what this run reviews.
    pub(crate) fn is_approved_by(&self, approval: &Approval) -> bool {
        let state = self.state();
        let is_same = state.as_ref().is_some_and(|state| {
            state.head.as_ref() == Some(&self.version.head) && state.approved_for.as_ref() == Some(&self.target.branch)
        });
        is_same && approval.is_for(&self.version, state.as_ref())
    }

    /// Returns whether our request for changes stands, as far as that is known.
    pub(crate) fn is_requested(&self, now: &MergeRequestState, conversation: &Conversation) -> bool {
        match self.bot.last_state(conversation) {
            Some(state) => state.requested_changes,
            // The note that remembers it may have been deleted.
            None => self.bot.summary(conversation).is_none() && now.shows_request,
        }
    }
}

/// Returns whether a person has dismissed our review of this commit, as our note remembers.
pub(crate) fn is_dismissed(state: &SummaryState, head: &str) -> bool {
    state.dismissed.as_deref() == Some(head)
}

/// The reason not to approve a commit whose review a person has dismissed.
pub(crate) fn dismissal() -> ApprovalHold {
    ApprovalHold::new(
        HoldCause::Dismissed,
        "A person has dismissed the bot's review of this commit, so the bot does not approve it again; a newer commit is another matter.",
    )
}

/// The comments of others, oldest first.
fn comments(bot: &BotIdentity, conversation: &Conversation, in_own_threads: &HashSet<u64>) -> Vec<Comment> {
    let answered: HashSet<u64> = bot.answers(conversation).into_iter().map(|(note, ..)| note).collect();
    let threads = conversation.threads.iter();
    let notes = threads.flat_map(|thread| thread.notes.iter().map(move |note| (thread, note)));
    let notes = notes.filter(|(_, note)| is_of_others(bot, note) && !in_own_threads.contains(&note.id));
    let comments = notes.map(|(thread, note)| {
        let by_program = is_by_program(note);
        let waits = !by_program && !answered.contains(&note.id) && !is_settled(bot, thread, note);
        Comment {
            author: author(note),
            body: note.text.as_str().into(),
            order: note.order,
            by_program,
            waits: waits.then(|| CommentPlace {
                note: note.id,
                thread: thread.id.clone(),
            }),
        }
    });
    let mut comments: Vec<Comment> = comments.collect();
    comments.sort_by_key(|comment| comment.order);
    comments
}

fn is_of_others(bot: &BotIdentity, note: &Note) -> bool {
    !bot.wrote(note) && note.is_public_comment()
}

fn is_by_program(note: &Note) -> bool {
    note.author.as_ref().is_some_and(|author| author.is_bot == Some(true))
}

/// Returns whether people have seen to a comment themselves: its thread is resolved, or another person has answered in it.
pub(crate) fn is_settled(bot: &BotIdentity, thread: &Thread, comment: &Note) -> bool {
    let by = |note: &Note| note.author.as_ref().map(|author| author.id);
    let is_answer = |note: &Note| {
        let is_anothers = is_of_others(bot, note) && !is_by_program(note) && by(note) != by(comment);
        note.order > comment.order && is_anothers
    };
    thread.resolved || thread.notes.iter().any(is_answer)
}

fn author(note: &Note) -> Untrusted {
    name(note.author.as_ref())
}

fn name(account: Option<&Account>) -> Untrusted {
    account.map(|account| account.name.as_str()).unwrap_or_default().into()
}

/// Our threads that show findings, oldest first, with what people answered.
async fn existing_findings(
    roles: &mut Roles<'_>,
    bot: &BotIdentity,
    conversation: &Conversation,
    carry_over: &CarryOver,
) -> Vec<ExistingFinding> {
    let mut existing = Vec::new();
    for own in bot.threads(conversation) {
        let mut replies = Vec::new();
        for note in own.thread.answers() {
            replies.push(Reply {
                author: author(note),
                body: note.shown_text().into(),
                role: roles.at_least(note.author.as_ref()).await,
                edited: note.may_be_anothers(),
            });
        }
        let remembered = carry_over.find(&own.record.fingerprint);
        let state = if own.thread.is_state_unknown {
            ThreadState::Unknown
        } else if own.thread.resolved && own.thread.resolved_by.is_none() {
            // A forge may not name a program, or an account that was deleted; that it was us, our signed note says.
            let by_us = remembered.is_some_and(|entry| matches!(entry.before, Before::Resolved | Before::Declined));
            if by_us {
                ThreadState::ResolvedByUs
            } else {
                ThreadState::ResolvedByUnnamed
            }
        } else if own.thread.resolved {
            match roles.read(own.thread.resolved_by.as_ref()).await {
                Some(AuthorRole::Us) => ThreadState::ResolvedByUs,
                Some(AuthorRole::Member) => ThreadState::ResolvedByPerson,
                Some(AuthorRole::Author) => ThreadState::ResolvedByAuthor,
                Some(AuthorRole::Contributor | AuthorRole::Outsider) => ThreadState::ResolvedByOutsider,
                // Nothing is opened again that a member may have resolved.
                Some(AuthorRole::Machine) | None => ThreadState::ResolvedByOther,
            }
        } else {
            ThreadState::Open
        };
        existing.push(ExistingFinding {
            body: own.note.shown_text().into(),
            thread: Some(own.thread.id.clone()),
            state,
            resolved_by: name(own.thread.resolved_by.as_ref()),
            replies,
            ..ExistingFinding::of_record(bot.last_record(&own), Before::Posted)
        });
    }
    existing
}
