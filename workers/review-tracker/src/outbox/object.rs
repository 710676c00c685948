//! The Durable Object.

use std::{cell::RefCell, time::Duration};

use conclave_worker_common::now_ms;
use worker::{Delay, DurableObject, Env, Request, Response, Result, State, console_error, durable_object};

use super::{
    Ask, PUT, ShardStatus,
    flush::{self, ATTEMPTS, FLUSHES, MAX_BYTES},
    table::{Table, Waiting},
};
use crate::{events::Batch, number::number, store};

/// The longest text of a fault that is kept.
const MAX_FAULT: usize = 500;

/// See the module.
#[durable_object]
pub struct Outbox {
    state: State,
    env: Env,
    /// Writes that failed one after the other because the database takes none, and why the last one did.
    trouble: RefCell<(u32, Option<String>)>,
}

impl DurableObject for Outbox {
    fn new(state: State, env: Env) -> Self {
        let outbox = Self {
            state,
            env,
            trouble: RefCell::default(),
        };
        if let Err(error) = outbox.table().create() {
            console_error!("failed to make the outbox's tables: {error}");
        }
        outbox
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        if request.path() == PUT {
            return self.put(request).await;
        }
        let table = self.table();
        match request.json::<Ask>().await? {
            Ask::Status => {
                let sums = table.sums()?;
                Response::from_json(&ShardStatus {
                    batches: sums.batches,
                    events: sums.events,
                    oldest_ms: sums.oldest_ms,
                    fault: self.trouble.borrow().1.clone(),
                    dead: table.dead()?,
                    dead_letters: table.letters()?,
                })
            }
            Ask::Letter { seq } => Response::from_json(&table.letter(seq)?),
            Ask::Replay { seq } => {
                let replayed = table.replay(seq)?;
                self.arm(self.flush_after()).await?;
                Response::from_json(&replayed)
            }
            Ask::Discard { seq } => Response::from_json(&table.discard(seq)?),
        }
    }

    /// Never an `Err` for what D1 did: the runtime gives an alarm up after some.
    async fn alarm(&self) -> Result<Response> {
        if let Err(error) = self.flush().await {
            console_error!("the outbox could not be written: {}", short(&error.to_string()));
            self.failed(&error);
        }
        if let Some(next_ms) = self.table().next_ms()? {
            let failures = self.trouble.borrow().0;
            let wait = if failures > 0 {
                flush::wait_ms(self.retry_ms(), failures)
            } else {
                0
            };
            let until = u64::try_from(next_ms - now_ms()).unwrap_or_default();
            self.arm(Duration::from_millis(wait.max(until))).await?;
        }
        Response::empty()
    }
}

impl Outbox {
    fn table(&self) -> Table {
        Table(self.state.storage().sql())
    }

    fn retry_ms(&self) -> u64 {
        flush::retry_ms(number(&self.env, flush::RETRY_MS))
    }

    fn flush_after(&self) -> Duration {
        flush::flush_after(number(&self.env, flush::FLUSH_MS))
    }

    async fn arm(&self, after: Duration) -> Result<()> {
        self.state.storage().set_alarm(after).await
    }

    /// Takes a batch. The runtime holds the answer back until the row is on disk.
    async fn put(&self, mut request: Request) -> Result<Response> {
        let url = request.url()?;
        let number = |name: &str| {
            let value = url
                .query_pairs()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned());
            value.and_then(|value| value.parse::<i64>().ok()).unwrap_or_default()
        };
        let (received_ms, events) = (number("received_ms"), number("events"));
        let body = request.text().await?;
        let table = self.table();
        if table.0.database_size() + body.len() > MAX_BYTES {
            return Response::error(
                "the outbox is full, because the database has taken nothing for long",
                507,
            );
        }
        table.put(received_ms, events, body)?;
        if self.state.storage().get_alarm().await?.is_none() {
            self.arm(self.flush_after()).await?;
        }
        Response::empty()
    }

    fn failed(&self, error: &worker::Error) {
        let mut trouble = self.trouble.borrow_mut();
        trouble.0 = trouble.0.saturating_add(1);
        trouble.1 = Some(short(&error.to_string()));
    }

    fn works(&self) {
        *self.trouble.borrow_mut() = (0, None);
    }

    /// Writes what is due. An error means that the database takes no writes now; what waits then goes on waiting.
    async fn flush(&self) -> Result<()> {
        let table = self.table();
        let max_events = flush::flush_events(number(&self.env, flush::FLUSH_EVENTS));
        for _ in 0..FLUSHES {
            let due = table.due(now_ms(), max_events)?;
            if due.is_empty() {
                return Ok(());
            }
            let batches: std::result::Result<Vec<Batch>, _> =
                due.iter().map(|batch| serde_json::from_str(&batch.body)).collect();
            let written = match batches {
                Ok(batches) => store::write(&self.env, &batches).await.is_ok(),
                Err(_) => false,
            };
            if written {
                table.remove(&due)?;
                self.works();
            } else {
                self.one_by_one(&due).await?;
            }
            // A turn for what has arrived meanwhile: writes follow each other so closely that requests would wait for the last.
            Delay::from(flush::TURN).await;
        }
        Ok(())
    }

    /// Finds the batches that cannot be written among others that can.
    async fn one_by_one(&self, due: &[Waiting]) -> Result<()> {
        let table = self.table();
        for batch in due {
            let written = match serde_json::from_str::<Batch>(&batch.body) {
                Ok(read) => store::write(&self.env, std::slice::from_ref(&read)).await,
                Err(error) => Err(error.into()),
            };
            let Err(error) = written else {
                table.remove(std::slice::from_ref(batch))?;
                self.works();
                continue;
            };
            // If the database takes no writes at all, it is not this batch's fault.
            store::probe(&self.env).await?;
            let fault = short(&error.to_string());
            let attempts = batch.attempts + 1;
            if attempts >= ATTEMPTS {
                console_error!("a batch was given up after {attempts} attempts: {fault}");
                table.bury(batch, attempts, now_ms(), &fault)?;
            } else {
                let wait = i64::try_from(flush::wait_ms(self.retry_ms(), attempts)).unwrap_or(i64::MAX);
                table.later(batch, attempts, now_ms().saturating_add(wait))?;
            }
        }
        Ok(())
    }
}

/// Returns the message of an error, without the trace of the runtime's own code that D1's errors carry.
fn short(text: &str) -> String {
    let said = text.rsplit("JsValue(").next().unwrap_or_default();
    said.lines()
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .take(MAX_FAULT)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_fault_is_what_the_database_said() {
        let error = "D1: D1Error {\n    cause: JsValue(Error: no such table: runs: SQLITE_ERROR\n    at x (y:1:2)),\n}";
        assert_eq!(short(error), "Error: no such table: runs: SQLITE_ERROR");
        assert_eq!(short("plain"), "plain");
    }
}
