//! Makes the rows of events without a Worker: reads bodies of `POST /v1/events`, one a line, and writes what ingest would write
//! to the database, so many bodies in a transaction (`event_rows BODIES`).
//!
//! First comes `["statements", [SQL, …]]`, then `[place of the statement, its parameter]` a line, and after each transaction an
//! empty one. The memory of what was seen of runs is kept from transaction to transaction, as the database would have it.

use std::{
    io::{self, BufRead, BufWriter, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use review_tracker::bulk::{Bulk, statements};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bodies: usize = std::env::args()
        .nth(1)
        .ok_or("say how many bodies a transaction has")?
        .parse()?;
    let now_ms = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}", serde_json::to_string(&("statements", statements()))?)?;
    let mut bulk = Bulk::default();
    let mut lines = io::stdin().lock().lines();
    loop {
        let transaction = lines.by_ref().take(bodies.max(1)).collect::<Result<Vec<_>, _>>()?;
        if transaction.is_empty() {
            return Ok(());
        }
        for write in bulk.transaction(&transaction, now_ms)? {
            writeln!(out, "{}", serde_json::to_string(&write)?)?;
        }
        writeln!(out)?;
        out.flush()?;
    }
}
