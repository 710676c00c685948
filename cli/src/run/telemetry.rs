//! What the tracker is told of a run.

use conclave_engine::{
    memory::SUPPRESSED,
    ports::{PublishOutcome, TelemetrySink},
    review::{Plan, RemovedBy, Review, ReviewState, StageTime, milliseconds},
};
use conclave_gateway::GatewayEvent;
use conclave_plugin_telemetry::anonymous_person;
use conclave_shared::{
    severity::Severity,
    telemetry::{
        EventBody, FailureKind, FindingEvent, FindingOutcome, FindingPlacement, InconclusiveCause, MAX_METRIC_NAME,
        MetricSample, Metrics, ReviewerOutcome, RunCompleted, RunCoverage, RunStarted, VerdictApplied,
    },
    verdict::Verdict,
};
use secrecy::ExposeSecret;

use crate::run::prepare::change::Job;

/// What stands for the person who opened the merge request. Without an installation's secret nothing could stand for
/// them that is not also their name.
pub(crate) fn author(job: &Job) -> Option<String> {
    let secret = job.secret.as_ref()?.expose_secret().as_bytes();
    anonymous_person(secret, job.subject.forge, job.author?)
}

/// What the start of a run reports once more when its panel and its time limit are known.
pub(crate) fn run_planned(job: &Job, plan: &Plan, limit_seconds: u64) -> RunStarted {
    RunStarted {
        tier: Some(plan.assessment.tier),
        forge: job.subject.forge.to_owned(),
        merge_request: job.subject.merge_request,
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        reviewers: plan.reviewers().iter().map(ToString::to_string).collect(),
        author: author(job),
        limit_seconds: Some(limit_seconds),
        planned: true,
    }
}

/// Reports what the verdict asked of the forge, and what that shows.
pub(crate) fn record_stance(sink: &dyn TelemetrySink, merge_request: Option<u64>, outcome: &PublishOutcome) {
    if let Some(applied) = outcome.applied_state {
        sink.record(EventBody::VerdictApplied(VerdictApplied {
            merge_request,
            wanted: applied.wanted.as_str().to_owned(),
            shown: applied.shown.map(ReviewState::as_str).map(str::to_owned),
            mismatch: applied.is_mismatch(),
        }));
    }
}

/// Reports a finished review: each finding, what has become of earlier ones, and the run. The sessions have told their
/// ends themselves.
///
/// `posted` is what became of the review on the forge. Without it nothing was changed there, so the next review will notice
/// again what was settled, and tell it. `unpublished` is why it could not be posted, if it should have been.
pub(crate) fn record_review(
    sink: &dyn TelemetrySink,
    review: &Review,
    posted: Option<&PublishOutcome>,
    unpublished: Option<FailureKind>,
) {
    // What stands from an earlier review was counted there.
    for entry in review.findings.iter().filter(|entry| entry.since.is_none()) {
        let note = posted.map(|posted| posted.placements.get(&entry.finding.fingerprint).copied());
        sink.record(EventBody::Finding(FindingEvent {
            reviewer: entry.finding.reviewer.to_string(),
            severity: entry.finding.severity,
            category: entry.finding.category.clone(),
            path: entry.finding.file.clone(),
            fingerprint: entry.finding.fingerprint.to_string(),
            fate: entry.fate,
            reason_code: entry.reason_code.clone(),
            placement: note
                .filter(|_| entry.stands())
                .map(|note| note.unwrap_or(FindingPlacement::Summary)),
            removed_by_judge: entry.removed_by == Some(RemovedBy::Judge),
            refutation: entry
                .refutation
                .as_ref()
                .map(|refutation| refutation.status.as_str().to_owned()),
        }));
    }
    for settled in review.settled.iter().filter(|_| posted.is_some()) {
        sink.record(EventBody::FindingOutcome(FindingOutcome {
            reviewer: settled.section.to_string(),
            severity: settled.severity,
            category: settled.category.clone(),
            path: settled.file.clone(),
            fingerprint: settled.fingerprint.to_string(),
            claim: Some(settled.claim.clone()),
            outcome: settled.outcome,
            merge_request: review.merge_request,
            settled_by: settled.by,
            // The sender signs, because the event's id and time are in the signature.
            proof: None,
        }));
    }
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
        coverage: Some(RunCoverage {
            not_read: size(review.coverage.not_read.len()),
            cut: size(review.coverage.cut.len()),
            gaps: size(review.coverage.gaps.len()),
        }),
        inconclusive_cause: inconclusive_cause(review),
        sandbox: review.coverage.sandbox.as_ref().map(|sandbox| sandbox.level),
        unpublished,
    }));
}

/// Why the review is inconclusive, if it is.
fn inconclusive_cause(review: &Review) -> Option<InconclusiveCause> {
    if review.verdict != Verdict::Inconclusive {
        return None;
    }
    let ended = |wanted| {
        review
            .reviewers
            .iter()
            .any(|report| report.required && report.outcome == wanted)
    };
    let coverage = &review.coverage;
    let cause = [
        (review.partial.is_some(), InconclusiveCause::CutShort),
        (ended(ReviewerOutcome::TimedOut), InconclusiveCause::ReviewerTimedOut),
        (ended(ReviewerOutcome::Failed), InconclusiveCause::ReviewerFailed),
        (ended(ReviewerOutcome::Skipped), InconclusiveCause::ReviewerNotRun),
        (review.degraded.is_some(), InconclusiveCause::NoJudgment),
        // First: files of which no line was given count as not read, too.
        (!coverage.cut.is_empty(), InconclusiveCause::FilesCut),
        (!coverage.not_read.is_empty(), InconclusiveCause::FilesNotRead),
        (!coverage.gaps.is_empty(), InconclusiveCause::Gaps),
    ]
    .into_iter()
    .find_map(|(holds, cause)| holds.then_some(cause));
    Some(cause.unwrap_or(InconclusiveCause::Other))
}

/// Reports figures of the run that have no event of their own: where the time went, and what the gateway had to do.
pub(crate) fn record_figures(
    sink: &dyn TelemetrySink,
    review: &Review,
    of_gateway: &[GatewayEvent],
    stages: &[StageTime],
) {
    let mut samples: Vec<MetricSample> = Vec::new();
    let mut add = |name: String, value: f64| match samples.iter_mut().find(|sample| sample.name == name) {
        // A stage that ran twice.
        Some(sample) => sample.value += value,
        None => samples.push(MetricSample { name, value }),
    };
    for stage in stages {
        add(stage_name(&stage.stage), (stage.seconds * 1000.0).max(0.0));
    }
    let suppressed = review
        .findings
        .iter()
        .filter(|entry| entry.reason_code.as_deref() == Some(SUPPRESSED));
    let events = |is: fn(&GatewayEvent) -> bool| size(of_gateway.iter().filter(|event| is(event)).count());
    let retries = events(|event| matches!(event, GatewayEvent::Retried { .. }));
    let cut_streams = events(|event| matches!(event, GatewayEvent::StreamCut { .. }));
    let rejected_calls = events(|event| matches!(event, GatewayEvent::Rejected { .. }));
    let calls: u64 = review.usage().iter().map(|usage| usage.calls).sum();
    for (name, count) in [
        ("model_calls_count", calls),
        ("gateway_retries_count", retries),
        ("gateway_cut_streams_count", cut_streams),
        ("gateway_rejected_calls_count", rejected_calls),
        ("findings_without_evidence_count", size(review.coverage.hallucinated)),
        ("findings_suppressed_count", size(suppressed.count())),
        ("files_of_earlier_reviews_count", earlier_files(review)),
    ] {
        add(name.to_owned(), precise(count));
    }
    if let Some(rate) = review.cache_hit_rate {
        add("prompt_cache_hit_percent".to_owned(), (rate * 100.0).clamp(0.0, 100.0));
    }
    sink.record(EventBody::Metrics(Metrics { samples }));
}

fn earlier_files(review: &Review) -> u64 {
    size(review.coverage.earlier.iter().map(|earlier| earlier.files.len()).sum())
}

/// A stage's name as that of a figure: `stage_opencode_start_ms`. All stages are named in this program.
fn stage_name(stage: &str) -> String {
    let words = stage
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let name = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_");
    let longest = MAX_METRIC_NAME - "stage__ms".len();
    format!("stage_{}_ms", &name[..name.len().min(longest)])
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn precise(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use conclave_shared::telemetry::is_metric_name;

    use super::*;

    #[test]
    fn stages_are_figures_by_their_names() {
        for (stage, name) in [
            ("diff, configuration, plan", "stage_diff_configuration_plan_ms"),
            ("OpenCode start", "stage_opencode_start_ms"),
            ("printing and posting", "stage_printing_and_posting_ms"),
        ] {
            assert_eq!(stage_name(stage), name);
            assert!(is_metric_name(name));
        }
        assert!(is_metric_name(&stage_name(&"long ".repeat(50))));
    }
}
