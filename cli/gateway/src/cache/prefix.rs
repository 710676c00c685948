//! Keeping the beginning of a prompt the same, so that providers' caches find it again.
//!
//! Sessions of one run say the same things first: tools, system prompt, the change under review; what differs comes last.
//! What `OpenCode` puts in between that differs for no good reason (the date, where the workspace is, the session as the
//! cache's key) is made the same here, and where a cache wants marks they are set at the ends of what is shared.
//!
//! Bodies are edited in their text: whatever is not edited keeps every byte and its place.

use std::{fmt::Write, ops::Range};

use bytes::Bytes;
use conclave_shared::model::ModelId;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use sha2::{Digest, Sha256};

use crate::wire::Wire;

/// The first line of what `OpenCode` adds to a system prompt.
const ADDED: &str = "\nYou are powered by the model named";

/// Maximum number of marks that Anthropic takes in one request.
const MAX_MARKS: usize = 4;

/// A body as it is sent.
#[derive(Debug)]
pub(crate) struct Canonical {
    pub(crate) body: Bytes,
    /// The name of what calls share: the model, the tools, the system prompt, the first message but for its last part, and what
    /// a provider counts to them.
    pub(crate) prefix: String,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow, alias = "input")]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow)]
    store: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    output_config: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// The body in its canonical form for the model that will get it. A key for the provider's cache is named only if it is `keyed`.
pub(crate) fn canonical(wire: Wire, body: &Bytes, asked: &ModelId, target: &ModelId, keyed: bool) -> Canonical {
    let whole = std::str::from_utf8(body).ok();
    let fields = whole.and_then(|text| Some((text, serde_json::from_str::<Fields<'_>>(text).ok()?)));
    let Some((text, fields)) = fields else {
        return Canonical {
            body: body.clone(),
            prefix: target.to_string(),
        };
    };
    let mut edits = Edits::of(text);
    let mut shared = Sha256::new_with_prefix(target.as_str());
    shared.update(fields.tools.map_or("", RawValue::get));
    if wire == Wire::Anthropic {
        // Another effort is another beginning.
        for parameter in [fields.thinking, fields.output_config] {
            shared.update(parameter.map_or("", RawValue::get));
        }
    }
    let messages = fields.messages.unwrap_or_default();
    let names = Names { asked, target };
    let system = match wire {
        Wire::Anthropic => fields
            .system
            .and_then(|system| Some((system, split_system(system, names)?))),
        Wire::OpenAiChat | Wire::OpenAiResponses => messages.first().and_then(|first| {
            let message: Message<'_> = serde_json::from_str(first.get()).ok()?;
            let content = message
                .content
                .filter(|_| message.role.is_some_and(|role| role != "user"))?;
            let text: String = serde_json::from_str(content.get()).ok()?;
            Some((content, Value::from(canonical_system(&text, names)?).to_string()))
        }),
    };
    match &system {
        Some((raw, new)) => {
            shared.update(new);
            edits.replace(raw, new.clone());
        }
        None => shared.update(fields.system.map_or("", RawValue::get)),
    }
    if let Some(parts) = first_parts(&messages)
        && let Some((_, before)) = parts.split_last()
    {
        for part in before {
            shared.update(part.get());
        }
        if wire == Wire::Anthropic
            && let Some(last_shared) = before.last()
            && marks(text) < MAX_MARKS
        {
            edits.mark(last_shared);
        }
    }
    if wire == Wire::OpenAiChat {
        for message in &messages {
            edits.join_texts(message);
        }
    }
    let digest = hex::encode(&shared.finalize()[..16]);
    if wire == Wire::OpenAiResponses {
        match fields.prompt_cache_key {
            Some(key) if keyed => edits.replace(key, format!("\"{digest}\"")),
            None if keyed => edits.add_field("prompt_cache_key", &format!("\"{digest}\"")),
            _ => {}
        }
        // Nothing of a review is to stay at the provider.
        match fields.store {
            Some(store) if store.get() == "false" => {}
            Some(store) => edits.replace(store, "false".to_owned()),
            None => edits.add_field("store", "false"),
        }
    }
    Canonical {
        body: edits.apply().map_or_else(|| body.clone(), Bytes::from),
        prefix: digest,
    }
}

/// The parts of the first message of the user.
fn first_parts<'a>(messages: &[&'a RawValue]) -> Option<Vec<&'a RawValue>> {
    let of_user = |raw: &&'a RawValue| {
        let message: Message<'a> = serde_json::from_str(raw.get()).ok()?;
        (message.role.as_deref() == Some("user"))
            .then_some(message.content)
            .flatten()
    };
    // It is the first or the second; a long history is not read through.
    let content = messages.iter().take(2).find_map(of_user)?;
    serde_json::from_str(content.get()).ok()
}

/// Counts the cache marks. Inside of a JSON string quotes are escaped, so this text is a key.
fn marks(text: &str) -> usize {
    text.matches("\"cache_control\":").count()
}

/// The model that the prompt speaks of, and the one that reads it.
#[derive(Clone, Copy)]
struct Names<'a> {
    asked: &'a ModelId,
    target: &'a ModelId,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: String,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
}

/// A text and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: std::borrow::Cow<'a, str>,
}

/// Anthropic's system prompt as two blocks: the agent's prompt, which all sessions of an agent share whatever model and
/// machine they have and which carries the mark, and what `OpenCode` adds.
fn split_system(system: &RawValue, names: Names<'_>) -> Option<String> {
    let blocks: Vec<Block<'_>> = serde_json::from_str(system.get()).ok()?;
    let [block] = blocks.as_slice() else { return None };
    if block.kind != "text" {
        return None;
    }
    let text = canonical_system(&block.text, names)?;
    let (prompt, added) = text.split_at(text.find(ADDED)?);
    let added = added.trim_start();
    if prompt.trim().is_empty() || added.is_empty() {
        return None;
    }
    let mark = block.cache_control.map_or("{\"type\":\"ephemeral\"}", RawValue::get);
    Some(format!(
        "[{{\"type\":\"text\",\"text\":{},\"cache_control\":{mark}}},{{\"type\":\"text\",\"text\":{}}}]",
        Value::from(prompt),
        Value::from(added)
    ))
}

/// The system prompt without what differs from run to run; `None` if it is not one of `OpenCode`.
///
/// Paths become relative, which every tool understands; the date goes, as nothing in a review needs it; and the model is
/// called by its own name.
fn canonical_system(text: &str, names: Names<'_>) -> Option<String> {
    let (prompt, added) = text.split_at(text.find(ADDED)?);
    let mut result = String::with_capacity(text.len());
    result.push_str(prompt);
    for (number, line) in added.split('\n').enumerate() {
        let rest = line.trim_start();
        if rest.starts_with("Today's date:") {
            continue;
        }
        if number > 0 {
            result.push('\n');
        }
        let indent = &line[..line.len() - rest.len()];
        let place = ["Working directory:", "Workspace root folder:"]
            .into_iter()
            .find(|name| rest.starts_with(name));
        if let Some(name) = place {
            let _ = write!(result, "{indent}{name} .");
        } else if names.asked != names.target && ADDED[1..].len() <= line.len() && line.starts_with(&ADDED[1..]) {
            result.push_str(&line.replace(names.asked.model(), names.target.model()));
        } else {
            result.push_str(line);
        }
    }
    Some(result)
}

/// Changes of a text, by place.
struct Edits<'a> {
    text: &'a str,
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> Edits<'a> {
    const fn of(text: &'a str) -> Self {
        Self {
            text,
            changes: Vec::new(),
        }
    }

    /// The place of a part of the text.
    fn place(&self, part: &RawValue) -> Range<usize> {
        let from = part.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        from..from + part.get().len()
    }

    fn replace(&mut self, part: &RawValue, new: String) {
        self.changes.push((self.place(part), new));
    }

    /// Puts a cache mark on a block that has none.
    fn mark(&mut self, block: &RawValue) {
        if marks(block.get()) > 0 || !block.get().ends_with('}') {
            return;
        }
        let end = self.place(block).end - 1;
        self.changes
            .push((end..end, ",\"cache_control\":{\"type\":\"ephemeral\"}".to_owned()));
    }

    /// Makes one text of a message that is a list of texts. Chat Completions has no marks for a cache, and not every endpoint takes
    /// a list.
    fn join_texts(&mut self, message: &RawValue) {
        let message = serde_json::from_str::<Message<'_>>(message.get()).ok();
        let content = message
            .and_then(|message| message.content)
            .filter(|content| content.get().starts_with('['));
        let Some(content) = content else { return };
        let Ok(parts) = serde_json::from_str::<Vec<TextPart<'_>>>(content.get()) else {
            return;
        };
        if !parts.is_empty() && parts.iter().all(|part| part.kind == "text") {
            let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
            self.replace(content, Value::from(texts.join("\n\n")).to_string());
        }
    }

    /// Adds a field to the object that the text is.
    fn add_field(&mut self, name: &str, value: &str) {
        if let Some(end) = self.text.rfind('}') {
            self.changes.push((end..end, format!(",\"{name}\":{value}")));
        }
    }

    /// The text with all changes; `None` if there are none.
    fn apply(mut self) -> Option<String> {
        if self.changes.is_empty() {
            return None;
        }
        self.changes.sort_by_key(|(place, _)| place.start);
        let mut result = String::with_capacity(self.text.len() + 256);
        let mut at = 0;
        for (place, new) in &self.changes {
            result.push_str(self.text.get(at..place.start)?);
            result.push_str(new);
            at = place.end;
        }
        result.push_str(self.text.get(at..)?);
        Some(result)
    }
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
