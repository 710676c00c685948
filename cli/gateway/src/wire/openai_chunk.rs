//! `OpenAI` Chat Completions: a chunk of the stream.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, value::RawValue};

use super::words::{thoughts, thoughts_among, thoughts_elsewhere};

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    pub(super) error: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(super) object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
    /// The reason of the model behind an aggregator.
    #[serde(borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    content_filter_results: Option<&'a RawValue>,
    /// The whole message, which some endpoints repeat at the end.
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    /// The text of a format from before chats, which no runtime reads.
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    /// The failure of the server behind an aggregator.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl Choice<'_> {
    /// The reason for which the answer is not whole, where it stands beside the one of the format: in the word of the model
    /// behind an aggregator, or as the result of a filter.
    pub(super) fn denial(&self) -> Option<&'static str> {
        const CUT: [&str; 8] = [
            "length",
            "max_tokens",
            "max_output_tokens",
            "model_length",
            "model_context_window_exceeded",
            "incomplete",
            "pause_turn",
            "error",
        ];
        const FILTERED: [&str; 9] = [
            "content_filter",
            "content_filtered",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "refusal",
            "guardrail_intervened",
        ];
        let native = self.native_finish_reason;
        let native = native.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let native = native.unwrap_or_default().to_ascii_lowercase();
        // Most chunks have results, and nearly all of them say that nothing was filtered.
        let results = self.content_filter_results.filter(|raw| raw.get().contains("true"));
        let results: Option<Value> = results.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let mut results = results.as_ref().and_then(Value::as_object).into_iter().flatten();
        if FILTERED.contains(&native.as_str()) || results.any(|(_, result)| result["filtered"].as_bool() == Some(true))
        {
            return Some("content_filter");
        }
        CUT.contains(&native.as_str()).then_some("length")
    }
}

#[derive(Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning: Option<&'a RawValue>,
    pub(super) reasoning_details: Option<Value>,
    pub(super) thinking_blocks: Option<Value>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    pub(super) tool_calls: Option<Value>,
    #[serde(borrow)]
    pub(super) text: Option<&'a RawValue>,
    /// The thoughts in fields of other names.
    #[serde(skip)]
    pub(super) elsewhere: String,
}

impl<'a> Delta<'a> {
    /// Reads the delta of a choice; `None` if it is something else.
    pub(super) fn of(choice: &Choice<'a>) -> Option<Self> {
        let Some(raw) = choice.delta else {
            return Some(Self::default());
        };
        let delta = Self {
            elsewhere: thoughts_elsewhere(raw.get()),
            ..serde_json::from_str(raw.get()).ok()?
        };
        Some(delta)
    }

    /// The text of its thought, where it stands in a field for a text.
    pub(super) fn thought(&self) -> Option<String> {
        let texts = [self.reasoning_content, self.reasoning].into_iter().flatten();
        let mut texts = texts.filter_map(|raw| serde_json::from_str::<String>(raw.get()).ok());
        texts.find(|text| !text.is_empty())
    }

    /// Returns whether it brings a part of an answer.
    pub(super) fn says_anything(&self) -> bool {
        let calls = self.tool_calls.as_ref().and_then(Value::as_array);
        let texts = [self.content, self.reasoning_content, self.reasoning, self.refusal];
        calls.is_some_and(|calls| !calls.is_empty()) || texts.into_iter().any(says_anything)
    }
}

/// Returns whether a value says anything: not null, not an empty text, list or object. Providers differ in the types that
/// they put here, and only this matters.
pub(super) fn says_anything(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| match value.get().as_bytes() {
        [b'[' | b'{', inner @ .., _] => !inner.trim_ascii().is_empty(),
        text => text != b"null" && text != b"\"\"",
    })
}

/// The text of a thought that stands in no field for a text: a list of parts, or details beside it.
pub(super) fn shown_otherwise(delta: &Delta<'_>) -> String {
    let read = |raw: Option<&RawValue>| -> Value {
        // A text is one already.
        let raw = raw.filter(|raw| raw.get().starts_with(['[', '{']));
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    };
    let in_field = [delta.reasoning_content, delta.reasoning].map(|raw| thoughts(&read(raw)));
    let details = [&delta.reasoning_details, &delta.thinking_blocks].map(|parts| parts.as_ref().map(thoughts));
    let mut found = in_field
        .into_iter()
        .chain([thoughts_among(&read(delta.content))])
        .chain(details.into_iter().flatten());
    found.find(|text| !text.is_empty()).unwrap_or_default()
}
