//! What sessions share, and what each has to do.

use std::{sync::Arc, time::Duration};

use conclave_shared::{
    config::{Limits, ModelRoute, seconds},
    finding::Finding,
    risk::SecurityPaths,
};
use tokio::{sync::watch, time::Instant};

use super::{head_start::HeadStart, routing::LiveRoutes};
use crate::{
    diff::FileDiff,
    ports::{AgentRuntime, Progress, ProgressEvent, SessionId, SourceTree, StopSignal, TelemetrySink, UsageLedger},
    review::{GivenPatch, ReviewerReport},
    rules::RuleBook,
};

/// What all sessions of a run share.
#[derive(Clone)]
pub struct SessionContext {
    /// The runtime.
    pub runtime: Arc<dyn AgentRuntime>,
    /// The gateway's books.
    pub ledger: Arc<dyn UsageLedger>,
    /// Signs of life.
    pub progress: Arc<dyn Progress>,
    /// Where every session's end is told.
    pub telemetry: Arc<dyn TelemetrySink>,
    /// The routes in force.
    pub routes: LiveRoutes,
    /// The limits that the plan was made with.
    pub limits: Limits,
    /// Who asks a model first.
    pub head_start: HeadStart,
    /// Tells when everything has to end.
    pub stop: StopSignal,
}

impl SessionContext {
    /// The limits in force.
    pub(super) fn limits(&self) -> Limits {
        self.routes.limits().unwrap_or_else(|| self.limits.clone())
    }

    /// How long one attempt of this session may take.
    pub(super) fn attempt(&self, task: &SessionTask) -> Duration {
        self.routes.attempt(&task.name).unwrap_or(task.attempt)
    }

    /// When all attempts together are over: the time of the plan, moved by as much as the limit has changed since.
    pub(super) fn deadline(&self, planned: Option<Instant>) -> Option<Instant> {
        let before = seconds(self.limits.panel_seconds);
        let now = self
            .routes
            .limits()
            .map_or(before, |limits| seconds(limits.panel_seconds));
        planned.map(|planned| {
            let began = planned.checked_sub(before).unwrap_or(planned);
            began + now
        })
    }

    /// Reports how a session ended, and what was found in it; the coordinator has no findings of its own.
    pub(crate) fn tell_end(&self, report: &ReviewerReport, findings: Option<&[Finding]>) {
        self.telemetry.record(report.event());
        self.progress.report(ProgressEvent::SessionDone {
            reviewer: report.name.as_str(),
            outcome: report.outcome.as_str(),
            findings,
            seconds: report.seconds,
            reason: report.reason.as_deref(),
        });
    }

    /// Tells what a session has used so far.
    pub(super) fn tell_usage(&self, reviewer: &str, session: &SessionId) {
        let usage = self.ledger.usage(session);
        self.progress.report(ProgressEvent::Usage {
            reviewer,
            tokens: usage.iter().map(|entry| entry.tokens.total()).sum(),
            cost_usd: usage.iter().fold(0.0, |sum, entry| sum + entry.cost_usd),
        });
    }
}

/// What a session has to do.
#[derive(Debug, Clone)]
pub struct SessionTask {
    /// The reviewer, or the coordinator.
    pub name: String,
    /// The message, in parts.
    pub parts: Vec<String>,
    /// Number of calls that reading may take: one for each patch that it is shown, and another for each that is its own.
    pub to_read: usize,
    /// The message for a second, new session, if the first one read more than fits; nothing if less cannot be asked.
    pub smaller: Option<Vec<String>>,
    /// Models, best first.
    pub route: ModelRoute,
    /// Time for one attempt.
    pub attempt: Duration,
    /// When all attempts together are over.
    pub deadline: Option<Instant>,
    /// Becomes `true` once the session has done what it is for: then it is ended, in whichever turn it is.
    pub done: Option<watch::Receiver<bool>>,
}

/// What the panel reviews.
#[derive(Clone)]
pub struct PanelInput {
    /// The filtered diff.
    pub files: Arc<Vec<FileDiff>>,
    /// Files of the merge request that were reviewed before, as they are. A finding may still be in one of them: what has
    /// changed elsewhere can have broken it.
    pub unchanged: Arc<Vec<FileDiff>>,
    /// The patch of each file, in the same order.
    pub patches: Arc<Vec<GivenPatch>>,
    /// Which paths are security-sensitive.
    pub security: Arc<SecurityPaths>,
    /// The rules in force for its files.
    pub rules: Arc<RuleBook>,
    /// The reviewed source.
    pub source: Arc<dyn SourceTree>,
}
