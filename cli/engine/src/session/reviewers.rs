//! All reviewers at once, and what they found.

use std::sync::Arc;

use conclave_shared::{
    config::{Limits, seconds},
    finding::Finding,
    telemetry::ReviewerOutcome,
};
use tokio::{sync::watch, task::JoinSet, time::Instant};

use super::{SessionContext, SessionTask, answers::Answers, conversation::run_session};
use crate::{
    findings::Hallucinated,
    ports::FileRead,
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
    /// Findings without evidence.
    pub hallucinated: Vec<Hallucinated>,
    /// Serious findings without code that shows them.
    pub unproven: Vec<UnprovenFinding>,
    /// Reads of the workspace, by required reviewers whose answer counts: each patch is in the field of one.
    pub reads: Vec<FileRead>,
    /// Reads of the other reviewers whose answer counts.
    pub side_reads: Vec<FileRead>,
    /// Reads of reviewers whose answer cannot be used.
    pub unused_reads: Vec<FileRead>,
}

impl PanelResult {
    /// The result of one member that has found nothing.
    fn of(report: ReviewerReport) -> Self {
        Self {
            reports: vec![report],
            ..Self::default()
        }
    }

    fn join(&mut self, member: Self) {
        self.reports.extend(member.reports);
        self.findings.extend(member.findings);
        self.hallucinated.extend(member.hallucinated);
        self.unproven.extend(member.unproven);
        self.reads.extend(member.reads);
        self.side_reads.extend(member.side_reads);
        self.unused_reads.extend(member.unused_reads);
    }
}

/// Runs the whole panel, at most as many of it at once as the limits in force say.
pub async fn run_panel(context: &SessionContext, members: Vec<PanelMember>, input: &PanelInput) -> PanelResult {
    let deadline = Instant::now() + seconds(context.limits.panel_seconds);
    let places = Places::default();
    // Whoever's task breaks did not review, and must not be missing from the account.
    let mut results: Vec<PanelResult> = members
        .iter()
        .map(|member| {
            let mut report = blank_report(member);
            report.outcome = ReviewerOutcome::Failed;
            report.reason = Some("its task broke; this is a fault of Conclave".to_owned());
            PanelResult::of(report)
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
        panel.join(member);
    }
    for (index, finding) in panel.findings.iter_mut().enumerate() {
        finding.id = format!("F{}", index + 1);
    }
    panel
}

/// The places of a panel, of which the limit in force says how many there are.
#[derive(Debug, Clone, Default)]
struct Places(Arc<watch::Sender<usize>>);

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
pub fn most_at_once(limits: &Limits) -> usize {
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
) -> PanelResult {
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
    let (None, Ok(route)) = (&skipped, member.route.clone()) else {
        report.reason = skipped;
        context.telemetry.record(report.event());
        return PanelResult::of(report);
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
        parts: member.parts.clone(),
        // The index has all of them, also for whom none is meant.
        to_read: member.patches.len() + input.patches.len(),
        smaller,
        route,
        attempt: member.attempt,
        deadline: Some(deadline),
        done: None,
    };
    let mut answers = Answers::new(context, &member, input);
    let session = run_session(context, &task, &mut answers).await;
    answers.end();
    let has_answer = session.text.is_some();
    let (smaller, reads) = (session.smaller, session.into_report(&mut report));
    // All messages of a reviewer count together, those of one that failed too.
    let hallucinated = answers.hallucinated();
    report.findings = answers.findings.len();
    report.hallucinated = hallucinated.len();
    let told = answers.may_have_told();
    let unchecked = answers.unchecked(&reads);
    let is_unread = member.required && answers.has_read_nothing(&reads);
    let mut result = PanelResult {
        unproven: answers.unproven(),
        hallucinated,
        findings: answers.findings,
        ..PanelResult::default()
    };
    report.repairs.extend(answers.repairs);
    if !has_answer && !report.models.is_empty() {
        // It was shown them, and came to no answer.
        result.unused_reads.extend(in_prompt(input));
        report.reason = with_words(report.reason.take(), told.as_deref());
    }
    if has_answer {
        report.outcome = ReviewerOutcome::Ok;
        report.reason = None;
        if answers.faults.is_empty() && !is_unread {
            let read = if member.required {
                &mut result.reads
            } else {
                &mut result.side_reads
            };
            *read = reads;
            read.extend(in_prompt(input));
            report.reason = fewer.filter(|_| smaller).map(|fewer| fewer.account).or(unchecked);
        } else {
            // What it read led to nothing that can be used.
            result.unused_reads = reads;
            result.unused_reads.extend(in_prompt(input));
            report.outcome = ReviewerOutcome::Failed;
            report.reason = match &told {
                told if answers.faults.is_empty() => {
                    with_words(Some("it has read none of its patches".to_owned()), told.as_deref())
                }
                Some(_) => with_words(None, told.as_deref()),
                None => Some(format!("unreadable output: {}", answers.faults.join("; "))),
            };
        }
    }
    // A reviewer that may have seen a problem is needed: the review does not have it.
    report.required |= told.is_some() && report.outcome != ReviewerOutcome::Ok;
    context.tell_end(&report, Some(&result.findings));
    result.reports.push(report);
    result
}

/// The reason why a reviewer came to no answer, with the words of it that may tell a problem.
fn with_words(reason: Option<String>, told: Option<&str>) -> Option<String> {
    let told = told.map(|told| format!("it may have told a problem that is in no finding: {told}"));
    match (reason, told) {
        (Some(reason), Some(told)) => Some(format!("{reason}; {told}")),
        (reason, told) => reason.or(told),
    }
}

/// The patches that stood in the reviewer's message: it has seen all of each.
fn in_prompt(input: &PanelInput) -> impl Iterator<Item = FileRead> {
    let patches = input.patches.iter().filter(|patch| patch.in_prompt);
    patches.map(|patch| FileRead {
        path: patch.path.clone(),
        first: 1,
        last: None,
        cut_lines: false,
    })
}

#[cfg(test)]
#[path = "reviewers_tests.rs"]
mod tests;
