//! Reasoning effort: the settings that people choose, the ways in which a model is asked for them, and the request that results.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{model::ModelId, named_enum, nearest::nearest};

named_enum! {
    /// The effort that a model puts into thinking before it answers, as people set it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Effort {
        /// Not at all, or as little as the model can.
        None = "none",
        /// A little.
        Low = "low",
        /// Enough for most reviews.
        Medium = "medium",
        /// Thoroughly.
        High = "high",
        /// As much as the model can.
        Max = "max",
    }
}

/// A text that is not an effort.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an effort: {1}")]
pub struct InvalidEffort(String, String);

impl Effort {
    /// Tokens of thinking that an answer has room for: the two largest are those of OpenCode's variants `high` and `max`.
    pub const fn thinking_tokens(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Low => 4_096,
            Self::Medium => 8_192,
            Self::High => 16_000,
            Self::Max => 31_999,
        }
    }
}

impl FromStr for Effort {
    type Err = InvalidEffort;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(effort) = Self::ALL.into_iter().find(|effort| effort.as_str() == text) {
            return Ok(effort);
        }
        let names = Self::ALL.map(Self::as_str);
        let hint = match nearest(text, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("those are {}", names.join(", ")),
        };
        Err(InvalidEffort(text.chars().take(40).collect(), hint))
    }
}

named_enum! {
    /// A level of effort in the words of the providers, the least first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Level {
        /// No reasoning.
        None = "none",
        /// The least of the first models that had no `none`.
        Minimal = "minimal",
        /// Little.
        Low = "low",
        /// The balance.
        Medium = "medium",
        /// Much.
        High = "high",
        /// More.
        Xhigh = "xhigh",
        /// All that there is.
        Max = "max",
    }
}

/// The levels that a model takes, a small set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Level>", into = "Vec<Level>")]
pub struct Levels(u8);

impl Levels {
    /// The levels, the least first.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Level> {
        Level::ALL.into_iter().filter(move |level| self.has(*level))
    }

    /// Returns whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the model takes this level.
    pub const fn has(self, level: Level) -> bool {
        self.0 & (1 << level as u8) != 0
    }

    /// The level of reasoning that is nearest to an effort: the same, else the next lower one, else the lowest.
    fn nearest(self, effort: Effort) -> Option<Level> {
        let wanted = match effort {
            Effort::None => Level::Minimal,
            Effort::Low => Level::Low,
            Effort::Medium => Level::Medium,
            Effort::High => Level::High,
            Effort::Max => Level::Max,
        };
        let reasoning = || self.iter().filter(|level| *level > Level::None);
        reasoning()
            .rfind(|level| *level <= wanted)
            .or_else(|| reasoning().next())
    }
}

impl From<Vec<Level>> for Levels {
    fn from(levels: Vec<Level>) -> Self {
        Self(levels.into_iter().fold(0, |set, level| set | (1 << level as u8)))
    }
}

impl From<Levels> for Vec<Level> {
    fn from(levels: Levels) -> Self {
        levels.iter().collect()
    }
}

impl fmt::Debug for Levels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter().map(Level::as_str)).finish()
    }
}

impl JsonSchema for Levels {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Levels".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let level = generator.subschema_for::<Level>();
        schemars::json_schema!({"type": "array", "items": level, "uniqueItems": true})
    }
}

named_enum! {
    /// The parameter by which a model is asked to think.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum ThinkingBy {
        /// None: the model thinks as it does, or not at all.
        #[default]
        Nothing = "nothing",
        /// A number of tokens: Anthropic's `thinking.budget_tokens`, up to Claude 4.5.
        Budget = "budget",
        /// A level: Anthropic's `output_config.effort` with adaptive thinking, from Claude 4.6 on.
        Adaptive = "adaptive",
        /// A level: `OpenAI`'s `reasoning.effort`, or `reasoning_effort` of Chat Completions.
        Effort = "effort",
    }
}

named_enum! {
    /// The way in which a model is asked not to think.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum ThinkingOff {
        /// No parameter: it thinks only when it is asked to.
        #[default]
        Unsent = "unsent",
        /// `thinking.type` is `disabled`.
        Disabled = "disabled",
        /// `thinking.type` is `between_tools`, which is the least that the model takes.
        BetweenTools = "between_tools",
        /// There is none: it always thinks, at its lowest level at least.
        Never = "never",
    }
}

/// The efforts that a model takes, and how it is asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Thinking {
    /// The parameter.
    pub by: ThinkingBy,
    /// The levels that it takes; for a budget of tokens there are none.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub levels: Levels,
    /// The way to ask for no thinking at all, for models of Anthropic.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub off: ThinkingOff,
    /// True if the text of its thoughts comes only when asked for: it is, because a stream without it looks dead.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub hidden: bool,
}

/// The least budget of thinking that Anthropic's API takes.
const MIN_BUDGET: u64 = 1024;

/// A request for thinking, before it is written in a wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingRequest {
    /// Nothing is sent, because the model takes no effort.
    Untold,
    /// No thinking.
    Off(ThinkingOff),
    /// At most this many tokens of thinking.
    Budget(u64),
    /// Adaptive thinking at this level.
    Adaptive {
        /// The level.
        level: Level,
        /// True if the text of the thoughts has to be asked for.
        summarized: bool,
    },
    /// Reasoning at this level.
    Effort(Level),
}

impl ThinkingRequest {
    /// Returns whether the model reasons, as far as that is asked for.
    pub fn reasons(self) -> bool {
        matches!(self, Self::Budget(_) | Self::Adaptive { .. })
            || matches!(self, Self::Effort(level) if level > Level::None)
    }

    /// Tokens of an answer's limit that are for thinking; the answer itself keeps what it had without.
    pub const fn tokens(self) -> u64 {
        match self {
            Self::Untold | Self::Off(_) | Self::Effort(Level::None) => 0,
            Self::Budget(tokens) => tokens,
            Self::Adaptive { level, .. } | Self::Effort(level) => match level {
                Level::None => 0,
                Level::Minimal | Level::Low => Effort::Low.thinking_tokens(),
                Level::Medium => Effort::Medium.thinking_tokens(),
                Level::High => Effort::High.thinking_tokens(),
                Level::Xhigh | Level::Max => Effort::Max.thinking_tokens(),
            },
        }
    }

    /// The same for a model whose answers have at most this many tokens, thinking included: a budget has to stay below that, and
    /// is half of it where there is no room for more.
    #[must_use]
    pub fn within(self, max_output: u64) -> Self {
        match self {
            Self::Budget(tokens) if tokens >= max_output => {
                if max_output > MIN_BUDGET {
                    Self::Budget((max_output / 2).max(MIN_BUDGET))
                } else {
                    Self::Off(ThinkingOff::Unsent)
                }
            }
            request => request,
        }
    }

    /// The request that an effort came to, in words.
    pub fn describe(self, effort: Effort) -> String {
        match self {
            Self::Untold => "takes no effort".to_owned(),
            Self::Off(_) if effort > Effort::None => "no effort, because its answers have no room for it".to_owned(),
            Self::Off(_) | Self::Effort(Level::None) => "effort none".to_owned(),
            Self::Budget(tokens) if tokens < effort.thinking_tokens() => {
                format!("effort {effort}: {tokens} tokens, because its answers have room for no more")
            }
            Self::Budget(tokens) => format!("effort {effort}: {tokens} tokens"),
            Self::Adaptive { level, .. } | Self::Effort(level) => {
                let exact = level.as_str() == effort.as_str();
                match (exact, effort) {
                    (true, _) => format!("effort {effort}"),
                    (false, Effort::None) => format!("effort {level}, because it always thinks"),
                    (false, _) => format!("effort {level}, the nearest to {effort} that it takes"),
                }
            }
        }
    }

    /// Why an effort that was asked for does not come to the same; nothing if it does.
    pub fn shortfall(self, effort: Effort) -> Option<String> {
        let exact = match self {
            Self::Untold | Self::Off(_) => effort == Effort::None,
            Self::Budget(tokens) => tokens == effort.thinking_tokens(),
            // The highest level is what `max` means, whatever its name.
            Self::Adaptive { level, .. } | Self::Effort(level) => {
                level.as_str() == effort.as_str() || effort == Effort::Max && level >= Level::Xhigh
            }
        };
        (!exact).then(|| self.describe(effort))
    }
}

impl Thinking {
    /// The request for an effort.
    pub fn request(self, effort: Effort) -> ThinkingRequest {
        let nearest = self.levels.nearest(effort);
        match (self.by, effort, nearest) {
            (ThinkingBy::Budget, Effort::None, _) => ThinkingRequest::Off(ThinkingOff::Unsent),
            (ThinkingBy::Budget, ..) => ThinkingRequest::Budget(effort.thinking_tokens()),
            (ThinkingBy::Adaptive, Effort::None, _) if self.off != ThinkingOff::Never => ThinkingRequest::Off(self.off),
            (ThinkingBy::Adaptive, _, Some(level)) => ThinkingRequest::Adaptive {
                level,
                summarized: self.hidden,
            },
            (ThinkingBy::Effort, Effort::None, _) | (ThinkingBy::Effort, _, None) if self.levels.has(Level::None) => {
                ThinkingRequest::Effort(Level::None)
            }
            (ThinkingBy::Effort, _, Some(level)) => ThinkingRequest::Effort(level),
            (ThinkingBy::Nothing | ThinkingBy::Adaptive | ThinkingBy::Effort, ..) => ThinkingRequest::Untold,
        }
    }

    /// The same where it is asked in a format that has levels only, as both of `OpenAI`: a budget of tokens has no name there.
    #[must_use]
    pub fn by_level(self) -> Self {
        if self.by == ThinkingBy::Budget {
            Self::default()
        } else {
            self
        }
    }

    /// The same where it is asked in Chat Completions with tools, as every session has them: there, newer models of `OpenAI` itself
    /// take tools with the effort `none` only, or not at all.
    #[must_use]
    pub fn in_chat(self, model: &ModelId) -> Self {
        let version = gpt_version(model.model());
        let is_strict = model.provider() == "openai" && version.is_some_and(|version| version >= (5, 2));
        let by_level = self.by_level();
        if !is_strict {
            return by_level;
        }
        if by_level.levels.has(Level::None) {
            Self {
                levels: vec![Level::None].into(),
                ..by_level
            }
        } else {
            Self::default()
        }
    }

    /// Returns whether there is anything to set.
    pub const fn is_told(self) -> bool {
        !matches!(self.by, ThinkingBy::Nothing)
    }
}

/// The version in the name of a GPT, as in `gpt-5.3-codex`; of `gpt-6` the minor one is 0.
fn gpt_version(model: &str) -> Option<(u32, u32)> {
    let rest = model.strip_prefix("gpt-")?;
    let version = rest.split_once('-').map_or(rest, |(version, _)| version);
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
#[path = "effort_tests.rs"]
mod tests;
