//! The provider's books: what each request cost, in tokens.

use crate::model::Format;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Tokens of one request, or a sum of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens that no cache served or took.
    pub input: u64,
    /// Everything that the model said, reasoning included.
    pub output: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache (Anthropic only).
    pub cache_write: u64,
}

impl Usage {
    /// All tokens of the prompt.
    pub const fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
    }
}

/// One request that got past the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the request, as in [`crate::RequestRecord::number`].
    pub number: usize,
    /// Its wire format.
    pub format: Format,
    /// The model that was asked.
    pub model: String,
    /// The agent that asked.
    pub agent: String,
    /// The session in `x-session-id`, if the client forwarded it.
    pub session: Option<String>,
    /// The turn.
    pub turn: usize,
    /// The tokens: nothing before the first byte, the whole prompt and the output sent so far after it.
    pub usage: Usage,
    /// The terminal event was sent.
    pub finished: bool,
}

/// The sums of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTotals {
    /// Requests with a terminal event.
    pub requests: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Requests that began to answer, but were broken off (or still run).
    pub interrupted: u64,
    /// Their tokens, as far as they got.
    pub interrupted_usage: Usage,
}

/// All entries, and totals per model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Books {
    /// The entries in the order of the requests.
    pub entries: Vec<Entry>,
}

impl Books {
    /// Totals per model.
    pub fn totals(&self) -> BTreeMap<String, ModelTotals> {
        let mut totals: BTreeMap<String, ModelTotals> = BTreeMap::new();
        for entry in &self.entries {
            let model = totals.entry(entry.model.clone()).or_default();
            if entry.finished {
                model.requests += 1;
                model.usage += entry.usage;
            } else if entry.usage != Usage::default() {
                model.interrupted += 1;
                model.interrupted_usage += entry.usage;
            }
        }
        totals
    }

    /// The totals of one model; zero if it was never asked.
    pub fn model(&self, model: &str) -> ModelTotals {
        self.totals().remove(model).unwrap_or_default()
    }
}
