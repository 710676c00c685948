//! What the tracker is told of a run.

use conclave_engine::{ports::TelemetrySink, report::Review, scheduler::milliseconds};
use conclave_shared::{
    severity::Severity,
    telemetry::{EventBody, FindingEvent, RunCompleted},
};

/// Reports a finished review: each finding, and the run. The sessions have told their ends themselves.
pub(super) fn record_review(sink: &dyn TelemetrySink, review: &Review) {
    for entry in &review.findings {
        sink.record(EventBody::Finding(FindingEvent {
            reviewer: entry.finding.reviewer.to_string(),
            severity: entry.finding.severity,
            category: entry.finding.category.clone(),
            path: entry.finding.file.clone(),
            fingerprint: entry.finding.fingerprint.to_string(),
            fate: entry.fate,
            reason_code: entry.reason_code.clone(),
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
    }));
}
