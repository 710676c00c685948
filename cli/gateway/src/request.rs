//! What the gateway has to know of a request, without taking it apart.

use std::{
    borrow::Cow,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// The facts of a request's body. Reading them costs one pass over the text; the body itself is forwarded as it came,
/// byte by byte, so that the provider's prompt cache finds it again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The model that is asked for, in the provider's own words.
    pub(crate) model: String,
    /// A hash of the last message.
    pub(crate) last_message: u64,
}

/// The body is not a streaming request with a model and messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotARequest;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    stream: Option<bool>,
    #[serde(borrow, alias = "input")]
    messages: Last<'a>,
}

/// The last element of a list; the others are passed over.
struct Last<'a>(&'a RawValue);

impl<'de: 'a, 'a> Deserialize<'de> for Last<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Last<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list with at least one element")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Last<'de>, A::Error> {
                let mut last = None;
                while let Some(element) = elements.next_element::<&'de RawValue>()? {
                    last = Some(element);
                }
                last.map(Last).ok_or_else(|| serde::de::Error::invalid_length(0, &self))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Reads the outline of a body.
pub(crate) fn outline(body: &[u8]) -> Result<Outline, NotARequest> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(|_| NotARequest)?;
    // Without a stream there would be nothing to account by as it passes; the runtime always asks for one.
    if body.stream != Some(true) || body.model.is_empty() {
        return Err(NotARequest);
    }
    let mut hasher = DefaultHasher::new();
    body.messages.0.get().hash(&mut hasher);
    Ok(Outline {
        model: body.model.into_owned(),
        last_message: hasher.finish(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_the_last_message_are_found() {
        let one = outline(br#"{"model":"@cf/x","stream":true,"messages":[{"a":1},{"b":2}],"tools":[{}]}"#);
        let two = outline(br#"{"messages":[{"c":[3]},{"b":2}],"stream":true,"model":"\u0040cf/x"}"#);
        let three = outline(br#"{"model":"@cf/x","stream":true,"messages":[{"b":2},{"a":1}]}"#);
        assert_eq!(one, two);
        assert_eq!(one.as_ref().map(|one| one.model.as_str()), Ok("@cf/x"));
        assert_ne!(one, three);
        let responses = outline(br#"{"model":"@cf/x","stream":true,"input":[{"a":1},{"b":2}]}"#);
        assert_eq!(one, responses);
    }

    #[test]
    fn anything_else_is_refused() {
        for body in [
            "",
            "null",
            "{}",
            r#"{"model":"m","messages":[{}]}"#,
            r#"{"model":"m","stream":false,"messages":[{}]}"#,
            r#"{"model":"m","stream":true,"messages":[]}"#,
            r#"{"model":7,"stream":true,"messages":[{}]}"#,
            r#"{"model":"","stream":true,"messages":[{}]}"#,
            r#"{"model":"m","stream":true,"messages":[{}]"#,
        ] {
            assert_eq!(outline(body.as_bytes()), Err(NotARequest), "{body}");
        }
    }
}
