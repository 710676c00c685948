//! Several reports of one problem, as a judge sees them.

use conclave_shared::{
    finding::{Finding, RuleCitation},
    telemetry::FindingFate,
};

use crate::{
    findings::{claims_agree, lines_overlap, repeats},
    review::{JudgedFinding, RemovedBy},
};

/// Returns whether a judge may take a finding for a repetition of another one: both quote the same lines of a file, and they are of one
/// kind, or the one that is left is as severe and cites no other rule. The same kind of problem in other lines, on equal code too, is a
/// problem of its own.
pub(super) fn may_repeat(one: &Finding, other: &Finding) -> bool {
    let rules = one.rule.as_ref().zip(other.rule.as_ref());
    let is_covered = one.severity <= other.severity && rules.is_none_or(|(one, other)| one.id == other.id);
    one.file == other.file
        && lines_overlap(&one.lines(), &other.lines())
        && (one.category == other.category || is_covered)
}

/// Merges a group into the best proved of it, which takes over who found it, the worst severity and the most confidence.
pub(super) fn merge(judged: &mut [JudgedFinding], group: &[usize]) {
    let Some(&keeper) = group.iter().rev().max_by(|one, other| {
        let proof = |index: usize| {
            let finding = &judged[index].finding;
            (!finding.lacks_second_quote(), finding.second.is_some())
        };
        let confidence = |index: usize| judged[index].finding.confidence;
        proof(**one)
            .cmp(&proof(**other))
            .then(confidence(**one).total_cmp(&confidence(**other)))
    }) else {
        return;
    };
    for &index in group.iter().filter(|index| **index != keeper) {
        let Finding {
            severity,
            confidence,
            found_by,
            rule,
            ..
        } = judged[index].finding.clone();
        judged[keeper].production_risk |= judged[index].production_risk;
        let kept = &mut judged[keeper].finding;
        kept.severity = kept.severity.max(severity);
        kept.confidence = kept.confidence.max(confidence);
        kept.rule = RuleCitation::graver(kept.rule.take(), rule.as_ref());
        kept.add_found_by(&found_by);
        let id = kept.id.clone();
        merge_into(&mut judged[index], &id);
    }
}

fn merge_into(repeat: &mut JudgedFinding, kept: &str) {
    let reason = format!("the same problem as {kept}");
    repeat.remove_for(FindingFate::Merged, RemovedBy::Rules, "duplicate", reason);
}

/// Merges findings that stand, have one fingerprint on the same lines and say nearly the same, also where the coordinator keeps
/// each: they are one thread, and count once.
pub(super) fn merge_identical(judged: &mut [JudgedFinding]) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, entry) in judged.iter().enumerate().filter(|(_, entry)| entry.stands()) {
        let is_same = |group: &&mut Vec<usize>| is_same_place(&judged[group[0]].finding, &entry.finding);
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    for group in groups.iter().filter(|group| group.len() > 1) {
        merge(judged, group);
    }
}

fn is_same_place(one: &Finding, other: &Finding) -> bool {
    one.fingerprint == other.fingerprint
        && lines_overlap(&one.lines(), &other.lines())
        && claims_agree(&one.claim, &other.claim)
}

/// Merges what the coordinator has not decided on into its repeats that stand. What it has decided stays as it is.
pub(super) fn merge_undecided(judged: &mut [JudgedFinding], is_decided: impl Fn(&str) -> bool) {
    let findings: Vec<Finding> = judged.iter().map(|entry| entry.finding.clone()).collect();
    for group in repeats(&findings) {
        let standing: Vec<usize> = group.into_iter().filter(|index| judged[*index].stands()).collect();
        let (decided, open): (Vec<usize>, Vec<usize>) =
            standing.into_iter().partition(|index| is_decided(&findings[*index].id));
        match decided.first() {
            None => merge(judged, &open),
            Some(&keeper) => {
                for index in open {
                    // A worse one is not hidden behind what the coordinator has settled.
                    let rule = |at: usize| {
                        judged[at]
                            .finding
                            .on_breach()
                            .filter(|on_breach| on_breach.is_serious())
                    };
                    if judged[index].finding.severity <= judged[keeper].finding.severity && rule(index) <= rule(keeper)
                    {
                        let id = judged[keeper].finding.id.clone();
                        judged[keeper].production_risk |= judged[index].production_risk;
                        merge_into(&mut judged[index], &id);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use conclave_shared::{reviewer::ReviewerName, severity::Severity};

    use super::*;
    use crate::judge::test_support::finding;

    fn by(reviewer: &str, id: &str, line: u32, claim: &str) -> Finding {
        let mut finding = finding(id, Severity::Warning, id, "src/a.py", line);
        finding.reviewer = ReviewerName::new(reviewer).expect("a name");
        finding.found_by = vec![finding.reviewer.clone()];
        finding.claim = claim.to_owned();
        finding
    }

    const CLAIM: &str = "`load_user` returns None for an unknown id, and the caller dereferences it.";
    const REWORDED: &str = "The caller dereferences the result of `load_user`, which is None when the id is unknown.";

    #[test]
    fn the_best_proved_is_kept_and_takes_over_what_the_others_knew() {
        let mut second = by("correctness", "F2", 10, REWORDED);
        second.severity = Severity::Critical;
        let mut first = by("security", "F1", 10, CLAIM);
        first.confidence = 0.95;
        let mut judged: Vec<_> = [second, first].into_iter().map(JudgedFinding::kept).collect();
        merge(&mut judged, &[0, 1]);
        assert_eq!(
            (judged[0].fate, judged[1].fate),
            (FindingFate::Merged, FindingFate::Kept)
        );
        assert_eq!(judged[1].finding.severity, Severity::Critical);
        assert_eq!(judged[1].finding.found_by.len(), 2);
        assert_eq!(judged[0].reason.as_deref(), Some("the same problem as F1"));
    }

    #[test]
    fn what_the_coordinator_forgot_is_merged_and_what_it_settled_is_not() {
        let both = || {
            vec![
                JudgedFinding::kept(by("security", "F1", 10, CLAIM)),
                JudgedFinding::kept(by("correctness", "F2", 10, REWORDED)),
            ]
        };
        let mut judged = both();
        merge_undecided(&mut judged, |id| id == "F2");
        assert_eq!(
            (judged[0].fate, judged[1].fate),
            (FindingFate::Merged, FindingFate::Kept)
        );
        let mut judged = both();
        merge_undecided(&mut judged, |_| true);
        assert!(judged.iter().all(JudgedFinding::stands), "it has kept both");
        let mut judged = both();
        judged[0].finding.severity = Severity::Critical;
        merge_undecided(&mut judged, |id| id == "F2");
        assert!(judged.iter().all(JudgedFinding::stands), "a worse one is not hidden");
    }
}
