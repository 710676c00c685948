//! What is known of a change without a model's word: findings by rules, and holds of the approval that code decides.

use std::collections::BTreeSet;

use conclave_shared::{finding::Finding, reviewer::ReviewerName, severity::Severity, telemetry::ReviewerOutcome};

use crate::{
    findings::record_agreement,
    review::{ApprovalHold, HoldCause, ReviewerReport, UnprovenFinding},
    session::PanelResult,
};

/// What rules found joins the panel's findings, as if a reviewer had reported it.
fn add_by_rules(panel: &mut PanelResult, name: &str, findings: Vec<Finding>) {
    let Ok(name) = ReviewerName::new(name) else { return };
    panel.reports.push(ReviewerReport {
        outcome: ReviewerOutcome::Ok,
        findings: findings.len(),
        ..ReviewerReport::skipped(name)
    });
    for mut finding in findings {
        finding.id = format!("F{}", panel.findings.len() + 1);
        panel.findings.push(finding);
    }
}

/// What the panel and the rules found, with the reviewers that agree on each finding. `lock_files` is `None` if none changed.
pub(super) fn with_rules(
    mut panel: PanelResult,
    lock_files: Option<Vec<Finding>>,
    trojan_source: Vec<Finding>,
    section_marks: Vec<Finding>,
) -> PanelResult {
    if let Some(findings) = lock_files {
        add_by_rules(&mut panel, ReviewerName::LOCK_FILES, findings);
    }
    for (name, findings) in [
        (ReviewerName::TROJAN_SOURCE, trojan_source),
        (ReviewerName::SECTION_MARK, section_marks),
    ] {
        if !findings.is_empty() {
            add_by_rules(&mut panel, name, findings);
        }
    }
    record_agreement(&mut panel.findings);
    panel
}

/// Why the approval is withheld for findings that nothing proves.
pub(super) fn unproven(findings: &[UnprovenFinding]) -> Option<ApprovalHold> {
    let who: BTreeSet<String> = findings.iter().map(|finding| finding.reviewer.display_name()).collect();
    let names = who.into_iter().collect::<Vec<_>>().join(", ");
    let is_critical = |finding: &UnprovenFinding| {
        Severity::parse_lenient(&finding.severity).is_none_or(|severity| severity == Severity::Critical)
    };
    let reason = match findings {
        [] => return None,
        [one] if !is_critical(one) => format!(
            "{names} reported a problem that may need a person, and did not prove it ({}): {}",
            one.reason.trim_end_matches('.'),
            sentence(&one.claim)
        ),
        [one] => format!(
            "{names} reported a critical problem without code that shows it: {}",
            sentence(&one.claim)
        ),
        all => format!(
            "{names} reported {} critical problems without code that shows them.",
            all.len()
        ),
    };
    let places = findings.iter().map(UnprovenFinding::place);
    Some(ApprovalHold::new(HoldCause::UnprovenCritical, reason).at(places))
}

/// The text with a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim().trim_end_matches('.'))
}
