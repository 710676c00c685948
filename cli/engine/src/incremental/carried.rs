//! An earlier finding as one of this review.

use conclave_shared::finding::{EvidenceStatus, Finding};

use crate::review::{ExistingFinding, FindingRecord, JudgedFinding};

/// An earlier finding that no new one repeats.
pub(crate) fn carried(finding: &ExistingFinding) -> JudgedFinding {
    recorded(&finding.id, &finding.record, finding.code.clone())
}

/// A finding by its record.
pub(super) fn recorded(id: &str, record: &FindingRecord, code: String) -> JudgedFinding {
    let mut entry = JudgedFinding::kept(Finding {
        id: id.to_owned(),
        reviewer: record.section.clone(),
        found_by: vec![record.section.clone()],
        severity: record.severity,
        category: record.category.clone(),
        rule: record.rule.clone(),
        file: record.file.clone(),
        line: record.line,
        end_line: record.end_line,
        claim: record.claim.clone(),
        evidence: code,
        removed: None,
        second: None,
        scenario: String::new(),
        checked: String::new(),
        confidence: 1.0,
        fix: None,
        quoted_whole: false,
        evidence_status: EvidenceStatus::Verified,
        doubts: Vec::new(),
        fingerprint: record.fingerprint.clone(),
    });
    entry.anchor.clone_from(&record.anchor);
    entry
}
