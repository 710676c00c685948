//! Changes of our threads of earlier reviews: which are answered, resolved, or opened again.

use std::collections::HashSet;

use super::{BotIdentity, Conversation, Note, Thread};
use crate::{
    diff::{ChangeKind, FileDiff},
    review::{CONTEXT_FILE, FindingRecord, Review, ThreadAction, ThreadChange},
    untrusted::{escape, escape_with_blocks},
};

/// One step of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadStep {
    /// It is opened again.
    Reopen,
    /// It is answered with this text.
    Reply(String),
    /// It is resolved. Where the forge does not allow that, its first note says what became of the finding.
    Resolve(NoteEdit),
    /// Its first note no longer says that the finding is settled.
    Unsettle(NoteEdit),
}

/// An edit of a thread's first note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteEdit {
    /// The note's number.
    pub note: u64,
    /// Its new text; none where it stays.
    pub text: Option<String>,
}

/// The beginning of a note whose thread could not be resolved.
const SETTLED: &str = "✅ **Settled: ";

/// The words before a place in the answer in a thread whose code is in another file by now.
const MOVED: &str = "The code of this finding is now in ";

/// The steps for a thread; none where it is already as it should be.
#[derive(Debug, PartialEq, Eq)]
pub struct ThreadSteps {
    /// Its id on the forge.
    pub thread: String,
    /// The steps in their order.
    pub steps: Vec<ThreadStep>,
}

/// The changes of all threads.
#[derive(Debug, Default)]
pub struct ThreadChanges {
    /// The steps.
    pub steps: Vec<ThreadSteps>,
    /// The threads that have been deleted: nothing is left to be done.
    pub gone: HashSet<String>,
}

/// The address of lines of a file at the reviewed commit, as the forge shows them: of file, first line, and last line where
/// there are several. None where the forge cannot say.
pub type CodeLink<'l> = &'l dyn Fn(&str, u32, Option<u32>) -> Option<String>;

/// Plans what the review, of a change of these files, says of our threads. A thread with an answer that came after `before` was read is
/// left as it is: the next review reads the answer first. A second time there is no step left.
pub fn plan_thread_changes(
    bot: &BotIdentity,
    (review, files): (&Review, &[FileDiff]),
    before: &Conversation,
    now: &Conversation,
    link: CodeLink<'_>,
) -> ThreadChanges {
    let mut changes = ThreadChanges::default();
    for action in &review.threads {
        let thread = now.find(&action.thread);
        if let Some(edit) = thread.and_then(|thread| unsettled(bot, review, action, thread)) {
            changes.steps.push(ThreadSteps {
                thread: action.thread.clone(),
                steps: vec![ThreadStep::Unsettle(edit)],
            });
        }
        let moved = thread.and_then(|thread| moved(bot, (review, files), action, thread, link));
        if action.change == ThreadChange::Keep && moved.is_none() {
            continue;
        }
        let Some(thread) = thread else {
            changes.gone.insert(action.thread.clone());
            continue;
        };
        let read = before.find(&action.thread).map_or(u64::MAX, newest);
        if thread.answers().any(|note| !bot.wrote(note) && note.order > read) {
            continue;
        }
        changes.steps.push(ThreadSteps {
            thread: action.thread.clone(),
            steps: steps(bot, review, action, thread, (moved, link)),
        });
    }
    changes
}

fn newest(thread: &Thread) -> u64 {
    thread.notes.iter().map(|note| note.order).max().unwrap_or_default()
}

fn steps(
    bot: &BotIdentity,
    review: &Review,
    action: &ThreadAction,
    thread: &Thread,
    (moved, link): (Option<String>, CodeLink<'_>),
) -> Vec<ThreadStep> {
    let (answer, resolve) = match &action.change {
        ThreadChange::Keep => (None, false),
        ThreadChange::Resolve { .. } => (None, true),
        ThreadChange::Answer { text, resolve } => {
            let answer = escape_with_blocks(text.trim());
            let is_said = !thread.resolved && is_answered(bot, thread, "");
            ((!is_said).then_some(answer), *resolve)
        }
        ThreadChange::FixedElsewhere {
            text,
            file,
            line,
            end_line,
        } => {
            let place = place(file, *line, *end_line, link);
            // An answer of before did not name the place.
            let answer = format!("{}\n\n{place}", escape_with_blocks(text.trim()));
            ((!is_answered(bot, thread, &place)).then_some(answer), true)
        }
    };
    let answer = match (answer, moved) {
        (Some(answer), Some(moved)) => Some(format!("{answer}\n\n{moved}")),
        (answer, moved) => answer.or(moved),
    };
    let entry = review
        .surviving()
        .find(|entry| entry.finding.fingerprint == action.fingerprint);
    // What is only answered, because it is fixed, may have been resolved by a person meanwhile.
    let reopen = thread.resolved && !resolve && entry.is_some();
    let mut steps = Vec::new();
    if reopen {
        // First, and then the answer: a run that dies in between must not leave a problem settled that is worse than it was.
        steps.push(ThreadStep::Reopen);
    }
    if let Some(mut body) = answer {
        // It is opened again as what it is now.
        if let Some(entry) = entry.filter(|_| reopen) {
            let marker = bot.signer.sign(&FindingRecord::new(entry, &review.head_sha));
            body = format!("{body}\n\n{marker}");
        }
        steps.push(ThreadStep::Reply(body));
    }
    if let Some(first) = thread.notes.first().filter(|_| resolve && !thread.resolved) {
        steps.push(ThreadStep::Resolve(NoteEdit {
            note: first.id,
            text: settled(bot, action, first),
        }));
    }
    steps
}

/// Lines of a file, as a link where the forge can say their address.
fn place(file: &str, line: u32, end_line: Option<u32>, address_of: CodeLink<'_>) -> String {
    let lines = end_line.map_or_else(|| format!("line {line}"), |end| format!("lines {line}-{end}"));
    let place = escape(&format!("{file}, {lines}"));
    match address_of(file, line, end_line) {
        Some(address) => format!("[{place}]({address})"),
        None => place,
    }
}

/// The answer that says in which other file a finding that stands is by now; none where the thread says so already. Files that the change
/// renames are those of the thread to the forge, too. Behind a person's last word it is only a part of an answer: to the next review, a
/// word of ours has answered theirs.
fn moved(
    bot: &BotIdentity,
    (review, files): (&Review, &[FileDiff]),
    action: &ThreadAction,
    thread: &Thread,
    link: CodeLink<'_>,
) -> Option<String> {
    let is_answered = matches!(action.change, ThreadChange::Answer { resolve: false, .. });
    let stays_open = action.change == ThreadChange::Keep && !thread.resolved;
    if thread.is_single || !(is_answered || stays_open) {
        return None;
    }
    let mut surviving = review.surviving();
    let finding = &surviving
        .find(|entry| entry.finding.fingerprint == action.fingerprint)?
        .finding;
    let first = bot.finding(thread.notes.first()?)?.file;
    let is_renamed =
        |file: &FileDiff| file.kind == ChangeKind::Renamed && file.old_path == first && file.path == finding.file;
    let is_ours = |note: &&Note| bot.wrote(note);
    let is_a_persons_turn = thread.answers().next_back().is_some_and(|last| !is_ours(&last));
    if finding.file == CONTEXT_FILE || files.iter().any(is_renamed) || (is_a_persons_turn && !is_answered) {
        return None;
    }
    let mut own = thread.answers().rev().filter(is_ours);
    let said = own.find_map(|note| note.text.split_once(MOVED));
    let is_said = match said {
        // The answer that opens a thread again stays the same, as a forge may not let us open it.
        Some((_, place)) => {
            let here = escape(&format!("{}, line", finding.file));
            !thread.resolved && place.trim_start_matches('[').starts_with(&here)
        }
        None => first == finding.file,
    };
    (!is_said).then(|| format!("{MOVED}{}.", place(&finding.file, finding.line, finding.end_line, link)))
}

/// The text of our note that says what became of its finding; none where it says so already, or is not ours.
fn settled(bot: &BotIdentity, action: &ThreadAction, first: &Note) -> Option<String> {
    let is_ours = bot.finding(first).is_some() && !first.text.starts_with(SETTLED);
    let how = action.change.settled_as().filter(|_| is_ours)?;
    Some(format!("{SETTLED}{how}.**\n\n{}", first.text))
}

/// The text of our note that says of a finding that stands that it is settled, without that.
fn unsettled(bot: &BotIdentity, review: &Review, action: &ThreadAction, thread: &Thread) -> Option<NoteEdit> {
    let first = thread.notes.first().filter(|first| bot.finding(first).is_some())?;
    let (_, text) = first.text.strip_prefix(SETTLED)?.split_once("\n\n")?;
    let mut surviving = review.surviving();
    surviving
        .any(|entry| entry.finding.fingerprint == action.fingerprint)
        .then(|| NoteEdit {
            note: first.id,
            text: Some(text.to_owned()),
        })
}

/// Returns whether the last answer in the thread is ours and has this in it: then everything is said.
fn is_answered(bot: &BotIdentity, thread: &Thread, with: &str) -> bool {
    let last = thread.answers().next_back();
    last.is_some_and(|note| bot.wrote(note) && note.text.contains(with))
}

#[cfg(test)]
#[path = "thread_changes_tests.rs"]
mod tests;
