//! The prompt cache: which part of a prompt was seen before.
//!
//! Two schemes, after the real ones. Anthropic caches at the marked blocks (`cache_control`), finds an entry up to 20
//! blocks before a mark, and charges for writing. `OpenAI` caches by itself, in steps of 128 tokens from the start.
//! Left out: the life time of entries and the shortest prompt that is cached.

use crate::books::Usage;
use crate::tokens;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

const LOOK_BACK: usize = 20;
const STEP_CHARS: usize = 128 * 4;

/// A piece of a prompt: a tool, a system block, a block of a message.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    /// What the piece says, and where it stands: two pieces with the same content are interchangeable.
    pub(crate) content: String,
    /// The characters that count.
    pub(crate) chars: usize,
    /// The block is marked with `cache_control`.
    pub(crate) marked: bool,
}

/// A prompt as the cache sees it.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    /// Only prompts of one partition share entries: the model, and the `prompt_cache_key` of Responses.
    pub(crate) partition: String,
    /// The pieces in the order in which a provider puts them: tools, system, messages.
    pub(crate) segments: Vec<Segment>,
    /// Marks count (Anthropic); otherwise steps of 128 tokens.
    pub(crate) by_marks: bool,
}

/// What a lookup found, and what to remember once the answer begins.
#[derive(Debug, Clone)]
pub(crate) struct Lookup {
    /// The prompt side of the usage.
    pub(crate) usage: Usage,
    entries: Vec<String>,
}

/// The prefixes that were seen.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    seen: HashSet<String>,
}

impl PrefixCache {
    /// How much of this prompt is cached.
    pub(crate) fn look_up(&self, prompt: &Prompt) -> Lookup {
        if prompt.by_marks {
            self.by_marks(prompt)
        } else {
            self.by_steps(prompt)
        }
    }

    /// Remembers a prompt. A real cache serves it only once the answer has begun, so this is a step of its own.
    pub(crate) fn remember(&mut self, lookup: &Lookup) {
        self.seen.extend(lookup.entries.iter().cloned());
    }

    fn by_marks(&self, prompt: &Prompt) -> Lookup {
        let mut hasher = Sha256::new_with_prefix(&prompt.partition);
        let mut chars = 0;
        let prefixes: Vec<(String, u64)> = prompt
            .segments
            .iter()
            .map(|segment| {
                hasher.update(segment.content.len().to_le_bytes());
                hasher.update(&segment.content);
                chars += segment.chars;
                (hex::encode(hasher.clone().finalize()), tokens(chars))
            })
            .collect();
        let marks: Vec<usize> = (0..prompt.segments.len())
            .filter(|&at| prompt.segments[at].marked)
            .collect();
        let read = marks
            .iter()
            .flat_map(|&mark| mark.saturating_sub(LOOK_BACK)..=mark)
            .filter(|&at| self.seen.contains(&prefixes[at].0))
            .map(|at| prefixes[at].1)
            .max()
            .unwrap_or_default();
        let marked = marks.last().map_or(0, |&at| prefixes[at].1);
        Lookup {
            usage: Usage {
                input: tokens(chars) - marked,
                output: 0,
                cache_read: read,
                cache_write: marked - read,
            },
            entries: marks.iter().map(|&at| prefixes[at].0.clone()).collect(),
        }
    }

    fn by_steps(&self, prompt: &Prompt) -> Lookup {
        let text: Vec<char> = prompt
            .segments
            .iter()
            .flat_map(|segment| segment.content.chars())
            .collect();
        let mut hasher = Sha256::new_with_prefix(&prompt.partition);
        let entries: Vec<String> = text
            .chunks_exact(STEP_CHARS)
            .map(|step| {
                hasher.update(step.iter().collect::<String>());
                hex::encode(hasher.clone().finalize())
            })
            .collect();
        let steps = entries.iter().take_while(|entry| self.seen.contains(*entry)).count();
        let cache_read = tokens(steps * STEP_CHARS);
        Lookup {
            usage: Usage {
                input: tokens(text.len()) - cache_read,
                output: 0,
                cache_read,
                cache_write: 0,
            },
            entries,
        }
    }
}
