//! What is said in threads and in the review about earlier findings: every text in one place.

use conclave_shared::severity::Severity;

use crate::{
    review::{AuthorRole, FIXED_IN, FindingRecord, ThreadState},
    untrusted::code_span,
};

/// The beginning of a commit's id as code, which no forge makes a reference of.
fn short(sha: &str) -> String {
    format!("`{}`", sha.get(..8).unwrap_or(sha))
}

/// Why a thread is resolved: its problem is gone.
pub(super) fn fixed(head_sha: &str) -> String {
    format!("{FIXED_IN}{}", short(head_sha))
}

/// Why a thread is resolved: a member declined.
pub(super) const DECLINED: &str = "a member declined it";

/// Why a thread is resolved: a member took the risk.
pub(super) const ACKNOWLEDGED: &str = "a member acknowledged it";

/// Why a thread is resolved: a member's argument held.
pub(super) const WITHDRAWN: &str = "a member's argument against it holds";

/// What is answered when the coordinator gives in without words of its own.
pub(super) const WITHDRAWN_ANSWER: &str = "You are right, thank you: this is withdrawn.";

/// The answer where code elsewhere deals with the problem and the coordinator has no words of its own.
pub(super) const FIXED_ELSEWHERE: &str = "This is dealt with at another place:";

/// The answer where the coordinator takes a problem to be dealt with at another place, and that does not count, for this
/// fault or because the review as a whole does not show it.
pub(super) fn not_fixed_elsewhere(fault: Option<String>) -> String {
    let fault = fault
        .unwrap_or_else(|| "the reviewers report it again, or this review could not look at everything".to_owned());
    format!(
        "The coordinator takes this to be dealt with at another place. That does not count: {}. It stands.",
        fault.trim_end_matches('.')
    )
}

/// The answer where the coordinator would withdraw a serious finding, or takes it to be fixed, and quotes no code that counts.
pub(super) fn not_by_a_word(is_taken_for_fixed: bool, fault: &str) -> String {
    let view = if is_taken_for_fixed {
        "takes this to be fixed"
    } else {
        "would withdraw this"
    };
    let fault = fault.trim_end_matches('.');
    format!("The coordinator {view}. That does not count: {fault}. It stands.")
}

/// Advice to a person who has argued against a finding on which the coordinator's view does not count.
pub(super) fn how_to_settle(role: AuthorRole, author_may_settle: bool) -> String {
    let who = match role {
        AuthorRole::Author if !author_may_settle => "another member of the project who may push to it",
        AuthorRole::Contributor => "a member of the project who may push to it",
        _ => "you",
    };
    format!(
        "To settle it, {who} can answer with `won't fix` or `acknowledged` and nothing else, or resolve this thread."
    )
}

/// What is said in a settled thread whose problem has become worse.
pub(super) fn worse(before: Severity, now: Severity, head_sha: &str) -> String {
    let now = if now == before {
        "a danger to production".to_owned()
    } else {
        article(now)
    };
    format!(
        "This was settled as {}. With {} it is {now}, so it is open again.",
        article(before),
        short(head_sha),
    )
}

/// The answer in a thread that was settled by an answer which was deleted, edited or followed by another one.
pub(super) const TAKEN_BACK: &str =
    "The answer that settled this is not the last word any more, and the code is still there, so it is open again.";

/// What is said in a thread whose problem had been fixed.
pub(super) fn back(head_sha: &str) -> String {
    format!("With {} this problem is back, so it is open again.", short(head_sha))
}

/// The answer in a thread whose problem had been refuted by code that is gone.
pub(super) fn exposed(head_sha: &str) -> String {
    format!(
        "This was settled by other code. With {} that code is gone, and this one is still there, so it is open again.",
        short(head_sha)
    )
}

/// The answer in a thread whose words counted as harmless only because of a setting, which does not cover their file any more.
pub(super) fn uncovered(head_sha: &str) -> String {
    format!(
        "This was settled under `prompt_paths` of the target branch. With {} these do not cover the file, so it is open \
         again.",
        short(head_sha)
    )
}

/// Why a new finding is dropped: people have settled it.
pub(super) const SETTLED: &str = "people have settled this in its thread";

/// Why a new finding is merged: it is an earlier one.
pub(super) const KNOWN: &str = "an earlier review has reported this";

/// Why the judge's word that a new finding is the settled one at this place does not count.
pub(super) fn not_settled_too(file: &str, line: u32) -> String {
    let place = code_span(&format!("{file}:{line}"));
    format!("people have settled the finding on {place}, and no code shows that this is the same one")
}

fn article(severity: Severity) -> String {
    format!("a {severity}")
}

/// What the coverage says of findings that were carried forward.
pub(super) fn carried(number: usize) -> String {
    match number {
        1 => "1 finding stands from an earlier review".to_owned(),
        number => format!("{number} findings stand from earlier reviews"),
    }
}

/// What it says of findings that are fixed.
pub(super) fn gone(number: usize) -> String {
    match number {
        1 => "1 earlier finding is fixed".to_owned(),
        number => format!("{number} earlier findings are fixed"),
    }
}

/// What it says of findings that members have settled by their answers.
pub(super) fn settled(number: usize) -> String {
    match number {
        1 => "1 earlier finding was settled by a member's answer".to_owned(),
        number => format!("{number} earlier findings were settled by members' answers"),
    }
}

/// The review's note on questions beyond the limit.
pub(super) fn questions_left(number: usize, of_review: usize, of_change: u64) -> String {
    let wait = if number == 1 {
        "question in the comments waits"
    } else {
        "questions in the comments wait"
    };
    format!(
        "{number} {wait} for an answer: a review answers at most {of_review}, and all reviews of a change together at most \
         {of_change}"
    )
}

/// The note of the review on questions of which its judge said nothing, also when asked for it.
pub(super) fn questions_unanswered(number: usize) -> String {
    let questions = if number == 1 { "question" } else { "questions" };
    format!("the judge has not answered {number} {questions} in the comments: ask again in a new comment")
}

/// What it says of a finding whose thread somebody deleted.
pub(super) fn deleted(place: &str) -> String {
    format!("the thread on {place} was deleted; its finding stands until it is fixed, and is not posted again")
}

/// The note of the review on a finding whose thread we had resolved and cannot see now.
pub(super) fn unseen(place: &str) -> String {
    format!("the thread on {place}, which the bot had resolved, cannot be seen now; its finding counts until it can")
}

/// What it says of a thread that was resolved by somebody who may not decide that.
pub(super) fn no_right(place: &str, state: ThreadState) -> String {
    format!("the thread on {place} was {}; its finding stands", state.as_str())
}

/// What a finding is that its author may not settle.
fn weight(record: &FindingRecord) -> &'static str {
    match record.severity {
        _ if record.is_prompt_injection() => "an attempt to steer the review",
        _ if record.production_risk => "a danger to production",
        Severity::Critical => "a critical finding",
        Severity::Warning if record.breaks_serious_rule() => "a breach of a rule that a person has to approve",
        Severity::Warning => "a warning",
        Severity::Suggestion => "a suggestion",
    }
}

/// What is answered to the author, or to a person without a right, who tries to settle what is not theirs to settle.
pub(super) fn not_the_authors(record: &FindingRecord, role: AuthorRole) -> String {
    let why = weight(record);
    let (who, other) = match role {
        AuthorRole::Contributor => ("an author who may not push to the project", "A"),
        AuthorRole::Outsider => ("a person who may not push to the project", "A"),
        AuthorRole::Machine => ("an account that the forge does not name", "A"),
        _ => ("the author of a change, and people who committed to it,", "Another"),
    };
    format!(
        "This stands: {who} cannot settle {why}. {other} member of the project who may push to it can, by an answer such \
         as `won't fix` or `acknowledged`, or by resolving this thread."
    )
}

/// Advice to a member whose words come close to a decision.
pub(super) const HOW_TO_DECIDE: &str = "Your answer was read as an argument, and settles nothing by itself. To settle this, answer \
    with `won't fix` or `acknowledged` and nothing else, or resolve this thread.";

/// Note of the review on an author who tries to settle what is not theirs.
pub(super) fn not_the_authors_note(place: &str, record: &FindingRecord, role: AuthorRole) -> String {
    let why = weight(record);
    let other = if role == AuthorRole::Contributor {
        "a"
    } else {
        "another"
    };
    format!(
        "the author of the change has tried to settle the finding on {place}. It stands: {why} takes {other} member of the \
         project with at least the role Developer"
    )
}
