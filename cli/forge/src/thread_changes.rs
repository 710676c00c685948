//! Changing our threads of earlier reviews.

use std::collections::HashSet;

use conclave_engine::{
    diff::FileDiff,
    publish::{BotIdentity, NoteEdit, ThreadStep, ThreadSteps, plan_thread_changes, without_markers},
    review::{Review, ThreadChange},
};

use crate::{
    ApiError, ApiErrorKind, Change, ForgeApi, MergeRequestState,
    conversation::{Attempts, LiveConversation},
};

/// The result for the threads, and for people's questions.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Those that are now as they should be, or gone.
    pub(crate) threads: HashSet<String>,
    /// Warnings about everything that did not work: the verdict does not depend on it.
    pub(crate) warnings: Vec<String>,
    /// The notes whose questions are answered, or gone.
    pub(crate) answered: HashSet<u64>,
}

/// Changes our threads as the review says, unless there is a newer commit.
pub(crate) async fn apply(
    api: &dyn ForgeApi,
    bot: &BotIdentity,
    (review, files): (&Review, &[FileDiff]),
    before: &Change,
    now: &MergeRequestState,
    conversation: &LiveConversation<'_>,
) -> Changed {
    let mut changed = Changed::default();
    if !now.is_newer_than(&review.head_sha) {
        let url = before.subject.web_url.as_deref();
        let link = |file: &str, line: u32, end_line: Option<u32>| {
            api.code_link(url?, &review.head_sha, file, (line, end_line.unwrap_or(line)))
        };
        let plan = plan_thread_changes(bot, (review, files), &before.conversation, conversation, &link);
        changed.threads = plan.gone;
        for ThreadSteps { thread, steps } in plan.steps {
            match change(api, bot, &thread, &steps).await {
                Ok(()) => drop(changed.threads.insert(thread)),
                Err(error) => {
                    let warning = format!("a thread of an earlier review could not be changed: {error}");
                    // A right that is missing is missing everywhere.
                    if !changed.warnings.contains(&warning) {
                        changed.warnings.push(warning);
                    }
                }
            }
        }
    } else if review.threads.iter().any(|action| action.change != ThreadChange::Keep) {
        let warning = "the threads of earlier reviews were left as they are: there is a newer commit";
        changed.warnings.push(warning.to_owned());
    }
    changed
}

async fn change(api: &dyn ForgeApi, bot: &BotIdentity, thread: &str, steps: &[ThreadStep]) -> Result<(), ApiError> {
    let mut refused: Option<ApiError> = None;
    for step in steps {
        match step {
            ThreadStep::Reopen => match api.set_resolved(thread, false).await {
                // The answer is posted all the same: it says why resolving the thread settles nothing.
                Err(error) if error.kind == ApiErrorKind::Forbidden => refused = Some(error),
                reopened => reopened?,
            },
            ThreadStep::Resolve(edit) => match api.set_resolved(thread, true).await {
                Err(error) if error.kind == ApiErrorKind::Forbidden => {
                    return Err(error.adding(&settle(api, thread, edit).await));
                }
                resolved => resolved?,
            },
            ThreadStep::Unsettle(edit) => {
                // The text last: as long as it says that it is settled, the next run tries again. A missing right will be missing then, too.
                let shown = api.set_minimized(thread, false).await;
                if !matches!(&shown, Err(error) if error.kind != ApiErrorKind::Forbidden) {
                    edit_note(api, edit).await?;
                }
                shown?;
            }
            ThreadStep::Reply(body) => match refused.take() {
                None => reply(api, bot, thread, body).await?,
                Some(error) => return Err(error.adding(&object(api, bot, thread, body).await)),
            },
        }
    }
    refused.map_or(Ok(()), Err)
}

/// Answers once in a thread that may not be opened again. Returns how far that went, in words. Its first note keeps the record of the
/// finding: the answer is none of a thread that was opened as what it is now.
async fn object(api: &dyn ForgeApi, bot: &BotIdentity, thread: &str, body: &str) -> String {
    let body = without_markers(body);
    let said = match api.thread(bot.account, thread).await {
        Ok(now) => {
            let last = now.answers().next_back();
            let is_said = last.is_some_and(|note| bot.wrote(note) && without_markers(&note.text) == body);
            if is_said {
                Ok(())
            } else {
                reply(api, bot, thread, &body).await
            }
        }
        Err(error) => Err(error),
    };
    match said {
        Ok(()) => "it stays resolved, and an answer in it says why its finding stands".to_owned(),
        Err(error) => format!("nor can an answer in it say why its finding stands: {error}"),
    }
}

/// Says in the first note of a thread that may not be resolved what became of its finding. Returns how far that went, in words.
async fn settle(api: &dyn ForgeApi, thread: &str, edit: &NoteEdit) -> String {
    if let Err(error) = edit_note(api, edit).await {
        return format!("nor can the bot's comment in it say that it is settled: {error}");
    }
    let says = "the bot's comment in it says that it is settled";
    match api.set_minimized(thread, true).await {
        Ok(true) => format!("{says}, and is minimized"),
        Ok(false) => says.to_owned(),
        Err(error) => format!("{says}, and is not minimized: {error}"),
    }
}

async fn edit_note(api: &dyn ForgeApi, edit: &NoteEdit) -> Result<(), ApiError> {
    match &edit.text {
        Some(text) => api.edit_thread_note(edit.note, text).await,
        None => Ok(()),
    }
}

async fn reply(api: &dyn ForgeApi, bot: &BotIdentity, thread: &str, body: &str) -> Result<(), ApiError> {
    let mut attempts = Attempts::new(api.http().retry());
    loop {
        match api.reply(thread, body).await {
            Ok(()) => return Ok(()),
            Err(error) => attempts.fail(error).await?,
        }
        let now = api.thread(bot.account, thread).await?;
        let last = now.answers().next_back();
        if last.is_some_and(|note| bot.wrote(note) && note.text.trim() == body.trim()) {
            return Ok(());
        }
        attempts.go_on()?;
    }
}
