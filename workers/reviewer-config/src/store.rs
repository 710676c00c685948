//! Reading KV.

use std::collections::BTreeMap;

use futures_util::future::try_join;
use worker::{Env, Error, KvStore, Result};

use crate::keys::{DOCUMENT, MAX_SWITCHES, PROVIDER_PREFIX};

/// What is stored, unread: texts that may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stored {
    /// The document's text, or `None` where nobody has written one.
    pub(crate) document: Option<String>,
    /// Texts of the provider switches by their whole key.
    pub(crate) switches: BTreeMap<String, String>,
    /// Whether there are more switches than were read.
    pub(crate) more_switches: bool,
}

/// Reads everything that makes up the configuration. The document and the list of switches are read side by side.
pub(crate) async fn load(env: &Env) -> Result<Stored> {
    let store = env.kv("CONFIG")?;
    let (document, (switches, more_switches)) = try_join(read_document(&store), read_switches(&store)).await?;
    Ok(Stored {
        document,
        switches,
        more_switches,
    })
}

async fn read_document(store: &KvStore) -> Result<Option<String>> {
    store.get(DOCUMENT).text().await.map_err(Error::from)
}

async fn read_switches(store: &KvStore) -> Result<(BTreeMap<String, String>, bool)> {
    let list = store
        .list()
        .prefix(PROVIDER_PREFIX.to_owned())
        .limit(MAX_SWITCHES as u64)
        .execute()
        .await?;
    let keys: Vec<String> = list.keys.into_iter().map(|key| key.name).collect();
    if keys.is_empty() {
        return Ok((BTreeMap::new(), false));
    }
    let values = store.get_bulk(&keys).text().await?;
    let switches = values
        .into_iter()
        .filter_map(|(key, value)| value.map(|value| (key, value)))
        .collect();
    Ok((switches, !list.list_complete))
}
