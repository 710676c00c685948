//! Fields that an answer of Chat Completions carries beside its text and its calls.
//!
//! The format has no place for the signatures of thoughts, so endpoints have made some: at a call (Gemini's `extra_content`) or at the
//! message (`reasoning_details` of `OpenRouter`). Their models refuse a call without its signature, and runtimes know nothing of
//! them. So they are kept here, beside the session, and put back into its history: at the same call, as they came, and only for
//! the model that made them. Thoughts themselves are the runtime's; only the name of their field is the endpoint's.

use std::sync::Mutex;

use conclave_shared::model::ModelId;
use serde_json::{Map, Value};

use super::fields::Fields;
use crate::lock::locked;

/// Fields of a call, or of the function in it, that go back.
const OF_CALL: [&str; 3] = ["extra_content", "provider_specific_fields", "thought_signature"];

/// Fields of thoughts in a message.
pub(super) const OF_THOUGHTS: [&str; 4] = [PLAIN, "reasoning", "reasoning_details", "thinking_blocks"];

/// The name under which runtimes send thoughts.
const PLAIN: &str = "reasoning_content";

/// Parts of a thought that come in pieces.
const TEXTS: [&str; 3] = ["text", "summary", "thinking"];

/// Maximum length of what is kept of one answer, and of all answers of a session, in bytes. A signature has some thousands.
const MAX_OF_ANSWER: usize = 512 * 1024;
const MAX_OF_SESSION: usize = 8 * 1024 * 1024;

/// The fields that one answer carries.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Fields of the message.
    message: Map<String, Value>,
    /// All calls, in the order of their beginnings.
    calls: Vec<CarriedCall>,
    /// The name of the field in which thoughts came; empty if there was none for their text.
    thoughts: Option<&'static str>,
    bytes: usize,
}

/// The fields that one call carries.
#[derive(Debug, Default)]
struct CarriedCall {
    index: u64,
    /// Its first and its last id: some endpoints give each piece another one, and runtimes differ in which they keep.
    ids: [String; 2],
    fields: Map<String, Value>,
    of_function: Map<String, Value>,
}

/// The place of a piece of a call in its answer, as every runtime reads it.
#[derive(Debug)]
pub(super) struct Place {
    /// The number of its call, from 0.
    pub(super) index: usize,
    /// The id of a call whose first piece has none.
    pub(super) id: Option<String>,
}

impl Carried {
    /// Notes the name of the field in which a thought came.
    pub(super) fn thought_in(&mut self, name: &'static str) {
        self.thoughts = Some(name);
    }

    /// Notes that a thought came in parts, and not in a field for its text.
    pub(super) fn thought_in_parts(&mut self) {
        self.thoughts.get_or_insert("");
    }

    /// Takes a piece of a field of the message, which is a list of parts.
    pub(super) fn take_field(&mut self, name: &str, piece: &Value) {
        for piece in piece.as_array().into_iter().flatten() {
            let parts = self.message.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            let Some(parts) = parts.as_array_mut() else { return };
            let bytes = match parts.last() {
                // Its other fields are there.
                Some(last) if goes_on(last, piece) => length(piece),
                _ => piece.to_string().len(),
            };
            self.bytes = self.bytes.saturating_add(bytes);
            if self.bytes <= MAX_OF_ANSWER {
                grow(parts, piece);
            }
        }
    }

    /// Takes a piece of a call, which may be the first one. Returns its place, as far as calls are kept.
    pub(super) fn take_call(&mut self, begins: bool, index: u64, piece: &Value) -> Option<Place> {
        let id = piece["id"].as_str().unwrap_or_default();
        let made = (begins && id.is_empty()).then(|| format!("call_{}", self.calls.len()));
        if begins && self.has_room(id.len() + size_of::<CarriedCall>()) {
            self.calls.push(CarriedCall {
                index,
                ids: [made.clone().unwrap_or_else(|| id.to_owned()), String::new()],
                ..CarriedCall::default()
            });
        } else if begins {
            return None;
        }
        let is_named =
            |call: &CarriedCall| !id.is_empty() && call.index == index && call.ids.iter().any(|known| known == id);
        let named = self.calls.iter().rposition(is_named).filter(|_| !begins);
        let at = named.or_else(|| self.calls.iter().rposition(|call| call.index == index))?;
        for (of_function, from) in [(false, piece), (true, &piece["function"])] {
            for name in OF_CALL {
                let value = from.get(name).filter(|value| !value.is_null());
                let Some(value) = value.filter(|value| self.has_room(value.to_string().len())) else {
                    continue;
                };
                let call = &mut self.calls[at];
                let fields = if of_function {
                    &mut call.of_function
                } else {
                    &mut call.fields
                };
                fields.insert(name.to_owned(), value.clone());
            }
        }
        if !id.is_empty() {
            id.clone_into(&mut self.calls[at].ids[1]);
        }
        Some(Place { index: at, id: made })
    }

    /// Returns whether so much more is kept.
    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= MAX_OF_ANSWER
    }

    /// Returns whether there is anything to put back.
    fn has_fields(&self) -> bool {
        let of_call = |call: &CarriedCall| !call.fields.is_empty() || !call.of_function.is_empty();
        !self.message.is_empty() || self.calls.iter().any(of_call)
    }

    /// Returns whether a message of a history is this answer.
    fn is(&self, message: &Map<String, Value>) -> bool {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let Some((sent, first)) = calls.and_then(|calls| Some((calls, calls.first()?))) else {
            return false;
        };
        let id = first["id"].as_str().filter(|id| !id.is_empty());
        let is_named = |call: &CarriedCall| call.ids.iter().any(|known| Some(known.as_str()) == id);
        sent.len() == self.calls.len() && self.calls.first().is_some_and(is_named)
    }

    /// Puts it back.
    fn put_back(&self, message: &mut Map<String, Value>) {
        add(message, &self.message);
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (sent, call) in calls.into_iter().flatten().zip(&self.calls) {
            if let Some(sent) = sent.as_object_mut() {
                add(sent, &call.fields);
            }
            if let Some(function) = sent.get_mut("function").and_then(Value::as_object_mut) {
                add(function, &call.of_function);
            }
        }
    }
}

/// Adds fields to an object that does not have them.
fn add(object: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        object.entry(name.as_str()).or_insert_with(|| value.clone());
    }
}

/// Length of the texts of a piece that goes on with a part, and of its signature.
fn length(piece: &Value) -> usize {
    let fields = piece.as_object().into_iter().flatten();
    let texts = fields.filter(|(name, _)| TEXTS.contains(&name.as_str()) || *name == "signature");
    texts.filter_map(|(_, value)| value.as_str()).map(str::len).sum()
}

/// Adds a piece to the parts of a thought: to the last one, if it goes on with it.
fn grow(parts: &mut Vec<Value>, piece: &Value) {
    let last = parts.last_mut().filter(|last| goes_on(last, piece));
    let (Some(last), Some(piece)) = (last.and_then(Value::as_object_mut), piece.as_object()) else {
        parts.push(piece.clone());
        return;
    };
    for (name, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (last.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&name.as_str()) => text.push_str(more),
            _ => {
                last.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Returns whether a piece belongs to this part: it is of the same kind, at the same place, and nothing that is always whole. Without
/// a place a signature is the end of a part.
fn goes_on(part: &Value, piece: &Value) -> bool {
    let has_ended = || part["index"].is_null() && part["signature"].as_str().is_some_and(|text| !text.is_empty());
    let is_whole = piece.get("data").is_some();
    part["type"] == piece["type"] && part["index"] == piece["index"] && !is_whole && !has_ended()
}

/// The fields that the answers of a session have carried.
#[derive(Debug, Default)]
pub(crate) struct CarriedAnswers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// With their makers, the oldest first.
    answers: Vec<(ModelId, Carried)>,
    bytes: usize,
    /// The name of the field in which the latest thoughts came.
    thoughts: Option<&'static str>,
}

impl CarriedAnswers {
    /// Keeps what a whole answer of this model carries.
    pub(crate) fn add(&self, carried: Carried, maker: &ModelId) {
        let mut known = locked(&self.0);
        known.thoughts = carried.thoughts.or(known.thoughts);
        let bytes = known.bytes.saturating_add(carried.bytes);
        if !carried.calls.is_empty() && carried.bytes <= MAX_OF_ANSWER && bytes <= MAX_OF_SESSION {
            known.bytes = bytes;
            known.answers.push((maker.clone(), carried));
        }
    }

    /// Puts back into a history what the answers of this model have carried, and gives thoughts the name under which they came.
    pub(super) fn put_back(&self, fields: &mut Fields<'_>, model: &ModelId) {
        let known = locked(&self.0);
        let name = known.thoughts.filter(|name| *name != PLAIN);
        let has_own = |(maker, carried): &(ModelId, Carried)| maker == model && carried.has_fields();
        if name.is_none() && !known.answers.iter().any(has_own) {
            return;
        }
        fields.change("messages", |messages| {
            // From the end: ids may come again in later answers.
            let mut left = known.answers.as_slice();
            for message in messages.as_array_mut().into_iter().flatten().rev() {
                let is_answer = message["role"] == "assistant";
                let Some(message) = message.as_object_mut().filter(|_| is_answer) else {
                    continue;
                };
                if let Some(name) = name
                    && let Some(thoughts) = message.shift_remove(PLAIN)
                    && !name.is_empty()
                {
                    message.insert(name.to_owned(), thoughts);
                }
                if let Some(at) = left.iter().rposition(|(_, carried)| carried.is(message)) {
                    let (maker, carried) = &left[at];
                    if maker == model {
                        carried.put_back(message);
                    }
                    left = &left[..at];
                }
            }
        });
    }
}

#[cfg(test)]
#[path = "carried_tests.rs"]
mod tests;
