//! Reading and writing KV.

use std::collections::BTreeMap;

use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use worker::{Env, Error, KvStore, Result};

use crate::keys::{DOCUMENT, MAX_SWITCHES, PROVIDER_PREFIX};

/// The binding of the namespace.
const BINDING: &str = "CONFIG";

/// A value of KV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KvValue {
    /// The text.
    pub(crate) text: String,
    /// The revision that wrote it; `None` for a value that was written by hand.
    pub(crate) revision: Option<u64>,
}

/// The stored values, unread: texts that may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stored {
    /// The document, or `None` where there is none.
    pub(crate) document: Option<KvValue>,
    /// The provider switches by their whole key.
    pub(crate) switches: BTreeMap<String, KvValue>,
    /// Set if there are more switches than were read.
    pub(crate) more_switches: bool,
    /// Faults of what could not be read at all.
    pub(crate) warnings: Vec<String>,
}

/// The mark of a value that was written through the API, and one that was written by hand does not.
#[derive(Debug, Serialize, Deserialize)]
struct Stamp {
    revision: u64,
}

/// Reads everything that makes up the configuration. The document and the list of switches are read side by side.
pub(crate) async fn load(env: &Env) -> Result<Stored> {
    let store = env.kv(BINDING)?;
    let (document, (switches, more_switches)) = try_join(read_value(&store, DOCUMENT), read_switches(&store)).await?;
    Ok(Stored {
        document,
        switches,
        more_switches,
        warnings: Vec::new(),
    })
}

/// Writes a value that belongs to a revision; `None` deletes it.
pub(crate) async fn write(env: &Env, key: &str, value: Option<&str>, revision: u64) -> Result<()> {
    let store = env.kv(BINDING)?;
    match value {
        Some(text) => store.put(key, text)?.metadata(Stamp { revision })?.execute().await?,
        None => store.delete(key).await?,
    }
    Ok(())
}

/// The text of a key, if it was written by hand.
pub(crate) async fn by_hand(env: &Env, key: &str) -> Result<Option<String>> {
    let value = read_value(&env.kv(BINDING)?, key).await?;
    Ok(value.filter(|value| value.revision.is_none()).map(|value| value.text))
}

async fn read_value(store: &KvStore, key: &str) -> Result<Option<KvValue>> {
    let (text, stamp) = store.get(key).text_with_metadata::<serde_json::Value>().await?;
    Ok(text.map(|text| KvValue {
        text,
        revision: stamp.and_then(revision_of),
    }))
}

async fn read_switches(store: &KvStore) -> Result<(BTreeMap<String, KvValue>, bool)> {
    let list = store
        .list()
        .prefix(PROVIDER_PREFIX.to_owned())
        .limit(MAX_SWITCHES as u64)
        .execute()
        .await
        .map_err(Error::from)?;
    let keys: Vec<String> = list.keys.into_iter().map(|key| key.name).collect();
    if keys.is_empty() {
        return Ok((BTreeMap::new(), false));
    }
    let values = store.get_bulk(&keys).text_with_metadata::<serde_json::Value>().await?;
    let switches = values
        .into_iter()
        .filter_map(|(key, (text, stamp))| {
            let revision = stamp.and_then(revision_of);
            text.map(|text| (key, KvValue { text, revision }))
        })
        .collect();
    Ok((switches, !list.list_complete))
}

/// Metadata may hold anything, as everything in KV may.
fn revision_of(stamp: serde_json::Value) -> Option<u64> {
    serde_json::from_value::<Stamp>(stamp).ok().map(|stamp| stamp.revision)
}
