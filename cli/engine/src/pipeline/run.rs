//! The run itself: reviewers and coordinator side by side, then judging, then the verdict.

use std::sync::Arc;

use conclave_shared::{
    config::Limits,
    finding::Finding,
    path_globs::PathGlobs,
    reviewer::ReviewerName,
    risk::{RiskAssessment, SecurityPaths},
    telemetry::ReviewerOutcome,
    verdict::Verdict,
};
use tokio::time::Instant;

use super::{
    Prior,
    by_rules::{ByRules, with_rules, with_unproven},
    coverage::Reading,
    partial::partial,
    prior::{name_earlier, remember_anchors},
    recall::{Known, Remembered},
};
use crate::{
    diff::{FileDiff, FilteredFile},
    incremental::{Done, SettleInput, Words, needs_judge, remember, settle},
    judge::{RubricInput, VerdictReason, apply, holds, judge_without_model, no_judge, verdict},
    memory::Recall,
    ports::{AgentRuntime, ModelLedger, Progress, ProgressEvent, SourceTree, StopSignal, TelemetrySink},
    repo_config::RubricSettings,
    review::{
        ApprovalHold, Coverage, CutFile, EarlierFiles, JudgedFinding, Ledger, PanelMember, Plan, Review, ReviewSubject,
        ReviewerReport, StageTime, StopCause,
    },
    rules::ManualReview,
    session::{
        Desk, HeadStart, JudgedBy, LiveRoutes, PanelInput, PanelResult, Refuter, SessionContext, coordinate,
        most_at_once, run_panel,
    },
};

/// So many files that could not be read are named among the gaps; all of them are in the list of what was not reviewed.
const NAMED_GAPS: usize = 5;

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
    /// What rules found in the characters of added code.
    pub trojan_source: Vec<Finding>,
    /// Where the mark of the prompts' sections stands in text that is not ours.
    pub section_marks: Vec<Finding>,
    /// What is known of earlier reviews.
    pub prior: Prior,
    /// What the repository remembers.
    pub memory: Recall,
    /// Tier, panel and models.
    pub plan: Plan,
    /// The coordinator's message.
    pub coordinator_message: String,
    /// Limits in force.
    pub limits: Limits,
    /// When warnings form a risk pattern.
    pub rubric: RubricSettings,
    /// Which paths are security-sensitive.
    pub security: SecurityPaths,
    /// Why the approval is withheld, as far as that is known before the run.
    pub approval_holds: Vec<ApprovalHold>,
    /// Files in which words for a model are the product, by the target branch's settings.
    pub prompt_paths: PathGlobs,
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
    let context = session_context(&ports, &job.limits, &job.plan.members);
    let stage = ProgressEvent::Stage("Reviewers and coordinator are at work");
    ports.progress.report(stage);
    let input = PanelInput {
        unchanged: Arc::new(job.prior.unchanged),
        files: Arc::clone(&job.files),
        patches: Arc::new(job.patches),
        source: Arc::clone(&ports.source),
    };
    let draft = draft(job.run_id, &job.subject, job.plan.assessment);
    ports.desk.check_with(refuter(&input, &job.prompt_paths));
    let earlier = job.subject.existing_findings;
    let by_rules = ByRules::new(job.by_rules, job.trojan_source, job.section_marks);
    let idle = job.files.is_empty();
    let known = Known::new(&earlier, &job.memory);
    let ((panel, mut memory), (coordinator, judged_by)) = if idle && !needs_judge(&earlier) {
        let panel = with_rules(PanelResult::default(), by_rules);
        (known.recall(panel), nobody_asked())
    } else {
        // Without a file there is nothing for reviewers to read; the coordinator still has earlier findings to judge.
        let members = if idle { Vec::new() } else { job.plan.members };
        tokio::join!(
            panel(&context, members, &input, by_rules, known, &ports.desk),
            coordinate(&context, job.plan.coordinator, job.coordinator_message, &ports.desk),
        )
    };
    tell_end(&ports, &coordinator);
    stages.extend(times(slowest(&panel.reports), started));
    // What was submitted before the stop is a whole review.
    let stopped = ports.stop.cause().filter(|_| judged_by != JudgedBy::Coordinator);
    let mut judgement = judge(panel.findings.clone(), &ports.desk, judged_by, &job.prior.earlier);
    memory.join(&mut judgement.findings);
    // Of all findings of the run: also of those that join an earlier one, or are settled with it.
    let mut reported = judgement.findings.clone();

    let (not_read, partly_read) = Reading::new(&panel.reads).gaps(&job.files, &input.patches, &job.security);
    let mut coverage = Coverage {
        filtered: job.filtered,
        not_read,
        cut: job.cut,
        hallucinated: panel.hallucinated.len(),
        unproven: panel.unproven.clone(),
        notes: job.plan.rules.notes,
        ..given(&job.files)
    };
    name_earlier(&mut coverage, job.prior.earlier);
    coverage.gaps = gaps(&panel, &coverage, partly_read, stopped);
    coverage
        .gaps
        .extend(job.plan.gaps.into_iter().chain(job.plan.rules.gaps));
    let partial = partial(&panel.reports, &coordinator, &ports.ledger.budget());
    if job.subject.merge_request.is_some() {
        remember_anchors(&mut judgement.findings, &job.files, ports.source.as_ref()).await;
    }
    let is_cut = partial.is_some() || !coverage.gaps.is_empty();
    let settled = settle(SettleInput {
        earlier: &earlier,
        words: &judgement.words,
        judged: judgement.findings,
        degraded: judgement.degraded.is_some() || stopped.is_some() || is_cut,
        head_sha: &job.subject.head_sha,
    });
    judgement.findings = settled.findings;
    judgement.findings.extend(job.prior.refuted);
    reported.extend(judgement.findings.iter().filter(|entry| entry.since.is_some()).cloned());
    let mut approval_holds = job.approval_holds;
    approval_holds.extend(holds(&reported, &job.prompt_paths));
    let lacks_judge = stopped.is_none() && judgement.lacks_judge(&reported);
    approval_holds.extend(unjudged(lacks_judge, &reported, is_cut, &panel.reports));
    coverage
        .notes
        .extend(settled.notes.into_iter().chain(memory.notes(&judgement.findings)));
    let rules = &job.plan.rules.manual_reviews;
    let result = conclude(&judgement, &coverage.gaps, rules, job.rubric, stopped);
    let review = Review {
        verdict: result.verdict,
        verdict_reason: result.reason,
        proposed_verdict: judgement.proposed,
        summary: judgement.summary,
        findings: judgement.findings,
        reviewers: panel.reports,
        coordinator,
        degraded: judgement.degraded,
        manual_reviews: job.plan.rules.manual_reviews,
        approval_holds: with_unproven(approval_holds, &panel.unproven),
        partial,
        configuration: None,
        coverage,
        warnings: job.warnings,
        stages,
        threads: settled.threads,
        settled: settled.settled,
        aside: judgement.words.aside.filter(|_| job.prior.aside_open),
        seconds: started.elapsed().as_secs_f64(),
        ..draft
    };
    finish(
        review,
        Done::new(settled.remembered, job.prior.patches, job.prior.reviewed),
    )
}

/// A review of which only the subject and its risk are known.
fn draft(run_id: String, subject: &ReviewSubject, assessment: RiskAssessment) -> Review {
    Review {
        schema_version: crate::review::SCHEMA_VERSION,
        run_id,
        forge: subject.forge.to_owned(),
        project: subject.project.clone(),
        merge_request: subject.merge_request,
        settings_sha: Some(subject.settings_commit().to_owned()),
        base_sha: subject.base_sha.clone(),
        head_sha: subject.head_sha.clone(),
        from_fork: subject.from_fork,
        tier: assessment.tier,
        tier_reasons: assessment.reasons,
        verdict: Verdict::Inconclusive,
        verdict_reason: String::new(),
        proposed_verdict: None,
        summary: String::new(),
        findings: Vec::new(),
        reviewers: Vec::new(),
        coordinator: ReviewerReport::skipped(ReviewerName::coordinator()),
        degraded: None,
        manual_reviews: Vec::new(),
        approval_holds: Vec::new(),
        partial: None,
        configuration: None,
        coverage: Coverage::default(),
        warnings: Vec::new(),
        stages: Vec::new(),
        threads: Vec::new(),
        settled: Vec::new(),
        aside: None,
        ledger: Ledger::default(),
        seconds: 0.0,
        cost_usd: 0.0,
        cache_hit_rate: None,
    }
}

/// Checks what the judge quotes against findings.
fn refuter(input: &PanelInput, prompt_paths: &PathGlobs) -> Refuter {
    Refuter {
        source: Arc::clone(&input.source),
        files: vec![Arc::clone(&input.files), Arc::clone(&input.unchanged)],
        prompt_paths: prompt_paths.clone(),
    }
}

/// The files that are given to the panel.
fn given(files: &[FileDiff]) -> Coverage {
    Coverage {
        reviewed: files.iter().map(|file| file.path.clone()).collect(),
        changed_lines: files.iter().map(FileDiff::changed_lines).sum(),
        ..Coverage::default()
    }
}

/// Why the approval is withheld where nobody judged what was found, or a part of it.
fn unjudged(
    lacks_judge: bool,
    reported: &[JudgedFinding],
    is_cut: bool,
    reports: &[ReviewerReport],
) -> Option<ApprovalHold> {
    let is_complete = !is_cut && reports.iter().all(ReviewerReport::is_whole);
    lacks_judge.then(|| no_judge(reported, is_complete)).flatten()
}

/// What can be said only of the whole review.
fn finish(mut review: Review, done: Done) -> Review {
    add_up(&mut review);
    review.ledger = remember(&review, done);
    review
}

/// The panel's work, handed over to the coordinator.
async fn panel(
    context: &SessionContext,
    members: Vec<PanelMember>,
    input: &PanelInput,
    by_rules: ByRules,
    known: Known<'_>,
    desk: &Desk,
) -> (PanelResult, Remembered) {
    let panel = run_panel(context, members, input).await;
    let panel = with_rules(panel, by_rules);
    let (panel, memory) = known.recall(panel);
    desk.hand_over(&panel.reports, panel.findings.clone());
    (panel, memory)
}

/// How long the panel took, and what came after it.
fn times(panel: f64, started: Instant) -> [StageTime; 2] {
    let judging = started.elapsed().as_secs_f64() - panel;
    [
        StageTime::new("panel", panel),
        StageTime::new("judging after the panel", judging.max(0.0)),
    ]
}

fn session_context(ports: &ReviewPorts, limits: &Limits, members: &[PanelMember]) -> SessionContext {
    SessionContext {
        runtime: Arc::clone(&ports.runtime),
        ledger: Arc::clone(&ports.ledger),
        progress: Arc::clone(&ports.progress),
        telemetry: Arc::clone(&ports.telemetry),
        routes: ports.routes.clone(),
        limits: limits.clone(),
        head_start: HeadStart::of(members, most_at_once(limits)),
        stop: ports.stop.clone(),
    }
}

/// Tells how the coordinator's session ended.
fn tell_end(ports: &ReviewPorts, coordinator: &ReviewerReport) {
    ports.telemetry.record(coordinator.event());
    ports.progress.report(ProgressEvent::SessionDone {
        reviewer: coordinator.name.as_str(),
        outcome: coordinator.outcome.as_str(),
        findings: None,
        seconds: coordinator.seconds,
        reason: coordinator.reason.as_deref(),
    });
}

/// What all sessions have used together.
fn add_up(review: &mut Review) {
    // Not `sum`, which is -0.0 for nothing.
    review.cost_usd = review.usage().iter().fold(0.0, |sum, usage| sum + usage.cost_usd);
    review.cache_hit_rate = review.tokens().prompt_cache_rate();
}

/// The verdict, unless the run was stopped: then nobody has judged what is new so far. It is shown, and it decides nothing;
/// what stands from earlier reviews was judged, and blocks as before.
fn conclude(
    judgement: &Judgement,
    gaps: &[String],
    manual_reviews: &[ManualReview],
    settings: RubricSettings,
    stopped: Option<StopCause>,
) -> VerdictReason {
    if stopped.is_some() {
        return VerdictReason {
            verdict: Verdict::Inconclusive,
            reason: gaps.join("; "),
        };
    }
    let mut result = verdict(RubricInput {
        findings: &judgement.findings,
        gaps,
        manual_reviews,
        settings,
    });
    if judgement.degraded.is_some() {
        // What nobody has judged is not "nothing".
        let reason = result.reason.replace("nothing to change", "no findings");
        result.reason = format!("{reason}; no judge took part");
    }
    result
}

fn slowest(reports: &[ReviewerReport]) -> f64 {
    reports.iter().map(|report| report.seconds).fold(0.0, f64::max)
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

impl Judgement {
    /// Whether a judge was asked and did not come, or a rule took out what nobody has judged.
    fn lacks_judge(&self, reported: &[JudgedFinding]) -> bool {
        self.degraded.is_some() || reported.iter().any(JudgedFinding::is_unjudged)
    }
}

fn judge(findings: Vec<Finding>, desk: &Desk, judged_by: JudgedBy, earlier: &[EarlierFiles]) -> Judgement {
    let reason = match (judged_by, desk.take_submission()) {
        (JudgedBy::Coordinator, Some(submitted)) => {
            return Judgement {
                findings: apply(findings, &submitted.submission, &submitted.grounds),
                words: submitted.words,
                summary: submitted.submission.summary,
                proposed: submitted.submission.proposed_verdict,
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
