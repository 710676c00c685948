//! `[models]`: how hard models think, and what they take.

use std::{collections::BTreeMap, ops::RangeInclusive};

use conclave_shared::{
    config::{CapabilityOverrides, ClassEfforts},
    effort::{Effort, Level, Thinking, ThinkingBy, ThinkingOff},
    model::ModelId,
    nearest::nearest,
    reviewer::ReviewerName,
};
use toml::de::{DeTable, DeValue};

use super::{
    ModelSettings, OwnReviewer,
    protection::full,
    reader::{Reader, did_you_mean, kind},
};

const KEY: &str = "models";
const CLASSES: &str = "models.class_effort";
const REVIEWERS: &str = "models.reviewer_effort";
const CAPABILITIES: &str = "models.capabilities";
const THINKING: &str = "models.capabilities.thinking";

impl Reader<'_> {
    pub(super) fn models(&mut self, root: &DeTable<'_>, own: &[OwnReviewer]) -> ModelSettings {
        let Some(table) = self.table(root, KEY) else {
            return ModelSettings::default();
        };
        ModelSettings {
            effort: self.choice(table, KEY, "effort", &Effort::ALL, Effort::as_str),
            class_effort: self.class_effort(table),
            reviewer_effort: self.reviewer_effort(table, own),
            capabilities: self.capabilities(table),
        }
    }

    fn class_effort(&mut self, models: &DeTable<'_>) -> ClassEfforts {
        let mut classes = ClassEfforts::default();
        let Some(table) = self.table_in(models, "class_effort", CLASSES) else {
            return classes;
        };
        for name in ClassEfforts::NAMES {
            let effort = self.choice(table, CLASSES, name, &Effort::ALL, Effort::as_str);
            if let Some(class) = classes.named(name) {
                *class = effort;
            }
        }
        classes
    }

    fn reviewer_effort(&mut self, models: &DeTable<'_>, own: &[OwnReviewer]) -> BTreeMap<String, Effort> {
        let Some(table) = self.table_in(models, "reviewer_effort", REVIEWERS) else {
            return BTreeMap::new();
        };
        let known = || {
            let standing = ReviewerName::STANDING.into_iter().chain([ReviewerName::COORDINATOR]);
            standing.chain(own.iter().map(|reviewer| reviewer.name.as_str()))
        };
        let mut efforts_of = BTreeMap::new();
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known().any(|known| known == name) {
                let hint = did_you_mean(nearest(name, known()), || {
                    format!("those are {}", known().collect::<Vec<_>>().join(", "))
                });
                let message = format!("`{name}` in `{REVIEWERS}` is not a reviewer: {hint}");
                self.problems.error(&key.span(), message);
                continue;
            }
            if let Some(effort) = self.choice(table, REVIEWERS, name, &Effort::ALL, Effort::as_str) {
                efforts_of.insert(name.to_owned(), effort);
            }
        }
        efforts_of
    }

    fn capabilities(&mut self, models: &DeTable<'_>) -> BTreeMap<String, CapabilityOverrides> {
        let name = "capabilities";
        let Some(value) = models.get(name) else {
            return BTreeMap::new();
        };
        let Some(table) = value.get_ref().as_table() else {
            let found = kind(value.get_ref());
            let message = format!("`{CAPABILITIES}` must have a table for each model; it is {found}");
            self.problems.error(&value.span(), message);
            return BTreeMap::new();
        };
        let mut capabilities = BTreeMap::new();
        for key in table.keys() {
            let model: &str = key.get_ref();
            if let Err(invalid) = model.parse::<ModelId>() {
                self.problems.error(&key.span(), invalid.to_string());
                continue;
            }
            if let Some(of_model) = self.table_in(table, model, CAPABILITIES) {
                capabilities.insert(model.to_owned(), self.capability(of_model));
            }
        }
        capabilities
    }

    fn capability(&mut self, table: &DeTable<'_>) -> CapabilityOverrides {
        let tokens = |range: RangeInclusive<u64>| {
            let bound = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            bound(*range.start())..=bound(*range.end())
        };
        CapabilityOverrides {
            context: self.number(table, CAPABILITIES, "context", tokens(CapabilityOverrides::CONTEXT)),
            max_output: self.number(
                table,
                CAPABILITIES,
                "max_output",
                tokens(CapabilityOverrides::MAX_OUTPUT),
            ),
            samples: self.switch(table, CAPABILITIES, "samples"),
            temperature: self.decimal(table, "temperature", CapabilityOverrides::TEMPERATURE),
            top_p: self.decimal(table, "top_p", CapabilityOverrides::TOP_P),
            thinking: self.thinking(table),
        }
    }

    /// A number in this range, with or without a decimal point.
    fn decimal(&mut self, table: &DeTable<'_>, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let value = table.get(key)?;
        let text = match value.get_ref() {
            DeValue::Integer(number) => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        };
        let number = text.and_then(|text| text.replace('_', "").parse::<f64>().ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let found = text.unwrap_or_else(|| kind(value.get_ref()));
            let (min, max) = range.into_inner();
            let message = format!(
                "`{}` must be a number from {min} to {max}; it is {found}",
                full(CAPABILITIES, key)
            );
            self.problems.error(&value.span(), message);
        }
        number
    }

    fn thinking(&mut self, model: &DeTable<'_>) -> Option<Thinking> {
        let table = self.table_in(model, "thinking", THINKING)?;
        let by = self.choice(table, THINKING, "by", &ThinkingBy::ALL, ThinkingBy::as_str);
        let off = self.choice(table, THINKING, "off", &ThinkingOff::ALL, ThinkingOff::as_str);
        let hidden = self.switch(table, THINKING, "hidden");
        let mut levels = Vec::new();
        for (text, span) in self.texts(table, THINKING, "levels").unwrap_or_default() {
            if let Some(level) = Level::ALL.into_iter().find(|level| level.as_str() == text) {
                levels.push(level);
                continue;
            }
            let names = Level::ALL.map(Level::as_str);
            let hint = did_you_mean(nearest(&text, names), || format!("those are {}", names.join(", ")));
            self.problems
                .error(&span, format!("`{text}` is not a level of effort: {hint}"));
        }
        if !table.contains_key("by") {
            let span = model.get("thinking").map(toml::Spanned::span).unwrap_or_default();
            let message = format!("`by` is missing in `{THINKING}`, as in `by = \"effort\"`");
            self.problems.error(&span, message);
        }
        let thinking = Thinking {
            by: by?,
            levels: levels.into(),
            off: off.unwrap_or_default(),
            hidden: hidden.unwrap_or_default(),
        };
        let whole = CapabilityOverrides {
            thinking: Some(thinking),
            ..CapabilityOverrides::default()
        };
        let faults = whole.faults();
        if let (Some((_, detail)), Some(value)) = (faults.first(), table.get("by")) {
            self.problems
                .error(&value.span(), format!("`{THINKING}.levels` {detail}"));
        }
        faults.is_empty().then_some(thinking)
    }
}

#[cfg(test)]
mod tests {
    use crate::repo_config::parse;

    use super::*;

    #[test]
    fn efforts_and_capabilities_are_read() {
        let parsed = parse(
            b"[models]\neffort = \"low\"\n[models.class_effort]\ntop = \"max\"\n[models.reviewer_effort]\nsecurity = \"high\"\n\
              coordinator = \"medium\"\n[models.capabilities.\"compatible/*\"]\ncontext = 65_536\ntemperature = 1\n\
              thinking = { by = \"effort\", levels = [\"none\", \"high\"] }\n",
        );
        assert_eq!(parsed.problems, []);
        let efforts = parsed.config.efforts();
        assert_eq!(
            (efforts.all, efforts.classes.top),
            (Some(Effort::Low), Some(Effort::Max))
        );
        assert_eq!(efforts.reviewers["security"], Effort::High);
        assert_eq!(efforts.reviewers["coordinator"], Effort::Medium);
        let model = parsed.config.models.capabilities["compatible/*"];
        assert_eq!((model.context, model.temperature), (Some(65_536), Some(1.0)));
        assert!(model.thinking.is_some_and(|thinking| thinking.levels.has(Level::High)));
    }

    #[test]
    fn every_problem_has_its_line_and_the_rest_is_kept() {
        for (text, expected) in [
            (
                "effort = \"hihg\"",
                ".conclave.toml:2:10: `hihg` is not a `models.effort`: did you mean `high`?",
            ),
            (
                "effort = 3",
                ".conclave.toml:2:10: `models.effort` must be \"none\" or \"low\" or \"medium\" or \"high\" or \"max\"; it is a number",
            ),
            (
                "reviewer_effort = { secuirty = \"low\" }",
                ".conclave.toml:2:21: `secuirty` in `models.reviewer_effort` is not a reviewer: did you mean `security`?",
            ),
            (
                "class_effort = { topp = \"low\" }",
                ".conclave.toml:2:18: `models.class_effort.topp` is not known and is ignored: did you mean `models.class_effort.top`?",
            ),
            (
                "capabilities = { qwen = { context = 9000 } }",
                ".conclave.toml:2:18: `qwen` is not a model: write `provider/model`, as in `anthropic/claude-sonnet-5`",
            ),
            (
                "capabilities = { \"a/b\" = { context = 0 } }",
                ".conclave.toml:2:38: `models.capabilities.context` must be a whole number from 4000 to 100000000; it is 0",
            ),
            (
                "capabilities = { \"a/b\" = { temperature = 7.5 } }",
                ".conclave.toml:2:42: `models.capabilities.temperature` must be a number from 0 to 2; it is 7.5",
            ),
            (
                "capabilities = { \"a/b\" = { thinking = { by = \"effort\" } } }",
                ".conclave.toml:2:46: `models.capabilities.thinking.levels` is missing: a model that is asked by `effort` takes at least one, as in [\"low\", \"high\"]",
            ),
            (
                "capabilities = { \"a/b\" = { thinking = { levels = [\"lots\"] } } }",
                ".conclave.toml:2:39: `by` is missing in `models.capabilities.thinking`, as in `by = \"effort\"`",
            ),
        ] {
            let text = format!("[models]\n{text}\n[review]\nlanguage = \"German\"\n");
            let parsed = parse(text.as_bytes());
            let problems: Vec<String> = parsed.problems.iter().map(ToString::to_string).collect();
            assert!(problems.contains(&expected.to_owned()), "{problems:?} {expected}");
            assert_eq!(parsed.config.review.language.as_deref(), Some("German"));
            assert_eq!(
                parsed.config.efforts(),
                crate::repo_config::RepoConfig::default().efforts()
            );
        }
    }
}
