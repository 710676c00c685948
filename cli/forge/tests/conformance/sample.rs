//! Reviews as the engine hands them over.

use conclave_engine::review::{Coverage, JudgedFinding, Review, ReviewerReport, SCHEMA_VERSION};
use conclave_shared::{
    finding::{EvidenceStatus, Finding, fingerprint},
    reviewer::ReviewerName,
    risk::RiskTier,
    severity::Severity,
    telemetry::ReviewerOutcome,
    verdict::Verdict,
};

/// Files with their texts; nothing is a file that is gone.
pub(crate) type Files<'a> = [(&'a str, Option<&'a str>)];

/// A review of this commit that says nothing but its verdict.
pub(crate) fn review(head_sha: &str, verdict: Verdict) -> Review {
    Review {
        schema_version: SCHEMA_VERSION,
        run_id: "run-1".to_owned(),
        forge: "gitlab".to_owned(),
        project: "group/project".to_owned(),
        merge_request: Some(1),
        base_sha: "b".repeat(40),
        head_sha: head_sha.to_owned(),
        settings_sha: None,
        from_fork: false,
        tier: RiskTier::Lite,
        tier_reasons: vec!["2 changed lines".to_owned()],
        verdict,
        verdict_reason: String::new(),
        proposed_verdict: None,
        summary: "The change is small.".to_owned(),
        findings: Vec::new(),
        reviewers: vec![report(&security())],
        coordinator: report(&ReviewerName::coordinator()),
        degraded: None,
        manual_reviews: Vec::new(),
        approval_holds: Vec::new(),
        partial: None,
        configuration: None,
        runtime: None,
        coverage: Coverage::default(),
        warnings: Vec::new(),
        stages: Vec::new(),
        threads: Vec::new(),
        settled: Vec::new(),
        seconds: 1.0,
        cost_usd: 0.0,
        cost_incomplete: false,
        cache_hit_rate: None,
        accepted: Vec::new(),
        answers: Vec::new(),
        aside: None,
        carry_over: conclave_engine::review::CarryOver::default(),
    }
}

/// A warning that stands.
pub(crate) fn finding(claim: &str, evidence: &str) -> JudgedFinding {
    JudgedFinding::kept(Finding {
        id: "F1".to_owned(),
        reviewer: security(),
        found_by: vec![security()],
        severity: Severity::Warning,
        category: "injection".to_owned(),
        rule: None,
        file: "src/lib.py".to_owned(),
        line: 1,
        end_line: None,
        claim: claim.to_owned(),
        evidence: evidence.to_owned(),
        second: None,
        scenario: String::new(),
        checked: String::new(),
        confidence: 0.9,
        fix: None,
        quoted_whole: false,
        evidence_status: EvidenceStatus::Verified,
        fingerprint: fingerprint("src/lib.py", "injection", evidence),
        removed: None,
        doubts: Vec::new(),
    })
}

fn security() -> ReviewerName {
    ReviewerName::new("security").unwrap()
}

fn report(name: &ReviewerName) -> ReviewerReport {
    ReviewerReport {
        name: name.clone(),
        outcome: ReviewerOutcome::Ok,
        reason: None,
        required: true,
        models: Vec::new(),
        usage: Vec::new(),
        seconds: 1.0,
        findings: 0,
        hallucinated: 0,
        repairs: Vec::new(),
        moves: Vec::new(),
    }
}
