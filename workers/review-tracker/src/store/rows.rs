//! Events as rows: flat records that SQL reads with `json_each`.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conclave_shared::telemetry::{Event, EventBody, ReviewerCompleted};
use serde::Serialize;
use uuid::Uuid;

use super::{Batch, counts, sums::AllSums, tiers::Tiers};
use crate::clock::day;

/// Rows of what is written at once, one list a kind, so that a statement is sent only the rows that it is for.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Every event.
    pub(super) events: Vec<String>,
    /// One for each event, of which SQL makes one a run.
    pub(super) runs: Vec<String>,
    /// `run_started`.
    pub(super) started: Vec<String>,
    /// `run_started` once more, with what the plan decided.
    pub(super) planned: Vec<String>,
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
    /// `run_failed`.
    pub(super) failed: Vec<String>,
    /// `run_skipped`.
    pub(super) unneeded: Vec<String>,
    /// How often merge requests were reviewed.
    pub(super) reviews: Vec<String>,
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
    pub(crate) fn of(batches: &[Batch], known: &HashSet<Uuid>, tiers: &Tiers, now_ms: i64) -> Self {
        let mut rows = Self::default();
        let mut seen = known.clone();
        let mut names = BTreeSet::new();
        let mut runs = BTreeMap::new();
        let mut merge_requests = BTreeMap::new();
        let mut reviews = BTreeMap::new();
        let mut reviewed = BTreeSet::new();
        for batch in batches {
            let mut new = 0;
            for event in batch.events.iter().filter(|event| seen.insert(event.id)) {
                new += 1;
                let proven = batch.proven.contains(&event.id);
                rows.envelope(event, batch.received_ms, proven);
                rows.body(event, proven);
                counts::names(event, &mut names);
                let tier = tiers.of(event.run_id);
                rows.sums.event(event, tier, batch.skewed.contains(&event.id));
                let began = runs.entry(event.run_id).or_insert((&event.project, event.at_ms));
                began.1 = began.1.min(event.at_ms);
                if let Some(number) = merge_request(&event.event) {
                    merge_requests
                        .entry((&event.project, number))
                        .or_insert_with(|| (day(event.at_ms), tier));
                }
                if let EventBody::RunCompleted(completed) = &event.event
                    && let Some(number) = completed.merge_request
                {
                    // Each counts on its own day and under its own tier; the first one here may be the first one ever.
                    let is_leading = reviewed.insert((&event.project, number));
                    let review = reviews
                        .entry((&event.project, number, day(event.at_ms), tier))
                        .or_insert((0_u64, false));
                    review.0 += 1;
                    review.1 |= is_leading;
                }
            }
            if new > 0 {
                rows.sums.lag(day(batch.received_ms), now_ms - batch.received_ms);
            }
        }
        rows.runs = runs
            .into_iter()
            .map(|(run, (project, at_ms))| json(&(run, project, at_ms)))
            .collect();
        rows.merge_requests = merge_requests
            .into_iter()
            .map(|((project, number), (day, tier))| json(&(project, number, day, tier)))
            .collect();
        rows.reviews = reviews
            .into_iter()
            .map(|((project, number, day, tier), (count, leading))| json(&(project, number, day, tier, count, leading)))
            .collect();
        rows.names = names.iter().map(json).collect();
        rows
    }

    fn envelope(&mut self, event: &Event, received_ms: i64, proven: bool) {
        let body = json(&event.event);
        self.events.push(json(&(
            event.id,
            event.run_id,
            &event.project,
            event.event.kind(),
            event.schema,
            event.at_ms,
            received_ms,
            body,
            proven,
        )));
    }

    fn body(&mut self, event: &Event, proven: bool) {
        match &event.event {
            EventBody::RunStarted(started) if started.planned => self.planned.push(row(event, started)),
            EventBody::RunStarted(started) => self.started.push(row(event, started)),
            EventBody::RunCompleted(completed) => self.completed.push(row(event, completed)),
            EventBody::RunFailed(failed) => self.failed.push(row(event, failed)),
            EventBody::RunSkipped(skipped) => self.unneeded.push(row(event, skipped)),
            EventBody::ReviewerCompleted(session) => self.session(event, session),
            EventBody::Finding(finding) => self.findings.push(row(event, finding)),
            EventBody::FindingOutcome(outcome) => self.outcomes.push(proven_row(event, outcome, proven)),
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
        let tried = (!session.models_tried.is_empty()).then(|| json(&session.models_tried));
        self.sessions.push(json(&(
            event.id,
            event.run_id,
            event.at_ms,
            &session.reviewer,
            session.outcome,
            session.duration_ms,
            session.attempts,
            session.findings,
            tried,
        )));
        for (position, used) in session.usage.iter().enumerate() {
            self.usage.push(json(&(
                event.id,
                position,
                event.run_id,
                &session.reviewer,
                &used.model,
                used.calls,
                used.tokens.input,
                used.tokens.output,
                used.tokens.reasoning,
                used.tokens.cache_read,
                used.tokens.cache_write,
                used.cost_usd,
            )));
        }
    }
}

const fn merge_request(body: &EventBody) -> Option<u64> {
    match body {
        EventBody::RunStarted(started) => started.merge_request,
        EventBody::RunCompleted(completed) => completed.merge_request,
        EventBody::RunFailed(failed) => failed.merge_request,
        EventBody::RunSkipped(skipped) => skipped.merge_request,
        EventBody::BreakGlass(glass) => Some(glass.merge_request),
        _ => None,
    }
}

/// A row: what every event has, and under `of` what this one is about.
#[derive(Serialize)]
struct Row<'a, T> {
    id: Uuid,
    run_id: Uuid,
    project: &'a str,
    at_ms: i64,
    of: &'a T,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    proven: bool,
}

fn row(event: &Event, of: &impl Serialize) -> String {
    proven_row(event, of, false)
}

fn proven_row(event: &Event, of: &impl Serialize, proven: bool) -> String {
    json(&Row {
        id: event.id,
        run_id: event.run_id,
        project: &event.project,
        at_ms: event.at_ms,
        of,
        proven,
    })
}

/// A value as JSON. Tuples and events always become it.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
