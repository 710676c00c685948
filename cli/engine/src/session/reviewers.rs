//! All reviewers at once, and what they found.

use std::sync::Arc;

use async_trait::async_trait;
use conclave_shared::{
    config::{Limits, seconds},
    finding::Finding,
    reviewer::ReviewerName,
    telemetry::ReviewerOutcome,
};
use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::{
    SessionContext, SessionTask,
    answers::Answers,
    conversation::{FollowUp, run_session},
};
use crate::{
    findings::Hallucinated,
    ports::{FileRead, ProgressEvent, SessionAnswer},
    prompt::fewer_patches,
    review::{PanelMember, ReviewerReport, UnprovenFinding},
    session::PanelInput,
};

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
#[path = "reviewers_tests.rs"]
mod tests;
