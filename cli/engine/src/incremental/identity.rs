//! The identity of findings at several places.
//!
//! A fingerprint is made of file, category and quoted code, so that it outlives re-wording and moved lines. The same line
//! may stand in a file more than once, and one line may have two problems of a kind. Each of those is a problem of its
//! own, with its own thread and its own end: what settles one settles no other. So a fingerprint that another place has
//! already is varied.

use std::collections::HashSet;

use conclave_shared::finding::{Finding, Fingerprint};

use super::removed::is_about_removed;
use crate::{
    findings::{claims_agree, lines_overlap, poor_instructions},
    review::{AnchorState, ExistingFinding, JudgedFinding},
};

/// Gives each new finding the fingerprint of the earlier one at its place, or one that no other place has.
///
/// Findings that stand choose first, and of those the ones whose claim an earlier one has made. Of several earlier ones at a
/// place, the one with nearly the same claim is meant; one that is left takes any claim of its kind and code, for models word
/// each report anew.
pub(super) fn identify(judged: &mut [JudgedFinding], earlier: &[ExistingFinding]) {
    let bases: Vec<Fingerprint> = judged.iter().map(|entry| entry.finding.fingerprint.clone()).collect();
    let variants = earlier.len() + judged.len() + 1;
    let mut order: Vec<usize> = (0..judged.len()).collect();
    let is_said_before = |at: usize| earlier.iter().any(|finding| is_same_claim(finding, &judged[at]));
    order.sort_by_cached_key(|&at| (!judged[at].stands(), !is_said_before(at)));
    let mut taken_by: Vec<Option<usize>> = vec![None; earlier.len()];
    let mut done: Vec<usize> = Vec::new();
    for at in order {
        let known = known_at(&judged[at], &bases[at], variants, earlier);
        let agrees = |other: usize| claims_agree(&judged[other].finding.claim, &judged[at].finding.claim);
        // Another report of the problem that has taken the identity.
        let repeats = |other: usize| overlap(&judged[other], &judged[at]) && (agrees(other) || !judged[at].stands());
        let free = || known.iter().filter(|&&of| taken_by[of].is_none_or(repeats));
        let same_claim = free().find(|&&of| claims_agree(&earlier[of].record.claim, &judged[at].finding.claim));
        let fingerprint = if let Some(&of) = same_claim.or_else(|| free().next()) {
            taken_by[of].get_or_insert(at);
            earlier[of].record.fingerprint.clone()
        } else if let Some(&twin) = done.iter().find(|&&other| bases[other] == bases[at] && repeats(other)) {
            judged[twin].finding.fingerprint.clone()
        } else {
            let is_taken = |candidate: &Fingerprint| {
                let by_earlier = earlier.iter().any(|finding| finding.record.fingerprint == *candidate);
                by_earlier
                    || done
                        .iter()
                        .any(|&other| judged[other].finding.fingerprint == *candidate)
            };
            let mut candidates = (1..=variants).map(|number| bases[at].variant(number));
            let free = candidates.find(|candidate| !is_taken(candidate));
            free.unwrap_or_else(|| bases[at].clone())
        };
        judged[at].finding.fingerprint = fingerprint;
        done.push(at);
    }
}

/// The earlier findings of the same kind and code at this place, and those that say the same about its lines. Those whose place
/// is known come before those whose place is not.
fn known_at(entry: &JudgedFinding, base: &Fingerprint, variants: usize, earlier: &[ExistingFinding]) -> Vec<usize> {
    let family: HashSet<Fingerprint> = (1..=variants).map(|number| base.variant(number)).collect();
    let mut here = Vec::new();
    let mut alike = Vec::new();
    let mut somewhere = Vec::new();
    for (at, finding) in earlier.iter().enumerate() {
        let is_of_family = family.contains(&finding.record.fingerprint);
        match finding.anchor {
            // Whatever kind of problem a reviewer calls it this time, and however much of the code around it is quoted.
            _ if !is_of_family && !is_same_code(finding, entry) => {
                alike.extend(is_same_claim(finding, entry).then_some(at));
            }
            // A merge request gets one of them, whatever line it names.
            _ if *base == poor_instructions() => here.push(at),
            AnchorState::Unchanged | AnchorState::ChangedBeside if is_at(finding, &entry.finding) => here.push(at),
            // What is gone may be reported beside any line.
            _ if is_about_removed(&finding.record) => somewhere.push(at),
            AnchorState::Unchanged | AnchorState::ChangedBeside => {}
            // Its lines are those of an earlier commit.
            AnchorState::Unknown | AnchorState::Changed => somewhere.push(at),
        }
    }
    here.extend(alike);
    here.extend(somewhere);
    here
}

/// Returns whether both are of one kind, in one file.
pub(super) fn is_same_kind(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    is_one_kind(&finding.record.category, &entry.finding.category) && finding.record.file == entry.finding.file
}

/// Returns whether two categories name one kind of problem: they are equal, or one says it in more words (`sql-injection` and
/// `injection`). Words that steer the review are a kind of their own.
fn is_one_kind(one: &str, other: &str) -> bool {
    let holds = |wide: &str, narrow: &str| narrow.split('-').all(|word| wide.split('-').any(|other| other == word));
    let steers = [one, other].contains(&Finding::PROMPT_INJECTION);
    one == other || (!steers && (holds(one, other) || holds(other, one)))
}

/// Returns whether both are of one kind, and stand on the same code of one file, wherever in it.
pub(super) fn is_same_code(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    let (Some(before), Some(now)) = (&finding.record.anchor, &entry.anchor) else {
        return false;
    };
    is_same_kind(finding, entry) && before.is_same_code(now)
}

/// Returns whether a new finding says the same as an earlier one about lines of it that stand.
fn is_same_claim(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    // The same code may stand in the wider quote once more, where no person has accepted it.
    let code = finding.code.trim();
    let holds_it_twice = !code.is_empty() && entry.finding.evidence.matches(code).count() > 1;
    is_on_its_lines(finding, &entry.finding)
        && !holds_it_twice
        && claims_agree(&finding.record.claim, &entry.finding.claim)
}

/// Returns whether a judge may take a new finding for an earlier one, also where their reviewers call them two kinds of problems: it is
/// about lines of it that stand, and no more severe.
pub(crate) fn may_repeat(finding: &ExistingFinding, new: &Finding) -> bool {
    is_on_its_lines(finding, new) && new.severity <= finding.record.severity
}

/// Returns whether a new finding is about lines of an earlier one that stand, and can be the same problem. Words that steer the review
/// are nothing that another kind of problem can stand for, and a breach is one of its own rule.
fn is_on_its_lines(finding: &ExistingFinding, new: &Finding) -> bool {
    let record = &finding.record;
    let steers = record.is_prompt_injection() || new.is_prompt_injection();
    let own_rule = record.rule.as_ref().map(|rule| &rule.id);
    let breaks_another = new.rule.as_ref().is_some_and(|rule| own_rule != Some(&rule.id));
    finding.anchor.stands() && is_at(finding, new) && !steers && !breaks_another
}

/// Returns whether a new finding is about lines of an earlier one, as it is recorded.
pub(super) fn is_at(finding: &ExistingFinding, new: &Finding) -> bool {
    finding.record.file == new.file && lines_overlap(&finding.record.lines(), &new.lines())
}

fn overlap(one: &JudgedFinding, other: &JudgedFinding) -> bool {
    lines_overlap(&one.finding.lines(), &other.finding.lines())
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
