//! Reviews of our account that cannot be read any more: another secret has signed them, as after the secret or the token that it is
//! made from was changed; another account has edited them; or they are gone, and a request for changes shows that they were there.
//!
//! What they found is not known, and neither is what they blocked. A run then approves nothing and lifts nothing. A thread no longer
//! counts once a person who may decide has resolved it, a summary once it is deleted, and a request for changes once such a person has
//! dismissed it.
//!
//! Only what our own account has written counts: a copy by another account holds nothing back. A marker that was copied from another
//! merge request into the end of a note of ours looks the same, since a marker does not say what it was made for.

use std::cmp::Ordering;

use conclave_engine::{
    publish::{BotIdentity, Conversation, Note, SummaryState, Thread},
    review::{ApprovalHold, AuthorRole, HoldCause},
};

use crate::{ForgeApi, LastRequest, RequestFate, roles::Roles};

/// Maximum number of notes whose addresses are named.
const MAX_NAMED: usize = 20;

/// Returns the reason to approve nothing and to lift nothing, if there are such reviews. `lost` is the request for changes that nothing
/// explains, `url` the merge request's address.
pub(crate) async fn hold(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    conversation: &Conversation,
    roles: &mut Roles<'_>,
    (lost, url): (Option<&LastRequest>, Option<&str>),
) -> Option<ApprovalHold> {
    let mut foreign = bot.unreadable_summaries(conversation);
    foreign.extend(unsettled(roles, bot.unreadable_threads(conversation)).await);
    let mut edited = bot.edited_summaries(conversation);
    edited.extend(unsettled(roles, bot.edited_threads(conversation)).await);
    let words = api.traits().words;
    let (noun, decider) = (words.noun, words.decider);
    let mut reasons = Vec::new();
    if !foreign.is_empty() {
        reasons.push(format!(
            "This {noun} has reviews of the bot's account that are signed with another secret: what they found cannot be read, so this \
             run lifts nothing of it. Set the earlier secret again (`CONCLAVE_SECRET`, or without one the token or key that it is made \
             from), or have {decider} who is not the author resolve their threads and delete their notes; the next run then begins anew."
        ));
    }
    if !edited.is_empty() {
        reasons.push(format!(
            "Another account has edited comments of the bot, so what its earlier reviews found is not known, and this run lifts nothing \
             of it. Have {decider} who is not the author read what was open, then resolve the edited threads and delete the edited \
             summary."
        ));
    }
    if let Some(lost) = lost {
        let way_out = match (&lost.fate, &lost.head) {
            (RequestFate::Stands, Some(_)) => "dismiss that request, by hand or with `/conclave dismiss`",
            // What we cannot read we do not dismiss.
            (RequestFate::Stands, None) => "dismiss that request by hand",
            (RequestFate::Dismissed(_), _) => "comment `/conclave dismiss`",
        };
        reasons.push(format!(
            "The bot has requested changes of this {noun}, and its comment that says why was deleted or is not the one of that review, \
             so what was open is not known, and this run lifts nothing of it. Have {decider} who is not the author look at what was \
             found, and {way_out}."
        ));
    }
    if reasons.is_empty() {
        return None;
    }
    let named = foreign.iter().chain(&edited).take(MAX_NAMED);
    let addresses: Vec<String> = named.filter_map(|note| Some(api.link(url?, note.id))).collect();
    Some(ApprovalHold::new(HoldCause::UnreadableReviews, reasons.join(" ")).at(addresses))
}

/// Returns our newest request for changes if nothing explains it: the note that remembers what was found is gone, or is of an earlier
/// commit. A person who may decide settles it by dismissing it.
pub(crate) async fn lost_request(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    author: Option<u64>,
    conversation: &Conversation,
) -> Option<LastRequest> {
    let request = api.last_request(bot.account).await?;
    let state = bot.last_state(conversation);
    let is_lost = match &state {
        None => true,
        Some(state) if state.unexplained => true,
        Some(state) => match (compared(api, state, &request).await, &request.fate) {
            (Some(Ordering::Less), _) => true,
            // What it was for is in the note, and stands or was fixed.
            (Some(Ordering::Greater), _) | (_, RequestFate::Dismissed(_)) => false,
            (_, RequestFate::Stands) => !state.requested_changes,
        },
    };
    if !is_lost {
        return None;
    }
    if let RequestFate::Dismissed(by) = &request.fate {
        let mut roles = Roles::new(api, bot, author, conversation);
        if roles.at_least(by.as_ref()).await == AuthorRole::Member {
            return None;
        }
    }
    Some(request)
}

/// Compares the commit of a note with this state with that of a request for changes: less is an earlier one. None where their order is
/// not known, as after a force-push.
async fn compared(api: &dyn ForgeApi, state: &SummaryState, request: &LastRequest) -> Option<Ordering> {
    let (noted, of) = (state.reviewed()?, request.head.as_deref()?);
    if noted == of {
        return Some(Ordering::Equal);
    }
    let heads = api.heads().await;
    let heads = heads.inspect_err(|error| tracing::warn!(%error, "the order of commits could not be read"));
    let heads = heads.ok()?;
    let place = |head: &str| heads.iter().position(|known| known == head);
    // The newest is the first.
    Some(place(of)?.cmp(&place(noted)?))
}

/// The first notes of the threads that are not settled by a person who may decide.
async fn unsettled<'c>(roles: &mut Roles<'_>, threads: Vec<&'c Thread>) -> Vec<&'c Note> {
    let mut notes = Vec::new();
    for thread in threads {
        if !is_settled(roles, thread).await {
            notes.extend(thread.notes.first());
        }
    }
    notes
}

/// Returns whether a person who may decide has resolved the thread, or we have. Where the forge does not say who did, a program has,
/// as our own runs do on a forge that names people only.
async fn is_settled(roles: &mut Roles<'_>, thread: &Thread) -> bool {
    let by = thread.resolved_by.as_ref();
    thread.resolved && (by.is_none() || matches!(roles.at_least(by).await, AuthorRole::Us | AuthorRole::Member))
}
