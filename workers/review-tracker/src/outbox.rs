//! The outbox: where accepted events wait for the database.
//!
//! A batch is accepted when it is a row in a Durable Object's `SQLite`. The object's alarm writes what waits to D1, many batches
//! in one transaction, and deletes the rows afterwards; a row that is written twice counts once. What D1 refuses again and
//! again, while it takes other writes, becomes a dead letter: it is kept beside the others, is shown, can be replayed, and
//! nothing waits for it.
//!
//! There are several objects, and a project is always in the same one, so that the events of a run stay in their order.

pub(crate) mod api;
mod flush;
mod object;
mod table;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use conclave_shared::telemetry::Event;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use worker::{Env, Method, Request, RequestInit, Response, Result, Stub, console_error, wasm_bindgen::JsValue};

use crate::{events::Batch, number::number, store};

/// The binding of the objects.
const BINDING: &str = "OUTBOX";
/// The variable that says how many objects there are. More of them take more at once, but have fewer batches to write
/// together; never fewer than there were, or the dead letters of the others would no longer be shown. With 0 of them, a batch is
/// written to the database before it is answered.
const SHARDS: &str = "OUTBOX_SHARDS";
const DEFAULT_SHARDS: u32 = 2;
const MAX_SHARDS: u32 = 256;

/// The path that takes a batch; everything else is an [`Ask`].
const PUT: &str = "/put";

/// A question to an object, apart from taking a batch.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
enum Ask {
    /// Its waiting batches and dead letters.
    Status,
    /// The content of a dead letter.
    Letter { seq: u64 },
    /// Dead letters back to the others: one, or all.
    Replay { seq: Option<u64> },
    /// A dead letter away, for good.
    Discard { seq: u64 },
}

/// The batches that wait in all objects, and those that were given up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct OutboxStatus {
    /// Batches that wait for the database.
    pub(crate) batches: u64,
    /// Events in them.
    pub(crate) events: u64,
    /// When the oldest of them arrived.
    pub(crate) oldest_ms: Option<i64>,
    /// Why the last write failed, if it did and nothing has been written since.
    pub(crate) fault: Option<String>,
    /// Number of dead letters; the list below may be shorter.
    pub(crate) dead: u64,
    /// The newest dead letters of each object.
    pub(crate) dead_letters: Vec<DeadLetter>,
}

/// A batch that D1 refused again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DeadLetter {
    /// Its name in the API.
    pub(crate) id: LetterId,
    #[serde(flatten)]
    pub(crate) letter: Letter,
}

/// A dead letter as its object knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Letter {
    seq: u64,
    /// When it arrived.
    pub(crate) received_ms: i64,
    /// When it was given up.
    pub(crate) died_ms: i64,
    /// Events in it.
    pub(crate) events: u64,
    /// Its length.
    pub(crate) bytes: u64,
    /// Number of attempts.
    pub(crate) attempts: u32,
    /// The last fault that D1 reported.
    pub(crate) fault: String,
}

/// An object's answer to [`Ask::Status`].
#[derive(Debug, Serialize, Deserialize)]
struct ShardStatus {
    batches: u64,
    events: u64,
    oldest_ms: Option<i64>,
    fault: Option<String>,
    dead: u64,
    dead_letters: Vec<Letter>,
}

/// The name of a dead letter: its object and its place there, as in `3-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LetterId {
    shard: u32,
    seq: u64,
}

impl std::fmt::Display for LetterId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.shard, self.seq)
    }
}

impl std::str::FromStr for LetterId {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let (shard, seq) = text.split_once('-').ok_or(())?;
        let (shard, seq) = (shard.parse().map_err(drop)?, seq.parse().map_err(drop)?);
        if shard < MAX_SHARDS {
            Ok(Self { shard, seq })
        } else {
            Err(())
        }
    }
}

impl Serialize for LetterId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Makes a batch durable. Objects that took their part keep it when another one fails: the client sends the batch again, and
/// each event counts once.
pub(crate) async fn put(env: &Env, batch: Batch) -> Result<()> {
    let shards = shards(env);
    if shards == 0 {
        return store::write(env, &[batch]).await;
    }
    let mut parts: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
    for event in batch.events {
        parts.entry(shard_of(&event.project, shards)).or_default().push(event);
    }
    let puts = parts.into_iter().map(|(shard, events)| {
        let count = events.len();
        let part = Batch {
            received_ms: batch.received_ms,
            events,
            skewed: batch.skewed.clone(),
            proven: batch.proven.clone(),
        };
        let path = format!("{PUT}?received_ms={}&events={count}", batch.received_ms);
        async move { ask(env, shard, &path, &serde_json::to_string(&part)?).await.map(drop) }
    });
    futures_util::future::try_join_all(puts).await.map(drop)
}

/// Returns what waits, and what was given up.
pub(crate) async fn status(env: &Env) -> Result<OutboxStatus> {
    let asked = (0..shards(env)).map(|shard| async move {
        let status: ShardStatus = question(env, shard, &Ask::Status).await?;
        Ok::<_, worker::Error>((shard, status))
    });
    let mut all = OutboxStatus::default();
    for (shard, status) in futures_util::future::try_join_all(asked).await? {
        all.batches += status.batches;
        all.events += status.events;
        all.oldest_ms = [all.oldest_ms, status.oldest_ms].into_iter().flatten().min();
        all.fault = all.fault.or(status.fault);
        all.dead += status.dead;
        let letters = status.dead_letters.into_iter();
        all.dead_letters.extend(letters.map(|letter| DeadLetter {
            id: LetterId { shard, seq: letter.seq },
            letter,
        }));
    }
    Ok(all)
}

/// Returns the same, or nothing if an object cannot be asked: without the outbox, the rest of a page or a scrape is what an operator
/// needs most.
pub(crate) async fn status_if_reachable(env: &Env) -> Option<OutboxStatus> {
    status(env)
        .await
        .inspect_err(|error| console_error!("the outbox cannot be read: {error}"))
        .ok()
}

/// The content of a dead letter: the batch as it was accepted, as JSON.
pub(crate) async fn letter(env: &Env, id: LetterId) -> Result<Option<String>> {
    question(env, id.shard, &Ask::Letter { seq: id.seq }).await
}

/// Puts a dead letter back to what waits; says whether there was one.
pub(crate) async fn replay(env: &Env, id: LetterId) -> Result<bool> {
    let replayed: u64 = question(env, id.shard, &Ask::Replay { seq: Some(id.seq) }).await?;
    Ok(replayed > 0)
}

/// Puts all dead letters back to what waits; says how many there were.
pub(crate) async fn replay_all(env: &Env) -> Result<u64> {
    let asked =
        (0..shards(env)).map(|shard| async move { question::<u64>(env, shard, &Ask::Replay { seq: None }).await });
    Ok(futures_util::future::try_join_all(asked).await?.into_iter().sum())
}

/// Deletes a dead letter for good; says whether there was one.
pub(crate) async fn discard(env: &Env, id: LetterId) -> Result<bool> {
    let discarded: u64 = question(env, id.shard, &Ask::Discard { seq: id.seq }).await?;
    Ok(discarded > 0)
}

async fn question<T: DeserializeOwned>(env: &Env, shard: u32, question: &Ask) -> Result<T> {
    ask(env, shard, "/", &serde_json::to_string(question)?)
        .await?
        .json()
        .await
}

async fn ask(env: &Env, shard: u32, path: &str, body: &str) -> Result<Response> {
    let stub: Stub = env.durable_object(BINDING)?.get_by_name(&format!("shard-{shard}"))?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(JsValue::from_str(body)));
    let request = Request::new_with_init(&format!("http://outbox{path}"), &init)?;
    let mut response = stub.fetch_with_request(request).await?;
    match response.status_code() {
        200 => Ok(response),
        status => Err(format!("the outbox answered {status}: {}", response.text().await?).into()),
    }
}

fn shards(env: &Env) -> u32 {
    let set = number(env, SHARDS).and_then(|set| u32::try_from(set).ok());
    set.unwrap_or(DEFAULT_SHARDS).min(MAX_SHARDS)
}

/// The object of a project. If a later version of Rust hashes otherwise, projects move to other objects, and what waits in the
/// old ones is written from there.
#[expect(clippy::cast_possible_truncation, reason = "a remainder of a u32")]
fn shard_of(project: &str, shards: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    project.hash(&mut hasher);
    (hasher.finish() % u64::from(shards)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_have_names_that_read_back() {
        let id = LetterId { shard: 3, seq: 17 };
        assert_eq!(id.to_string(), "3-17");
        assert_eq!("3-17".parse(), Ok(id));
        for text in ["", "3", "3-", "-17", "a-1", "3-17-1", "256-1", "-3-17"] {
            assert_eq!(text.parse::<LetterId>(), Err(()), "{text}");
        }
    }

    #[test]
    fn projects_spread_over_all_objects_and_stay_where_they_are() {
        let mut found = [0; 8];
        for index in 0..800 {
            let project = format!("group/project-{index}");
            let shard = shard_of(&project, 8);
            assert_eq!(shard, shard_of(&project, 8));
            found[shard as usize] += 1;
        }
        assert!(found.iter().all(|count| *count > 50), "{found:?}");
    }
}
