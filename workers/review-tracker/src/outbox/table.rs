//! The tables of an outbox, in the object's own `SQLite`: what waits, and what was given up.

use serde::Deserialize;
use worker::{Result, SqlStorage, SqlStorageValue};

use super::{Letter, flush};

/// Letters that a status lists.
const LISTED: i64 = 50;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS waiting (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, received_ms INTEGER NOT NULL, events INTEGER NOT NULL, bytes INTEGER NOT NULL,
  body TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, not_before_ms INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS dead (
  seq INTEGER PRIMARY KEY, received_ms INTEGER NOT NULL, died_ms INTEGER NOT NULL, events INTEGER NOT NULL,
  bytes INTEGER NOT NULL, body TEXT NOT NULL, attempts INTEGER NOT NULL, fault TEXT NOT NULL);
";

/// See the module.
pub(super) struct Table(pub(super) SqlStorage);

/// A batch that waits.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Waiting {
    pub(super) seq: u64,
    pub(super) body: String,
    pub(super) attempts: u32,
}

/// Sums over what waits.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sums {
    pub(super) batches: u64,
    pub(super) events: u64,
    pub(super) oldest_ms: Option<i64>,
}

#[derive(Deserialize)]
struct Number {
    n: Option<i64>,
}

impl Table {
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(SCHEMA, None).map(drop)
    }

    pub(super) fn put(&self, received_ms: i64, events: i64, body: String) -> Result<()> {
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        self.0
            .exec(
                "INSERT INTO waiting (received_ms, events, bytes, body) VALUES (?, ?, ?, ?)",
                vec![received_ms.into(), events.into(), bytes.into(), body.into()],
            )
            .map(drop)
    }

    /// The oldest batches that may be tried now, as many as are written together.
    pub(super) fn due(&self, now_ms: i64, max_events: u64) -> Result<Vec<Waiting>> {
        #[derive(Deserialize)]
        struct Size {
            seq: i64,
            bytes: u64,
            events: u64,
        }
        let sizes: Vec<Size> = self
            .0
            .exec(
                "SELECT seq, bytes, events FROM waiting WHERE not_before_ms <= ? ORDER BY seq LIMIT 500",
                vec![now_ms.into()],
            )?
            .to_array()?;
        let count = flush::together(sizes.iter().map(|size| (size.bytes, size.events)), max_events);
        let Some(last) = count.checked_sub(1).and_then(|last| sizes.get(last)) else {
            return Ok(Vec::new());
        };
        self.0
            .exec(
                "SELECT seq, body, attempts FROM waiting WHERE not_before_ms <= ? AND seq <= ? ORDER BY seq",
                vec![now_ms.into(), last.seq.into()],
            )?
            .to_array()
    }

    /// When the next batch may be tried; `None` when nothing waits.
    pub(super) fn next_ms(&self) -> Result<Option<i64>> {
        self.number("SELECT min(not_before_ms) AS n FROM waiting")
    }

    pub(super) fn remove(&self, written: &[Waiting]) -> Result<()> {
        for batch in written {
            self.0
                .exec("DELETE FROM waiting WHERE seq = ?", vec![integer(batch.seq)?])?;
        }
        Ok(())
    }

    /// Puts a batch off.
    pub(super) fn later(&self, batch: &Waiting, attempts: u32, not_before_ms: i64) -> Result<()> {
        self.0
            .exec(
                "UPDATE waiting SET attempts = ?, not_before_ms = ? WHERE seq = ?",
                vec![i64::from(attempts).into(), not_before_ms.into(), integer(batch.seq)?],
            )
            .map(drop)
    }

    /// Gives a batch up. Both statements are one write to the disk, as nothing is awaited in between.
    pub(super) fn bury(&self, batch: &Waiting, attempts: u32, died_ms: i64, fault: &str) -> Result<()> {
        self.0.exec(
            "INSERT OR REPLACE INTO dead (seq, received_ms, died_ms, events, bytes, body, attempts, fault)
             SELECT seq, received_ms, ?, events, bytes, body, ?, ? FROM waiting WHERE seq = ?",
            vec![
                died_ms.into(),
                i64::from(attempts).into(),
                fault.into(),
                integer(batch.seq)?,
            ],
        )?;
        self.remove(std::slice::from_ref(batch))
    }

    /// Puts dead letters back, behind what waits already; says how many.
    pub(super) fn replay(&self, seq: Option<u64>) -> Result<u64> {
        let (condition, parameters) = one_or_all(seq)?;
        let count = self.count(&condition, &parameters)?;
        self.0.exec(
            &format!(
                "INSERT INTO waiting (received_ms, events, bytes, body) SELECT received_ms, events, bytes, body FROM dead
                 WHERE {condition} ORDER BY seq"
            ),
            parameters.clone(),
        )?;
        self.0
            .exec(&format!("DELETE FROM dead WHERE {condition}"), parameters)?;
        Ok(count)
    }

    /// Deletes a dead letter; says how many that were.
    pub(super) fn discard(&self, seq: u64) -> Result<u64> {
        let (condition, parameters) = one_or_all(Some(seq))?;
        let count = self.count(&condition, &parameters)?;
        self.0
            .exec(&format!("DELETE FROM dead WHERE {condition}"), parameters)?;
        Ok(count)
    }

    pub(super) fn letter(&self, seq: u64) -> Result<Option<String>> {
        #[derive(Deserialize)]
        struct Body {
            body: String,
        }
        let mut rows: Vec<Body> = self
            .0
            .exec("SELECT body FROM dead WHERE seq = ?", vec![integer(seq)?])?
            .to_array()?;
        Ok(rows.pop().map(|row| row.body))
    }

    /// The newest dead letters.
    pub(super) fn letters(&self) -> Result<Vec<Letter>> {
        self.0
            .exec(
                "SELECT seq, received_ms, died_ms, events, bytes, attempts, fault FROM dead
                 ORDER BY died_ms DESC, seq DESC LIMIT ?",
                vec![LISTED.into()],
            )?
            .to_array()
    }

    pub(super) fn dead(&self) -> Result<u64> {
        self.count("1", &[])
    }

    pub(super) fn sums(&self) -> Result<Sums> {
        self.0
            .exec(
                "SELECT count(*) AS batches, coalesce(sum(events), 0) AS events, min(received_ms) AS oldest_ms FROM waiting",
                None,
            )?
            .one()
    }

    fn count(&self, condition: &str, parameters: &[SqlStorageValue]) -> Result<u64> {
        let statement = format!("SELECT count(*) AS n FROM dead WHERE {condition}");
        let number: Number = self.0.exec(&statement, parameters.to_vec())?.one()?;
        Ok(u64::try_from(number.n.unwrap_or_default()).unwrap_or_default())
    }

    fn number(&self, statement: &str) -> Result<Option<i64>> {
        let number: Number = self.0.exec(statement, None)?.one()?;
        Ok(number.n)
    }
}

fn one_or_all(seq: Option<u64>) -> Result<(String, Vec<SqlStorageValue>)> {
    Ok(match seq {
        Some(seq) => ("seq = ?".to_owned(), vec![integer(seq)?]),
        None => ("1".to_owned(), Vec::new()),
    })
}

fn integer(number: u64) -> Result<SqlStorageValue> {
    let number = i64::try_from(number).map_err(|_| worker::Error::from("a number is too large"))?;
    SqlStorageValue::try_from_i64(number)
}
