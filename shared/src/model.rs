//! Models and providers by name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A model as configuration names it: `provider/model`, where the model's own id may hold more slashes
/// (`cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId {
    text: String,
    slash: usize,
}

/// A text that is not `provider/model`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model: write `provider/model`, as in `anthropic/claude-sonnet-5`")]
pub struct InvalidModelId(String);

impl ModelId {
    /// The part before the first slash, e.g. `anthropic`.
    pub fn provider(&self) -> &str {
        &self.text[..self.slash]
    }

    /// The part after the first slash, which is what the provider itself calls the model.
    pub fn model(&self) -> &str {
        &self.text[self.slash + 1..]
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Puts a provider's name and its model's id together.
    pub fn from_parts(provider: &str, model: &str) -> Result<Self, InvalidModelId> {
        format!("{provider}/{model}").parse()
    }
}

impl FromStr for ModelId {
    type Err = InvalidModelId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.find('/') {
            Some(slash)
                if slash > 0
                    && slash + 1 < text.len()
                    && text.len() <= 200
                    && text.chars().all(|c| c.is_ascii_graphic()) =>
            {
                Ok(Self {
                    text: text.to_owned(),
                    slash,
                })
            }
            _ => Err(InvalidModelId(text.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

impl Serialize for ModelId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ModelId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for ModelId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A model as `provider/model`.",
            "type": "string",
            "pattern": "^[!-.0-~]+/[!-~]+$",
            "maxLength": 200,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_first_slash_only() {
        let model: ModelId = "cloudflare-workers-ai/@cf/moonshotai/kimi-k2.6"
            .parse()
            .expect("a valid model");
        assert_eq!(model.provider(), "cloudflare-workers-ai");
        assert_eq!(model.model(), "@cf/moonshotai/kimi-k2.6");
    }

    #[test]
    fn refuses_what_has_no_provider_or_no_model() {
        for text in ["", "/", "anthropic", "anthropic/", "/claude", "a/b c", "a/b\n"] {
            assert!(text.parse::<ModelId>().is_err(), "{text:?}");
        }
    }
}
