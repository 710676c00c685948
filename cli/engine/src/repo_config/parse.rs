//! Reading `.conclave.toml`: every problem at once, each with its place, and what is good is kept.
//!
//! Walked by hand and not deserialised, because serde stops at the first problem and a typing error in a team's file must
//! neither hide the next one nor throw away the rest.

use std::ops::{Range, RangeInclusive};

use conclave_shared::{config::Preset, nearest::nearest, path_globs::PathGlobs, reviewer::ReviewerName};
use regex::Regex;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    CodexSettings, PathInstruction, PathSettings, RepoConfig, RepoConfigProblem, RepoGate, ReviewSettings, Strictness,
    problem::{Problems, Weight},
    schema::LANGUAGE,
};
use crate::{judge::RubricSettings, ports::ReviewMode};

/// What could be read of a file, and what could not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedRepoConfig {
    /// The settings; what has a problem keeps its default.
    pub config: RepoConfig,
    /// All problems, in the order of the file.
    pub problems: Vec<RepoConfigProblem>,
}

impl ParsedRepoConfig {
    /// Whether anything could not be read; unknown keys alone are no error.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.weight == Weight::Error)
    }
}

/// The highest `review.max_inline`.
const MOST_INLINE: i64 = 1000;

/// Every key that there is, below its table.
const KEYS: [(&str, &[&str]); 7] = [
    (
        "",
        &["review", "paths", "path_instructions", "codex", "verdict", "reviewers"],
    ),
    (
        "review",
        &[
            "language",
            "strictness",
            "disabled_reviewers",
            "gate",
            "mode",
            "max_inline",
            "preset",
            "memory",
        ],
    ),
    ("paths", &["ignore"]),
    ("path_instructions", &["paths", "instructions"]),
    ("codex", &["rules"]),
    ("verdict", &["warnings", "warnings_alike"]),
    ("reviewers", &["name", "prompt", "paths", "model", "required"]),
];

/// More warnings than this are no border.
const MOST_WARNINGS: i64 = 1000;

/// Reads the file.
pub fn parse(bytes: &[u8]) -> ParsedRepoConfig {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let mut problems = Problems::new(&good);
            problems.syntax(&(good.len()..good.len()), "it is not UTF-8 text");
            return ParsedRepoConfig {
                config: RepoConfig::default(),
                problems: problems.finish(),
            };
        }
    };
    let (table, errors) = DeTable::parse_recoverable(text.strip_prefix('\u{FEFF}').unwrap_or(text));
    let mut reader = Reader {
        problems: Problems::new(text.strip_prefix('\u{FEFF}').unwrap_or(text)),
    };
    for error in errors {
        reader.problems.syntax(&error.span().unwrap_or(0..0), error.message());
    }
    let root = table.get_ref();
    reader.unknown_keys(root, "");
    let config = RepoConfig {
        review: reader.review(root),
        paths: reader.paths(root),
        path_instructions: reader.path_instructions(root),
        codex: reader.codex(root),
        verdict: reader.verdict(root),
        reviewers: reader.own_reviewers(root),
    };
    ParsedRepoConfig {
        config,
        problems: reader.problems.finish(),
    }
}

/// A text and where it stands.
pub(super) type Text = (String, Range<usize>);

pub(super) struct Reader<'a> {
    pub(super) problems: Problems<'a>,
}

impl Reader<'_> {
    fn review(&mut self, root: &DeTable<'_>) -> ReviewSettings {
        let Some(table) = self.table(root, "review") else {
            return ReviewSettings::default();
        };
        let language = self.text(table, "review", "language").and_then(|(text, span)| {
            let valid = Regex::new(LANGUAGE).is_ok_and(|pattern| pattern.is_match(&text));
            if !valid {
                let message = format!("`{text}` is not a language: write its name, as in `German`");
                self.problems.error(&span, message);
            }
            valid.then(|| text.trim().to_owned())
        });
        let strictness = [Strictness::Relaxed, Strictness::Standard, Strictness::Strict]
            .map(|choice| (choice, ["relaxed", "standard", "strict"][choice as usize]));
        let gates = [(RepoGate::Off, "off"), (RepoGate::Block, "block")];
        let modes = [
            (ReviewMode::Comment, "comment"),
            (ReviewMode::Approve, "approve"),
            (ReviewMode::Gate, "gate"),
        ];
        let presets = Preset::ALL.map(|preset| (preset, preset.as_str()));
        ReviewSettings {
            language,
            strictness: self.choice(table, "strictness", &strictness).unwrap_or_default(),
            disabled_reviewers: self.reviewers(table),
            gate: self.choice(table, "gate", &gates),
            mode: self.choice(table, "mode", &modes),
            max_inline: self.number(table, "review", "max_inline", 0..=MOST_INLINE),
            preset: self.choice(table, "preset", &presets),
            memory: self.switch(table, "review", "memory"),
        }
    }

    fn reviewers(&mut self, table: &DeTable<'_>) -> Vec<ReviewerName> {
        let mut reviewers = Vec::new();
        for (name, span) in self.texts(table, "review", "disabled_reviewers").unwrap_or_default() {
            if name == ReviewerName::COORDINATOR {
                let message = "the coordinator cannot be disabled: without a judge there is no review".to_owned();
                self.problems.error(&span, message);
            } else if !ReviewerName::STANDING.contains(&name.as_str()) {
                let hint = did_you_mean(nearest(&name, ReviewerName::STANDING), || {
                    format!("the reviewers are {}", ReviewerName::STANDING.join(", "))
                });
                self.problems
                    .error(&span, format!("`{name}` is not a reviewer: {hint}"));
            } else if let Ok(name) = ReviewerName::new(name) {
                reviewers.push(name);
            }
        }
        reviewers
    }

    fn paths(&mut self, root: &DeTable<'_>) -> PathSettings {
        let Some(table) = self.table(root, "paths") else {
            return PathSettings::default();
        };
        PathSettings {
            ignore: self.globs(table, "paths", "ignore").unwrap_or_default(),
        }
    }

    fn path_instructions(&mut self, root: &DeTable<'_>) -> Vec<PathInstruction> {
        let key = "path_instructions";
        let mut instructions = Vec::new();
        for (table, _) in self.tables(root, key, &["paths", "instructions"]) {
            let paths = self.globs(table, key, "paths");
            let text = self.text(table, key, "instructions");
            self.not_empty(table, "paths", "nobody would ever get these instructions");
            // A rule with one bad pattern still holds for the others.
            if let (Some(paths), Some((text, _))) = (paths.filter(|paths| !paths.is_empty()), text) {
                instructions.push(PathInstruction {
                    paths,
                    instructions: text,
                });
            }
        }
        instructions
    }

    fn codex(&mut self, root: &DeTable<'_>) -> CodexSettings {
        let Some(table) = self.table(root, "codex") else {
            return CodexSettings::default();
        };
        let rules = self.text(table, "codex", "rules").and_then(|(text, span)| {
            let fault = codex_fault(&text);
            if let Some(fault) = fault {
                self.problems.error(&span, format!("`{text}` {fault}"));
            }
            fault.is_none().then_some(text)
        });
        CodexSettings { rules }
    }

    fn verdict(&mut self, root: &DeTable<'_>) -> RubricSettings {
        let default = RubricSettings::default();
        let Some(table) = self.table(root, "verdict") else {
            return default;
        };
        RubricSettings {
            // None at all is no pattern.
            warnings: self
                .number(table, "verdict", "warnings", 1..=MOST_WARNINGS)
                .unwrap_or(default.warnings),
            warnings_alike: self
                .number(table, "verdict", "warnings_alike", 1..=MOST_WARNINGS)
                .unwrap_or(default.warnings_alike),
        }
    }

    fn switch(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        let switch = value.get_ref().as_bool();
        if switch.is_none() {
            let message = format!(
                "`{}` must be true or false; it is {}",
                full(name, key),
                kind(value.get_ref())
            );
            self.problems.error(&value.span(), message);
        }
        switch
    }

    /// The tables of a list, each with its place and a word about every key that it should not have or lacks.
    pub(super) fn tables<'t, 'i>(
        &mut self,
        root: &'t DeTable<'i>,
        key: &str,
        needed: &[&str],
    ) -> Vec<(&'t DeTable<'i>, Range<usize>)> {
        let Some(value) = root.get(key) else { return Vec::new() };
        let Some(items) = value.get_ref().as_array() else {
            let found = kind(value.get_ref());
            let message = format!("`{key}` must be a list of tables, each under `[[{key}]]`; it is {found}");
            self.problems.error(&value.span(), message);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            let Some(table) = item.get_ref().as_table() else {
                let found = kind(item.get_ref());
                let message = format!("an entry of `{key}` must be a table, under `[[{key}]]`; it is {found}");
                self.problems.error(&item.span(), message);
                continue;
            };
            self.unknown_keys(table, key);
            for missing in needed {
                if !table.contains_key(*missing) {
                    self.problems
                        .error(&item.span(), format!("`{missing}` is missing in this `[[{key}]]`"));
                }
            }
            tables.push((table, item.span()));
        }
        tables
    }

    /// Says so if a list is there and has nothing in it.
    pub(super) fn not_empty(&mut self, table: &DeTable<'_>, key: &str, so: &str) {
        if let Some(list) = table.get(key)
            && list.get_ref().as_array().is_some_and(|items| items.is_empty())
        {
            let message = format!("`{key}` is empty, so {so}: name at least one pattern");
            self.problems.error(&list.span(), message);
        }
    }

    /// A whole number in this range.
    fn number<N: TryFrom<i64>>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        key: &str,
        range: RangeInclusive<i64>,
    ) -> Option<N> {
        let value = table.get(key)?;
        let number = value.get_ref().as_integer();
        let number =
            number.and_then(|number| i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok());
        let number = number
            .filter(|number| range.contains(number))
            .and_then(|number| N::try_from(number).ok());
        if number.is_none() {
            let found = match value.get_ref() {
                DeValue::Integer(number) => number.to_string(),
                other => kind(other).to_owned(),
            };
            let (least, most) = range.into_inner();
            let message = format!(
                "`{}` must be a whole number from {least} to {most}; it is {found}",
                full(name, key)
            );
            self.problems.error(&value.span(), message);
        }
        number
    }

    /// A table below the root, with a word about each key that it should not have.
    fn table<'t, 'i>(&mut self, root: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
        let value = root.get(name)?;
        if let Some(table) = value.get_ref().as_table() {
            self.unknown_keys(table, name);
            return Some(table);
        }
        let found = kind(value.get_ref());
        self.problems.error(
            &value.span(),
            format!("`{name}` must be a table, under `[{name}]`; it is {found}"),
        );
        None
    }

    fn unknown_keys(&mut self, table: &DeTable<'_>, name: &str) {
        let known = KEYS
            .iter()
            .find(|(table, _)| *table == name)
            .map_or(&[][..], |(_, keys)| keys);
        for key in table.keys() {
            let text: &str = key.get_ref();
            if known.contains(&text) {
                continue;
            }
            let message = format!(
                "`{}` is not known and is ignored{}",
                full(name, text),
                meant(name, known, text)
            );
            self.problems.warning(&key.span(), message);
        }
    }

    pub(super) fn text(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<Text> {
        let value = table.get(key)?;
        let text = self.as_text(value, &format!("`{}`", full(name, key)))?;
        Some((text, value.span()))
    }

    fn texts(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<Vec<Text>> {
        let value = table.get(key)?;
        let Some(items) = value.get_ref().as_array() else {
            let message = format!(
                "`{}` must be a list of texts, as in `[\"…\"]`; it is {}",
                full(name, key),
                kind(value.get_ref())
            );
            self.problems.error(&value.span(), message);
            return None;
        };
        let item_name = format!("an entry of `{}`", full(name, key));
        let texts = items
            .iter()
            .filter_map(|item| Some((self.as_text(item, &item_name)?, item.span())));
        Some(texts.collect())
    }

    pub(super) fn globs(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<Vec<String>> {
        let texts = self.texts(table, name, key)?;
        let mut good = Vec::new();
        for (text, span) in texts {
            match PathGlobs::new(&[&text]) {
                Ok(_) => good.push(text),
                Err(bad) => {
                    for bad in bad {
                        self.problems.error(&span, bad.to_string());
                    }
                }
            }
        }
        Some(good)
    }

    fn choice<T: Copy>(&mut self, table: &DeTable<'_>, key: &str, choices: &[(T, &str)]) -> Option<T> {
        self.choice_of(table, "review", key, choices)
    }

    pub(super) fn choice_of<T: Copy>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        key: &str,
        choices: &[(T, &str)],
    ) -> Option<T> {
        let key_name = full(name, key);
        let names = || choices.iter().map(|(_, name)| *name);
        let one_of = names()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(" or ");
        let value = table.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("`{key_name}` must be {one_of}; it is {}", kind(value.get_ref()));
            self.problems.error(&value.span(), message);
            return None;
        };
        if let Some((choice, _)) = choices.iter().find(|(_, name)| *name == text) {
            return Some(*choice);
        }
        let hint = did_you_mean(nearest(text, names()), || format!("it must be {one_of}"));
        self.problems
            .error(&value.span(), format!("`{text}` is no `{key_name}`: {hint}"));
        None
    }

    fn as_text(&mut self, value: &Spanned<DeValue<'_>>, name: &str) -> Option<String> {
        match value.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => {
                self.problems.error(&value.span(), format!("{name} is empty"));
                None
            }
            Some(text) => Some(text.to_owned()),
            None => {
                let found = kind(value.get_ref());
                self.problems
                    .error(&value.span(), format!("{name} must be a text in quotes; it is {found}"));
                None
            }
        }
    }
}

/// The name of a key with its table.
pub(super) fn full(table: &str, key: &str) -> String {
    if table.is_empty() {
        key.to_owned()
    } else {
        format!("{table}.{key}")
    }
}

/// The key that was probably meant: of the same table, or of another one.
fn meant(table: &str, known: &[&str], key: &str) -> String {
    if let Some(near) = nearest(key, known.iter().copied()) {
        return format!(": did you mean `{}`?", full(table, near));
    }
    let elsewhere = KEYS
        .iter()
        .filter(|(other, _)| *other != table)
        .flat_map(|(other, keys)| keys.iter().map(move |known| (*other, *known)));
    let near = nearest(key, elsewhere.clone().map(|(_, known)| known));
    elsewhere
        .into_iter()
        .find(|(_, known)| Some(*known) == near)
        .map_or_else(
            || format!(": the keys here are {}", known.join(", ")),
            |(other, known)| format!(": did you mean `{}`?", full(other, known)),
        )
}

pub(super) fn did_you_mean(near: Option<&str>, otherwise: impl FnOnce() -> String) -> String {
    near.map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

/// What a value is, in words.
pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Why a text names no place of rules.
fn codex_fault(text: &str) -> Option<&'static str> {
    if text.starts_with("https://") {
        return None;
    }
    if text.contains("://") {
        return Some("is not an https:// address");
    }
    path_fault(text)
}

/// Why a text names no file of the repository.
pub(super) fn path_fault(text: &str) -> Option<&'static str> {
    if text.starts_with('/') || text.contains('\\') || text.split('/').any(|part| part == "..") {
        return Some("is not a path below the repository's root");
    }
    None
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
