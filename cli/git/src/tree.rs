//! Entries of a commit's tree, and those that are known. A commit never changes, so each of the few files that steer a review is
//! looked up once, however many steps of a run ask for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::sync::OnceCell;

use crate::command::names;

/// Maximum number of paths that are remembered; a review asks for far fewer.
const MAX_REMEMBERED: usize = 256;
/// Maximum size of a content that is remembered, in bytes.
pub(crate) const MAX_CONTENT: usize = 64 << 10;

/// An entry of a commit's tree.
#[derive(Debug, Clone)]
pub(crate) struct TreeEntry {
    pub(crate) mode: String,
    pub(crate) kind: String,
    pub(crate) object: String,
    pub(crate) path: String,
}

impl TreeEntry {
    /// Reads the output of `git ls-tree -z`.
    pub(crate) fn parse(listing: &[u8]) -> impl Iterator<Item = Self> {
        names(listing).into_iter().filter_map(|entry| {
            let (facts, path) = entry.split_once('\t')?;
            let mut facts = facts.split(' ').map(str::to_owned);
            Some(Self {
                mode: facts.next()?,
                kind: facts.next()?,
                object: facts.next()?,
                path: path.to_owned(),
            })
        })
    }
}

/// A path of a commit as far as it is known: its entry, `None` without one, and the content of a small file.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    pub(crate) entry: OnceCell<Option<TreeEntry>>,
    pub(crate) content: OnceLock<Vec<u8>>,
}

/// Paths that were looked up, by commit and path.
#[derive(Debug, Default)]
pub(crate) struct Lookups(Mutex<HashMap<(String, String), Arc<Lookup>>>);

impl Lookups {
    /// Returns the entry that all callers share. A branch's name can stand for another commit later, so only whole names are shared.
    pub(crate) fn of(&self, commit: &str, path: &str) -> Arc<Lookup> {
        if !is_whole_name(commit) {
            return Arc::default();
        }
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (commit.to_owned(), path.to_owned());
        if lookups.len() >= MAX_REMEMBERED && !lookups.contains_key(&key) {
            return Arc::default();
        }
        Arc::clone(lookups.entry(key).or_default())
    }
}

/// Returns whether this is the name of an object in full, which stands for one content for ever.
pub(crate) fn is_whole_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
