//! The Durable Object that holds the current revision and all before it.
//!
//! It is one object for the whole installation, so writes come one after the other: a write reads the revision, compares
//! it with what the writer has seen, and stores the next one without waiting for anything in between. KV follows by an
//! alarm, which tries again until KV has everything; until then reads take the value from here.

use std::time::Duration;

use conclave_shared::problem::Problem;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use wasm_bindgen::JsValue;
use worker::{
    DurableObject, Env, Method, Request, RequestInit, Response, Result, SqlStorage, SqlStorageValue,
    State as ObjectState, Stub, console_error, durable_object,
};

use crate::{
    keys::{self, PROVIDER_PREFIX, REVISION_PREFIX},
    merge::{KeyWrite, Snapshot},
    revision::{Command, State, apply},
    store, texts,
};

/// The binding of the object, and its only name.
const BINDING: &str = "LEDGER";
const NAME: &str = "current";

/// The time until KV follows a write, and until it is tried again. Writes of one second go to KV together, as KV takes one
/// write a second and key.
const SYNC_AFTER: Duration = Duration::from_millis(50);
const SYNC_AGAIN: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS revisions (
  revision INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, who TEXT NOT NULL, why TEXT, action TEXT NOT NULL,
  state TEXT NOT NULL, synced INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS revisions_to_sync ON revisions (revision) WHERE synced = 0;
CREATE TABLE IF NOT EXISTS writes (
  key TEXT PRIMARY KEY, revision INTEGER NOT NULL, at_ms INTEGER NOT NULL, replaced TEXT, synced INTEGER NOT NULL DEFAULT 0);
";

/// The Worker's questions to the object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Ask {
    /// The current state.
    Current,
    /// A write.
    Write(Box<Write>),
    /// Past revisions, newest first.
    History { before: Option<u64>, limit: u32 },
    /// One past revision.
    Revision { revision: u64 },
}

/// A write and who asks for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Write {
    pub(crate) command: Command,
    /// The revision that the writer has seen; `None` writes whatever it is.
    pub(crate) seen: Option<u64>,
    pub(crate) who: String,
    pub(crate) why: Option<String>,
    pub(crate) now_ms: i64,
    /// The texts in KV that were written by hand, by key.
    pub(crate) by_hand: std::collections::BTreeMap<String, String>,
}

/// The object's answer to a write.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum Written {
    /// It is durable.
    Done { revision: u64 },
    /// Nothing was changed.
    Refused { problem: Problem },
}

/// A line of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HistoryEntry {
    pub(crate) revision: u64,
    pub(crate) at_ms: i64,
    /// The name of the token; empty for one without a name.
    pub(crate) who: String,
    pub(crate) why: Option<String>,
    pub(crate) action: String,
}

/// A revision with what it left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Revision {
    #[serde(flatten)]
    pub(crate) entry: HistoryEntry,
    #[serde(flatten)]
    pub(crate) state: State,
}

/// Asks the object.
pub(crate) async fn ask<T: DeserializeOwned>(env: &Env, question: &Ask) -> Result<T> {
    let stub: Stub = env.durable_object(BINDING)?.get_by_name(NAME)?;
    let body = serde_json::to_string(question)?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(JsValue::from_str(&body)));
    let request = Request::new_with_init("http://ledger/", &init)?;
    stub.fetch_with_request(request).await?.json().await
}

#[derive(Deserialize)]
struct Stored {
    revision: u64,
    state: String,
}

#[derive(Deserialize)]
struct StoredWrite {
    key: String,
    revision: u64,
    at_ms: i64,
    replaced: Option<String>,
    synced: u8,
}

/// See the module.
#[durable_object]
pub struct Ledger {
    object: ObjectState,
    env: Env,
}

impl DurableObject for Ledger {
    fn new(object: ObjectState, env: Env) -> Self {
        if let Err(error) = object.storage().sql().exec(SCHEMA, None) {
            console_error!("failed to make the tables: {error}");
        }
        Self { object, env }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        match request.json::<Ask>().await? {
            Ask::Current => Response::from_json(&self.snapshot()?),
            Ask::Write(write) => {
                let written = self.write(*write)?;
                if matches!(written, Written::Done { .. }) {
                    self.object.storage().set_alarm(SYNC_AFTER).await?;
                }
                Response::from_json(&written)
            }
            Ask::History { before, limit } => Response::from_json(&self.history(before, limit)?),
            Ask::Revision { revision } => Response::from_json(&self.revision(revision)?),
        }
    }

    /// Never an `Err`: the runtime gives an alarm up after some.
    async fn alarm(&self) -> Result<Response> {
        if let Err(error) = self.sync().await {
            console_error!("KV does not follow yet: {error}");
            self.object.storage().set_alarm(SYNC_AGAIN).await?;
        }
        Response::empty()
    }
}

impl Ledger {
    fn sql(&self) -> SqlStorage {
        self.object.storage().sql()
    }

    fn current(&self) -> Result<(u64, State)> {
        let rows: Vec<Stored> = self
            .sql()
            .exec(
                "SELECT revision, state FROM revisions ORDER BY revision DESC LIMIT 1",
                None,
            )?
            .to_array()?;
        match rows.first() {
            Some(row) => Ok((row.revision, serde_json::from_str(&row.state)?)),
            None => Ok((0, State::default())),
        }
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let (revision, state) = self.current()?;
        let writes: Vec<StoredWrite> = self
            .sql()
            .exec("SELECT key, revision, at_ms, replaced, synced FROM writes", None)?
            .to_array()?;
        let writes = writes.into_iter().map(|write| {
            let entry = KeyWrite {
                revision: write.revision,
                at_ms: write.at_ms,
                replaced: write.replaced,
                synced: write.synced != 0,
            };
            (write.key, entry)
        });
        Ok(Snapshot {
            revision,
            state,
            writes: writes.collect(),
        })
    }

    /// Nothing in here waits, so no other write comes in between.
    fn write(&self, write: Write) -> Result<Written> {
        let (current, state) = self.current()?;
        if write.seen.is_some_and(|seen| seen != current) {
            return Ok(Written::Refused {
                problem: texts::stale(current),
            });
        }
        let revision = current + 1;
        let action = write.command.action();
        let change = match apply(&state, revision, write.command, |earlier| {
            self.revision(earlier).ok().flatten().map(|found| found.state)
        }) {
            Ok(change) => change,
            Err(problem) => return Ok(Written::Refused { problem }),
        };
        let sql = self.sql();
        let number = integer(revision)?;
        sql.exec(
            "INSERT INTO revisions (revision, at_ms, who, why, action, state) VALUES (?, ?, ?, ?, ?, ?)",
            vec![
                number.clone(),
                write.now_ms.into(),
                write.who.into(),
                write.why.into(),
                action.into(),
                serde_json::to_string(&change.state)?.into(),
            ],
        )?;
        for key in change.keys {
            let replaced = write.by_hand.get(&key).cloned();
            sql.exec(
                "INSERT INTO writes (key, revision, at_ms, replaced, synced) VALUES (?, ?, ?, ?, 0) \
                 ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, at_ms = excluded.at_ms, \
                 replaced = coalesce(excluded.replaced, replaced), synced = 0",
                vec![key.into(), number.clone(), write.now_ms.into(), replaced.into()],
            )?;
        }
        Ok(Written::Done { revision })
    }

    fn history(&self, before: Option<u64>, limit: u32) -> Result<Vec<HistoryEntry>> {
        let before = before.map_or(Ok(SqlStorageValue::Float(f64::MAX)), integer)?;
        self.sql()
            .exec(
                "SELECT revision, at_ms, who, why, action FROM revisions WHERE revision < ? ORDER BY revision DESC LIMIT ?",
                vec![before, i64::from(limit).into()],
            )?
            .to_array()
    }

    fn revision(&self, revision: u64) -> Result<Option<Revision>> {
        #[derive(Deserialize)]
        struct Row {
            revision: u64,
            at_ms: i64,
            who: String,
            why: Option<String>,
            action: String,
            state: String,
        }
        let Ok(number) = integer(revision) else { return Ok(None) };
        let rows: Vec<Row> = self
            .sql()
            .exec(
                "SELECT revision, at_ms, who, why, action, state FROM revisions WHERE revision = ?",
                vec![number],
            )?
            .to_array()?;
        let Some(row) = rows.into_iter().next() else {
            return Ok(None);
        };
        Ok(Some(Revision {
            state: serde_json::from_str(&row.state)?,
            entry: HistoryEntry {
                revision: row.revision,
                at_ms: row.at_ms,
                who: row.who,
                why: row.why,
                action: row.action,
            },
        }))
    }

    /// Writes to KV what it does not have: the current values, and a copy of each revision.
    async fn sync(&self) -> Result<()> {
        #[derive(Deserialize)]
        struct Number {
            revision: u64,
        }
        let snapshot = self.snapshot()?;
        for (key, write) in snapshot.writes.iter().filter(|(_, write)| !write.synced) {
            // What was written by hand since then is the later word, and stays.
            let by_hand = store::by_hand(&self.env, key).await?;
            if by_hand.is_none() || by_hand == write.replaced {
                let value = value_of(&snapshot.state, key)?;
                store::write(&self.env, key, value.as_deref(), write.revision).await?;
            }
            // Only if it has not been written meanwhile.
            self.sql().exec(
                "UPDATE writes SET synced = 1 WHERE key = ? AND revision = ?",
                vec![key.as_str().into(), integer(write.revision)?],
            )?;
        }
        let waiting: Vec<Number> = self
            .sql()
            .exec(
                "SELECT revision FROM revisions WHERE synced = 0 ORDER BY revision LIMIT 50",
                None,
            )?
            .to_array()?;
        for Number { revision } in &waiting {
            if let Some(found) = self.revision(*revision)? {
                let copy = serde_json::to_string(&found)?;
                store::write(
                    &self.env,
                    &format!("{REVISION_PREFIX}{revision}"),
                    Some(&copy),
                    *revision,
                )
                .await?;
            }
            self.sql().exec(
                "UPDATE revisions SET synced = 1 WHERE revision = ?",
                vec![integer(*revision)?],
            )?;
        }
        // Whatever came while this waited for KV.
        if self.snapshot()?.revision != snapshot.revision || waiting.len() == 50 {
            self.object.storage().set_alarm(SYNC_AFTER).await?;
        }
        Ok(())
    }
}

/// The text of a key; `None` if the state has no value for it.
fn value_of(state: &State, key: &str) -> Result<Option<String>> {
    if key == keys::DOCUMENT {
        return Ok(state.document.as_ref().map(ToString::to_string));
    }
    let switch = key
        .strip_prefix(PROVIDER_PREFIX)
        .and_then(|provider| state.switches.get(provider));
    Ok(switch.map(serde_json::to_string).transpose()?)
}

fn integer(number: u64) -> Result<SqlStorageValue> {
    let number = i64::try_from(number).map_err(|_| worker::Error::from("a number is too large"))?;
    SqlStorageValue::try_from_i64(number)
}
