//! A review for tests.

use conclave_shared::{reviewer::ReviewerName, risk::RiskTier, telemetry::ReviewerOutcome, verdict::Verdict};

use super::{CarryOver, Coverage, Review, ReviewerReport, SCHEMA_VERSION};

/// A review of two files by `security` that found nothing.
pub(crate) fn review() -> Review {
    let report = |name| ReviewerReport {
        outcome: ReviewerOutcome::Ok,
        seconds: 12.0,
        ..ReviewerReport::skipped(name)
    };
    Review {
        schema_version: SCHEMA_VERSION,
        run_id: "018f0000-0000-7000-8000-000000000000".to_owned(),
        forge: "gitlab".to_owned(),
        project: "group/project".to_owned(),
        merge_request: Some(7),
        base_sha: "b".repeat(40),
        head_sha: "a".repeat(40),
        settings_sha: Some("c".repeat(40)),
        from_fork: false,
        tier: RiskTier::Lite,
        tier_reasons: vec!["42 changed lines in 2 files".to_owned()],
        verdict: Verdict::Approved,
        verdict_reason: "nothing to change".to_owned(),
        proposed_verdict: None,
        summary: "The change is small.".to_owned(),
        findings: Vec::new(),
        reviewers: vec![report(ReviewerName::new("security").expect("a name"))],
        coordinator: report(ReviewerName::coordinator()),
        degraded: None,
        manual_reviews: Vec::new(),
        approval_holds: Vec::new(),
        partial: None,
        configuration: None,
        runtime: None,
        coverage: Coverage {
            reviewed: vec!["src/a.py".to_owned(), "src/b.py".to_owned()],
            changed_lines: 42,
            ..Coverage::default()
        },
        warnings: Vec::new(),
        stages: Vec::new(),
        threads: Vec::new(),
        settled: Vec::new(),
        accepted: Vec::new(),
        answers: Vec::new(),
        aside: None,
        carry_over: CarryOver::default(),
        seconds: 65.0,
        cost_usd: 0.42,
        cost_incomplete: false,
        cache_hit_rate: Some(0.5),
    }
}
