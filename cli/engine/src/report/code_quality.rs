//! The review as a GitLab Code Quality report, for the merge request's widget and the marks in its diff.
//!
//! <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>

use conclave_shared::severity::Severity;
use serde_json::{Value, json};

use super::identity::fingerprints;
use crate::review::{CONTEXT_FILE, Review};

/// The findings that stand and have a place in a file, as a list of issues; and files that nobody read, which would
/// otherwise look like clean ones.
pub fn render_code_quality(review: &Review) -> Value {
    let issues = review
        .surviving()
        .zip(fingerprints(review))
        .filter(|(entry, _)| entry.finding.file != CONTEXT_FILE);
    let issues = issues.map(|(entry, fingerprint)| {
        let finding = &entry.finding;
        let lines = json!({"begin": finding.line.max(1), "end": finding.end_line.unwrap_or(finding.line).max(1)});
        json!({
            "description": finding.claim,
            "check_name": finding.category,
            "fingerprint": fingerprint,
            "severity": match finding.severity {
                Severity::Critical => "critical",
                Severity::Warning => "major",
                Severity::Suggestion => "minor",
            },
            "location": {"path": finding.file, "lines": lines},
        })
    });
    let unread = review.coverage.not_read.iter().map(|path| {
        json!({
            "description": "This file was not reviewed.",
            "check_name": "not-reviewed",
            "fingerprint": conclave_shared::finding::fingerprint(path, "not-reviewed", ""),
            "severity": "info",
            "location": {"path": path, "lines": {"begin": 1}},
        })
    });
    issues.chain(unread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        judge::test_support::finding,
        review::{JudgedFinding, test_support::review},
    };

    #[test]
    fn each_issue_has_what_gitlab_requires_and_a_fingerprint_of_its_own() {
        let mut review = review();
        let mut one = finding("F1", Severity::Critical, "sql-injection", "src/db.py", 4);
        one.end_line = Some(6);
        let mut twin = one.clone();
        twin.claim = "Another claim.".into();
        let mut title = finding("F3", Severity::Critical, "prompt-injection", CONTEXT_FILE, 1);
        title.claim = "Words in the title.".into();
        review.findings = [one, twin, title].into_iter().map(JudgedFinding::kept).collect();
        review.coverage.not_read = vec!["src/big.py".into()];
        let report = render_code_quality(&review);
        let issues = report.as_array().expect("a list");
        assert_eq!(issues.len(), 3);
        assert_eq!(
            issues[0],
            json!({
                "description": "Claim F1.", "check_name": "sql-injection", "severity": "critical",
                "fingerprint": review.findings[0].finding.fingerprint,
                "location": {"path": "src/db.py", "lines": {"begin": 4, "end": 6}},
            })
        );
        assert_ne!(issues[0]["fingerprint"], issues[1]["fingerprint"]);
        assert_eq!(
            issues[2]["location"],
            json!({"path": "src/big.py", "lines": {"begin": 1}})
        );
        assert_eq!(issues[2]["severity"], "info");
    }
}
