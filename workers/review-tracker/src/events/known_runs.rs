//! Known runs: the project of each, the tier that its events are counted under, and whether it has ended.
//!
//! Only a run's start and its end state the tier. They are nearly always in the same write as the run's other events; for the others
//! the run is looked up. That is asked before the transaction, which is enough: a project's events are written one after the other,
//! and neither a tier that was stated nor the project of a run changes.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{
    risk::RiskTier,
    telemetry::{Event, EventBody, RunCompleted},
};
use serde::Deserialize;
use uuid::Uuid;

use super::{Batch, meaning};

/// Stands for a tier that no event has stated.
const UNKNOWN: &str = "";
/// Stands for the tier of a review that a person skipped: it never gets one.
pub(super) const SKIPPED: &str = "none";

/// Asks for what is stored of runs; the parameter is a JSON array of their ids. Each row is a [`StoredRun`].
pub(crate) const STORED: &str = "SELECT run_id, project, tier, skipped, verdict IS NOT NULL AS ended,
  failed_kind IS NOT NULL AS failed FROM runs WHERE run_id IN (SELECT value FROM json_each(?1))";

/// Asks for the ends that runs were counted with; the parameter is a JSON array of their ids. Each row is a [`CountedRun`]. Of several
/// ends the one that was counted is the one that the run has.
pub(crate) const COUNTED: &str = "SELECT e.id, e.run_id, e.project, e.schema_version, e.at_ms, e.body
  FROM events AS e INDEXED BY events_completed JOIN runs AS r USING (run_id)
  WHERE e.kind = 'run_completed' AND e.run_id IN (SELECT value FROM json_each(?1)) AND r.failed_kind IS NULL
  AND e.at_ms = r.completed_ms AND e.body->>'verdict' = r.verdict ORDER BY e.received_ms DESC";

/// An end as it is stored.
#[derive(Deserialize)]
pub(crate) struct CountedRun {
    id: Uuid,
    run_id: Uuid,
    project: String,
    schema_version: u32,
    at_ms: i64,
    body: String,
}

/// A run as it is stored.
#[derive(Deserialize)]
pub(crate) struct StoredRun {
    run_id: Uuid,
    project: String,
    tier: Option<RiskTier>,
    skipped: u8,
    ended: u8,
    failed: u8,
}

/// Runs by what earlier events have said of them.
#[derive(Debug, Default)]
pub struct KnownRuns {
    tiers: HashMap<Uuid, &'static str>,
    projects: HashMap<Uuid, String>,
    completed: BTreeSet<Uuid>,
    failed: BTreeSet<Uuid>,
    counted: HashMap<Uuid, Event>,
}

impl KnownRuns {
    /// Takes what batches state themselves.
    pub fn learn(&mut self, batches: &[Batch]) {
        let tiers = events(batches).filter_map(|event| Some((event.run_id, meaning(&event.event).tier()?)));
        self.tiers.extend(tiers);
    }

    /// Takes a run that was looked up. What the batches state of its tier stands.
    pub(crate) fn remember(&mut self, run: StoredRun) {
        if run.tier.is_some() || run.skipped != 0 {
            let tier = run.tier.map_or(SKIPPED, RiskTier::as_str);
            self.tiers.entry(run.run_id).or_insert(tier);
        }
        if run.ended != 0 {
            self.completed.insert(run.run_id);
        }
        if run.failed != 0 {
            self.failed.insert(run.run_id);
        }
        self.projects.insert(run.run_id, run.project);
    }

    /// Takes the end that a run was counted with.
    pub(crate) fn remember_end(&mut self, end: CountedRun) {
        let Ok(body) = serde_json::from_str(&end.body) else {
            return;
        };
        let event = Event {
            id: end.id,
            schema: end.schema_version,
            at_ms: end.at_ms,
            run_id: end.run_id,
            project: end.project,
            event: body,
        };
        self.counted.insert(event.run_id, event);
    }

    /// The runs that were counted as completed and of which batches say that they failed.
    pub(crate) fn failing_after_all(&self, batches: &[Batch]) -> Vec<Uuid> {
        let failing = events(batches).filter(|event| is_failure(&event.event));
        let runs: BTreeSet<Uuid> = failing.map(|event| event.run_id).collect();
        let counted = runs.intersection(&self.completed);
        counted.filter(|run| !self.failed.contains(run)).copied().collect()
    }

    /// The runs of batches.
    pub(crate) fn of(batches: &[Batch]) -> Vec<Uuid> {
        let runs: BTreeSet<Uuid> = events(batches).map(|event| event.run_id).collect();
        runs.into_iter().collect()
    }

    /// The runs that have ended with a verdict before: a run counts once, with the verdict that came first.
    pub(super) const fn completed(&self) -> &BTreeSet<Uuid> {
        &self.completed
    }

    /// The runs that are counted as failed.
    pub(super) const fn failed(&self) -> &BTreeSet<Uuid> {
        &self.failed
    }

    /// The end that a run was counted with, if it was asked for.
    pub(super) fn counted(&self, run: Uuid) -> Option<&Event> {
        self.counted.get(&run)
    }

    /// The project whose run it is, if it is known.
    pub(super) fn project(&self, run: Uuid) -> Option<&str> {
        self.projects.get(&run).map(String::as_str)
    }

    /// The tier of a run.
    pub(super) fn tier(&self, run: Uuid) -> &'static str {
        self.tiers.get(&run).copied().unwrap_or(UNKNOWN)
    }
}

fn events(batches: &[Batch]) -> impl Iterator<Item = &Event> {
    batches.iter().flat_map(|batch| &batch.events)
}

/// Returns whether an event says that its run failed.
pub(super) const fn is_failure(event: &EventBody) -> bool {
    matches!(
        event,
        EventBody::RunFailed(_)
            | EventBody::RunCompleted(RunCompleted {
                unpublished: Some(_),
                ..
            })
    )
}
