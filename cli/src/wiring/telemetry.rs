//! What the tracker is told of a run.

use conclave_engine::{
    ports::{PublishOutcome, Stance, TelemetrySink},
    report::Review,
    scheduler::milliseconds,
};
use conclave_shared::{
    severity::Severity,
    telemetry::{EventBody, FindingEvent, RunCompleted, VerdictApplied},
};

/// Reports what the verdict asked of the forge, and what that shows.
pub(super) fn record_stance(sink: &dyn TelemetrySink, merge_request: Option<u64>, outcome: &PublishOutcome) {
    if let Some(stance) = outcome.stance {
        sink.record(EventBody::VerdictApplied(VerdictApplied {
            merge_request,
            wanted: stance.wanted.as_str().to_owned(),
            shown: stance.shown.map(Stance::as_str).map(str::to_owned),
            mismatch: stance.is_mismatch(),
        }));
    }
}

/// Reports a finished review: each finding, and the run. The sessions have told their ends themselves.
pub(super) fn record_review(sink: &dyn TelemetrySink, review: &Review) {
    // What stands from an earlier review was counted there.
    for entry in review.findings.iter().filter(|entry| entry.since.is_none()) {
        sink.record(EventBody::Finding(FindingEvent {
            reviewer: entry.finding.reviewer.to_string(),
            severity: entry.finding.severity,
            category: entry.finding.category.clone(),
            path: entry.finding.file.clone(),
            fingerprint: entry.finding.fingerprint.to_string(),
            fate: entry.fate,
            reason_code: entry.reason_code.clone(),
            placement: None,
        }));
    }
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    sink.record(EventBody::RunCompleted(RunCompleted {
        tier: review.tier,
        verdict: review.verdict,
        duration_ms: milliseconds(review.seconds),
        cost_usd: review.cost_usd,
        tokens: review.tokens(),
        files: size(review.coverage.reviewed.len()),
        lines: review.coverage.changed_lines,
        filtered_files: size(review.coverage.filtered.len()),
        critical: review.count(Severity::Critical),
        warning: review.count(Severity::Warning),
        suggestion: review.count(Severity::Suggestion),
        degraded: review.degraded.is_some(),
        merge_request: review.merge_request,
        coverage: None,
    }));
}
