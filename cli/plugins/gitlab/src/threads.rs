//! Our threads: read as the engine sees them, and changed as it says.

use std::collections::{HashMap, HashSet};

use conclave_engine::{
    review::{
        AnchorState, Before, ExistingFinding, FindingRecord, Reply, Review, ThreadAction, ThreadChange, ThreadState,
        Voice,
    },
    untrusted::{Untrusted, escape},
};
use serde_json::{Value, json};

use crate::{
    GitLabError,
    client::Client,
    discussions::{Conversation, Discussion, Note, OwnThread, User},
    marker,
    merge_request::{MergeRequestNow, Ourselves},
    people::People,
};

/// Whose word it is; one that nobody can vouch for is read, and decides nothing.
async fn voice(people: &mut People<'_>, user: Option<&User>) -> Voice {
    let Some(user) = user else { return Voice::Outsider };
    people.voice(user).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "a role could not be read");
        Voice::Outsider
    })
}

/// Our threads that show findings, oldest first, with what people answered.
pub(crate) async fn read(
    people: &mut People<'_>,
    ourselves: &Ourselves,
    conversation: &Conversation,
) -> Vec<ExistingFinding> {
    let mut existing = Vec::new();
    for thread in conversation.own_threads(ourselves) {
        let mut replies = Vec::new();
        for note in answers(thread.discussion) {
            let author = note.author.as_ref();
            replies.push(Reply {
                author: author.and_then(|user| user.username.clone()).unwrap_or_default().into(),
                body: without_markers(note.text()).into(),
                voice: voice(people, author).await,
                edited: note.is_edited(ourselves.bot()),
            });
        }
        let state = if thread.discussion.is_resolved() {
            match voice(people, thread.discussion.resolved_by_user()).await {
                Voice::Us => ThreadState::ResolvedByUs,
                Voice::Member => ThreadState::ResolvedByPerson,
                Voice::Author => ThreadState::ResolvedByAuthor,
                Voice::Outsider | Voice::Machine => ThreadState::ResolvedByOther,
            }
        } else {
            ThreadState::Open
        };
        let body = Untrusted::from(without_markers(thread.note.text()));
        let id = thread.discussion.id.clone();
        existing.push(ExistingFinding {
            id: String::new(),
            body,
            record: as_last_told(thread, ourselves),
            thread: Some(id),
            state,
            replies,
            anchor: AnchorState::Unknown,
            code: String::new(),
            before: Before::Posted,
            stood: false,
            author_may_settle: false,
        });
    }
    existing
}

/// What our newest note in the thread says of the finding, with the worst that any of them said: who waits until a finding is
/// told to be less may not settle it more easily.
fn as_last_told(thread: OwnThread<'_>, ourselves: &Ourselves) -> FindingRecord {
    let notes = thread.discussion.notes();
    let told: Vec<FindingRecord> = notes.iter().filter_map(|note| ourselves.finding(note)).collect();
    let worst = told.iter().map(|record| record.severity).max();
    let risk = told.iter().any(|record| record.production_risk);
    let steers = told.iter().find(|record| record.is_prompt_injection());
    let mut record = told.last().cloned().unwrap_or(thread.record);
    record.severity = record.severity.max(worst.unwrap_or(record.severity));
    record.production_risk |= risk;
    if let Some(steers) = steers {
        record.category.clone_from(&steers.category);
    }
    record
}

/// What was answered in a thread, for everybody to read.
fn answers(discussion: &Discussion) -> impl DoubleEndedIterator<Item = &Note> {
    discussion
        .notes()
        .iter()
        .skip(1)
        .filter(|note| note.is_public_comment())
}

/// The text without our hidden comments.
pub(crate) fn without_markers(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, marker)) = rest.split_once("<!-- conclave:") {
        kept.push_str(before);
        rest = marker.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

/// The newest note of each thread of ours: whoever writes after it has not been read.
pub(crate) fn newest(ourselves: &Ourselves, conversation: &Conversation) -> HashMap<String, u64> {
    let threads = conversation.own_threads(ourselves);
    let last = |discussion: &Discussion| discussion.notes().iter().map(|note| note.id).max().unwrap_or_default();
    threads
        .iter()
        .map(|thread| (thread.discussion.id.clone(), last(thread.discussion)))
        .collect()
}

/// Our threads that are resolved.
pub(crate) fn resolved(ourselves: &Ourselves, conversation: &Conversation) -> HashSet<String> {
    let threads = conversation.own_threads(ourselves).into_iter();
    let resolved = threads.filter(|thread| thread.discussion.is_resolved());
    resolved.map(|thread| thread.discussion.id.clone()).collect()
}

/// Changes our threads as the review says, and answers what it answers. What is so already is left alone, so a second time
/// nothing is written. What does not work is a warning: the verdict does not depend on it. The ids are those of the threads
/// that are now as they should be, or gone.
pub(crate) async fn apply(
    client: &Client,
    ourselves: &Ourselves,
    review: &Review,
    seen: &HashMap<String, u64>,
    now: &MergeRequestNow,
    conversation: &mut Conversation,
) -> (Vec<String>, HashSet<String>) {
    let (mut warnings, mut done) = (Vec::new(), HashSet::new());
    let changes: Vec<&ThreadAction> = review
        .threads
        .iter()
        .filter(|action| action.change != ThreadChange::Keep)
        .collect();
    let is_newest = now.head().is_none_or(|head| head == review.head_sha);
    if !changes.is_empty() && !is_newest {
        warnings.push("the threads of earlier reviews were left as they are: there is a newer commit".to_owned());
    } else if now.is_open() {
        for action in changes {
            let Some(discussion) = conversation.find(&action.thread) else {
                // Somebody has deleted it.
                done.insert(action.thread.clone());
                continue;
            };
            let unread =
                |note: &Note| !ourselves.wrote(note) && note.id > seen.get(&action.thread).copied().unwrap_or(u64::MAX);
            if answers(discussion).any(unread) {
                // Somebody has answered while the review ran: the next one reads it first.
                continue;
            }
            match change(client, ourselves, review, action, discussion).await {
                Ok(()) => {
                    done.insert(action.thread.clone());
                }
                Err(error) => {
                    let warning = format!("a thread of an earlier review could not be changed: {error}");
                    // A right that is missing is missing everywhere.
                    if !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
            }
        }
    }
    if let Some(text) = review.aside.as_deref().filter(|_| now.is_open())
        && let Err(error) = say_aside(client, ourselves, text, conversation).await
    {
        warnings.push(format!("a question was not answered: {error}"));
    }
    (warnings, done)
}

/// Makes one change, with one request for each thing that is not so already.
async fn change(
    client: &Client,
    ourselves: &Ourselves,
    review: &Review,
    action: &ThreadAction,
    discussion: &Discussion,
) -> Result<(), GitLabError> {
    let path = client.merge_request_path(&format!("/discussions/{}", discussion.id));
    let (answer, resolved) = match &action.change {
        ThreadChange::Keep => return Ok(()),
        ThreadChange::Resolve { .. } => (None, true),
        ThreadChange::Answer { text, resolve } => (Some(text), *resolve),
    };
    let was_resolved = discussion.is_resolved();
    let resolve = json!({ "resolved": resolved });
    if was_resolved && !resolved {
        // First, and then the word: a run that dies in between must not leave a problem settled that is worse than it was.
        client.put("open a thread again", &path, &resolve).await?;
    }
    if let Some(text) = answer.filter(|_| !is_answered(ourselves, discussion)) {
        let mut body = escape(text.trim());
        if was_resolved && !resolved {
            // It is opened again as what it is now.
            let entry = review
                .standing()
                .find(|entry| entry.finding.fingerprint == action.fingerprint);
            if let Some(entry) = entry {
                let record = FindingRecord::new(entry, &review.head_sha);
                body = format!("{body}\n\n{}", ourselves.finding_marker(&record));
            }
        }
        reply(client, ourselves, &path, &body).await?;
    }
    if resolved && !was_resolved {
        client.put("resolve a thread", &path, &resolve).await?;
    }
    Ok(())
}

/// Whether the last word in an open thread is ours: then everything is said.
fn is_answered(ourselves: &Ourselves, discussion: &Discussion) -> bool {
    !discussion.is_resolved()
        && answers(discussion)
            .next_back()
            .is_some_and(|note| ourselves.wrote(note))
}

/// Answers in a thread, once: after a failure the thread is looked at before anything is said again.
async fn reply(client: &Client, ourselves: &Ourselves, path: &str, body: &str) -> Result<(), GitLabError> {
    let mut failed = 0;
    loop {
        match client
            .post_once("answer in a thread", &format!("{path}/notes"), &json!({ "body": body }))
            .await
        {
            Ok(_) => return Ok(()),
            Err(error) if error.may_have_happened() => {
                failed += 1;
                let again = client.pause(failed).await;
                let discussion: Discussion = client.get("read a thread", path).await?;
                let said = |note: &Note| ourselves.wrote(note) && note.text().trim() == body.trim();
                if answers(&discussion).next_back().is_some_and(said) {
                    return Ok(());
                }
                if !again {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Answers a light-hearted question, in a note of its own: a thread would have to be resolved by somebody.
async fn say_aside(
    client: &Client,
    ourselves: &Ourselves,
    text: &str,
    conversation: &mut Conversation,
) -> Result<(), GitLabError> {
    let body = format!("{}\n\n{}", escape(text.trim()), ourselves.aside_marker());
    let path = client.merge_request_path("/notes");
    let mut failed = 0;
    while !has_aside(ourselves, conversation) {
        let result: Result<Value, GitLabError> = client
            .post_once("answer a question", &path, &json!({ "body": body }))
            .await;
        match result {
            Ok(_) => return Ok(()),
            Err(error) if error.may_have_happened() => {
                failed += 1;
                let again = client.pause(failed).await;
                conversation.read_on(client).await?;
                if !again && !has_aside(ourselves, conversation) {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether we have answered a light-hearted question on this merge request.
pub(crate) fn has_aside(ourselves: &Ourselves, conversation: &Conversation) -> bool {
    let aside = ourselves.aside_marker();
    let notes = conversation.notes();
    notes
        .iter()
        .any(|note| ourselves.wrote(note) && marker::has(note.text(), &aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_hidden_comments_are_taken_out() {
        for (text, kept) in [
            ("Text.\n\n<!-- conclave:finding:abc -->", "Text."),
            ("<!-- conclave:a --> b <!-- conclave:c -->d", "b d"),
            ("<!-- of somebody else -->", "<!-- of somebody else -->"),
            ("cut <!-- conclave:ledger:abc", "cut"),
            ("", ""),
        ] {
            assert_eq!(without_markers(text), kept, "{text:?}");
        }
    }
}
