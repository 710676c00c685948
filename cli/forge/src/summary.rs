//! The summary on the merge request: one note, also where two jobs post at once.

use conclave_engine::publish::{BotIdentity, Summary, SummaryStep};

use crate::{
    ApiError, ApiErrorKind, ForgeApi,
    conversation::{Attempts, LiveConversation},
};

/// Posts the summary, or edits the note that is there, unless that says the same. Returns the note's number.
pub(crate) async fn post(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    summary: &Summary,
    conversation: &mut LiveConversation<'_>,
) -> Result<Option<u64>, ApiError> {
    if let Some(note) = edit(api, bot, summary, conversation).await? {
        return Ok(Some(note));
    }
    let body = summary.body(bot);
    let mut attempts = Attempts::new(api.http().retry());
    let own = loop {
        match api.post_note("post the review", &body).await {
            Ok(own) => break own,
            Err(error) => attempts.fail(error).await?,
        }
        conversation.read_on().await?;
        if let Some(note) = edit(api, bot, summary, conversation).await? {
            return Ok(Some(note));
        }
        attempts.go_on()?;
    };
    // Another job may have posted at the same time: then its older note is edited, and ours goes.
    conversation.read_on().await?;
    let first = bot.summary(conversation).map(|note| note.id);
    match (first, own) {
        (Some(first), Some(own)) if first != own => {
            let edited = edit(api, bot, summary, conversation).await?;
            api.delete_summary(own).await?;
            Ok(edited)
        }
        _ => Ok(own),
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
    match api.edit_summary(note, &summary.body(bot)).await {
        Ok(()) => Ok(Some(note)),
        Err(error) if error.kind == ApiErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
