//! Known runs: the project of each, the tier that its events are counted under, and whether it has ended.
//!
//! Only a run's start and its end state the tier. They are nearly always in the same write as the run's other events; for the others
//! the run is looked up. That is asked before the transaction, which is enough: a project's events are written one after the other,
//! and neither a tier that was stated nor the project of a run changes.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{risk::RiskTier, telemetry::Event};
use serde::Deserialize;
use uuid::Uuid;

use super::{Batch, meaning};

/// Stands for a tier that no event has stated.
const UNKNOWN: &str = "";
/// Stands for the tier of a review that a person skipped: it never gets one.
pub(super) const SKIPPED: &str = "none";

/// Asks for what is stored of runs; the parameter is a JSON array of their ids. Each row is a [`StoredRun`].
pub(crate) const STORED: &str = "SELECT run_id, project, tier, skipped, verdict IS NOT NULL AS ended FROM runs
  WHERE run_id IN (SELECT value FROM json_each(?1))";

/// A run as it is stored.
#[derive(Deserialize)]
pub(crate) struct StoredRun {
    run_id: Uuid,
    project: String,
    tier: Option<RiskTier>,
    skipped: u8,
    ended: u8,
}

/// Runs by what earlier events have said of them.
#[derive(Debug, Default)]
pub struct KnownRuns {
    tiers: HashMap<Uuid, &'static str>,
    projects: HashMap<Uuid, String>,
    completed: BTreeSet<Uuid>,
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
        self.projects.insert(run.run_id, run.project);
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
