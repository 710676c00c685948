//! What is known of a change without a model's word: findings by rules, and holds of the approval that code decides.

use std::collections::BTreeSet;

use conclave_shared::{finding::Finding, reviewer::ReviewerName, telemetry::ReviewerOutcome};

use crate::{
    findings::record_agreement,
    review::{ApprovalHold, HoldCause, ReviewerReport, UnprovenFinding},
    session::PanelResult,
};

/// What rules found, without any model.
pub(super) struct ByRules {
    /// `None` if no lock file changed.
    lock_files: Option<Vec<Finding>>,
    trojan_source: Vec<Finding>,
    section_marks: Vec<Finding>,
}

impl ByRules {
    pub(super) fn new(
        lock_files: Option<Vec<Finding>>,
        trojan_source: Vec<Finding>,
        section_marks: Vec<Finding>,
    ) -> Self {
        Self {
            lock_files,
            trojan_source,
            section_marks,
        }
    }
}

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

/// What the panel and the rules found, with who agrees with whom.
pub(super) fn with_rules(mut panel: PanelResult, found: ByRules) -> PanelResult {
    if let Some(findings) = found.lock_files {
        add_by_rules(&mut panel, ReviewerName::LOCK_FILES, findings);
    }
    if !found.trojan_source.is_empty() {
        add_by_rules(&mut panel, ReviewerName::TROJAN_SOURCE, found.trojan_source);
    }
    if !found.section_marks.is_empty() {
        add_by_rules(&mut panel, ReviewerName::SECTION_MARK, found.section_marks);
    }
    record_agreement(&mut panel.findings);
    panel
}

/// The reasons to withhold the approval, with one for findings that nothing proves.
pub(super) fn with_unproven(mut holds: Vec<ApprovalHold>, findings: &[UnprovenFinding]) -> Vec<ApprovalHold> {
    holds.extend(unproven(findings));
    holds
}

/// Why the approval is withheld for findings that nothing proves.
fn unproven(findings: &[UnprovenFinding]) -> Option<ApprovalHold> {
    let who: BTreeSet<String> = findings.iter().map(|finding| finding.reviewer.display_name()).collect();
    let names = who.into_iter().collect::<Vec<_>>().join(", ");
    let reason = match findings {
        [] => return None,
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
