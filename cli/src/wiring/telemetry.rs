//! What the tracker is told of a run.

use conclave_engine::{ports::TelemetrySink, report::Review};
use conclave_plugin_telemetry::{Telemetry, TelemetrySettings};
use conclave_shared::{
    severity::Severity,
    telemetry::{EventBody, FindingEvent, ReviewerCompleted, RunCompleted},
};
use secrecy::SecretString;
use uuid::Uuid;

use crate::{env_vars, exit::Failure, providers, settings::Environment};

/// No tracker is set.
pub(super) struct Off;

impl TelemetrySink for Off {
    fn record(&self, _event: EventBody) {}
}

/// Starts telemetry, if a tracker is set.
pub(super) fn start(environment: &Environment, run_id: Uuid, project: &str) -> Result<Option<Telemetry>, Failure> {
    let Some(address) = environment.get(env_vars::TRACKER_URL) else {
        return Ok(None);
    };
    let token = environment.get(env_vars::TRACKER_TOKEN).ok_or_else(|| {
        Failure::Settings(format!(
            "{} is set, but {} is not: set it to one of the Worker's INGEST_TOKENS",
            env_vars::TRACKER_URL,
            env_vars::TRACKER_TOKEN
        ))
    })?;
    Ok(Some(Telemetry::start(TelemetrySettings {
        url: providers::url(env_vars::TRACKER_URL, address)?,
        token: SecretString::from(token),
        run_id,
        project: project.to_owned(),
    })))
}

/// Reports a finished review: each reviewer, each finding, the run.
pub(super) fn record_review(sink: &dyn TelemetrySink, review: &Review) {
    for report in review.reviewers.iter().chain([&review.coordinator]) {
        sink.record(EventBody::ReviewerCompleted(ReviewerCompleted {
            reviewer: report.name.to_string(),
            outcome: report.outcome,
            duration_ms: milliseconds(report.seconds),
            attempts: u32::try_from(report.models.len()).unwrap_or(u32::MAX),
            findings: u64::try_from(report.findings).unwrap_or(u64::MAX),
            usage: report.usage.clone(),
        }));
    }
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a run's time, never negative"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}
