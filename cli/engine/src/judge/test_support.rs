//! Findings for tests.

use conclave_shared::{
    finding::{EvidenceStatus, Finding, fingerprint},
    reviewer::ReviewerName,
    severity::Severity,
};

/// A finding of `security` at `file:line`.
pub(crate) fn finding(id: &str, severity: Severity, category: &str, file: &str, line: u32) -> Finding {
    let reviewer = ReviewerName::new("security").expect("a name");
    Finding {
        id: id.to_owned(),
        reviewer: reviewer.clone(),
        found_by: vec![reviewer],
        severity,
        category: category.to_owned(),
        rule: None,
        file: file.to_owned(),
        line,
        end_line: None,
        claim: format!("Claim {id}."),
        evidence: format!("code {id}"),
        second: None,
        scenario: "An input leads to a wrong result.".to_owned(),
        checked: "Opened the file.".to_owned(),
        confidence: 0.9,
        fix: None,
        quoted_whole: false,
        evidence_status: EvidenceStatus::Verified,
        fingerprint: fingerprint(file, category, &format!("code {id}")),
        removed: None,
        doubts: Vec::new(),
    }
}
