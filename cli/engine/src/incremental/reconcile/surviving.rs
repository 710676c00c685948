//! How an earlier finding goes on, and which new findings speak of it.

use std::collections::HashMap;

use conclave_shared::{finding::RuleCitation, telemetry::FindingFate};

use super::decide::{Seen, own_rank, rank};
use crate::{
    incremental::{
        EarlierStatus, EarlierVerdicts, carried,
        identity::{is_at, is_same_code, is_same_kind, may_repeat},
        texts,
    },
    judge::not_repeated,
    review::{AnchorState, Before, ExistingFinding, JudgedFinding, Overruled, RemovedBy},
};

/// The finding as it stands now. If the judge keeps a new one of its kind that repeats it, that one speaks for it: it knows the code
/// as it is. The severity falls only where the code has changed, and a whole review has looked at it.
pub(super) fn stand(
    finding: &ExistingFinding,
    repeats: &[usize],
    judged: &mut [JudgedFinding],
    seen: Seen,
    degraded: bool,
) -> JudgedFinding {
    let mut own = own_rank(finding);
    let speaker = repeats
        .iter()
        .copied()
        .filter(|at| judged[*at].stands())
        .filter(|at| is_same_kind(finding, &judged[*at]) || is_repeat_by_code(finding, &judged[*at]))
        .max_by_key(|at| (rank(&judged[*at]), std::cmp::Reverse(*at)));
    let mut entry = match speaker {
        Some(at) => {
            if finding.anchor == AnchorState::Changed && !degraded {
                own = rank(&judged[at]);
            }
            let mut entry = judged[at].clone();
            // A report that quotes more of a line than these words would have them gone with the rest of it.
            let words = finding.record.anchor.as_ref().filter(|anchor| anchor.is_of_words());
            if let Some(words) = words.filter(|_| finding.anchor != AnchorState::Changed) {
                entry.anchor = Some(words.clone());
            }
            // Nor does one that quotes what is left end what these removed lines hold.
            if let (Some(before), Some(now)) = (&finding.record.anchor, entry.anchor.as_mut())
                && now.removed.is_empty()
                && finding.anchor != AnchorState::Changed
            {
                now.removed.clone_from(&before.removed);
            }
            // It goes on as the earlier one; its place among the new ones is empty.
            judged[at].finding.id.clear();
            entry
        }
        None => carried(finding),
    };
    let (severity, production_risk) = own.max(seen.worst.unwrap_or(own));
    let others = repeats.iter().filter_map(|at| judged[*at].finding.rule.as_ref());
    let rule = others
        .chain(&finding.record.rule)
        .fold(entry.finding.rule.take(), |rule, other| {
            RuleCitation::graver(rule, Some(other))
        });
    entry.finding.severity = severity;
    entry.production_risk = production_risk;
    entry.finding.rule = rule;
    entry.finding.fingerprint = finding.record.fingerprint.clone();
    entry.thread = shown_by(finding);
    entry.since = Some(finding.record.head_sha.clone());
    for at in repeats.iter().copied().filter(|at| Some(*at) != speaker) {
        entry.finding.add_found_by(&judged[at].finding.found_by);
        judged[at].remove_for(FindingFate::Merged, RemovedBy::EarlierReview, "duplicate", texts::KNOWN);
    }
    entry
}

/// Returns whether a thread showed the finding, and somebody deleted it.
pub(super) fn is_deleted(finding: &ExistingFinding) -> bool {
    finding.thread.is_none() && matches!(finding.before, Before::Posted | Before::Declined)
}

/// The thread that shows the finding. Also one that was deleted keeps it from being posted again: whoever may delete our
/// notes did not want it there.
pub(super) fn shown_by(finding: &ExistingFinding) -> Option<String> {
    finding.thread.clone().or_else(|| is_deleted(finding).then(String::new))
}

/// Notes beside a serious finding that the judge would withdraw it or call it fixed, and may not.
pub(super) fn note_disagreement(entry: &mut JudgedFinding, finding: &ExistingFinding, words: &EarlierVerdicts) {
    let Some(word) = words.on(&finding.id) else { return };
    if let Some(fault) = word.refutation_fault(finding) {
        let action = match word.status {
            EarlierStatus::Withdrawn => "withdraw",
            _ => "fixed",
        };
        entry.refutation.clone_from(&word.refutation);
        entry.overruled = Some(Overruled {
            action: action.to_owned(),
            severity: None,
            reason_code: None,
            reason: Some(word.reason.clone()),
            fault,
        });
    }
}

/// Notes beside each finding that weighs and stands by itself that the judge takes it for an earlier one, and may not.
pub(super) fn note_unmerged(judged: &mut [JudgedFinding], earlier: &[ExistingFinding], words: &EarlierVerdicts) {
    for entry in judged.iter_mut().filter(|entry| entry.stands() && entry.weighs()) {
        let said = words.repeats.iter().find(|(id, _)| *id == entry.finding.id);
        let target = said.and_then(|(_, target)| earlier.iter().find(|finding| finding.id == *target));
        let Some(finding) = target else { continue };
        let record = &finding.record;
        let fault = if hides(finding, entry) {
            not_repeated(&record.file, record.line, record.category == entry.finding.category)
        } else {
            texts::not_settled_too(&record.file, record.line)
        };
        entry.overruled = Some(Overruled {
            action: "merge".to_owned(),
            severity: None,
            reason_code: entry.reason_code.take(),
            reason: entry.reason.take(),
            fault,
        });
    }
}

/// The record of a serious finding that the judge withdrew, or called fixed, by code: it does not stand, and is kept with
/// its refutation.
pub(super) fn refuted(finding: &ExistingFinding, words: &EarlierVerdicts) -> Option<JudgedFinding> {
    let word = words.on(&finding.id).filter(|word| word.needs_refutation(finding))?;
    let refutation = word.refutation.clone().filter(|_| finding.record.is_serious())?;
    let mut entry = carried(finding);
    entry.production_risk = finding.record.production_risk;
    entry.thread = shown_by(finding);
    entry.since = Some(finding.record.head_sha.clone());
    let code = match word.status {
        EarlierStatus::Withdrawn => "withdrawn",
        _ => "fixed",
    };
    entry.remove_for(FindingFate::Dropped, RemovedBy::Judge, code, &word.reason);
    entry.refutation = Some(refutation);
    Some(entry)
}

/// Which new findings repeat which earlier one, by their places. The judge's word counts first, then the identity, then the
/// same kind of problem on the same code (a file that was renamed changes the identity), and last, for threads that are
/// still open, the same kind of problem on the same lines: there a mistake hides nothing, because the thread stands.
pub(super) fn repeats(
    earlier: &[ExistingFinding],
    words: &EarlierVerdicts,
    judged: &[JudgedFinding],
) -> HashMap<usize, Vec<usize>> {
    let mut repeats: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, entry) in judged.iter().enumerate() {
        let duplicate = entry.fate == FindingFate::Dropped && entry.reason_code.as_deref() == Some("duplicate");
        let said = words.repeats.iter().find(|(id, _)| *id == entry.finding.id);
        let by_word = said
            .and_then(|(_, target)| earlier.iter().position(|finding| finding.id == *target))
            .filter(|at| !hides(&earlier[*at], entry));
        let of = by_word.or_else(|| {
            let place = |test: &dyn Fn(&ExistingFinding) -> bool| earlier.iter().position(test);
            place(&|finding| finding.record.fingerprint == entry.finding.fingerprint)
                .or_else(|| place(&|finding| is_same_place(finding, entry)).filter(|_| entry.stands()))
        });
        if let Some(of) = of
            && (entry.stands() || duplicate)
        {
            repeats.entry(of).or_default().push(at);
        }
    }
    repeats
}

/// Returns whether the judge's word that a new finding repeats this earlier one would hide something: one of both is
/// serious, and they stand on different code, or are of different kinds and the new one is worse, so that the end or the severity of one
/// would become the other's. Where the earlier one's code is gone, it may be what a new one of its kind is about.
fn hides(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    let is_serious = entry.weighs() || finding.record.is_serious();
    let may_be_it = if is_same_kind(finding, entry) {
        !finding.anchor.stands() || is_at(finding, &entry.finding)
    } else {
        may_repeat(finding, &entry.finding) && rank(entry) <= own_rank(finding)
    };
    is_serious && entry.finding.fingerprint != finding.record.fingerprint && !may_be_it
}

/// Returns whether code, not only the judge's word, says that the new finding repeats the earlier one: [`identify`] has given
/// it the earlier one's fingerprint.
///
/// [`identify`]: crate::incremental::identity::identify
pub(super) fn is_repeat_by_code(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    finding.record.fingerprint == entry.finding.fingerprint
}

pub(super) fn is_same_place(finding: &ExistingFinding, entry: &JudgedFinding) -> bool {
    // On the same code they are two, or they would have one fingerprint.
    let is_other_quote = !is_same_code(finding, entry);
    finding.is_live() && is_other_quote && is_same_kind(finding, entry) && is_at(finding, &entry.finding)
}
