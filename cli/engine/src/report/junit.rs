//! The review as `JUnit` XML, for the test report of a pipeline.
//!
//! A reviewer is a suite. A finding is a test that failed, a suggestion one that passed with something to say; a reviewer
//! that did not finish is an error, so that a report of an incomplete review is never all green.

use std::time::Duration;

use conclave_shared::{severity::Severity, telemetry::ReviewerOutcome};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::headline;
use crate::review::{JudgedFinding, Review, ReviewerReport};

/// The report. Characters that XML cannot hold are left out.
pub fn render_junit(review: &Review) -> String {
    let mut report = Report::new("conclave");
    report.set_time(seconds(review.seconds));
    report.add_test_suite(verdict(review));
    let mut sections: Vec<&conclave_shared::reviewer::ReviewerName> =
        review.reviewers.iter().map(|report| &report.name).collect();
    for entry in review.surviving() {
        if !sections.contains(&&entry.section) {
            sections.push(&entry.section);
        }
    }
    for section in sections {
        let mut suite = TestSuite::new(section.as_str());
        let run = review.reviewers.iter().find(|report| report.name == *section);
        if let Some(run) = run {
            suite.set_time(seconds(run.seconds));
        }
        let findings: Vec<&JudgedFinding> = review.surviving().filter(|entry| entry.section == *section).collect();
        if let Some(run) = run {
            suite.add_test_case(reviewer(run));
        }
        suite.add_test_cases(findings.into_iter().map(finding));
        report.add_test_suite(suite);
    }
    report.to_string().unwrap_or_default()
}

/// The verdict as a test: it fails if the review objects, is an error if the review is not whole, and skipped if there was nothing
/// to review.
fn verdict(review: &Review) -> TestSuite {
    let mut status = if review.is_of_nothing() {
        TestCaseStatus::skipped()
    } else if !review.is_complete() {
        TestCaseStatus::non_success(NonSuccessKind::Error)
    } else if review.verdict.approves() {
        TestCaseStatus::success()
    } else {
        TestCaseStatus::non_success(NonSuccessKind::Failure)
    };
    status.set_type(review.verdict.as_str());
    status.set_message(headline(review));
    status.set_description(
        std::iter::once(&review.summary)
            .chain(&review.coverage.gaps)
            .chain(&review.partial)
            .filter(|text| !text.is_empty())
            .cloned()
            .collect::<Vec<_>>()
            .join("\n"),
    );
    let mut case = TestCase::new("verdict", status);
    case.set_classname("conclave");
    let mut suite = TestSuite::new("verdict");
    suite.add_test_case(case);
    suite
}

/// Whether a reviewer did its work, as a test.
fn reviewer(run: &ReviewerReport) -> TestCase {
    let mut status = match run.outcome {
        ReviewerOutcome::Ok => TestCaseStatus::success(),
        ReviewerOutcome::Skipped => TestCaseStatus::skipped(),
        ReviewerOutcome::Failed | ReviewerOutcome::TimedOut => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    if run.outcome != ReviewerOutcome::Ok {
        status.set_type(run.outcome.as_str());
        status.set_message(run.reason.as_deref().unwrap_or("no reason given"));
    }
    let mut case = TestCase::new("review", status);
    case.set_classname(run.name.as_str());
    case
}

fn finding(entry: &JudgedFinding) -> TestCase {
    let finding = &entry.finding;
    let place = format!("{}:{}", finding.file, finding.line);
    let text = format!(
        "{}\n\n{}\n\n{}\n\n{}",
        finding.claim, place, finding.evidence, finding.scenario
    );
    let mut case = if finding.severity == Severity::Suggestion {
        let mut case = TestCase::new(finding.claim.as_str(), TestCaseStatus::success());
        case.set_system_out(text.trim());
        case
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(finding.severity.as_str());
        status.set_message(format!("{place}: {}", finding.claim));
        status.set_description(text.trim());
        TestCase::new(finding.claim.as_str(), status)
    };
    case.set_classname(finding.file.as_str());
    case
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::test_support::finding as sample, review::test_support::review};

    #[test]
    fn a_finding_fails_a_suggestion_passes_and_what_did_not_run_is_an_error() {
        let mut review = review();
        review.findings = vec![
            JudgedFinding::kept(sample("F1", Severity::Warning, "n-plus-one", "src/a.py", 3)),
            JudgedFinding::kept(sample("F2", Severity::Suggestion, "naming", "src/b.py", 1)),
        ];
        review.findings[0].finding.claim = "a < b && \"c\" \u{1}\u{1b}[31m]]> breaks.".into();
        review.reviewers[0].outcome = ReviewerOutcome::TimedOut;
        review.reviewers[0].reason = Some("it took too long".into());
        let report = render_junit(&review);
        assert!(
            report.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"),
            "{report}"
        );
        assert!(
            report.contains("tests=\"4\" skipped=\"0\" failures=\"1\" errors=\"1\""),
            "{report}"
        );
        assert!(report.contains("a &lt; b &amp;&amp; &quot;c&quot;"), "{report}");
        assert!(!report.contains(['\u{1}', '\u{1b}']), "{report}");
        assert!(report.contains("it took too long"), "{report}");
    }

    #[test]
    fn an_incomplete_review_is_never_all_green() {
        let mut review = review();
        assert!(render_junit(&review).contains("failures=\"0\" errors=\"0\""));
        review.verdict = conclave_shared::verdict::Verdict::Inconclusive;
        review.coverage.gaps = vec!["security failed".into()];
        let report = render_junit(&review);
        assert!(
            report.contains("errors=\"1\"") && report.contains("security failed"),
            "{report}"
        );
        let mut review = self::review();
        review.partial = Some("all of the budget is spent".into());
        let report = render_junit(&review);
        assert!(
            report.contains("errors=\"1\"") && report.contains("all of the budget is spent"),
            "{report}"
        );
    }
}
