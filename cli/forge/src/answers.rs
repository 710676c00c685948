//! Answering people's questions: in the thread of each, or, where the forge takes no answer there, in a note that quotes it. Each once,
//! also after a run that died, and of two runs at once.

use std::collections::HashSet;

use conclave_engine::{
    publish::{BotIdentity, answer_note},
    review::Answer,
};

use crate::{
    ApiError, ForgeApi,
    change::is_settled,
    conversation::{Attempts, LiveConversation},
    thread_changes::Changed,
};

/// Posts these answers, on the merge request at this address. What could not be posted is a warning.
pub(crate) async fn give(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    (answers, url): (&[Answer], Option<&str>),
    conversation: &mut LiveConversation<'_>,
    changed: &mut Changed,
) {
    if answers.is_empty() {
        return;
    }
    // Findings were posted since it was read, one by one, and people may have answered meanwhile.
    if let Err(error) = conversation.read_again().await {
        changed.warnings.push(not_answered(&error));
        return;
    }
    let mut is_new = false;
    for answer in answers {
        match post(api, bot, answer, url, conversation).await {
            Ok(posted) => {
                is_new |= posted;
                changed.answered.insert(answer.note);
            }
            Err(error) => {
                let warning = not_answered(&error);
                // A right that is missing is missing everywhere.
                if !changed.warnings.contains(&warning) {
                    changed.warnings.push(warning);
                }
            }
        }
    }
    if is_new && let Err(error) = withdraw_twins(api, bot, conversation).await {
        let warning = format!("a question may have been answered twice, by two runs at once: {error}");
        changed.warnings.push(warning);
    }
}

fn not_answered(error: &ApiError) -> String {
    format!("a question was not answered: {error}")
}

/// Posts an answer unless it is there, and returns whether it did. Of a question that has been deleted, or that another person has
/// answered, nothing is left to be said.
async fn post(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    answer: &Answer,
    url: Option<&str>,
    conversation: &mut LiveConversation<'_>,
) -> Result<bool, ApiError> {
    let mut attempts = Attempts::new(api.http().retry());
    loop {
        let is_given = bot.answers(conversation).iter().any(|(note, ..)| *note == answer.note);
        let thread = conversation.find(&answer.thread);
        let asked = thread.and_then(|thread| {
            let note = thread.notes.iter().find(|note| note.id == answer.note)?;
            Some((thread, note))
        });
        let in_thread = match asked {
            Some((thread, note)) if !is_given && !is_settled(bot, thread, note) => !thread.is_single,
            _ => return Ok(false),
        };
        attempts.go_on()?;
        let link = url.map(|url| api.link(url, answer.note));
        let body = answer_note(&bot.signer, answer, in_thread, link.as_deref());
        let posted = if in_thread {
            api.reply(&answer.thread, &body).await
        } else {
            api.post_note("answer a question", &body).await.map(drop)
        };
        match posted {
            Ok(()) => return Ok(true),
            Err(error) => attempts.fail(error).await?,
        }
        conversation.read_again().await?;
    }
}

/// Deletes what another run has answered at the same time: to each question the oldest answer stays.
async fn withdraw_twins(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    conversation: &mut LiveConversation<'_>,
) -> Result<(), ApiError> {
    conversation.read_again().await?;
    let mut seen = HashSet::new();
    let twins = bot
        .answers(conversation)
        .into_iter()
        .filter(|(note, ..)| !seen.insert(*note));
    let twins: Vec<(u64, bool)> = twins.map(|(_, thread, note)| (note.id, thread.is_single)).collect();
    for (note, is_single) in twins {
        if is_single {
            api.delete_summary(note).await?;
        } else {
            api.delete_thread_note(note).await?;
        }
    }
    Ok(())
}
