//! From what is stored to the configuration in force. Pure, and it cannot fail: what cannot be read becomes a warning.
//!
//! There are two stores. Writes through the API go to the Durable Object, which every read asks, and from there to KV.
//! Operators also write KV by hand, and KV may be up to a minute behind. Which of two values is the later one is decided
//! by [`in_force`].

use std::collections::BTreeMap;

use conclave_shared::config::{ConfigDocument, EffectiveConfig, ProviderSwitch, read};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    keys::{self, DOCUMENT, PROVIDER_PREFIX},
    revision::State,
    store::{KvValue, Stored},
    texts,
};

/// Maximum delay of KV, as documented: 60 s.
const KV_DELAY_MS: i64 = 60_000;

/// The last write of a key through the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyWrite {
    /// The revision that wrote it.
    pub(crate) revision: u64,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// The text that stood in KV and that was not written through the API.
    pub(crate) replaced: Option<String>,
    /// Set if KV has it.
    pub(crate) synced: bool,
}

/// The state of the Durable Object.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// The current revision; 0 before the first write.
    pub(crate) revision: u64,
    /// Its state.
    pub(crate) state: State,
    /// The writes of keys, by key.
    pub(crate) writes: BTreeMap<String, KeyWrite>,
}

/// The origin of a key's value.
#[derive(Debug, PartialEq, Eq)]
enum InForce<'a> {
    /// The Durable Object's state, or nothing if it has none.
    Api,
    /// KV, by hand.
    Kv(&'a str),
    /// Nothing: it was deleted by hand.
    Nothing,
}

/// Which of two values of a key is the later one.
fn in_force<'a>(write: Option<&KeyWrite>, kv: Option<&'a KvValue>, now_ms: i64) -> InForce<'a> {
    let Some(write) = write else {
        return kv.map_or(InForce::Nothing, |value| InForce::Kv(&value.text));
    };
    // KV may still show what was there before the write.
    let settling = !write.synced || now_ms - write.at_ms < KV_DELAY_MS;
    match kv {
        // What is known of the ledger is older, because it could not be asked since.
        Some(value) if !settling && value.revision > Some(write.revision) => InForce::Kv(&value.text),
        Some(KvValue { revision: Some(_), .. }) => InForce::Api,
        Some(value) if settling && write.replaced.as_ref() == Some(&value.text) => InForce::Api,
        Some(value) => InForce::Kv(&value.text),
        None if settling => InForce::Api,
        None => InForce::Nothing,
    }
}

/// The document in force as it was written, and whether by hand: its text if so.
pub(crate) fn document_in_force<'a>(
    snapshot: &Snapshot,
    stored: &'a Stored,
    now_ms: i64,
) -> (Option<Value>, Option<&'a str>) {
    match in_force(snapshot.writes.get(DOCUMENT), stored.document.as_ref(), now_ms) {
        InForce::Api => (snapshot.state.document.clone(), None),
        InForce::Kv(text) => (serde_json::from_str(text).ok(), Some(text)),
        InForce::Nothing => (None, None),
    }
}

/// Merges document and provider switches. A switch's own key wins over the document: it is what an operator flips in a
/// hurry.
pub(crate) fn merge(snapshot: &Snapshot, stored: &Stored, now_ms: i64) -> EffectiveConfig {
    let mut warnings = stored.warnings.clone();
    let mut document_fault = None;
    let mut config = match in_force(snapshot.writes.get(DOCUMENT), stored.document.as_ref(), now_ms) {
        InForce::Api => snapshot.state.document.clone().map_or_else(
            || Ok(ConfigDocument::default()),
            // It was valid when it was written; a Worker of another version may see it otherwise.
            |document| typed(&document),
        ),
        InForce::Kv(text) => serde_json::from_str(text)
            .map_err(|error| texts::unreadable(&error))
            .and_then(|document| typed(&document)),
        InForce::Nothing => Ok(ConfigDocument::default()),
    }
    .unwrap_or_else(|reason| {
        let fault = texts::ignored_document(DOCUMENT, &reason);
        warnings.push(fault.clone());
        document_fault = Some(fault);
        ConfigDocument::default()
    });
    config.revision = config.revision.max(snapshot.revision);
    let names = snapshot.state.switches.keys().map(|name| keys::switch(name));
    let mut all: Vec<String> = names.chain(stored.switches.keys().cloned()).collect();
    all.sort();
    all.dedup();
    for key in all {
        let provider = key.strip_prefix(PROVIDER_PREFIX).unwrap_or_default().to_owned();
        let value = stored.switches.get(&key);
        match in_force(switch_write(snapshot, stored, &key).as_ref(), value, now_ms) {
            InForce::Api => {
                if let Some(switch) = snapshot.state.switches.get(&provider) {
                    config.providers.insert(provider, switch.clone());
                }
            }
            InForce::Kv(text) => match read_switch(&provider, text) {
                Ok(switch) => {
                    config.providers.insert(provider, switch);
                }
                Err(reason) => {
                    warnings.push(texts::ignored_switch(&key, &reason));
                    // A slip of the hand switches on nothing that was put off through the API.
                    if let Some(switch) = snapshot.state.switches.get(&provider) {
                        config.providers.insert(provider, switch.clone());
                    }
                }
            },
            InForce::Nothing => {}
        }
    }
    if stored.more_switches {
        warnings.push(texts::more_switches());
    }
    warnings.extend(config.correct_names());
    EffectiveConfig {
        config,
        warnings,
        document_fault,
    }
}

/// The last write of a switch through the API.
fn switch_write(snapshot: &Snapshot, stored: &Stored, key: &str) -> Option<KeyWrite> {
    let write = snapshot.writes.get(key).cloned()?;
    // Beyond what is read of KV it is not known what was deleted there: what was written through the API stands.
    let is_known = stored.switches.contains_key(key) || !stored.more_switches;
    Some(KeyWrite {
        synced: write.synced && is_known,
        ..write
    })
}

/// The keys that were deleted from KV by hand: the ledger's values of them are not in force.
pub(crate) fn deleted_by_hand(snapshot: &Snapshot, stored: &Stored, now_ms: i64) -> Vec<String> {
    let document = snapshot.state.document.iter().map(|_| DOCUMENT.to_owned());
    let document = document.filter(|key| {
        let origin = in_force(snapshot.writes.get(key), stored.document.as_ref(), now_ms);
        origin == InForce::Nothing
    });
    let switches = snapshot.state.switches.keys().map(|name| keys::switch(name));
    let switches = switches.filter(|key| {
        let write = switch_write(snapshot, stored, key);
        let origin = in_force(write.as_ref(), stored.switches.get(key), now_ms);
        origin == InForce::Nothing
    });
    document.chain(switches).collect()
}

fn typed(document: &Value) -> Result<ConfigDocument, String> {
    read(document).map_err(|faults| texts::faults(&faults))
}

fn read_switch(provider: &str, text: &str) -> Result<ProviderSwitch, String> {
    if provider.is_empty() || provider.contains('/') {
        return Err(texts::not_a_provider());
    }
    serde_json::from_str(text).map_err(|error| texts::unreadable(&error))
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
