//! The tier that a run's events are counted under.
//!
//! Only a run's start and its end state it. They are nearly always in the same write as the run's other events; for the others the
//! run is looked up. That is asked before the transaction, which is enough: a project's events are written one after the other,
//! and a tier that was stated does not change.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{
    risk::RiskTier,
    telemetry::{Event, EventBody},
};
use uuid::Uuid;

use super::{Batch, meaning};

/// Stands for a tier that no event has stated.
const UNKNOWN: &str = "";
/// Stands for the tier of a review that a person skipped: it never gets one.
pub(super) const SKIPPED: &str = "none";

/// Tiers by run, as rollups name them, and the runs that have ended with a verdict.
#[derive(Debug, Default)]
pub struct Tiers {
    by_run: HashMap<Uuid, &'static str>,
    completed: BTreeSet<Uuid>,
}

impl Tiers {
    /// Takes what batches state themselves.
    pub fn learn(&mut self, batches: &[Batch]) {
        let tiers = events(batches).filter_map(|event| Some((event.run_id, meaning(&event.event).tier()?)));
        self.by_run.extend(tiers);
    }

    /// Takes a run that was looked up; a run that has ended without a tier was skipped.
    pub(crate) fn remember(&mut self, run: Uuid, tier: Option<RiskTier>) {
        self.by_run.insert(run, tier.map_or(SKIPPED, RiskTier::as_str));
    }

    /// The runs of batches that have to be looked up.
    pub(crate) fn unknown(&self, batches: &[Batch]) -> Vec<Uuid> {
        let runs: BTreeSet<Uuid> = events(batches).map(|event| event.run_id).collect();
        runs.into_iter().filter(|run| !self.by_run.contains_key(run)).collect()
    }

    /// The runs of which batches state the end.
    pub(crate) fn ending(batches: &[Batch]) -> Vec<Uuid> {
        let ends = events(batches).filter(|event| matches!(event.event, EventBody::RunCompleted(_)));
        let runs: BTreeSet<Uuid> = ends.map(|event| event.run_id).collect();
        runs.into_iter().collect()
    }

    /// Takes runs that have ended before: a run counts once, under the project and with the verdict that came first.
    pub(crate) fn have_ended(&mut self, runs: impl IntoIterator<Item = Uuid>) {
        self.completed.extend(runs);
    }

    /// The runs that have ended before.
    pub(super) const fn completed(&self) -> &BTreeSet<Uuid> {
        &self.completed
    }

    /// The tier of a run.
    pub(super) fn of(&self, run: Uuid) -> &'static str {
        self.by_run.get(&run).copied().unwrap_or(UNKNOWN)
    }
}

fn events(batches: &[Batch]) -> impl Iterator<Item = &Event> {
    batches.iter().flat_map(|batch| &batch.events)
}
