//! The tier that a run's events are counted under.
//!
//! Only a run's start and its end say it. They are nearly always in the same write as the run's other events; for the others the
//! run is looked up. That is asked before the transaction, which is enough: a project's events are written one after the other,
//! and a tier that was told does not change.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::{
    risk::RiskTier,
    telemetry::{Event, EventBody},
};
use serde::Deserialize;
use uuid::Uuid;
use worker::{D1Database, Result};

use super::{Batch, write::MAX_IDS};

/// What stands for a tier that nobody has told.
const UNKNOWN: &str = "";
/// What stands for the tier of a review that a person skipped: it never gets one.
const SKIPPED: &str = "none";

const REMEMBERED: &str = "SELECT run_id, tier FROM runs
  WHERE run_id IN (SELECT value FROM json_each(?1)) AND (tier IS NOT NULL OR skipped = 1)";

/// Tiers by run, as rollups name them.
#[derive(Debug, Default)]
pub(crate) struct Tiers(HashMap<Uuid, &'static str>);

#[derive(Deserialize)]
struct Remembered {
    run_id: Uuid,
    tier: Option<RiskTier>,
}

impl Tiers {
    /// Takes what the batches say themselves.
    pub(crate) fn tell(&mut self, batches: &[Batch]) {
        let tiers = events(batches).filter_map(|event| match &event.event {
            EventBody::RunStarted(started) => Some((event.run_id, started.tier?.as_str())),
            EventBody::RunCompleted(completed) => Some((event.run_id, completed.tier.as_str())),
            EventBody::BreakGlass(_) => Some((event.run_id, SKIPPED)),
            _ => None,
        });
        self.0.extend(tiers);
    }

    /// Looks the other runs up.
    pub(super) async fn remember(&mut self, database: &D1Database, batches: &[Batch]) -> Result<()> {
        for runs in self.untold(batches).chunks(MAX_IDS) {
            let rows: Vec<Remembered> = database
                .prepare(REMEMBERED)
                .bind(&[serde_json::to_string(runs)?.into()])?
                .all()
                .await?
                .results()?;
            let named = |row: Remembered| (row.run_id, row.tier.map_or(SKIPPED, RiskTier::as_str));
            self.0.extend(rows.into_iter().map(named));
        }
        Ok(())
    }

    /// The tier of a run.
    pub(super) fn of(&self, run: Uuid) -> &'static str {
        self.0.get(&run).copied().unwrap_or(UNKNOWN)
    }

    fn untold(&self, batches: &[Batch]) -> Vec<Uuid> {
        let runs: BTreeSet<Uuid> = events(batches).map(|event| event.run_id).collect();
        runs.into_iter().filter(|run| !self.0.contains_key(run)).collect()
    }
}

fn events(batches: &[Batch]) -> impl Iterator<Item = &Event> {
    batches.iter().flat_map(|batch| &batch.events)
}
