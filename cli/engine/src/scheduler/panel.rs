//! All reviewers at once, and what they found.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use conclave_shared::{
    config::{Limits, ModelRoute, NoModel, seconds},
    finding::Finding,
    model::ModelId,
    reviewer::ReviewerName,
    telemetry::{EventBody, ReviewerCompleted, ReviewerOutcome, TokensByModel},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::{
    RepairKind, SessionContext, SessionTask, UnprovenFinding,
    answers::{Answers, FollowUp},
    session::run_session,
};
use crate::{
    diff::FileDiff,
    findings::Hallucinated,
    ports::{FileRead, ProgressEvent, SessionAnswer},
    prompt::fewer_patches,
    rules::RuleBook,
};

/// A member of the panel.
#[derive(Debug, Clone)]
pub struct PanelMember {
    /// Who.
    pub name: ReviewerName,
    /// With which models; an error means that it cannot run.
    pub route: Result<ModelRoute, NoModel>,
    /// Whether the review is inconclusive without it.
    pub required: bool,
    /// Time for one attempt.
    pub attempt: Duration,
    /// Its message: with the plan its role alone, with what all reviewers share in front once that is written.
    pub parts: Vec<String>,
    /// The rules that its findings have to cite, for the one that checks rules.
    pub rules: Option<Arc<RuleBook>>,
}

/// How a reviewer, or the coordinator, did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewerReport {
    /// Who.
    pub name: ReviewerName,
    /// How it ended.
    pub outcome: ReviewerOutcome,
    /// Why, if not well.
    pub reason: Option<String>,
    /// Whether the review is inconclusive without it.
    pub required: bool,
    /// The models that it was prompted with, in order.
    pub models: Vec<ModelId>,
    /// What it used, by the model that really answered.
    pub usage: Vec<TokensByModel>,
    /// Seconds from its first prompt to its end.
    pub seconds: f64,
    /// Findings that passed the evidence check.
    pub findings: usize,
    /// Findings that did not.
    pub hallucinated: usize,
    /// Why it was asked once more, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<RepairKind>,
}

impl ReviewerReport {
    /// Whether it did all that it was asked for.
    pub fn is_whole(&self) -> bool {
        self.outcome == ReviewerOutcome::Ok && self.reason.is_none()
    }

    /// The report of somebody who has not run.
    pub fn skipped(name: ReviewerName) -> Self {
        Self {
            name,
            outcome: ReviewerOutcome::Skipped,
            reason: None,
            required: false,
            models: Vec::new(),
            usage: Vec::new(),
            seconds: 0.0,
            findings: 0,
            hallucinated: 0,
            repairs: Vec::new(),
        }
    }

    /// The end of this session, for the tracker. Told when it happens, so that the tracker knows when that was.
    pub fn event(&self) -> EventBody {
        EventBody::ReviewerCompleted(ReviewerCompleted {
            reviewer: self.name.to_string(),
            outcome: self.outcome,
            duration_ms: milliseconds(self.seconds),
            attempts: u32::try_from(self.models.len()).unwrap_or(u32::MAX),
            findings: u64::try_from(self.findings).unwrap_or(u64::MAX),
            usage: self.usage.clone(),
            models_tried: self.models.clone(),
            repair_turns: u64::try_from(self.repairs.len()).unwrap_or(u64::MAX),
        })
    }
}

/// Seconds as whole milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a run's time, never negative"
)]
pub fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

/// What the panel brought.
#[derive(Debug, Clone, Default)]
pub struct PanelResult {
    /// One report a member, in the panel's order.
    pub reports: Vec<ReviewerReport>,
    /// All findings, with ids.
    pub findings: Vec<Finding>,
    /// Findings without evidence, by reviewer.
    pub hallucinated: Vec<(ReviewerName, Hallucinated)>,
    /// Serious findings without code that shows them.
    pub unproven: Vec<UnprovenFinding>,
    /// What was read of the workspace, by reviewers whose answer counts.
    pub reads: Vec<FileRead>,
}

/// The reviewed source.
#[async_trait]
pub trait SourceTree: Send + Sync {
    /// A file's text at head, or at base; `None` if there is none or it is no text.
    async fn text(&self, path: &str, at_base: bool) -> Option<String>;
}

struct MemberResult {
    report: ReviewerReport,
    findings: Vec<Finding>,
    hallucinated: Vec<Hallucinated>,
    unproven: Vec<UnprovenFinding>,
    reads: Vec<FileRead>,
}

impl MemberResult {
    /// A member without anything to show.
    fn nothing(report: ReviewerReport) -> Self {
        Self {
            report,
            findings: Vec::new(),
            hallucinated: Vec::new(),
            unproven: Vec::new(),
            reads: Vec::new(),
        }
    }
}

/// What the panel reviews.
#[derive(Clone)]
pub struct PanelInput {
    /// The filtered diff.
    pub files: Arc<Vec<FileDiff>>,
    /// Files of the merge request that were reviewed before, as they are. A finding may still be in one of them: what has
    /// changed elsewhere can have broken it.
    pub unchanged: Arc<Vec<FileDiff>>,
    /// The patch of each file, relative to the workspace, in the same order.
    pub patches: Arc<Vec<String>>,
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
}

/// Runs the whole panel, at most as many of it at once as the limits in force say.
pub async fn run_panel(context: &SessionContext, members: Vec<PanelMember>, input: &PanelInput) -> PanelResult {
    let deadline = Instant::now() + seconds(context.limits.panel_seconds);
    let places = Places::default();
    // Whoever's task breaks did not review, and must not be missing from the account.
    let mut results: Vec<MemberResult> = members
        .iter()
        .map(|member| {
            let mut report = blank_report(member);
            report.outcome = ReviewerOutcome::Failed;
            report.reason = Some("its task broke; this is a fault of Conclave".to_owned());
            MemberResult::nothing(report)
        })
        .collect();
    let mut running = JoinSet::new();
    for (index, member) in members.into_iter().enumerate() {
        // In the panel's order: those whose absence counts do not come last.
        let permit = places.take(context).await;
        let (context, input) = (context.clone(), input.clone());
        running.spawn(async move {
            let name = member.name.clone();
            let result = run_member(&context, member, deadline, &input).await;
            // It may never have asked.
            context.head_start.started(name.as_str());
            drop(permit);
            (index, result)
        });
    }
    while let Some(joined) = running.join_next().await {
        match joined {
            Ok((index, result)) => results[index] = result,
            Err(error) => tracing::error!(%error, "a reviewer's task broke"),
        }
    }
    let mut panel = PanelResult::default();
    for member in results {
        panel.hallucinated.extend(
            member
                .hallucinated
                .into_iter()
                .map(|lost| (member.report.name.clone(), lost)),
        );
        panel.unproven.extend(member.unproven);
        panel.reports.push(member.report);
        panel.findings.extend(member.findings);
        panel.reads.extend(member.reads);
    }
    for (index, finding) in panel.findings.iter_mut().enumerate() {
        finding.id = format!("F{}", index + 1);
    }
    panel
}

/// The places of a panel, of which the limit in force says how many there are.
#[derive(Debug, Clone)]
struct Places(Arc<watch::Sender<usize>>);

impl Default for Places {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Places {
    /// Waits for a place. One caller at a time.
    async fn take(&self, context: &SessionContext) -> Place {
        let (mut taken, mut changes) = (self.0.subscribe(), context.routes.changes());
        while *taken.borrow_and_update() >= most_at_once(&context.limits()) {
            tokio::select! {
                _ = taken.changed() => {}
                () = changes.next() => {}
            }
        }
        self.0.send_modify(|taken| *taken += 1);
        Place(self.clone())
    }
}

/// How many sessions of the panel may run at once.
pub(crate) fn most_at_once(limits: &Limits) -> usize {
    usize::try_from(limits.sessions).unwrap_or(usize::MAX).max(1)
}

/// A place, until it is dropped.
#[derive(Debug)]
struct Place(Places);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.0.send_modify(|taken| *taken = taken.saturating_sub(1));
    }
}

/// The report of a member that has not run.
fn blank_report(member: &PanelMember) -> ReviewerReport {
    ReviewerReport {
        required: member.required,
        ..ReviewerReport::skipped(member.name.clone())
    }
}

async fn run_member(
    context: &SessionContext,
    member: PanelMember,
    deadline: Instant,
    input: &PanelInput,
) -> MemberResult {
    let mut report = blank_report(&member);
    let skipped = match &member.route {
        Err(none) => Some(none.to_string()),
        // It may have waited all the time for another reviewer's end.
        Ok(_)
            if context
                .deadline(Some(deadline))
                .is_some_and(|deadline| Instant::now() >= deadline) =>
        {
            Some("the time of the whole panel is over".to_owned())
        }
        Ok(_) => context.ledger.budget().forbids(member.required),
    };
    let (None, Ok(route)) = (&skipped, member.route) else {
        report.reason = skipped;
        context.telemetry.record(report.event());
        return MemberResult::nothing(report);
    };
    let fewer = fewer_patches(&input.files, &input.patches);
    let smaller = fewer.as_ref().map(|fewer| {
        let mut parts = member.parts.clone();
        // The role stays last, as in every reviewer's message.
        parts.insert(parts.len().saturating_sub(1), fewer.request.clone());
        parts
    });
    let task = SessionTask {
        name: member.name.to_string(),
        parts: member.parts,
        smaller,
        route,
        attempt: member.attempt,
        deadline: Some(deadline),
        waiting: None,
        done: None,
    };
    let mut answers = Answers::new(member.name.clone(), member.rules.as_deref(), input);
    let mut follow_up = WithinBudget {
        context,
        answers: &mut answers,
        required: member.required,
    };
    let session = run_session(context, &task, &mut follow_up).await;
    report.outcome = session.outcome;
    report.reason = session.reason;
    report.models = session.models;
    report.usage = session.usage;
    report.seconds = session.duration.as_secs_f64();
    let mut result = MemberResult::nothing(report);
    let faults = answers.faults.clone();
    take_findings(&mut result, answers);
    if session.text.is_some() {
        result.reads = session.reads;
        conclude(&mut result, &faults);
        if let Some(fewer) = fewer.filter(|_| session.smaller && result.report.outcome == ReviewerOutcome::Ok) {
            result.report.reason = Some(fewer.account);
        }
    }
    context.telemetry.record(result.report.event());
    context.progress.report(ProgressEvent::SessionDone {
        reviewer: result.report.name.as_str(),
        outcome: result.report.outcome.as_str(),
        findings: Some(&result.findings),
        seconds: result.report.seconds,
        reason: result.report.reason.as_deref(),
    });
    result
}

/// Asks a reviewer once more only while the budget has room for it.
struct WithinBudget<'a, 'b> {
    context: &'a SessionContext,
    answers: &'a mut Answers<'b>,
    required: bool,
}

#[async_trait]
impl FollowUp for WithinBudget<'_, '_> {
    async fn next(&mut self, answer: &SessionAnswer) -> Option<String> {
        let message = self.answers.next(answer).await?;
        if let Some(spent) = self.context.ledger.budget().forbids(self.required) {
            self.failed(&spent);
            return None;
        }
        let line = format!("{} is asked once more: {}", self.answers.name(), self.answers.why());
        self.context.progress.report(ProgressEvent::Warning(&line));
        self.answers.asked();
        Some(message)
    }

    async fn overhear(&mut self, answer: &SessionAnswer) {
        self.answers.overhear(answer).await;
    }

    fn failed(&mut self, reason: &str) {
        self.answers.failed(reason);
    }
}

/// Takes what all messages of a reviewer hold together, those of one that failed too.
fn take_findings(result: &mut MemberResult, answers: Answers<'_>) {
    let report = &mut result.report;
    result.hallucinated = answers.hallucinated();
    result.unproven = answers.unproven();
    report.findings = answers.findings.len();
    report.hallucinated = result.hallucinated.len();
    report.repairs = answers.repairs;
    result.findings = answers.findings;
}

/// Decides how a reviewer that answered has ended.
fn conclude(result: &mut MemberResult, faults: &[String]) {
    let report = &mut result.report;
    report.outcome = ReviewerOutcome::Ok;
    report.reason = None;
    if !faults.is_empty() {
        report.outcome = ReviewerOutcome::Failed;
        report.reason = Some(format!("unreadable output: {}", faults.join("; ")));
        // What it read led to nothing that can be used.
        result.reads.clear();
    }
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
