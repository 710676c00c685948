//! Events as rows: flat records that SQL reads with `json_each`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conclave_shared::telemetry::{Event, EventBody};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Batch, counts};
use crate::{clock::day, sketch};

/// Rows of what is written at once, one list a kind, so that a statement is sent only the rows that it is for.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Every event.
    pub(crate) events: Vec<Value>,
    /// One for each event, of which SQL makes one a run.
    pub(crate) runs: Vec<Value>,
    /// `run_started`.
    pub(crate) started: Vec<Value>,
    /// `run_completed`.
    pub(crate) completed: Vec<Value>,
    /// Values whose distribution is kept, by bin.
    pub(crate) bins: Vec<Value>,
    /// `reviewer_completed`.
    pub(crate) sessions: Vec<Value>,
    /// What sessions used, one a model.
    pub(crate) usage: Vec<Value>,
    /// `finding`.
    pub(crate) findings: Vec<Value>,
    /// Findings that stand.
    pub(crate) kept: Vec<Value>,
    /// `finding_outcome`.
    pub(crate) outcomes: Vec<Value>,
    /// `circuit_changed`.
    pub(crate) circuits: Vec<Value>,
    /// `failback`.
    pub(crate) failbacks: Vec<Value>,
    /// `verdict_applied`.
    pub(crate) verdicts: Vec<Value>,
    /// `break_glass`.
    pub(crate) glasses: Vec<Value>,
    /// Figures of `metrics`.
    pub(crate) metrics: Vec<Value>,
    /// Whatever is only counted.
    pub(crate) counts: Vec<Value>,
    /// Merge requests that are mentioned, each once.
    pub(crate) merge_requests: Vec<Value>,
    /// Names that may be new.
    pub(crate) names: Vec<Value>,
}

impl Rows {
    /// Takes batches apart. An id that comes twice is taken once.
    pub(crate) fn of(batches: &[Batch], now_ms: i64) -> Self {
        let mut rows = Self::default();
        let mut seen = HashSet::new();
        let mut names = BTreeSet::new();
        let mut merge_requests = BTreeMap::new();
        for batch in batches {
            for event in batch.events.iter().filter(|event| seen.insert(event.id)) {
                rows.envelope(event, batch.received_ms);
                rows.body(event);
                counts::names(event, &mut names);
                let skewed = batch.skewed.contains(&event.id);
                rows.counts
                    .extend(counts::of(event, skewed).map(|count| row(event, &count)));
                if let Some(number) = merge_request(&event.event) {
                    merge_requests
                        .entry((event.project.as_str(), number))
                        .or_insert_with(|| row(event, &number));
                }
            }
            if let Some(first) = batch.events.first() {
                rows.bins.push(bin(first, "lag_ms", "", lag(batch.received_ms, now_ms)));
            }
        }
        rows.merge_requests = merge_requests.into_values().collect();
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

    fn body(&mut self, event: &Event) {
        match &event.event {
            EventBody::RunStarted(started) => self.started.push(row(event, started)),
            EventBody::RunCompleted(completed) => {
                self.completed.push(row(event, completed));
                let duration = f64::from(u32::try_from(completed.duration_ms).unwrap_or(u32::MAX));
                let tier = completed.tier.as_str();
                self.bins.push(bin(event, "duration_ms", tier, duration));
                self.bins.push(bin(event, "cost_usd", tier, completed.cost_usd));
            }
            EventBody::ReviewerCompleted(session) => {
                self.sessions.push(row(event, session));
                for (position, usage) in session.usage.iter().enumerate() {
                    self.usage.push(row(
                        event,
                        &json!({ "position": position, "reviewer": session.reviewer, "used": usage }),
                    ));
                }
            }
            EventBody::Finding(finding) => {
                self.findings.push(row(event, finding));
                if counts::stands(finding) {
                    self.kept.push(row(event, finding));
                }
            }
            EventBody::FindingOutcome(outcome) => self.outcomes.push(row(event, outcome)),
            EventBody::CircuitChanged(circuit) => self.circuits.push(row(event, circuit)),
            EventBody::Failback(failback) => self.failbacks.push(row(event, failback)),
            EventBody::VerdictApplied(verdict) => self.verdicts.push(row(event, verdict)),
            EventBody::BreakGlass(glass) => self.glasses.push(row(event, glass)),
            EventBody::TelemetryDropped(_) => {}
            EventBody::Metrics(metrics) => self
                .metrics
                .extend(metrics.samples.iter().map(|sample| row(event, sample))),
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

fn bin(event: &Event, metric: &str, tier: &str, value: f64) -> Value {
    row(
        event,
        &json!({ "metric": metric, "tier": tier, "bin": sketch::bin(value) }),
    )
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of days stay far below 2^53")]
fn lag(received_ms: i64, now_ms: i64) -> f64 {
    (now_ms - received_ms).max(0) as f64
}
