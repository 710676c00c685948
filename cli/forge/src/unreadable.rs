//! Reviews of our account that another secret has signed, as after the secret or the token that it is made from was changed.
//!
//! What they found cannot be read, and neither can what they blocked. As long as they are there, a run approves nothing and lifts
//! nothing. A thread no longer counts once a person who may decide has resolved it, and a summary once it is deleted.
//!
//! Only what our own account has written counts: a copy by another account holds nothing back. A marker that was copied from another
//! merge request into the end of a note of ours looks the same, since a marker does not say what it was made for.

use conclave_engine::{
    publish::{BotIdentity, Conversation, Note, Thread},
    review::{ApprovalHold, AuthorRole, HoldCause},
};

use crate::{ForgeApi, roles::Roles};

/// Maximum number of notes whose addresses are named.
const MAX_NAMED: usize = 20;

/// Returns the reason to approve nothing and to lift nothing, if there are such reviews. `url` is the merge request's address.
pub(crate) async fn hold(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    conversation: &Conversation,
    roles: &mut Roles<'_>,
    url: Option<&str>,
) -> Option<ApprovalHold> {
    let mut notes: Vec<&Note> = bot.unreadable_summaries(conversation);
    for thread in bot.unreadable_threads(conversation) {
        if !is_settled(roles, thread).await {
            notes.extend(thread.notes.first());
        }
    }
    if notes.is_empty() {
        return None;
    }
    let words = api.traits().words;
    let reason = format!(
        "This {} has reviews of the bot's account that are signed with another secret: what they found cannot be read, so this run \
         lifts nothing of it. Set the earlier secret again (`CONCLAVE_SECRET`, or without one the token or key that it is made from), \
         or have {} who is not the author resolve their threads and delete their notes; the next run then begins anew.",
        words.noun, words.decider
    );
    let named = notes.iter().take(MAX_NAMED);
    let addresses: Vec<String> = named.filter_map(|note| Some(api.link(url?, note.id))).collect();
    Some(ApprovalHold::new(HoldCause::UnreadableReviews, reason).at(addresses))
}

/// Returns whether a person who may decide has resolved the thread, or we have. Where the forge does not say who did, a program has,
/// as our own runs do on a forge that names people only.
async fn is_settled(roles: &mut Roles<'_>, thread: &Thread) -> bool {
    let by = thread.resolved_by.as_ref();
    thread.resolved && (by.is_none() || matches!(roles.at_least(by).await, AuthorRole::Us | AuthorRole::Member))
}
