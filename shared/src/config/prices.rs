//! What models cost, where an operator knows it better than the built-in list.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigFault, fault::of_models};
use crate::{
    model::ModelId,
    pricing::{self, LongContext, ModelFacts},
};

/// The highest price that is taken for one, in US dollars per million tokens: beyond it somebody wrote the price of
/// something else.
const HIGHEST: f64 = 10_000.0;

/// The price of a model in US dollars per million tokens, and when it was looked up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPrice {
    /// The day on which this was the price, as `2026-11-01`.
    #[schemars(regex(pattern = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"))]
    pub as_of: String,
    /// Uncached prompt tokens.
    #[schemars(range(min = 0, max = 10_000))]
    pub input: f64,
    /// Answer tokens; reasoning tokens cost the same.
    #[schemars(range(min = 0, max = 10_000))]
    pub output: f64,
    /// Prompt tokens read from the provider's cache; by default as much as uncached ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    pub cache_read: Option<f64>,
    /// Prompt tokens written to the provider's cache; by default as much as uncached ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    pub cache_write: Option<f64>,
    /// What a call with a long prompt costs instead; by default the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
}

impl ModelPrice {
    /// What is known of the model with this price. Limits are those of the built-in list, and none for a model that it
    /// does not have.
    fn facts(&self, known: Option<ModelFacts>) -> ModelFacts {
        ModelFacts {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read.unwrap_or(self.input),
            cache_write: self.cache_write.unwrap_or(self.input),
            context: known.map_or(u64::MAX, |facts| facts.context),
            max_output: known.map_or(u64::MAX, |facts| facts.max_output),
            temperature: known.is_some_and(|facts| facts.temperature),
            reasoning: known.is_some_and(|facts| facts.reasoning),
            thinking: known.map(|facts| facts.thinking).unwrap_or_default(),
            long_context: self.long_context,
        }
    }

    /// What is wrong with it, each with the name of its field.
    fn faults(&self) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if !is_date(&self.as_of) {
            let detail = format!("`{}` is not a day: write it as 2026-11-01", shown(&self.as_of));
            faults.push(("as_of", detail));
        }
        let long = self.long_context;
        for (name, price) in [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
            ("long_context/input", long.map(|long| long.input)),
            ("long_context/output", long.map(|long| long.output)),
            ("long_context/cache_read", long.map(|long| long.cache_read)),
            ("long_context/cache_write", long.map(|long| long.cache_write)),
        ] {
            // Written so that a number that is none is a fault too.
            if price.is_some_and(|price| !(0.0..=HIGHEST).contains(&price)) {
                let detail = format!("must be between 0 and {HIGHEST}: US dollars per million tokens");
                faults.push((name, detail));
            }
        }
        faults
    }
}

/// What is wrong with the prices of a document.
pub(super) fn faults(prices: &BTreeMap<String, ModelPrice>) -> Vec<ConfigFault> {
    of_models("prices", prices, ModelPrice::faults)
}

/// Prices of models: an operator's, and the built-in ones for the rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceList {
    own: BTreeMap<ModelId, ModelPrice>,
}

impl PriceList {
    /// The prices of a document. A name that is no model's has no price.
    pub fn new(prices: &BTreeMap<String, ModelPrice>) -> Self {
        let own = prices
            .iter()
            .filter_map(|(name, price)| Some((name.parse().ok()?, price.clone())));
        Self { own: own.collect() }
    }

    /// What is known of a model.
    pub fn facts(&self, model: &ModelId) -> Option<ModelFacts> {
        let known = pricing::facts(model);
        match self.own.get(model) {
            Some(price) => Some(price.facts(known)),
            None => known,
        }
    }

    /// The day of an operator's price; nothing for a built-in one.
    pub fn as_of(&self, model: &ModelId) -> Option<&str> {
        self.own.get(model).map(|price| price.as_of.as_str())
    }

    /// Where the prices of these models come from, in words, with their dates: one line for an operator's, if there are
    /// any among them.
    pub fn describe<'a>(&self, models: impl IntoIterator<Item = &'a ModelId>) -> Option<String> {
        let mut by_day: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for model in models {
            if let Some(day) = self.as_of(model) {
                let names = by_day.entry(day).or_default();
                if !names.contains(&model.as_str()) {
                    names.push(model.as_str());
                }
            }
        }
        if by_day.is_empty() {
            return None;
        }
        let days = by_day
            .into_iter()
            .map(|(day, names)| format!("{} as of {day}", names.join(", ")));
        let days: Vec<String> = days.collect();
        Some(format!(
            "prices are the remote configuration's: {}; others are built in",
            days.join("; ")
        ))
    }
}

/// Returns whether a text is a day of the calendar, as `2026-11-01`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 4 | 7) {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    if !shaped {
        return false;
    }
    let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year >= 2000 && (1..=days).contains(&day)
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{ConfigDocument, validate},
        pricing::TokenUsage,
    };

    fn document(prices: &str) -> ConfigDocument {
        serde_json::from_str(&format!(r#"{{"schema_version":1,"prices":{prices}}}"#)).expect("readable")
    }

    fn model(name: &str) -> ModelId {
        name.parse().expect("a model")
    }

    const MILLION: TokenUsage = TokenUsage {
        input: 1_000_000,
        output: 1_000_000,
        reasoning: 0,
        cache_read: 1_000_000,
        cache_write: 1_000_000,
    };

    #[test]
    fn an_operators_price_replaces_the_built_in_one_and_the_limits_stay() {
        let document = document(
            r#"{"anthropic/claude-opus-4-7":{"as_of":"2026-11-01","input":4,"output":20,"cache_read":0.4,"cache_write":5},
                "vllm/qwen":{"as_of":"2026-10-01","input":1,"output":2}}"#,
        );
        assert_eq!(validate(&document), []);
        let prices = PriceList::new(&document.prices);
        let opus = model("anthropic/claude-opus-4-7");
        let facts = prices.facts(&opus).expect("known");
        assert!((facts.cost_usd(&MILLION) - 29.4).abs() < 1e-9);
        assert_eq!(facts.context, pricing::facts(&opus).expect("built in").context);
        let own = prices.facts(&model("vllm/qwen")).expect("priced");
        assert!(
            (own.cost_usd(&MILLION) - 5.0).abs() < 1e-9,
            "the cache costs what input costs"
        );
        let other = model("anthropic/claude-opus-4-6");
        assert_eq!(prices.facts(&other), pricing::facts(&other));
        assert_eq!(prices.facts(&model("vllm/other")), None);
    }

    #[test]
    fn the_dates_are_told_for_the_models_that_are_used() {
        let document = document(
            r#"{"a/one":{"as_of":"2026-11-01","input":1,"output":1},"a/two":{"as_of":"2026-10-01","input":1,"output":1},
                "a/unused":{"as_of":"2026-09-01","input":1,"output":1}}"#,
        );
        let prices = PriceList::new(&document.prices);
        let used = [model("a/one"), model("a/two"), model("a/one"), model("b/x")];
        assert_eq!(
            prices.describe(&used).as_deref(),
            Some(
                "prices are the remote configuration's: a/two as of 2026-10-01; a/one as of 2026-11-01; others are built in"
            )
        );
        assert_eq!(prices.describe(&[model("b/x")]), None);
    }

    #[test]
    fn every_fault_of_a_price_is_named_with_its_place() {
        let document = document(
            r#"{"a/x":{"as_of":"2026-02-29","input":-1,"output":10001,"cache_read":-0.1,
                       "long_context":{"above":1,"input":-1,"output":1,"cache_read":1,"cache_write":1}},
                "nonsense":{"as_of":"yesterday","input":1,"output":1}}"#,
        );
        let pointers: Vec<String> = validate(&document).into_iter().map(|fault| fault.pointer).collect();
        let expected = [
            "a~1x/as_of",
            "a~1x/input",
            "a~1x/output",
            "a~1x/cache_read",
            "a~1x/long_context/input",
            "nonsense",
            "nonsense/as_of",
        ];
        assert_eq!(pointers, expected.map(|place| format!("/prices/{place}")));
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (text, good) in [
            ("2026-11-01", true),
            ("2024-02-29", true),
            ("2026-02-29", false),
            ("2026-13-01", false),
            ("2026-00-10", false),
            ("2026-04-31", false),
            ("2026-1-1", false),
            ("2026/11/01", false),
            ("1999-01-01", false),
            ("2026-11-01T00:00:00Z", false),
            ("äöüß-11-0", false),
            ("", false),
        ] {
            assert_eq!(is_date(text), good, "{text}");
        }
    }
}
