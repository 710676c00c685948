//! The run itself: reviewers and coordinator side by side, then judging, then the verdict.

use std::{collections::HashMap, sync::Arc};

use conclave_shared::{
    config::Limits, finding::Finding, reviewer::ReviewerName, telemetry::ReviewerOutcome, verdict::Verdict,
};
use tokio::time::Instant;

use super::{Plan, coverage::Reading, partial::partial};
use crate::{
    diff::{ChangeKind, FileDiff, FilterReason, FilteredFile},
    findings::record_agreement,
    judge::{JudgedFinding, RubricInput, RubricSettings, VerdictReason, apply, judge_without_model, verdict},
    lock_files::LOCK_FILES,
    ports::{AgentRuntime, ModelLedger, Progress, ProgressEvent, ReviewSubject, StopCause, StopSignal, TelemetrySink},
    report::{Coverage, CutFile, Review, StageTime},
    rereview::{
        Anchor, Done, EarlierFiles, Ledger, Lines, PatchId, ReviewedFiles, SettleInput, Words, needs_judge, remember,
        settle,
    },
    rules::ManualReview,
    scheduler::{
        Desk, JudgedBy, LiveRoutes, PanelInput, PanelResult, ReviewerReport, SessionContext, SourceTree, coordinate,
        run_panel,
    },
};

/// So many files that could not be read are named among the gaps; all of them are in the list of what was not reviewed.
const NAMED_GAPS: usize = 5;

/// What earlier reviews of the same merge request have to do with this one.
#[derive(Debug, Clone, Default)]
pub struct Prior {
    /// The identities of the patches that are given to the panel.
    pub patches: Vec<PatchId>,
    /// Files of the merge request that were reviewed before, as they are.
    pub unchanged: Vec<FileDiff>,
    /// Where they were reviewed.
    pub earlier: Vec<EarlierFiles>,
    /// The same for the next review.
    pub reviewed: Vec<ReviewedFiles>,
    /// Whether a light-hearted question may still be answered.
    pub aside_open: bool,
}

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
    /// Patches that reviewers get a part of only.
    pub cut: Vec<CutFile>,
    /// What is not reviewed.
    pub filtered: Vec<FilteredFile>,
    /// What rules found, without any model. `None` if there was nothing for them to check.
    pub by_rules: Option<Vec<Finding>>,
    /// What is known of earlier reviews.
    pub prior: Prior,
    /// Tier, panel and models.
    pub plan: Plan,
    /// The coordinator's message.
    pub coordinator_message: String,
    /// Limits in force.
    pub limits: Limits,
    /// When warnings form a risk pattern.
    pub rubric: RubricSettings,
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
    /// The routes in force.
    pub routes: LiveRoutes,
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
    /// Where the coordinator's tool calls arrive.
    pub desk: Arc<Desk>,
    /// Tells when the run has to end early.
    pub stop: StopSignal,
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
        routes: ports.routes.clone(),
        limits: job.limits.clone(),
        stop: ports.stop.clone(),
    };
    ports
        .progress
        .report(ProgressEvent::Stage("Reviewers and coordinator are at work"));
    let sessions = usize::try_from(job.limits.sessions).unwrap_or(usize::MAX);
    let input = PanelInput {
        unchanged: Arc::new(job.prior.unchanged),
        files: Arc::clone(&job.files),
        patches: Arc::new(job.patches),
        source: Arc::clone(&ports.source),
    };
    let earlier = job.subject.existing_findings;
    let idle = job.files.is_empty();
    let (panel, (coordinator, judged_by)) = if idle && !needs_judge(&earlier) {
        (with_rules(PanelResult::default(), job.by_rules), nobody_asked())
    } else {
        tokio::join!(
            async {
                // Without a file there is nothing for reviewers to read; the coordinator still has earlier findings to judge.
                let members = if idle { Vec::new() } else { job.plan.members };
                let panel = with_rules(run_panel(&context, members, &input, sessions).await, job.by_rules);
                ports.desk.hand_over(&panel.reports, panel.findings.clone());
                panel
            },
            coordinate(&context, job.plan.coordinator, job.coordinator_message, &ports.desk),
        )
    };
    ports.telemetry.record(coordinator.event());
    tell_end(ports.progress.as_ref(), &coordinator);
    stages.push(StageTime::new("panel", slowest(&panel.reports)));
    let judging = started.elapsed().as_secs_f64() - slowest(&panel.reports);
    stages.push(StageTime::new("judging after the panel", judging.max(0.0)));
    // What was submitted before the stop is a whole review.
    let stopped = ports.stop.cause().filter(|_| judged_by != JudgedBy::Coordinator);
    let mut judgement = judge(panel.findings.clone(), &ports.desk, judged_by, &job.prior.earlier);

    let (not_read, partly_read) = Reading::new(&panel.reads).gaps(&job.files, &input.patches);
    let mut coverage = Coverage {
        reviewed: job.files.iter().map(|file| file.path.clone()).collect(),
        changed_lines: job.files.iter().map(FileDiff::changed_lines).sum(),
        filtered: job
            .filtered
            .into_iter()
            .filter(|file| file.reason != FilterReason::ReviewedBefore)
            .collect(),
        earlier: job.prior.earlier,
        not_read,
        cut: job.cut,
        hallucinated: panel.hallucinated.len(),
        gaps: Vec::new(),
        notes: job.plan.rules.notes,
    };
    coverage.gaps = gaps(&panel, &coverage, partly_read, stopped);
    coverage.gaps.extend(job.plan.rules.gaps);
    let partial = partial(&panel.reports, &coordinator, &ports.ledger.budget());
    remember_anchors(
        &mut judgement.findings,
        job.subject.merge_request,
        &job.files,
        ports.source.as_ref(),
    )
    .await;
    let settled = settle(SettleInput {
        earlier: &earlier,
        words: &judgement.words,
        judged: judgement.findings,
        degraded: judgement.degraded.is_some() || stopped.is_some() || partial.is_some() || !coverage.gaps.is_empty(),
        head_sha: &job.subject.head_sha,
    });
    judgement.findings = settled.findings;
    coverage.notes.extend(settled.notes);
    coverage
        .notes
        .extend(coverage.earlier.iter().map(EarlierFiles::describe));
    let result = conclude(
        &judgement.findings,
        &coverage.gaps,
        &job.plan.rules.manual_reviews,
        job.rubric,
        stopped.is_some(),
    );
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
        manual_reviews: job.plan.rules.manual_reviews,
        partial,
        coverage,
        warnings: job.warnings,
        stages,
        threads: settled.threads,
        aside: judgement.words.aside.filter(|_| job.prior.aside_open),
        ledger: Ledger::default(),
        seconds: 0.0,
        cost_usd: 0.0,
        cache_hit_rate: None,
    };
    add_up(&mut review);
    review.seconds = started.elapsed().as_secs_f64();
    let done = Done {
        settled: settled.remembered,
        patches: job.prior.patches,
        earlier: job.prior.reviewed,
    };
    review.ledger = remember(&review, done);
    review
}

/// What all sessions have used together.
fn add_up(review: &mut Review) {
    // Not `sum`, which is -0.0 for nothing.
    review.cost_usd = review.usage().iter().fold(0.0, |sum, usage| sum + usage.cost_usd);
    review.cache_hit_rate = review.tokens().prompt_cache_rate();
}

/// Notes the code that each finding stands on, for the next review of the merge request.
async fn remember_anchors(
    findings: &mut [JudgedFinding],
    merge_request: Option<u64>,
    files: &[FileDiff],
    source: &dyn SourceTree,
) {
    if merge_request.is_none() {
        return;
    }
    let mut texts: HashMap<String, Option<Lines>> = HashMap::new();
    for entry in findings.iter_mut().filter(|entry| entry.stands()) {
        let finding = &entry.finding;
        if !texts.contains_key(&finding.file) {
            let deleted = |file: &FileDiff| file.path == finding.file && file.kind == ChangeKind::Deleted;
            let text = source.text(&finding.file, files.iter().any(deleted)).await;
            texts.insert(finding.file.clone(), text.map(|text| Lines::new(&text)));
        }
        let lines = texts.get(&finding.file).and_then(Option::as_ref);
        entry.anchor = lines.and_then(|lines| Anchor::of(lines, finding.line, finding.end_line));
    }
}

/// The verdict, unless the run was stopped: then nobody has judged what is known so far. It is shown, and it decides
/// nothing.
fn conclude(
    findings: &[JudgedFinding],
    gaps: &[String],
    manual_reviews: &[ManualReview],
    settings: RubricSettings,
    stopped: bool,
) -> VerdictReason {
    if stopped {
        return VerdictReason {
            verdict: Verdict::Inconclusive,
            reason: gaps.join("; "),
        };
    }
    verdict(RubricInput {
        findings,
        gaps,
        manual_reviews,
        settings,
    })
}

fn tell_end(progress: &dyn Progress, coordinator: &ReviewerReport) {
    progress.report(ProgressEvent::SessionDone {
        reviewer: coordinator.name.as_str(),
        outcome: coordinator.outcome.as_str(),
        findings: None,
        seconds: coordinator.seconds,
        reason: coordinator.reason.as_deref(),
    });
}

fn slowest(reports: &[ReviewerReport]) -> f64 {
    reports.iter().map(|report| report.seconds).fold(0.0, f64::max)
}

/// What rules found joins the panel's findings, as if a reviewer had reported it.
fn add_by_rules(panel: &mut PanelResult, findings: Option<Vec<Finding>>) {
    let (Some(findings), Ok(name)) = (findings, ReviewerName::new(LOCK_FILES)) else {
        return;
    };
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

fn gaps(panel: &PanelResult, coverage: &Coverage, partly_read: Vec<String>, stopped: Option<StopCause>) -> Vec<String> {
    let mut gaps: Vec<String> = stopped.iter().map(|cause| cause.describe().to_owned()).collect();
    for report in panel.reports.iter().filter(|report| report.required) {
        let name = report.name.display_name();
        match (report.outcome, &report.reason) {
            (ReviewerOutcome::Ok, None) => {}
            // It did what it could, which was not all.
            (ReviewerOutcome::Ok, Some(reason)) => gaps.push(format!("{name}: {reason}")),
            (outcome, reason) => gaps.push(format!(
                "{name} {}: {}",
                outcome.as_str().replace('_', " "),
                reason.as_deref().unwrap_or("no reason given")
            )),
        }
    }
    match coverage.cut.as_slice() {
        [] => {}
        [one] => gaps.push(format!("{} is too large to be read whole", one.path)),
        [first, rest @ ..] => gaps.push(format!(
            "{} and {} more files are too large to be read whole",
            first.path,
            rest.len()
        )),
    }
    match coverage.not_read.as_slice() {
        [] => {}
        [one] => gaps.push(format!("nobody read {one}")),
        [first, rest @ ..] => gaps.push(format!("nobody read {first} and {} more files", rest.len())),
    }
    let unread: Vec<&FilteredFile> = coverage.filtered.iter().filter(|file| file.reason.is_gap()).collect();
    let named = unread.iter().take(NAMED_GAPS);
    gaps.extend(named.map(|file| format!("{}: {}", file.path, file.reason.describe())));
    if unread.len() > NAMED_GAPS {
        gaps.push(format!(
            "{} more files that could not be read",
            unread.len() - NAMED_GAPS
        ));
    }
    gaps.extend(partly_read);
    gaps
}

/// What the panel and the rules found, with who agrees with whom.
fn with_rules(mut panel: PanelResult, findings: Option<Vec<Finding>>) -> PanelResult {
    add_by_rules(&mut panel, findings);
    record_agreement(&mut panel.findings);
    panel
}

fn nobody_asked() -> (ReviewerReport, JudgedBy) {
    let mut report = ReviewerReport::skipped(ReviewerName::coordinator());
    report.reason = Some("no file was left for a model to read".to_owned());
    (report, JudgedBy::Nobody)
}

struct Judgement {
    findings: Vec<JudgedFinding>,
    words: Words,
    summary: String,
    proposed: Option<String>,
    degraded: Option<String>,
}

fn judge(findings: Vec<Finding>, desk: &Desk, judged_by: JudgedBy, earlier: &[EarlierFiles]) -> Judgement {
    let reason = match (judged_by, desk.take_submission()) {
        (JudgedBy::Coordinator, Some((submission, words))) => {
            return Judgement {
                findings: apply(findings, &submission),
                words,
                summary: submission.summary,
                proposed: submission.proposed_verdict,
                degraded: None,
            };
        }
        (JudgedBy::Nobody, _) => {
            return Judgement {
                findings: judge_without_model(findings),
                words: Words::default(),
                summary: match earlier.first() {
                    Some(newest) => format!(
                        "Nothing has changed since the review of {}, so no model was asked.",
                        newest.short()
                    ),
                    None => "Every changed file is noise by rule, so no model was asked.".to_owned(),
                },
                proposed: None,
                degraded: None,
            };
        }
        (JudgedBy::Rules(reason), _) => reason,
        (JudgedBy::Coordinator, None) => "its submission was lost".to_owned(),
    };
    Judgement {
        findings: judge_without_model(findings),
        words: Words::default(),
        summary: String::new(),
        proposed: None,
        degraded: Some(format!(
            "The coordinator failed ({reason}); the findings were merged by rules, without a judge."
        )),
    }
}
