//! The tier that a run's events are counted under.
//!
//! Only a run's start and its end state it. They are nearly always in the same write as the run's other events; for the others the
//! run is looked up. That is asked before the transaction, which is enough: a project's events are written one after the other,
//! and a tier that was stated does not change.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{risk::RiskTier, telemetry::Event};
use uuid::Uuid;

use super::{Batch, meaning};

/// Stands for a tier that no event has stated.
const UNKNOWN: &str = "";
/// Stands for the tier of a review that a person skipped: it never gets one.
pub(super) const SKIPPED: &str = "none";

/// Tiers by run, as rollups name them.
#[derive(Debug, Default)]
pub struct Tiers(HashMap<Uuid, &'static str>);

impl Tiers {
    /// Takes what batches state themselves.
    pub fn learn(&mut self, batches: &[Batch]) {
        let tiers = events(batches).filter_map(|event| Some((event.run_id, meaning(&event.event).tier()?)));
        self.0.extend(tiers);
    }

    /// Takes a run that was looked up; a run that has ended without a tier was skipped.
    pub(crate) fn remember(&mut self, run: Uuid, tier: Option<RiskTier>) {
        self.0.insert(run, tier.map_or(SKIPPED, RiskTier::as_str));
    }

    /// The runs of batches that have to be looked up.
    pub(crate) fn unknown(&self, batches: &[Batch]) -> Vec<Uuid> {
        let runs: BTreeSet<Uuid> = events(batches).map(|event| event.run_id).collect();
        runs.into_iter().filter(|run| !self.0.contains_key(run)).collect()
    }

    /// The tier of a run.
    pub(super) fn of(&self, run: Uuid) -> &'static str {
        self.0.get(&run).copied().unwrap_or(UNKNOWN)
    }
}

fn events(batches: &[Batch]) -> impl Iterator<Item = &Event> {
    batches.iter().flat_map(|batch| &batch.events)
}
