//! What the tracker is told of a run.

use std::sync::Arc;

use conclave_engine::{ports::TelemetrySink, report::Review, scheduler::milliseconds};
use conclave_plugin_telemetry::{Telemetry, TelemetrySettings};
use conclave_shared::{
    severity::Severity,
    telemetry::{EventBody, FindingEvent, RunCompleted},
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
pub(super) fn start(environment: &Environment, run_id: Uuid, project: &str) -> Result<Option<Arc<Telemetry>>, Failure> {
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
    Ok(Some(Arc::new(Telemetry::start(TelemetrySettings {
        url: providers::url(env_vars::TRACKER_URL, address)?,
        token: SecretString::from(token),
        run_id,
        project: project.to_owned(),
    }))))
}

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
