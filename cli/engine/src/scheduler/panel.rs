//! All reviewers at once, and what they found.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use conclave_shared::{
    config::{ModelRoute, NoModel, seconds},
    finding::Finding,
    model::ModelId,
    reviewer::ReviewerName,
    telemetry::{EventBody, ReviewerCompleted, ReviewerOutcome, TokensByModel},
};
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use super::{SessionContext, SessionTask, run_session};
use crate::{
    diff::FileDiff,
    findings::{Hallucinated, SourceReader, check, scan},
    ports::ProgressEvent,
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
    /// Its message.
    pub parts: Vec<String>,
}

/// How a reviewer, or the coordinator, did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

impl ReviewerReport {
    /// The end of this session, for the tracker. Told when it happens, so that the tracker knows when that was.
    pub fn event(&self) -> EventBody {
        EventBody::ReviewerCompleted(ReviewerCompleted {
            reviewer: self.name.to_string(),
            outcome: self.outcome,
            duration_ms: milliseconds(self.seconds),
            attempts: u32::try_from(self.models.len()).unwrap_or(u32::MAX),
            findings: u64::try_from(self.findings).unwrap_or(u64::MAX),
            usage: self.usage.clone(),
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
    /// Files of the workspace that somebody read.
    pub files_read: BTreeSet<String>,
}

/// The reviewed source.
#[async_trait]
pub trait SourceTree: Send + Sync {
    /// A file's text at head, or at base; `None` if there is none or it is no text.
    async fn text(&self, path: &str, at_base: bool) -> Option<String>;
}

#[derive(Default)]
struct Fetched(BTreeMap<(String, bool), String>);

impl SourceReader for Fetched {
    fn read(&mut self, path: &str, at_base: bool) -> Option<String> {
        self.0.get(&(path.to_owned(), at_base)).cloned()
    }
}

struct MemberResult {
    report: ReviewerReport,
    findings: Vec<Finding>,
    hallucinated: Vec<Hallucinated>,
    files_read: BTreeSet<String>,
}

/// Runs the whole panel, at most `sessions` of it at once.
pub async fn run_panel(
    context: &SessionContext,
    members: Vec<PanelMember>,
    files: Arc<Vec<FileDiff>>,
    source: Arc<dyn SourceTree>,
    sessions: usize,
) -> PanelResult {
    let deadline = Instant::now() + seconds(context.limits.panel_seconds);
    let permits = Arc::new(Semaphore::new(sessions.max(1)));
    let mut running = JoinSet::new();
    for (index, member) in members.into_iter().enumerate() {
        let (context, files, source) = (context.clone(), Arc::clone(&files), Arc::clone(&source));
        let permits = Arc::clone(&permits);
        running.spawn(async move {
            let permit = permits.acquire().await;
            let result = run_member(&context, member, deadline, &files, source.as_ref()).await;
            drop(permit);
            (index, result)
        });
    }
    let mut results = Vec::new();
    while let Some(joined) = running.join_next().await {
        match joined {
            Ok(result) => results.push(result),
            Err(error) => tracing::error!(%error, "a reviewer's task broke"),
        }
    }
    results.sort_by_key(|(index, _)| *index);
    let mut panel = PanelResult::default();
    for (_, member) in results {
        panel.hallucinated.extend(
            member
                .hallucinated
                .into_iter()
                .map(|lost| (member.report.name.clone(), lost)),
        );
        panel.reports.push(member.report);
        panel.findings.extend(member.findings);
        panel.files_read.extend(member.files_read);
    }
    for (index, finding) in panel.findings.iter_mut().enumerate() {
        finding.id = format!("F{}", index + 1);
    }
    panel
}

async fn run_member(
    context: &SessionContext,
    member: PanelMember,
    deadline: Instant,
    files: &[FileDiff],
    source: &dyn SourceTree,
) -> MemberResult {
    let mut report = ReviewerReport {
        name: member.name.clone(),
        outcome: ReviewerOutcome::Skipped,
        reason: None,
        required: member.required,
        models: Vec::new(),
        usage: Vec::new(),
        seconds: 0.0,
        findings: 0,
        hallucinated: 0,
    };
    let route = match member.route {
        Ok(route) => route,
        Err(none) => {
            report.reason = Some(none.to_string());
            context.telemetry.record(report.event());
            return MemberResult {
                report,
                findings: Vec::new(),
                hallucinated: Vec::new(),
                files_read: BTreeSet::new(),
            };
        }
    };
    let task = SessionTask {
        name: member.name.to_string(),
        parts: member.parts,
        route,
        attempt: member.attempt,
        deadline: Some(deadline),
        waiting: None,
    };
    let session = run_session(context, &task).await;
    report.outcome = session.outcome;
    report.reason = session.reason;
    report.models = session.models;
    report.usage = session.usage;
    report.seconds = session.duration.as_secs_f64();
    let mut findings = Vec::new();
    let mut hallucinated = Vec::new();
    if report.outcome == ReviewerOutcome::Ok {
        let scanned = scan(session.text.as_deref().unwrap_or_default());
        let mut fetched = Fetched::default();
        for finding in &scanned.findings {
            for path in [finding.get("file"), finding.get("second_file")].into_iter().flatten() {
                let path = path.trim_start_matches("./");
                for at_base in [false, true] {
                    if let Some(text) = source.text(path, at_base).await {
                        fetched.0.insert((path.to_owned(), at_base), text);
                    }
                }
            }
        }
        let checked = check(&member.name, &scanned.findings, files, &mut fetched);
        let faults: Vec<String> = scanned.faults.into_iter().chain(checked.faults).collect();
        if !faults.is_empty() {
            report.outcome = ReviewerOutcome::Failed;
            report.reason = Some(format!("unreadable output: {}", faults.join("; ")));
        }
        findings = checked.findings;
        hallucinated = checked.hallucinated;
        report.findings = findings.len();
        report.hallucinated = hallucinated.len();
    }
    context.telemetry.record(report.event());
    context.progress.report(ProgressEvent::SessionDone {
        reviewer: report.name.as_str(),
        outcome: report.outcome.as_str(),
        findings: Some(&findings),
        seconds: report.seconds,
        reason: report.reason.as_deref(),
    });
    MemberResult {
        report,
        findings,
        hallucinated,
        files_read: session.files_read,
    }
}
