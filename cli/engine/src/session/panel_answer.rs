//! The panel's findings as the coordinator reads them.

use conclave_shared::finding::Finding;
use serde_json::{Value, json};

use crate::{
    findings::same_claims,
    incremental::may_repeat,
    review::{ExistingFinding, ReviewerReport},
    untrusted::Untrusted,
};

/// The reviewers with their findings, which of these make one claim, and which may be an earlier one.
pub(super) fn answer(reports: &[ReviewerReport], findings: &[Finding], earlier: &[ExistingFinding]) -> Value {
    let reviewers: Vec<Value> = reports
        .iter()
        .map(|report| {
            let mut own: Vec<&Finding> = findings
                .iter()
                .filter(|finding| finding.reviewer == report.name)
                .collect();
            // What several found first, what lacks a proof that it needs last.
            own.sort_by_key(|finding| (std::cmp::Reverse(finding.found_by.len()), finding.lacks_second_quote()));
            json!({
                "name": report.name,
                "outcome": report.outcome,
                "reason": report.reason,
                "findings": own,
            })
        })
        .collect();
    let mut answer = json!({ "reviewers": reviewers });
    let groups: Vec<Vec<&str>> = same_claims(findings)
        .into_iter()
        .map(|group| group.into_iter().map(|index| findings[index].id.as_str()).collect())
        .collect();
    if !groups.is_empty() {
        answer["same_claim"] = json!(groups);
    }
    let pairs = findings
        .iter()
        .flat_map(|finding| earlier.iter().map(move |known| (finding, known)));
    let on_known_lines: Vec<[&str; 2]> = pairs
        .filter(|(finding, known)| may_repeat(known, finding))
        .map(|(finding, known)| [finding.id.as_str(), known.id.as_str()])
        .collect();
    if !on_known_lines.is_empty() {
        answer["same_lines"] = json!(on_known_lines);
    }
    sanitized(answer)
}

/// Sanitizes every text: what reviewers wrote was steered by what they read, and they read what the author wrote.
fn sanitized(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(Untrusted::from(text).sanitized()),
        Value::Array(items) => items.into_iter().map(sanitized).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, sanitized(value)))
            .collect(),
        other => other,
    }
}
