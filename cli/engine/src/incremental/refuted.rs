//! Serious findings that a judge took out by code. They stay out for as long as that code stands and theirs does not change; where
//! it is code of the change itself, the bot leaves the approval to a person, because nothing of them is decided anew.

use std::collections::HashMap;

use conclave_shared::telemetry::FindingFate;

use super::{Lines, assess::is_there, authority::is_settled_by_word};
use crate::{
    diff::{ChangeKind, FileDiff},
    incremental::carried::recorded,
    review::{
        ExistingFinding, FindingRecord, JudgedFinding, MAX_CLAIM, RefutationStatus, RefutedFinding, RefutingCode,
        RemovedBy, Squeezed, ThreadState,
    },
};

/// Maximum number of refuted findings of one review that are remembered. Of more than that the files are reviewed again instead.
pub(super) const MAX_REFUTED: usize = 20;

/// Maximum length of each code that is remembered to be shown, in characters.
const MAX_CODE: usize = 600;

/// The same where nothing is shown of it.
const MAX_NOT_SHOWN: usize = 80;

impl RefutedFinding {
    /// The findings of a review that were refuted by code.
    pub(super) fn all_of(findings: &[JudgedFinding], head_sha: &str) -> Vec<Self> {
        let refuted = findings.iter().filter_map(|entry| {
            let refutation = entry.refuted_by_code()?.clone();
            let is_shown = refutation.status == RefutationStatus::ThisChange;
            let most = if is_shown { MAX_CODE } else { MAX_NOT_SHOWN };
            let mut record = FindingRecord::new(entry, head_sha);
            record.severity = entry.reported.unwrap_or(record.severity).max(record.severity);
            record.claim = clip(&record.claim, MAX_CLAIM);
            record.production_risk |= entry.production_risk;
            if let Some(since) = &entry.since {
                record.head_sha.clone_from(since);
            }
            Some(Self {
                record,
                evidence: clip(&entry.finding.evidence, most),
                code: Squeezed::of(&refutation.quote),
                refutation: refutation.clipped(most),
                reason: entry.reason.as_deref().map(|reason| clip(reason, MAX_CLAIM)),
            })
        });
        refuted.collect()
    }

    /// The state of the code that refutes it, in these files at head.
    pub(super) fn refuting(&self, files: &[FileDiff], texts: &HashMap<&str, Lines>) -> RefutingCode {
        let Some(code) = &self.code else {
            return RefutingCode::Stands;
        };
        let path = self.refuting_path(files);
        let is_deleted = |file: &FileDiff| file.path == path && file.kind == ChangeKind::Deleted;
        let stands = !files.iter().any(is_deleted) && texts.get(path).is_some_and(|lines| code.stands_in(lines));
        if stands {
            RefutingCode::Stands
        } else {
            RefutingCode::Gone
        }
    }

    /// The file with the code that refutes it, by its present name.
    pub(super) fn refuting_path<'a>(&'a self, files: &'a [FileDiff]) -> &'a str {
        let old = &self.refutation.file;
        let renamed = files
            .iter()
            .find(|file| file.kind == ChangeKind::Renamed && file.old_path == *old);
        renamed.map_or(old, |file| &file.path)
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

/// The findings that earlier reviews refuted by code of the change itself, where the code of both is as it was, and no person has settled it
/// since. `unchanged` are the files whose patches are as they were, by which older versions go.
pub fn still_refuted(
    refuted: &[RefutedFinding],
    unchanged: &[FileDiff],
    earlier: &[ExistingFinding],
    files: &[FileDiff],
    texts: &super::Texts,
) -> Vec<JudgedFinding> {
    let lines: HashMap<&str, Lines> = texts
        .iter()
        .map(|(path, text)| (path.as_str(), Lines::new(text)))
        .collect();
    let is_settled = |refuted: &RefutedFinding| {
        let same = |finding: &&ExistingFinding| finding.record.fingerprint == refuted.record.fingerprint;
        earlier
            .iter()
            .find(same)
            .is_some_and(|finding| finding.state == ThreadState::ResolvedByPerson || is_settled_by_word(finding))
    };
    let holds = |refuted: &&RefutedFinding| {
        let of_change = refuted.refutation.status == RefutationStatus::ThisChange;
        let stands = match refuted.record.anchor {
            Some(_) => is_there(&refuted.record, files, &lines),
            None => unchanged.iter().any(|file| file.path == refuted.record.file),
        };
        of_change && stands && refuted.refuting(files, &lines) == RefutingCode::Stands && !is_settled(refuted)
    };
    refuted.iter().filter(holds).map(RefutedFinding::carried).collect()
}

fn clip(text: &str, max_characters: usize) -> String {
    text.chars().take(max_characters).collect()
}

#[cfg(test)]
mod tests {
    use conclave_shared::severity::Severity;

    use super::*;
    use crate::{
        incremental::{
            Texts,
            test_support::{FILE, TEXT, existing, fresh, said},
        },
        review::{AuthorRole, Refutation},
    };

    #[test]
    fn without_anchors_it_is_carried_while_its_file_is_as_it_was_and_no_person_has_settled_it() {
        let refuted = RefutedFinding {
            record: FindingRecord {
                anchor: None,
                ..FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111")
            },
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
            code: None,
            reason: None,
        };
        let unchanged = [FileDiff {
            path: FILE.into(),
            ..FileDiff::default()
        }];
        let carried = |unchanged: &[FileDiff], earlier: &[ExistingFinding]| {
            let refuted = std::slice::from_ref(&refuted);
            still_refuted(refuted, unchanged, earlier, &[], &Texts::new())
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

    #[test]
    fn it_is_carried_while_its_own_code_and_the_code_that_refutes_it_stand() {
        let guard = "name = checked(name)";
        let refuted = |status| RefutedFinding {
            record: FindingRecord::new(&fresh("F1", Severity::Critical, "c"), "1111111111"),
            evidence: "c".into(),
            refutation: Refutation {
                file: "src/guard.py".into(),
                line: 3,
                end_line: None,
                quote: guard.into(),
                status,
                needed: true,
                fault: None,
            },
            code: Squeezed::of(guard),
            reason: None,
        };
        let carried = |status, own: &str, other: Option<&str>| {
            let mut texts = Texts::from([(FILE.to_owned(), own.to_owned())]);
            texts.extend(other.map(|text| ("src/guard.py".to_owned(), text.to_owned())));
            still_refuted(&[refuted(status)], &[], &[], &[], &texts).len()
        };
        let of_change = RefutationStatus::ThisChange;
        let edited = TEXT.replace("i\n", "i # x\n");
        assert_eq!(carried(of_change, &edited, Some(guard)), 1, "another line of its file");
        assert_eq!(carried(of_change, &TEXT.replace("c\n", "C\n"), Some(guard)), 0);
        assert_eq!(carried(of_change, TEXT, Some("# name = checked(name)")), 0);
        assert_eq!(carried(of_change, TEXT, None), 0);
        assert_eq!(
            carried(RefutationStatus::UnchangedCode, TEXT, Some(guard)),
            0,
            "nobody has to compare"
        );
    }
}
