//! The facts that a stream has brought besides the answer that it hands on.

use conclave_engine::ports::{StrayCall, text_of_blocks};
use conclave_shared::pricing::TokenUsage;
use memchr::memmem;

/// Maximum length of the arguments that are kept of a call, in bytes.
const MAX_STRAY: usize = 300_000;

/// Maximum length of what is shown of the word for a stop, in characters.
const MAX_STOP: usize = 40;

/// Maximum length of the text that is kept of an answer, in bytes: more than its token limit lets a model say.
const MAX_TEXT: usize = 300_000;

/// Which parts of the usage the provider has reported.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The tokens of the prompt.
    pub(crate) prompt: bool,
    /// The tokens of the answer.
    pub(crate) answer: bool,
}

/// The facts that a stream has brought besides the answer itself.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The tokens as far as they were reported.
    pub(crate) usage: Option<TokenUsage>,
    /// The parts of them that were reported.
    pub(crate) counted: Counted,
    /// The signatures of whole reasoning blocks. The next request will carry them, and only the model that made them can
    /// read them.
    pub(crate) signatures: Vec<String>,
    /// The words in which the stream has said that it failed.
    pub(crate) failure: String,
    /// Number of events of an unknown kind. They are passed on.
    pub(crate) unknown_events: u64,
    /// Whole calls that may tell what no tool takes.
    pub(crate) stray_calls: Vec<StrayCall>,
    /// The provider's word for a stop that is neither an end nor the limit of an answer, as far as it is shown.
    pub(crate) odd_stop: Option<String>,
    /// Length of all that was written so far, in bytes: text, thinking, calls. An answer that makes no progress here has stalled,
    /// whatever else comes.
    pub(crate) written: u64,
    /// The frames that go in the place of the last one.
    pub(super) rewritten: Option<String>,
    /// Length of the text so far without white space, in bytes.
    said: usize,
    /// The blocks of text, as far as they are kept.
    blocks: Vec<String>,
    kept: usize,
}

impl Seen {
    /// Notes a piece of the answer's text.
    pub(super) fn text(&mut self, piece: &str) {
        self.progress(piece.len());
        self.said = self.said.saturating_add(dense_len(piece));
        let whole = self.kept + piece.len() <= MAX_TEXT;
        if !piece.is_empty() && whole {
            self.kept += piece.len();
            match self.blocks.last_mut() {
                Some(block) => block.push_str(piece),
                None => self.blocks.push(piece.to_owned()),
            }
        } else if !whole {
            // What comes behind a gap would seem to follow what stands before it.
            self.kept = MAX_TEXT;
        }
    }

    /// Begins a new block of text.
    pub(crate) fn begin_text(&mut self) {
        if self.blocks.last().is_some_and(|block| !block.is_empty()) {
            self.blocks.push(String::new());
        }
    }

    /// Notes so many bytes of something else than text: thinking, calls.
    pub(super) fn progress(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Notes the provider's word for a stop that is neither an end nor a limit.
    pub(super) fn stopped_oddly(&mut self, word: &str) {
        self.odd_stop = Some(word.chars().take(MAX_STOP).collect());
    }

    /// Keeps those of these calls that may tell what no tool takes.
    pub(super) fn called(&mut self, calls: impl IntoIterator<Item = StrayCall>) {
        self.stray_calls.extend(calls.into_iter().filter(StrayCall::may_tell));
    }

    /// Returns whether these texts, with which the end of an answer repeats it, have come so far. Of a character that came in halves
    /// nothing is left, so only those are compared that cannot.
    pub(super) fn has_all_of<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        if texts.iter().map(|text| dense_len(text)).sum::<usize>() > self.said {
            return false;
        }
        if texts.is_empty() || self.kept >= MAX_TEXT {
            return true;
        }
        let said: Vec<u8> = self.blocks.iter().flat_map(|block| letters(block)).collect();
        texts.into_iter().all(|text| {
            let text: Vec<u8> = letters(text).collect();
            memmem::find(&said, &text).is_some()
        })
    }

    /// Returns whether no text came so far.
    pub(super) fn is_silent(&self) -> bool {
        self.said == 0
    }

    /// The text so far, which is not kept any more.
    pub(crate) fn take_text(&mut self) -> String {
        text_of_blocks(std::mem::take(&mut self.blocks).iter().map(String::as_str))
    }
}

/// The characters of a text that are neither white space nor longer than a byte.
fn letters(text: &str) -> impl Iterator<Item = u8> {
    text.bytes()
        .filter(|byte| byte.is_ascii() && !byte.is_ascii_whitespace())
}

/// Length of a text without its white space, in bytes.
pub(super) fn dense_len(text: &str) -> usize {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count()
}

/// Returns a call without its arguments; nothing without a name.
pub(super) fn stray_call(tool: &str) -> Option<StrayCall> {
    (!tool.is_empty()).then(|| StrayCall {
        tool: tool.to_owned(),
        arguments: String::new(),
    })
}

/// Adds a piece to the arguments of a call.
pub(super) fn grow(call: &mut StrayCall, piece: &str) {
    if call.arguments.len() + piece.len() <= MAX_STRAY {
        call.arguments.push_str(piece);
    }
}

/// Returns whether the arguments of a call are whole.
pub(super) fn is_whole(call: &StrayCall) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok()
}
