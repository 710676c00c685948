//! What is known of a change without a model's word: findings by rules, and holds of the approval that code decides.

use std::collections::BTreeSet;

use conclave_shared::{finding::Finding, reviewer::ReviewerName, severity::Severity, telemetry::ReviewerOutcome};

use crate::{
    findings::record_agreement,
    incremental::Identities,
    review::{ApprovalHold, CONTEXT_FILE, HoldCause, ReviewerReport, UnprovenFinding},
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

/// Why the approval is withheld for findings that nothing proves, and until when. `identities` are those of the patches of a
/// merge request.
pub(super) fn unproven(findings: &[UnprovenFinding], identities: Option<&Identities>) -> Option<ApprovalHold> {
    let who: BTreeSet<String> = findings.iter().map(|finding| finding.reviewer.display_name()).collect();
    let names = who.into_iter().collect::<Vec<_>>().join(", ");
    let is_known = |finding: &UnprovenFinding| finding.known_severity().is_some();
    let is_critical = |finding: &UnprovenFinding| finding.known_severity() == Some(Severity::Critical);
    let reason = match findings {
        [] => return None,
        // What is wrong with it may be its form alone.
        [one] if !is_known(one) => format!(
            "{names} reported a problem of unknown severity ({}): {}",
            one.reason.trim_end_matches('.'),
            sentence(&one.claim)
        ),
        // Whatever the proof lacks: the quote, the file, or the rule that is said to be broken.
        [one] => {
            let problem = match one.known_severity() {
                Some(Severity::Critical) => "a critical problem",
                _ => "a problem that may need a person",
            };
            let reason = one.reason.trim_end_matches('.');
            format!(
                "{names} reported {problem}, and did not prove it ({reason}): {}",
                sentence(&one.claim)
            )
        }
        all if all.iter().all(is_critical) => {
            format!(
                "{names} reported {} critical problems, and did not prove them.",
                all.len()
            )
        }
        all => format!(
            "{names} reported {} problems that may be critical and could not be read, or are not proved.",
            all.len()
        ),
    };
    let reason = match identities {
        Some(identities) => format!("{reason} {}", until(findings, identities)),
        None => reason,
    };
    let places = findings.iter().map(UnprovenFinding::place);
    Some(ApprovalHold::new(HoldCause::UnprovenCritical, reason).at(places))
}

/// Says how such a hold ends: by an edit, and by a person in any case.
fn until(findings: &[UnprovenFinding], identities: &Identities) -> String {
    let by_edit = match findings {
        [one] if identities.contains_key(&one.file) => "This holds until the patch of that file changes.",
        [one] if one.file == CONTEXT_FILE => {
            "This holds until the title, the description or a comment that was there then is changed."
        }
        [one] if one.file.is_empty() => "It names no file, so no edit ends this.",
        [_] => {
            "That file is not reviewed as a part of this change, so this holds until a review reads it as one; no edit of \
             another file ends it."
        }
        _ => {
            "Each holds until the patch of its file changes; one about no file of this change, until a review reads that file \
             as a part of it, or until the words that it is about are changed."
        }
    };
    format!(
        "{by_edit} A member of the project who may approve the change can do so in the bot's place, or, without being its \
         author, write `break glass` in a comment."
    )
}

/// The text with a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim().trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_unknown_severity_is_not_called_a_critical_one_without_code() {
        let finding = |severity: &str| UnprovenFinding {
            reviewer: ReviewerName::coordinator(),
            severity: severity.into(),
            category: "boundary".into(),
            file: "a.py".into(),
            line: Some(3),
            claim: "It divides by zero.".into(),
            reason: "`horrible` is not a severity".into(),
        };
        let told = |severities: &[&str]| {
            let findings: Vec<UnprovenFinding> = severities.iter().map(|severity| finding(severity)).collect();
            unproven(&findings, None).expect("a hold").reason
        };
        let unknown = told(&["horrible"]);
        assert!(
            unknown.ends_with("a problem of unknown severity (`horrible` is not a severity): It divides by zero."),
            "{unknown}"
        );
        assert!(told(&["critical", "critical"]).contains("2 critical problems, and did not prove them"));
        assert!(told(&["critical", "warning"]).contains("2 problems that may be critical"));
        assert!(told(&["critical", ""]).contains("2 problems that may be critical"));
    }

    #[test]
    fn a_hold_says_what_the_proof_lacks() {
        let told = |severity: &str, reason: &str| {
            let finding = UnprovenFinding {
                reviewer: ReviewerName::coordinator(),
                severity: severity.into(),
                category: "boundary".into(),
                file: "a.py".into(),
                line: Some(3),
                claim: "It divides by zero".into(),
                reason: reason.into(),
            };
            unproven(&[finding], None).expect("a hold").reason
        };
        for (severity, reason, expected) in [
            (
                "critical",
                "the rule numbers is not for a.py",
                "reported a critical problem, and did not prove it (the rule numbers is not for a.py): It divides by zero.",
            ),
            (
                "high",
                "the quoted code does not stand in a.py",
                "reported a critical problem, and did not prove it (the quoted code does not stand in a.py): It divides by zero.",
            ),
            (
                "warning",
                "the quoted code does not stand in a.py",
                "reported a problem that may need a person, and did not prove it (the quoted code does not stand in a.py): It \
                 divides by zero.",
            ),
        ] {
            let told = told(severity, reason);
            assert!(told.ends_with(expected), "{told}");
        }
    }
}
