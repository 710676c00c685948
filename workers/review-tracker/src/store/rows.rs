//! Events as rows: flat records that SQL reads with `json_each`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conclave_shared::telemetry::{Event, EventBody, ReviewerCompleted};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Batch, counts, sums::AllSums};
use crate::clock::day;

/// Rows of what is written at once, one list a kind, so that a statement is sent only the rows that it is for.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Every event.
    pub(super) events: Vec<String>,
    /// One for each event, of which SQL makes one a run.
    pub(super) runs: Vec<String>,
    /// `run_started`.
    pub(super) started: Vec<String>,
    /// `run_completed`.
    pub(super) completed: Vec<String>,
    /// `reviewer_completed`.
    pub(super) sessions: Vec<String>,
    /// What sessions used, one a model.
    pub(super) usage: Vec<String>,
    /// `finding`.
    pub(super) findings: Vec<String>,
    /// `finding_outcome`.
    pub(super) outcomes: Vec<String>,
    /// `circuit_changed`.
    pub(super) circuits: Vec<String>,
    /// `failback`.
    pub(super) failbacks: Vec<String>,
    /// `verdict_applied`.
    pub(super) verdicts: Vec<String>,
    /// `break_glass`.
    pub(super) glasses: Vec<String>,
    /// Merge requests that are mentioned, each once.
    pub(super) merge_requests: Vec<String>,
    /// Names that may be new.
    pub(super) names: Vec<String>,
    /// What is added to rollups.
    pub(super) sums: AllSums,
}

impl Rows {
    /// Takes batches apart. What is known, and an id that comes twice, is left out.
    pub(super) fn of(batches: &[Batch], known: &HashSet<Uuid>, now_ms: i64) -> Self {
        let mut rows = Self::default();
        let mut seen = known.clone();
        let mut names = BTreeSet::new();
        let mut runs = BTreeMap::new();
        let mut merge_requests = BTreeMap::new();
        for batch in batches {
            let mut new = 0;
            for event in batch.events.iter().filter(|event| seen.insert(event.id)) {
                new += 1;
                rows.envelope(event, batch.received_ms);
                rows.body(event);
                counts::names(event, &mut names);
                rows.sums.event(event, batch.skewed.contains(&event.id));
                let began = runs.entry(event.run_id).or_insert((&event.project, event.at_ms));
                began.1 = began.1.min(event.at_ms);
                if let Some(number) = merge_request(&event.event) {
                    merge_requests
                        .entry((&event.project, number))
                        .or_insert_with(|| day(event.at_ms));
                }
            }
            if new > 0 {
                rows.sums.lag(day(batch.received_ms), now_ms - batch.received_ms);
            }
        }
        rows.runs = json_rows(
            runs.into_iter()
                .map(|(run, (project, at_ms))| json!([run, project, at_ms])),
        );
        rows.merge_requests = json_rows(
            merge_requests
                .into_iter()
                .map(|((project, number), day)| json!([project, number, day])),
        );
        rows.names = json_rows(names.into_iter().map(|(kind, name)| json!([kind, name])));
        rows
    }

    fn envelope(&mut self, event: &Event, received_ms: i64) {
        let body = json!(event.event).to_string();
        let row = json!([
            event.id,
            event.run_id,
            event.project,
            event.event.kind(),
            event.schema,
            event.at_ms,
            received_ms,
            body
        ]);
        self.events.push(row.to_string());
    }

    fn body(&mut self, event: &Event) {
        match &event.event {
            EventBody::RunStarted(started) => self.started.push(row(event, started)),
            EventBody::RunCompleted(completed) => self.completed.push(row(event, completed)),
            EventBody::ReviewerCompleted(session) => self.session(event, session),
            EventBody::Finding(finding) => self.findings.push(row(event, finding)),
            EventBody::FindingOutcome(outcome) => self.outcomes.push(row(event, outcome)),
            EventBody::CircuitChanged(circuit) => self.circuits.push(row(event, circuit)),
            EventBody::Failback(failback) => self.failbacks.push(row(event, failback)),
            EventBody::VerdictApplied(verdict) => self.verdicts.push(row(event, verdict)),
            EventBody::BreakGlass(glass) => self.glasses.push(row(event, glass)),
            // Only counted.
            EventBody::TelemetryDropped(_) | EventBody::Metrics(_) => {}
        }
    }

    /// Most events are sessions: their rows are short arrays, which the database reads faster than objects.
    fn session(&mut self, event: &Event, session: &ReviewerCompleted) {
        let tried = (!session.models_tried.is_empty()).then(|| json!(session.models_tried).to_string());
        let row = json!([
            event.id,
            event.run_id,
            event.at_ms,
            session.reviewer,
            session.outcome,
            session.duration_ms,
            session.attempts,
            session.findings,
            tried
        ]);
        self.sessions.push(row.to_string());
        for (position, used) in session.usage.iter().enumerate() {
            let row = json!([
                event.id,
                position,
                event.run_id,
                session.reviewer,
                used.model,
                used.calls,
                used.tokens.input,
                used.tokens.output,
                used.tokens.reasoning,
                used.tokens.cache_read,
                used.tokens.cache_write,
                used.cost_usd
            ]);
            self.usage.push(row.to_string());
        }
    }
}

const fn merge_request(body: &EventBody) -> Option<u64> {
    match body {
        EventBody::RunStarted(started) => started.merge_request,
        EventBody::RunCompleted(completed) => completed.merge_request,
        EventBody::BreakGlass(glass) => Some(glass.merge_request),
        _ => None,
    }
}

/// A row: what every event has, and under `of` what this one is about.
fn row(event: &Event, of: &impl Serialize) -> String {
    json!({
        "id": event.id,
        "run_id": event.run_id,
        "project": event.project,
        "at_ms": event.at_ms,
        "of": of,
    })
    .to_string()
}

fn json_rows(rows: impl Iterator<Item = Value>) -> Vec<String> {
    rows.map(|row| row.to_string()).collect()
}
