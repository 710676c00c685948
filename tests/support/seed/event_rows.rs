//! Makes the rows of events without a Worker: reads bodies of `POST /v1/events`, one a line, and writes what ingest would write
//! to the database, so many bodies in a transaction (`event_rows BODIES`). An example of the crate `review-tracker`.
//!
//! First comes `["statements", [SQL, …]]`, then `[place of the statement, its parameter]` a line, and after each transaction an
//! empty one. The memory of what was seen of runs is kept from transaction to transaction, as the database would have it.

use std::{
    collections::BTreeSet,
    error::Error,
    io::{self, BufRead, BufWriter, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use review_tracker::{
    events::{Batch, KnownRuns, writes},
    ingest::{Terms, decode},
};

/// Older events would be refused by ingest, if nothing is said.
const KEPT_MS: i64 = 90 * 86_400_000;

fn main() -> Result<(), Box<dyn Error>> {
    let bodies: usize = std::env::args()
        .nth(1)
        .ok_or("say how many bodies a transaction has")?
        .parse()?;
    let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut tiers = KnownRuns::default();
    // No event of the bodies may be in the database.
    let known = BTreeSet::new();
    let all = writes(&[], &known, &tiers, now_ms);
    let statements: Vec<&str> = all.iter().map(|write| write.statement.as_ref()).collect();
    writeln!(out, "{}", serde_json::to_string(&("statements", statements))?)?;
    let mut lines = io::stdin().lock().lines();
    loop {
        let transaction = lines.by_ref().take(bodies.max(1)).collect::<Result<Vec<_>, _>>()?;
        if transaction.is_empty() {
            return Ok(());
        }
        let batches = transaction
            .iter()
            .map(|body| batch(body, now_ms))
            .collect::<Result<Vec<_>, _>>()?;
        tiers.learn(&batches);
        for (place, write) in writes(&batches, &known, &tiers, now_ms).iter().enumerate() {
            for parameter in write.parameters() {
                writeln!(out, "{}", serde_json::to_string(&(place, parameter))?)?;
            }
        }
        writeln!(out)?;
        out.flush()?;
    }
}

/// The batch of a body, or what ingest would have said of the first event that it would have refused.
fn batch(body: &str, now_ms: i64) -> Result<Batch, String> {
    let terms = Terms {
        now_ms,
        oldest_ms: now_ms - KEPT_MS,
        secret: b"",
    };
    let decoded = decode(body.as_bytes(), terms).map_err(|problem| problem.detail)?;
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
