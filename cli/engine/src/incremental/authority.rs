//! Whose word settles an earlier finding, and what is only said about it.
//!
//! A member with at least the role Developer settles what they like. The author of the merge request, and everybody who
//! committed to it, is such a member only up to a severity that the target branch names; their other words are arguments. All words
//! of an author without that role are.

use conclave_shared::{finding::Fingerprint, severity::Severity};
use sha2::{Digest, Sha256};

use super::{ReplyIntent, declines_with_reason, intent, reply::is_courtesy};
use crate::{
    repo_config::AuthorSettles,
    review::{AuthorRole, Before, ExistingFinding, FindingRecord, PatchId, Reply, ThreadState},
    untrusted::Untrusted,
};

/// Whether the author of the merge request may settle the finding. What endangers production weighs as much as what is critical;
/// a breach that blocks or that a person has to approve, and words that try to steer the review, are never theirs to judge.
pub(super) fn author_may_settle(record: &FindingRecord, settings: AuthorSettles) -> bool {
    let most = match settings {
        AuthorSettles::None => return false,
        AuthorSettles::Suggestion => Severity::Suggestion,
        AuthorSettles::Warning => Severity::Warning,
        AuthorSettles::Critical => Severity::Critical,
    };
    let weight = if record.production_risk {
        Severity::Critical
    } else {
        record.severity
    };
    weight <= most && !record.is_prompt_injection() && !record.breaks_serious_rule()
}

/// What was decided about a finding in its thread, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision<'f> {
    pub(super) author: &'f Untrusted,
    pub(super) intent: ReplyIntent,
    pub(super) role: AuthorRole,
}

/// The last word of those who may settle the finding; nothing if it may be another person's text, or if the author of the merge
/// request has said something else since, before it was acted on.
pub(super) fn decision(finding: &ExistingFinding) -> Option<Decision<'_>> {
    let may_settle = |reply: &Reply| {
        let has_right = match reply.role {
            AuthorRole::Member => true,
            AuthorRole::Author => finding.author_may_settle,
            AuthorRole::Us | AuthorRole::Contributor | AuthorRole::Outsider | AuthorRole::Machine => false,
        };
        // Thanks take nothing back.
        has_right && !is_courtesy(&reply.body.own_words())
    };
    let replies = to_this_severity(finding);
    let at = replies.iter().rposition(may_settle)?;
    let last = &replies[at];
    let objects = |reply: &Reply| {
        let agrees = || settles(meaning(finding, reply)) || is_courtesy(&reply.body.own_words());
        reply.role == AuthorRole::Author && !agrees()
    };
    let is_open = finding.state != ThreadState::ResolvedByUs && replies[at + 1..].iter().any(objects);
    (!last.edited && !is_open).then(|| Decision {
        author: &last.author,
        intent: meaning(finding, last),
        role: last.role,
    })
}

/// The answers to the finding as severe as it is: of one that was opened again because it has become worse, those behind the
/// comment that says so. Who accepts a warning has not accepted a critical finding.
fn to_this_severity(finding: &ExistingFinding) -> &[Reply] {
    let is_open_again = finding.raised && finding.state != ThreadState::ResolvedByUs;
    let told = finding.replies.iter().rposition(|reply| reply.role == AuthorRole::Us);
    let first = told.filter(|_| is_open_again).map_or(0, |at| at + 1);
    &finding.replies[first..]
}

/// Reads an answer to this finding: a reason beside a decision takes nothing from it where the finding is not serious.
fn meaning(finding: &ExistingFinding, reply: &Reply) -> ReplyIntent {
    let words = reply.body.own_words();
    match intent(&words, finding.language) {
        ReplyIntent::Mixed if !finding.record.is_serious() && declines_with_reason(&words, finding.language) => {
            ReplyIntent::Declines
        }
        intent => intent,
    }
}

/// Whether those who may settle the finding have done so in its thread.
pub(super) fn is_settled_by_word(finding: &ExistingFinding) -> bool {
    decision(finding).is_some_and(|decision| settles(decision.intent))
}

/// Returns whether a person has settled the finding, by a word or by resolving its thread.
pub(super) fn is_settled_by_person(finding: &ExistingFinding) -> bool {
    let is_resolved = match finding.state {
        ThreadState::ResolvedByPerson => true,
        ThreadState::ResolvedByAuthor => finding.author_may_settle,
        ThreadState::Open
        | ThreadState::ResolvedByUs
        | ThreadState::ResolvedByOutsider
        | ThreadState::ResolvedByUnnamed
        | ThreadState::ResolvedByOther
        | ThreadState::Unknown => false,
    };
    is_resolved || is_settled_by_word(finding)
}

/// Returns whether this intent settles a finding, if its author has the right to.
const fn settles(intent: ReplyIntent) -> bool {
    matches!(intent, ReplyIntent::Declines | ReplyIntent::Acknowledges)
}

/// The last word of a member, or of the author, that we have not answered and that does not settle the finding: the coordinator reads it.
pub(super) fn unanswered(finding: &ExistingFinding) -> Option<Argument> {
    let behind_us = finding.replies.iter().rposition(|reply| reply.role == AuthorRole::Us);
    let new = &finding.replies[behind_us.map_or(0, |at| at + 1)..];
    argument_in(finding, new)
}

/// The same, whether or not it was answered.
pub(super) fn argument(finding: &ExistingFinding) -> Option<Argument> {
    argument_in(finding, to_this_severity(finding))
}

/// Returns whether the code of a finding has changed so that it may be fixed, and no judge has found that it is.
pub(super) fn may_be_fixed(finding: &ExistingFinding) -> bool {
    finding.anchor.is_changed() && finding.before != Before::Fixed
}

/// A mark of all that a judge has to decide about a finding: what members and the author have said, and its file, where it may be fixed;
/// none where there is neither.
fn mark(finding: &ExistingFinding) -> Option<String> {
    let said = finding.replies.iter().filter(|reply| reply.role.argues());
    let mut said: Vec<String> = said
        .flat_map(|reply| [reply.author.sanitized(), reply.body.sanitized()])
        .collect();
    if may_be_fixed(finding) {
        said.push(finding.text.as_ref().map_or("", PatchId::as_str).to_owned());
    }
    let hash = Sha256::digest(said.join("\0"));
    (!said.is_empty()).then(|| hex::encode(&hash[..8]))
}

/// Returns whether a judge has decided about all that there is to decide about the finding.
pub(super) fn is_heard(finding: &ExistingFinding) -> bool {
    finding.heard.is_some() && finding.heard == mark(finding)
}

/// The marks of what a judge has decided about: in this review, or before it where it is the same. Whether a finding is fixed is decided
/// only by a word on it.
pub(crate) fn heard_words(
    earlier: &[ExistingFinding],
    by_this_review: bool,
    has_word: impl Fn(&str) -> bool,
) -> Vec<(Fingerprint, String)> {
    let is_decided = |finding: &&ExistingFinding| {
        let is_said = || !may_be_fixed(finding) || has_word(&finding.id);
        (by_this_review && is_said()) || is_heard(finding)
    };
    let heard = earlier.iter().filter(is_decided);
    heard
        .filter_map(|finding| Some((finding.record.fingerprint.clone(), mark(finding)?)))
        .collect()
}

/// What a member or the author says about a finding without settling it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) role: AuthorRole,
    /// Whether a decision of its author's settles the finding.
    pub(super) has_right: bool,
    /// Whether it would settle the finding, if its author might.
    pub(super) is_without_right: bool,
    /// Whether it may be meant to settle the finding: the answer says how to do that, and who can.
    pub(super) comes_close: bool,
}

fn argument_in(finding: &ExistingFinding, replies: &[Reply]) -> Option<Argument> {
    let last_of = |argues: fn(AuthorRole) -> bool| replies.iter().rfind(|reply| argues(reply.role));
    // Behind a member's word that of an author without a right adds nothing, and takes nothing away.
    let last =
        last_of(|role| role.argues() && role != AuthorRole::Contributor).or_else(|| last_of(AuthorRole::argues))?;
    let intent = meaning(finding, last);
    let settles = settles(intent);
    // What is serious is not withdrawn on a word, so that a dispute about it has to end in a decision.
    let disputes = intent == ReplyIntent::Disagrees && finding.record.is_serious();
    let has_right = match last.role {
        AuthorRole::Author => finding.author_may_settle,
        role => role == AuthorRole::Member,
    };
    (!settles || !has_right || last.edited).then_some(Argument {
        role: last.role,
        has_right,
        is_without_right: settles && !has_right,
        comes_close: intent == ReplyIntent::Mixed || disputes,
    })
}
