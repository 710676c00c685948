//! Serious findings that the judge took out by code of the change itself: the bot leaves the approval to a person for as
//! long as their files are as they were, because nothing of them is decided anew.

use conclave_shared::telemetry::FindingFate;

use super::authority::is_settled_by_word;
use crate::{
    diff::FileDiff,
    incremental::carried::recorded,
    review::{ExistingFinding, FindingRecord, JudgedFinding, MAX_CLAIM, RefutedFinding, RemovedBy, ThreadState},
};

/// Maximum number of refuted findings that are remembered. Of more than that the files are reviewed again instead.
pub(super) const MAX_REFUTED: usize = 20;

/// Maximum length of each code that is remembered, in characters.
const MAX_CODE: usize = 600;

impl RefutedFinding {
    /// The findings of a review that were refuted by the change itself.
    pub(super) fn all_of(findings: &[JudgedFinding], head_sha: &str) -> Vec<Self> {
        let refuted = findings.iter().filter_map(|entry| {
            let refutation = entry.refuted_by_this_change()?.clone();
            let mut record = FindingRecord::new(entry, head_sha);
            record.severity = entry.reported.unwrap_or(record.severity).max(record.severity);
            record.claim = clip(&record.claim, MAX_CLAIM);
            record.anchor = None;
            if let Some(since) = &entry.since {
                record.head_sha.clone_from(since);
            }
            Some(Self {
                record,
                evidence: clip(&entry.finding.evidence, MAX_CODE),
                refutation: refutation.clipped(MAX_CODE),
                reason: entry.reason.as_deref().map(|reason| clip(reason, MAX_CLAIM)),
            })
        });
        refuted.collect()
    }

    /// The finding in a later review: it does not stand, and a person still has to compare it with its refutation.
    fn carried(&self) -> JudgedFinding {
        let mut entry = recorded("", &self.record, self.evidence.clone());
        entry.production_risk = self.record.production_risk;
        entry.since = Some(self.record.head_sha.clone());
        entry.remove(FindingFate::Dropped, RemovedBy::Judge);
        entry.reason_code = Some("refuted".to_owned());
        entry.reason.clone_from(&self.reason);
        entry.refutation = Some(self.refutation.clone());
        entry
    }
}

/// What was refuted in earlier reviews of files that are as they were, and no person has settled since.
pub fn still_refuted(
    refuted: &[RefutedFinding],
    unchanged: &[FileDiff],
    earlier: &[ExistingFinding],
) -> Vec<JudgedFinding> {
    let is_settled = |refuted: &RefutedFinding| {
        let same = |finding: &&ExistingFinding| finding.record.fingerprint == refuted.record.fingerprint;
        earlier
            .iter()
            .find(same)
            .is_some_and(|finding| finding.state == ThreadState::ResolvedByPerson || is_settled_by_word(finding))
    };
    refuted
        .iter()
        .filter(|refuted| unchanged.iter().any(|file| file.path == refuted.record.file) && !is_settled(refuted))
        .map(RefutedFinding::carried)
        .collect()
}

fn clip(text: &str, max_characters: usize) -> String {
    text.chars().take(max_characters).collect()
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::{
        incremental::test_support::{FILE, existing, fresh, said},
        review::{AuthorRole, Refutation, RefutationStatus},
    };

    #[test]
    fn what_the_change_itself_refutes_is_carried_while_its_file_is_as_it_was_and_no_person_has_settled_it() {
        let refuted = RefutedFinding {
            record: FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111"),
            evidence: "c".into(),
            refutation: Refutation {
                file: "src/guard.py".into(),
                line: 3,
                end_line: None,
                quote: "name = checked(name)".into(),
                status: RefutationStatus::ThisChange,
                needed: true,
                fault: None,
            },
            reason: None,
        };
        let unchanged = [FileDiff {
            path: FILE.into(),
            ..FileDiff::default()
        }];
        let carried = |unchanged: &[FileDiff], earlier: &[ExistingFinding]| {
            still_refuted(std::slice::from_ref(&refuted), unchanged, earlier)
        };
        let [entry] = &carried(&unchanged, &[])[..] else {
            panic!("it is carried")
        };
        assert!(!entry.stands() && entry.refuted_by_this_change().is_some());
        assert_eq!(carried(&[], &[]), [], "its file is reviewed again, or gone");
        let mut argued = existing("E1", "c");
        argued.replies.push(said(AuthorRole::Member, "I disagree."));
        assert_eq!(carried(&unchanged, &[argued.clone()]).len(), 1, "that is no decision");
        argued.replies.push(said(AuthorRole::Member, "won't fix"));
        assert_eq!(carried(&unchanged, &[argued]), []);
        let mut resolved = existing("E1", "c");
        resolved.state = ThreadState::ResolvedByPerson;
        assert_eq!(carried(&unchanged, &[resolved]), []);
    }
}
