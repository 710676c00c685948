//! The outline of a request, read without taking it apart.

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The facts of a request's body; the body itself is forwarded as it came, byte by byte, so that the provider's prompt
/// cache finds it again.
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
    messages: Vec<&'a RawValue>,
}

impl Outline {
    /// Reads the outline of a body of any format.
    pub(crate) fn of(body: &[u8]) -> Result<Self, NotARequest> {
        let body: Body<'_> = serde_json::from_slice(body).map_err(|_| NotARequest)?;
        // Without a stream there would be nothing to account by as it passes; the runtime always asks for one.
        let last = body
            .messages
            .last()
            .filter(|_| body.stream == Some(true) && !body.model.is_empty());
        let mut hasher = DefaultHasher::new();
        last.ok_or(NotARequest)?.get().hash(&mut hasher);
        Ok(Self {
            model: body.model.into_owned(),
            last_message: hasher.finish(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_and_the_last_message_are_found() {
        let one = Outline::of(br#"{"model":"@cf/x","stream":true,"messages":[{"a":1},{"b":2}],"tools":[{}]}"#);
        let two = Outline::of(br#"{"messages":[{"c":[3]},{"b":2}],"stream":true,"model":"\u0040cf/x"}"#);
        let three = Outline::of(br#"{"model":"@cf/x","stream":true,"messages":[{"b":2},{"a":1}]}"#);
        assert_eq!(one, two);
        assert_eq!(one.as_ref().map(|one| one.model.as_str()), Ok("@cf/x"));
        assert_ne!(one, three);
        let responses = Outline::of(br#"{"model":"@cf/x","stream":true,"input":[{"a":1},{"b":2}]}"#);
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
            assert_eq!(Outline::of(body.as_bytes()), Err(NotARequest), "{body}");
        }
    }
}
