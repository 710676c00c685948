//! Batches as the rows that ingest would make of them, for whoever fills a local database without a Worker:
//! `scripts/seed-demo-data --persist`, by `examples/event_rows.rs`.

use std::collections::HashSet;

use crate::{
    clock::DAY_MS,
    ingest,
    store::{self, Batch, Rows, Tiers},
};

/// So many days are kept if nothing is said; what is older would be refused by ingest.
const DAYS: i64 = 90;

/// Makes rows of batches that come one after another.
#[derive(Debug, Default)]
pub struct Bulk {
    tiers: Tiers,
}

/// A statement's place in [`statements`], and its parameter.
pub type Write = (usize, String);

/// All statements that write, in their order.
pub fn statements() -> Vec<String> {
    store::all_statements()
}

impl Bulk {
    /// What one transaction writes for bodies of `POST /v1/events`. No event of it may be in the database.
    ///
    /// # Errors
    ///
    /// What ingest would have said of the first event that it would have refused.
    pub fn transaction(&mut self, bodies: &[String], now_ms: i64) -> Result<Vec<Write>, String> {
        let batches = bodies
            .iter()
            .map(|body| batch(body, now_ms))
            .collect::<Result<Vec<_>, _>>()?;
        self.tiers.tell(&batches);
        let rows = Rows::of(&batches, &HashSet::new(), &self.tiers, now_ms);
        Ok(store::all_parameters(&rows))
    }
}

fn batch(body: &str, now_ms: i64) -> Result<Batch, String> {
    let against = ingest::Against {
        now_ms,
        oldest_ms: now_ms - DAYS * DAY_MS,
        secret: b"",
    };
    let decoded = ingest::decode_batch(body.as_bytes(), against).map_err(|problem| problem.detail)?;
    if let Some(rejected) = decoded.rejected.first() {
        return Err(format!("event {} is refused: {}", rejected.index, rejected.detail));
    }
    Ok(Batch {
        received_ms: now_ms,
        events: decoded.events,
        skewed: decoded.skewed,
        proven: Vec::new(),
    })
}
