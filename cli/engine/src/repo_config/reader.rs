//! Reading one value after the other, with a word about each that is not as it should be.

use std::ops::{Range, RangeInclusive};

use conclave_shared::{
    config::{ClassEfforts, TimeLimitOverrides},
    nearest::nearest,
    path_globs::PathGlobs,
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    problem::Problems,
    protection::{full, is_harmless},
};

/// Every key that there is, below its table.
pub(super) const KEYS: [(&str, &[&str]); 14] = [
    (
        "",
        &[
            "review",
            "panel",
            "paths",
            "path_instructions",
            "codex",
            "verdict",
            "break_glass",
            "limits",
            "models",
            "reviewers",
        ],
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
            "runtime",
            "memory",
            "author_settles",
            "prompt_paths",
            "require_sandbox",
        ],
    ),
    ("panel", &["trivial", "lite", "full"]),
    ("paths", &["ignore", "trusted"]),
    ("path_instructions", &["paths", "instructions"]),
    ("codex", &["rules"]),
    ("verdict", &["warnings", "warnings_alike"]),
    ("break_glass", &["by"]),
    ("limits", TimeLimitOverrides::NAMES),
    ("models", &["effort", "class_effort", "reviewer_effort", "capabilities"]),
    ("models.class_effort", &ClassEfforts::NAMES),
    (
        "models.capabilities",
        &["context", "max_output", "samples", "temperature", "top_p", "thinking"],
    ),
    ("models.capabilities.thinking", &["by", "levels", "off", "hidden"]),
    ("reviewers", &["name", "prompt", "paths", "model", "required", "effort"]),
];

/// A text and where it stands.
pub(super) type Text = (String, Range<usize>);

/// Reads a file, and keeps what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) problems: Problems<'a>,
    /// The settings that unknown keys probably mean, by their whole names.
    pub(super) meant: Vec<String>,
}

impl Reader<'_> {
    pub(super) fn switch(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        let switch = value.get_ref().as_bool();
        if switch.is_none() {
            self.must_be(value, &format!("`{}`", full(name, key)), "true or false");
        }
        switch
    }

    fn must_be(&mut self, value: &Spanned<DeValue<'_>>, name: &str, what: &str) {
        let found = kind(value.get_ref());
        self.problems
            .error(&value.span(), format!("{name} must be {what}; it is {found}"));
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
            let what = format!("a list of tables, each under `[[{key}]]`");
            self.must_be(value, &format!("`{key}`"), &what);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            let Some(table) = item.get_ref().as_table() else {
                let what = format!("a table, under `[[{key}]]`");
                self.must_be(item, &format!("an entry of `{key}`"), &what);
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
    pub(super) fn number<N: TryFrom<i64>>(
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
    pub(super) fn table<'t, 'i>(&mut self, root: &'t DeTable<'i>, name: &str) -> Option<&'t DeTable<'i>> {
        self.table_in(root, name, name)
    }

    /// The same for a table in another one; `name` is its whole name.
    pub(super) fn table_in<'t, 'i>(
        &mut self,
        around: &'t DeTable<'i>,
        key: &str,
        name: &str,
    ) -> Option<&'t DeTable<'i>> {
        let value = around.get(key)?;
        if let Some(table) = value.get_ref().as_table() {
            self.unknown_keys(table, name);
            return Some(table);
        }
        self.must_be(value, &format!("`{name}`"), &format!("a table, under `[{name}]`"));
        None
    }

    /// A word about each key that a table should not have. A table whose keys are names of people's choice has none.
    pub(super) fn unknown_keys(&mut self, table: &DeTable<'_>, name: &str) {
        let Some((_, known)) = KEYS.iter().find(|(table, _)| *table == name) else {
            return;
        };
        for key in table.keys() {
            let text: &str = key.get_ref();
            if known.contains(&text) {
                continue;
            }
            let meant = meant(name, known, text);
            let hint = meant.as_ref().map_or_else(
                || format!(": the keys here are {}", known.join(", ")),
                |meant| format!(": did you mean `{meant}`?"),
            );
            let message = format!("`{}` is not known and is ignored{hint}", full(name, text));
            let protects = !is_harmless(meant.as_deref().unwrap_or(name));
            self.problems.warning(&key.span(), message, protects);
            self.meant.extend(meant);
        }
    }

    /// The setting as it was read. Where the file names it and it cannot be read, `strict` takes its place: its value is broken,
    /// its name misspelled, or the table or line that it is in.
    pub(super) fn or_strict<T>(&self, read: Option<T>, table: &DeTable<'_>, name: &str, strict: T) -> Option<T> {
        let key = name.rsplit('.').next().unwrap_or(name);
        let is_named = || {
            table.contains_key(key)
                || self.meant.iter().any(|meant| meant == name)
                || self.problems.has_unread() && self.mentions(key)
        };
        read.or_else(|| is_named().then_some(strict))
    }

    /// Returns whether the text has this word outside of comments.
    fn mentions(&self, word: &str) -> bool {
        let code = self.problems.text().lines().filter_map(|line| line.split('#').next());
        code.flat_map(|line| line.split(|character: char| !character.is_alphanumeric() && character != '_'))
            .any(|part| part == word)
    }

    pub(super) fn text(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<Text> {
        let value = table.get(key)?;
        let text = self.as_text(value, &format!("`{}`", full(name, key)))?;
        Some((text, value.span()))
    }

    pub(super) fn texts(&mut self, table: &DeTable<'_>, name: &str, key: &str) -> Option<Vec<Text>> {
        let value = table.get(key)?;
        let Some(items) = value.get_ref().as_array() else {
            let what = "a list of texts, as in `[\"…\"]`";
            self.must_be(value, &format!("`{}`", full(name, key)), what);
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

    /// One of some values, by the name that each has.
    pub(super) fn choice<T: Copy>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        key: &str,
        choices: &[T],
        name_of: fn(T) -> &'static str,
    ) -> Option<T> {
        let key_name = full(name, key);
        let names = || choices.iter().map(|choice| name_of(*choice));
        let one_of = names()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(" or ");
        let value = table.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.must_be(value, &format!("`{key_name}`"), &one_of);
            return None;
        };
        if let Some(choice) = choices.iter().find(|choice| name_of(**choice) == text) {
            return Some(*choice);
        }
        let hint = did_you_mean(nearest(text, names()), || format!("it must be {one_of}"));
        self.problems
            .error(&value.span(), format!("`{text}` is not a `{key_name}`: {hint}"));
        None
    }

    pub(super) fn as_text(&mut self, value: &Spanned<DeValue<'_>>, name: &str) -> Option<String> {
        match value.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => {
                self.problems.error(&value.span(), format!("{name} is empty"));
                None
            }
            Some(text) => Some(text.to_owned()),
            None => {
                self.must_be(value, name, "a text in quotes");
                None
            }
        }
    }
}

/// The key that was probably meant: of the same table, or of another one.
fn meant(table: &str, known: &[&str], key: &str) -> Option<String> {
    if let Some(near) = nearest(key, known.iter().copied()) {
        return Some(full(table, near));
    }
    let elsewhere = KEYS
        .iter()
        .filter(|(other, _)| *other != table)
        .flat_map(|(other, keys)| keys.iter().map(move |known| (*other, *known)));
    let near = nearest(key, elsewhere.clone().map(|(_, known)| known))?;
    let (other, known) = elsewhere.into_iter().find(|(_, known)| *known == near)?;
    Some(full(other, known))
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
