//! The run itself: reviewers and coordinator side by side, then judging, then the verdict.

use std::{collections::BTreeSet, sync::Arc};

use conclave_shared::{
    config::{Limits, seconds},
    finding::Finding,
    reviewer::ReviewerName,
    telemetry::ReviewerOutcome,
};
use tokio::{sync::watch, time::Instant};

use super::Plan;
use crate::{
    diff::{FileDiff, FilteredFile},
    judge::{JudgedFinding, RubricInput, RubricSettings, apply, judge_without_model, verdict},
    ports::{AgentRuntime, ModelLedger, Progress, ProgressEvent, ReviewSubject, TelemetrySink},
    report::{Coverage, Review, StageTime},
    scheduler::{
        Desk, PanelResult, ReviewerReport, SessionContext, SessionResult, SessionTask, SourceTree, run_panel,
        run_session,
    },
};

/// What is reviewed, by whom.
#[derive(Debug)]
pub struct ReviewJob {
    /// The run's name.
    pub run_id: String,
    /// What is reviewed.
    pub subject: ReviewSubject,
    /// The filtered diff.
    pub files: Arc<Vec<FileDiff>>,
    /// The patch of each file, relative to the workspace, in the same order.
    pub patches: Vec<String>,
    /// What is not reviewed.
    pub filtered: Vec<FilteredFile>,
    /// Tier, panel and models.
    pub plan: Plan,
    /// The coordinator's message.
    pub coordinator_message: String,
    /// Limits in force.
    pub limits: Limits,
    /// Warnings that came up before the run, for the review.
    pub warnings: Vec<String>,
    /// Times of the stages before the run.
    pub stages: Vec<StageTime>,
}

/// The outside.
pub struct ReviewPorts {
    /// The agent runtime.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The gateway's books.
    pub ledger: Arc<dyn ModelLedger>,
    /// Signs of life.
    pub progress: Arc<dyn Progress>,
    /// Where every session's end is told.
    pub telemetry: Arc<dyn TelemetrySink>,
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
    /// Where the coordinator's tool calls arrive.
    pub desk: Arc<Desk>,
    /// Becomes `true` when the run has to end.
    pub stop: watch::Receiver<bool>,
}

/// Runs a review to its verdict. It always ends in one: what could not be reviewed makes it inconclusive.
pub async fn review(job: ReviewJob, ports: ReviewPorts) -> Review {
    let started = Instant::now();
    let mut stages = job.stages;
    let context = SessionContext {
        runtime: Arc::clone(&ports.runtime),
        ledger: Arc::clone(&ports.ledger),
        progress: Arc::clone(&ports.progress),
        telemetry: Arc::clone(&ports.telemetry),
        limits: job.limits.clone(),
        stop: ports.stop.clone(),
    };
    ports
        .progress
        .report(ProgressEvent::Stage("Reviewers and coordinator are at work"));
    let sessions = usize::try_from(job.limits.sessions).unwrap_or(usize::MAX);
    let (panel, (coordinator, judged_by)) = tokio::join!(
        async {
            let panel = run_panel(
                &context,
                job.plan.members,
                Arc::clone(&job.files),
                Arc::clone(&ports.source),
                sessions,
            )
            .await;
            ports.desk.hand_over(&panel.reports, panel.findings.clone());
            panel
        },
        coordinate(&context, job.plan.coordinator, job.coordinator_message, &ports.desk),
    );
    ports.telemetry.record(coordinator.event());
    ports.progress.report(ProgressEvent::SessionDone {
        reviewer: coordinator.name.as_str(),
        outcome: coordinator.outcome.as_str(),
        findings: None,
        seconds: coordinator.seconds,
        reason: coordinator.reason.as_deref(),
    });
    stages.push(StageTime::new("panel", slowest(&panel.reports)));
    let judging = started.elapsed().as_secs_f64() - slowest(&panel.reports);
    stages.push(StageTime::new("judging after the panel", judging.max(0.0)));
    let judgement = judge(panel.findings.clone(), &ports.desk, &coordinator, judged_by);

    let mut coverage = Coverage {
        reviewed: job.files.iter().map(|file| file.path.clone()).collect(),
        changed_lines: job.files.iter().map(FileDiff::changed_lines).sum(),
        filtered: job.filtered,
        not_read: not_read(&job.files, &job.patches, &panel.files_read),
        hallucinated: panel.hallucinated.len(),
        gaps: Vec::new(),
    };
    coverage.gaps = gaps(&panel, &coverage.not_read, *ports.stop.borrow());
    let result = verdict(RubricInput {
        findings: &judgement.findings,
        gaps: &coverage.gaps,
        settings: RubricSettings::default(),
    });
    let mut review = Review {
        schema_version: crate::report::SCHEMA_VERSION,
        run_id: job.run_id,
        forge: job.subject.forge.to_owned(),
        project: job.subject.project,
        merge_request: job.subject.merge_request,
        base_sha: job.subject.base_sha,
        head_sha: job.subject.head_sha,
        from_fork: job.subject.from_fork,
        tier: job.plan.assessment.tier,
        tier_reasons: job.plan.assessment.reasons,
        verdict: result.verdict,
        verdict_reason: result.reason,
        proposed_verdict: judgement.proposed,
        summary: judgement.summary,
        findings: judgement.findings,
        reviewers: panel.reports,
        coordinator,
        degraded: judgement.degraded,
        coverage,
        warnings: job.warnings,
        stages,
        seconds: 0.0,
        cost_usd: 0.0,
        cache_hit_rate: None,
    };
    // Not `sum`, which is -0.0 for nothing.
    review.cost_usd = review.usage().iter().fold(0.0, |sum, usage| sum + usage.cost_usd);
    review.cache_hit_rate = review.tokens().prompt_cache_rate();
    review.seconds = started.elapsed().as_secs_f64();
    review
}

fn slowest(reports: &[ReviewerReport]) -> f64 {
    reports.iter().map(|report| report.seconds).fold(0.0, f64::max)
}

/// Files whose patch nobody opened, although there is something to read in it.
fn not_read(files: &[FileDiff], patches: &[String], read: &BTreeSet<String>) -> Vec<String> {
    files
        .iter()
        .zip(patches)
        .filter(|(file, patch)| file.has_content() && !read.contains(*patch))
        .map(|(file, _)| file.path.clone())
        .collect()
}

fn gaps(panel: &PanelResult, not_read: &[String], stopped: bool) -> Vec<String> {
    let mut gaps = Vec::new();
    if stopped {
        gaps.push("the run was stopped".to_owned());
    }
    for report in panel
        .reports
        .iter()
        .filter(|report| report.required && report.outcome != ReviewerOutcome::Ok)
    {
        let reason = report.reason.as_deref().unwrap_or("no reason given");
        gaps.push(format!(
            "{} {}: {reason}",
            report.name.display_name(),
            report.outcome.as_str().replace('_', " ")
        ));
    }
    match not_read {
        [] => {}
        [one] => gaps.push(format!("nobody read {one}")),
        [first, rest @ ..] => gaps.push(format!("nobody read {first} and {} more files", rest.len())),
    }
    gaps
}

enum JudgedBy {
    Coordinator,
    Nobody(String),
}

/// The coordinator's session: it reads while the reviewers work, joins them, and submits.
async fn coordinate(
    context: &SessionContext,
    route: Result<conclave_shared::config::ModelRoute, conclave_shared::config::NoModel>,
    message: String,
    desk: &Desk,
) -> (ReviewerReport, JudgedBy) {
    let mut report = ReviewerReport {
        name: ReviewerName::coordinator(),
        outcome: ReviewerOutcome::Skipped,
        reason: None,
        required: false,
        models: Vec::new(),
        usage: Vec::new(),
        seconds: 0.0,
        findings: 0,
        hallucinated: 0,
    };
    let route = match route {
        Ok(route) => route,
        Err(none) => {
            let reason = none.to_string();
            report.reason = Some(reason.clone());
            return (report, JudgedBy::Nobody(reason));
        }
    };
    let mut task = SessionTask {
        name: ReviewerName::COORDINATOR.to_owned(),
        parts: vec![message],
        route,
        attempt: seconds(context.limits.coordinator_seconds),
        deadline: None,
        waiting: Some(desk.waiting()),
    };
    let mut result = run_session(context, &task).await;
    absorb(&mut report, &result);
    if result.outcome == ReviewerOutcome::Ok && !desk.has_submission() {
        // It talked instead of submitting. Everything it needs is in the findings, so a fresh session can do it.
        task.parts.push(
            "Call `spawn_reviewers`, then `submit_review`. A review without a call of `submit_review` is lost."
                .to_owned(),
        );
        result = run_session(context, &task).await;
        absorb(&mut report, &result);
    }
    if desk.has_submission() {
        // What was submitted counts, even if the closing words went wrong.
        report.outcome = ReviewerOutcome::Ok;
        return (report, JudgedBy::Coordinator);
    }
    let reason = report
        .reason
        .clone()
        .unwrap_or_else(|| "it never called submit_review".to_owned());
    if report.outcome == ReviewerOutcome::Ok {
        report.outcome = ReviewerOutcome::Failed;
        report.reason = Some(reason.clone());
    }
    (report, JudgedBy::Nobody(reason))
}

fn absorb(report: &mut ReviewerReport, result: &SessionResult) {
    report.outcome = result.outcome;
    report.reason.clone_from(&result.reason);
    report.models.extend(result.models.iter().cloned());
    report.usage.extend(result.usage.iter().cloned());
    report.seconds += result.duration.as_secs_f64();
}

struct Judgement {
    findings: Vec<JudgedFinding>,
    summary: String,
    proposed: Option<String>,
    degraded: Option<String>,
}

fn judge(findings: Vec<Finding>, desk: &Desk, coordinator: &ReviewerReport, judged_by: JudgedBy) -> Judgement {
    let reason = match (judged_by, desk.take_submission()) {
        (JudgedBy::Coordinator, Some(submission)) => {
            return Judgement {
                findings: apply(findings, &submission),
                summary: submission.summary,
                proposed: submission.proposed_verdict,
                degraded: None,
            };
        }
        (JudgedBy::Nobody(reason), _) => reason,
        (JudgedBy::Coordinator, None) => coordinator.reason.clone().unwrap_or_default(),
    };
    Judgement {
        findings: judge_without_model(findings),
        summary: String::new(),
        proposed: None,
        degraded: Some(format!(
            "The coordinator failed ({reason}); the findings were merged by rules, without a judge."
        )),
    }
}
