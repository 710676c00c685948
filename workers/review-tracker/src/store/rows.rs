//! Events as rows: flat records that SQL reads with `json_each`.

use std::collections::{BTreeSet, HashSet};

use conclave_shared::telemetry::{Event, EventBody};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{clock::day, sketch};

/// Rows of one batch, one list a kind, so that a statement is sent only the rows that it is for.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Every event.
    pub(crate) events: Vec<Value>,
    /// One a run that is mentioned.
    pub(crate) runs: Vec<Value>,
    /// `run_started`.
    pub(crate) started: Vec<Value>,
    /// `run_completed`.
    pub(crate) completed: Vec<Value>,
    /// Values of completed runs, by bin.
    pub(crate) bins: Vec<Value>,
    /// `reviewer_completed`.
    pub(crate) sessions: Vec<Value>,
    /// What sessions used, one a model.
    pub(crate) usage: Vec<Value>,
    /// `finding`.
    pub(crate) findings: Vec<Value>,
    /// `telemetry_dropped`.
    pub(crate) dropped: Vec<Value>,
    /// Names that may be new.
    pub(crate) names: Vec<Value>,
}

impl Rows {
    /// Takes a batch apart. An id that comes twice in it is taken once.
    pub(crate) fn of(events: &[Event], received_ms: i64) -> Self {
        let mut rows = Self::default();
        let mut seen = HashSet::new();
        let mut names = BTreeSet::new();
        for event in events.iter().filter(|event| seen.insert(event.id)) {
            names.insert(("project", event.project.as_str()));
            rows.envelope(event, received_ms);
            match &event.event {
                EventBody::RunStarted(started) => rows.started.push(row(event, started)),
                EventBody::RunCompleted(completed) => {
                    rows.completed.push(row(event, completed));
                    let duration = f64::from(u32::try_from(completed.duration_ms).unwrap_or(u32::MAX));
                    for (metric, value) in [("duration_ms", duration), ("cost_usd", completed.cost_usd)] {
                        rows.bins.push(row(
                            event,
                            &json!({ "metric": metric, "tier": completed.tier, "bin": sketch::bin(value) }),
                        ));
                    }
                }
                EventBody::ReviewerCompleted(session) => {
                    names.insert(("reviewer", session.reviewer.as_str()));
                    rows.sessions.push(row(event, session));
                    for (position, usage) in session.usage.iter().enumerate() {
                        names.insert(("model", usage.model.as_str()));
                        rows.usage.push(row(
                            event,
                            &json!({ "position": position, "reviewer": session.reviewer, "used": usage }),
                        ));
                    }
                }
                EventBody::Finding(finding) => {
                    names.insert(("reviewer", finding.reviewer.as_str()));
                    rows.findings.push(row(event, finding));
                }
                // Kept as they came; nothing is counted from them.
                EventBody::CircuitChanged(_)
                | EventBody::Failback(_)
                | EventBody::VerdictApplied(_)
                | EventBody::BreakGlass(_)
                | EventBody::FindingOutcome(_)
                | EventBody::Metrics(_) => {}
                EventBody::TelemetryDropped(dropped) => rows.dropped.push(row(event, dropped)),
            }
        }
        rows.names = names
            .into_iter()
            .map(|(kind, name)| json!({ "kind": kind, "name": name }))
            .collect();
        rows
    }

    fn envelope(&mut self, event: &Event, received_ms: i64) {
        let body = json!(event.event).to_string();
        self.events.push(row(
            event,
            &json!({ "kind": event.event.kind(), "schema": event.schema, "received_ms": received_ms, "body": body }),
        ));
        self.runs.push(row(event, &Value::Null));
    }
}

/// A row: what every event has, and under `of` what this one is about.
fn row(event: &Event, of: &impl Serialize) -> Value {
    json!({
        "id": event.id,
        "run_id": event.run_id,
        "project": event.project,
        "at_ms": event.at_ms,
        "day": day(event.at_ms),
        "of": of,
    })
}
