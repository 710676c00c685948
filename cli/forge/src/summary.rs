//! The summary on the merge request: one note, also where two jobs post at once.

use conclave_engine::publish::{BotIdentity, Summary, SummaryStep};

use crate::{
    ApiError, ForgeApi,
    conversation::{Attempts, LiveConversation},
};

/// The fate of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Posted {
    /// It is in the note with this number, as far as the forge says.
    In(Option<u64>),
    /// Nowhere: another job posted its own at the same time, and an older note is the one that stays.
    Second,
}

/// Posts the summary, or edits the note that is there, unless that says the same, also one that another job posted at the same time.
/// Returns the note's number.
pub(crate) async fn post(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    summary: &Summary,
    conversation: &mut LiveConversation<'_>,
) -> Result<Option<u64>, ApiError> {
    match post_unless_second(api, bot, summary, conversation).await? {
        Posted::In(note) => Ok(note),
        Posted::Second => edit(api, bot, summary, conversation).await,
    }
}

/// Posts the summary like [`post`], unless another job has posted one since the conversation was read: the caller must read that first.
pub(crate) async fn post_unless_second(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    summary: &Summary,
    conversation: &mut LiveConversation<'_>,
) -> Result<Posted, ApiError> {
    if let Some(note) = edit(api, bot, summary, conversation).await? {
        return Ok(Posted::In(Some(note)));
    }
    let body = summary.body(bot);
    let mut attempts = Attempts::new(api.http().retry());
    let own = loop {
        match api.post_note("post the review", &body).await {
            Ok(own) => break own,
            Err(error) => attempts.fail(error).await?,
        }
        conversation.read_on().await?;
        let is_ours = bot.last_state(conversation).as_ref() == Some(&summary.state);
        match bot.summary(conversation) {
            Some(note) if is_ours => return Ok(Posted::In(Some(note.id))),
            Some(_) => return Ok(Posted::Second),
            None => attempts.go_on()?,
        }
    };
    // Another job may have posted at the same time: then its older note stays, and ours goes.
    conversation.read_on().await?;
    let first = bot.summary(conversation).map(|note| note.id);
    match (first, own) {
        (Some(first), Some(own)) if first != own => {
            api.delete_summary(own).await?;
            Ok(Posted::Second)
        }
        _ => Ok(Posted::In(own)),
    }
}

/// Gives our note this text. Nothing if there is none, or if it has been deleted meanwhile.
async fn edit(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    summary: &Summary,
    conversation: &LiveConversation<'_>,
) -> Result<Option<u64>, ApiError> {
    let note = match summary.step(bot, conversation) {
        SummaryStep::Post => return Ok(None),
        SummaryStep::Keep(note) => return Ok(Some(note)),
        SummaryStep::Edit(note) => note,
    };
    let edited = ApiError::found(api.edit_summary(note, &summary.body(bot)).await)?;
    Ok(edited.map(|()| note))
}
