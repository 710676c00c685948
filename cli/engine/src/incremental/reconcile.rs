//! What stands, and what becomes of our threads.

mod accepted;
mod decide;
mod surviving;

use std::cmp::Reverse;

use conclave_shared::{
    finding::Fingerprint,
    telemetry::{FindingFate, SettledBy, Settlement},
};

use self::{
    accepted::accepted,
    decide::{Outcome, Seen, change, decide, is_unseen, lacks_right, who_lacks_right},
    surviving::{is_deleted, is_repeat_by_code, note_disagreement, note_unmerged, refuted, repeats, stand},
};
use super::{
    EarlierVerdicts, ReplyIntent,
    authority::{argument, decision},
    identity::identify,
    texts,
};
use crate::{
    memory::claim_key,
    review::{
        AcceptedFinding, AuthorRole, Before, ExistingFinding, FindingRecord, JudgedFinding, MAX_CLAIM, Remembered,
        RemovedBy, SettledFinding, ThreadAction, ThreadState,
    },
};

/// What is known when the judge is done.
#[derive(Debug)]
pub struct ReconcileInput<'a> {
    /// The earlier findings, assessed.
    pub earlier: &'a [ExistingFinding],
    /// The judge's word on them; nothing without a judge.
    pub words: &'a EarlierVerdicts,
    /// The new findings, judged.
    pub judged: Vec<JudgedFinding>,
    /// True if the review is not a whole one. Then nothing counts as fixed, whoever says so.
    pub degraded: bool,
    /// The reviewed commit.
    pub head_sha: &'a str,
}

/// What follows from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reconciled {
    /// New and carried findings, the severe ones first.
    pub findings: Vec<JudgedFinding>,
    /// What becomes of each of our threads.
    pub threads: Vec<ThreadAction>,
    /// What the carry-over has to keep of findings that do not stand, or that a person has taken over.
    pub remembered: Vec<Remembered>,
    /// The memory, which stays as it is, of findings that stand only because the forge does not show their threads.
    pub unseen: Vec<(Fingerprint, Before)>,
    /// What was settled since the last review.
    pub settled: Vec<SettledFinding>,
    /// Serious findings that do not stand because people have accepted them.
    pub accepted: Vec<AcceptedFinding>,
    /// What the review says of it.
    pub notes: Vec<String>,
}

/// Decides about all earlier findings, and joins them with the new ones.
///
/// A new finding that repeats an earlier one is not posted: it takes the earlier one's place, with its identity and its
/// thread, or it is dropped where people have settled the matter. It is posted anew, in the old thread, only if it has
/// become worse: a higher severity, or a danger to production that was none.
pub fn reconcile(input: ReconcileInput<'_>) -> Reconciled {
    let ReconcileInput {
        earlier,
        words,
        mut judged,
        degraded,
        head_sha,
    } = input;
    identify(&mut judged, earlier);
    let repeats = repeats(earlier, words, &judged);
    let mut settled = Reconciled::default();
    let mut count = Count::default();
    for (at, finding) in earlier.iter().enumerate() {
        let repeats = repeats.get(&at).map_or(&[][..], Vec::as_slice);
        let seen = Seen::new(finding, repeats, &judged);
        let outcome = decide(finding, words, seen, degraded);
        let change = change(finding, outcome, words, seen, head_sha);
        count.add(outcome);
        remember(&mut settled, finding, outcome);
        settled.accepted.extend(accepted(finding, outcome));
        if let Some((how, by)) = settlement(finding, outcome) {
            settled.settled.push(settled_as(&finding.record, how, by));
        }
        if let Some(thread) = &finding.thread {
            settled.threads.push(ThreadAction {
                thread: thread.clone(),
                fingerprint: finding.record.fingerprint.clone(),
                change,
            });
        }
        match outcome {
            Outcome::Stands | Outcome::Worse | Outcome::Back | Outcome::TakenBack => {
                let mut entry = stand(finding, repeats, &mut judged, seen, degraded);
                if !degraded {
                    note_disagreement(&mut entry, finding, words);
                }
                settled.findings.push(entry);
                let place = format!("{}:{}", finding.record.file, finding.record.line);
                if is_unseen(finding) {
                    let known = (finding.record.fingerprint.clone(), finding.before);
                    settled.unseen.push(known);
                    settled.notes.push(texts::unseen(&place));
                } else if is_deleted(finding) {
                    settled.notes.push(texts::deleted(&place));
                } else if matches!(
                    finding.state,
                    ThreadState::ResolvedByOutsider | ThreadState::ResolvedByUnnamed | ThreadState::ResolvedByOther
                ) {
                    settled.notes.push(texts::no_right(&place, finding.state));
                } else if lacks_right(finding) {
                    let note = texts::not_the_authors_note(&place, &finding.record, who_lacks_right(finding));
                    settled.notes.push(note);
                }
            }
            outcome => {
                if !degraded && outcome.is_by_the_judge() {
                    settled.findings.extend(refuted(finding, words));
                }
                // That it repeats what people have settled is the judge's word alone: a finding that weighs stands then.
                let by_word = |at: &&usize| {
                    let entry = &judged[**at];
                    let said = words.repeats.iter().any(|(id, _)| *id == entry.finding.id);
                    said && entry.weighs() && !is_repeat_by_code(finding, entry)
                };
                let settled_too: Vec<usize> = repeats.iter().filter(|at| !by_word(at)).copied().collect();
                for repeat in &settled_too {
                    let (fate, by) = (FindingFate::Dropped, RemovedBy::EarlierReview);
                    judged[*repeat].remove_for(fate, by, "already_handled", texts::SETTLED);
                }
            }
        }
    }
    note_unmerged(&mut judged, earlier, words);
    settled.notes.extend(count.notes());
    // What stands comes first; within a severity the judge's order holds.
    settled
        .findings
        .splice(0..0, judged.into_iter().filter(|entry| !entry.finding.id.is_empty()));
    let rank = |entry: &JudgedFinding| Reverse((entry.stands(), entry.finding.severity));
    settled.findings.sort_by_key(rank);
    settled
}

/// What the carry-over keeps of a finding that does not stand, or that a person has taken over.
fn remember(settled: &mut Reconciled, finding: &ExistingFinding, outcome: Outcome) {
    let before = match outcome {
        Outcome::Fixed | Outcome::FixedInTalk | Outcome::FixedElsewhere | Outcome::Withdrawn | Outcome::Declined(_)
            if is_unseen(finding) =>
        {
            finding.before
        }
        // Its thread stays resolved by that person; what we say of it is remembered here.
        Outcome::Fixed
            if matches!(
                finding.state,
                ThreadState::ResolvedByAuthor
                    | ThreadState::ResolvedByOutsider
                    | ThreadState::ResolvedByUnnamed
                    | ThreadState::ResolvedByOther
            ) =>
        {
            Before::Fixed
        }
        Outcome::Declined(_) => Before::Declined,
        Outcome::Fixed | Outcome::FixedElsewhere | Outcome::Withdrawn => Before::Resolved,
        Outcome::Settled | Outcome::Closed if finding.state == ThreadState::ResolvedByUs => {
            if finding.before == Before::Declined {
                Before::Declined
            } else {
                Before::Resolved
            }
        }
        Outcome::FixedInTalk => Before::Fixed,
        Outcome::Stands if finding.before == Before::Reopened => Before::Reopened,
        Outcome::Stands | Outcome::Worse | Outcome::Back | Outcome::TakenBack | Outcome::Settled | Outcome::Closed => {
            return;
        }
    };
    // A thread can be deleted, and code can come back.
    let outlives_thread = finding.record.is_serious() && matches!(before, Before::Declined | Before::Resolved);
    if finding.thread.is_none() && !outlives_thread {
        // Nobody can come back to it.
        return;
    }
    settled.remembered.push(Remembered {
        fingerprint: finding.record.fingerprint.clone(),
        severity: finding.record.severity,
        production_risk: finding.record.production_risk,
        before,
        record: outlives_thread.then(|| FindingRecord {
            claim: finding.record.claim.chars().take(MAX_CLAIM).collect(),
            ..finding.record.clone()
        }),
        heard: None,
    });
}

/// How the finding was settled and by whom, if it is this review that notices it. What the author of the change has settled
/// counts as resolved, whatever they said: a repository learns what to leave out from other people's plain words only.
fn settlement(finding: &ExistingFinding, outcome: Outcome) -> Option<(Settlement, SettledBy)> {
    if is_unseen(finding) {
        // The review that resolved its thread has reported it.
        return None;
    }
    let decision = decision(finding);
    let word = decision.map(|decision| decision.intent);
    let how = match outcome {
        Outcome::FixedElsewhere => Settlement::Fixed,
        Outcome::Fixed | Outcome::FixedInTalk if finding.before != Before::Fixed => Settlement::Fixed,
        // Whoever takes a risk does not say that there is none.
        Outcome::Declined(_) if word == Some(ReplyIntent::Acknowledges) => Settlement::Resolved,
        Outcome::Declined(_) => Settlement::Rejected,
        Outcome::Withdrawn if word == Some(ReplyIntent::Disagrees) => Settlement::Rejected,
        Outcome::Withdrawn => Settlement::Resolved,
        Outcome::Settled
            if matches!(
                finding.state,
                ThreadState::ResolvedByPerson | ThreadState::ResolvedByAuthor
            ) && finding.stood =>
        {
            match word {
                Some(ReplyIntent::Declines | ReplyIntent::Disagrees) => Settlement::Rejected,
                _ => Settlement::Resolved,
            }
        }
        _ => return None,
    };
    let by_author = match outcome {
        Outcome::Withdrawn => argument(finding).is_none_or(|argument| argument.role != AuthorRole::Member),
        _ => {
            finding.state == ThreadState::ResolvedByAuthor
                || decision.is_some_and(|decision| decision.role == AuthorRole::Author)
        }
    };
    Some(match how {
        Settlement::Fixed => (how, SettledBy::Code),
        _ if by_author => (Settlement::Resolved, SettledBy::Author),
        _ => (how, SettledBy::Member),
    })
}

/// How many went which way.
#[derive(Debug, Default)]
struct Count {
    carried: usize,
    fixed: usize,
    settled: usize,
}

impl Count {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Stands | Outcome::Worse | Outcome::Back | Outcome::TakenBack => self.carried += 1,
            Outcome::Fixed | Outcome::FixedElsewhere | Outcome::FixedInTalk => self.fixed += 1,
            Outcome::Declined(_) | Outcome::Withdrawn => self.settled += 1,
            Outcome::Settled | Outcome::Closed => {}
        }
    }

    fn notes(&self) -> Vec<String> {
        let note = |number: usize, text: fn(usize) -> String| (number > 0).then(|| text(number));
        [
            note(self.carried, texts::carried),
            note(self.fixed, texts::gone),
            note(self.settled, texts::settled),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What is remembered of a finding, and how it was settled.
fn settled_as(record: &FindingRecord, outcome: Settlement, by: SettledBy) -> SettledFinding {
    SettledFinding {
        fingerprint: record.fingerprint.clone(),
        section: record.section.clone(),
        severity: record.severity,
        category: record.category.clone(),
        file: record.file.clone(),
        claim: claim_key(&record.category, &record.claim),
        outcome,
        by: Some(by),
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
