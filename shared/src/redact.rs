//! Taking secrets out of text before it leaves the process.

mod marks;
mod shapes;

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

pub use self::marks::SecretMarks;

/// What stands where a secret was.
pub const MARK: &str = "[redacted]";

/// Minimum length of a secret value, in bytes.
const MIN_LENGTH: usize = 6;

/// Known secret values and token patterns, replaced by [`MARK`].
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<String>,
    /// What became secret after this was made; all copies share it.
    marks: Arc<RwLock<SecretMarks>>,
    /// Values of the same kind, such as keys that are made for one run.
    later: Arc<RwLock<Vec<String>>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    /// A redactor that knows these secret values. Values shorter than six characters are ignored: replacing them would
    /// destroy ordinary text without protecting anything.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= MIN_LENGTH).collect();
        // A secret that contains another one has to go first, or its rest would stay.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self {
            values,
            marks: Arc::default(),
            later: Arc::default(),
        }
    }

    /// Takes a mark out of every text from now on, also in the copies that exist.
    pub fn hide_mark(&self, mark: &str) {
        self.marks.write().unwrap_or_else(PoisonError::into_inner).add(mark);
    }

    /// Takes a secret value out of every text from now on, also in the copies that exist. What is too short for [`Redactor::new`]
    /// is ignored here too.
    pub fn hide_value(&self, value: &str) {
        let mut later = self.later.write().unwrap_or_else(PoisonError::into_inner);
        if value.len() >= MIN_LENGTH && !later.iter().any(|known| known == value) {
            later.push(value.to_owned());
        }
    }

    /// Takes secrets out of every text of a value. Not out of its JSON: a secret may look different there.
    pub fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_json(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The text without known secrets and without anything that has the shape of a token.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let later = self.later.read().unwrap_or_else(PoisonError::into_inner);
        for value in self.values.iter().chain(later.iter()) {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MARK);
            }
        }
        let marks = self.marks.read().unwrap_or_else(PoisonError::into_inner);
        if marks.find(&text).is_some() {
            text = marks.replace(&text, MARK);
        }
        redact_patterns(&text)
    }
}

fn redact_patterns(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous_is_word = false;
    while !rest.is_empty() {
        if !previous_is_word && let Some(length) = shapes::token_length(rest) {
            result.push_str(MARK);
            rest = &rest[length..];
            previous_is_word = true;
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        previous_is_word = first.is_ascii_alphanumeric();
        result.push(first);
        rest = &rest[first.len_utf8()..];
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_and_token_shapes_go() {
        let redactor = Redactor::new(["hunter2-hunter2".to_owned(), "abc".to_owned()]);
        // Put together here, so that no scanner takes the test for a leak.
        let key = format!("sk-{}-{}", "ant", "abcdefghij0123456789");
        assert_eq!(
            redactor.redact(&format!("pass=hunter2-hunter2 key={key} abc")),
            "pass=[redacted] key=[redacted] abc"
        );
        assert_eq!(
            redactor.redact(&format!("({}-abcdefghij0123456789)", "glpat")),
            "([redacted])"
        );
    }

    #[test]
    fn ordinary_text_stays() {
        let redactor = Redactor::default();
        for text in [
            "risk-averse and task-based",
            "sk-short",
            "desk-abcdefghijklmnopqrstuvwxyz",
            "naïve — ünïcode",
        ] {
            assert_eq!(redactor.redact(text), text);
        }
    }

    #[test]
    fn a_secret_inside_another_leaves_no_rest() {
        let redactor = Redactor::new(["secret-one".to_owned(), "secret-one-and-more".to_owned()]);
        assert_eq!(redactor.redact("secret-one-and-more"), MARK);
        assert_eq!(format!("{redactor:?}"), "Redactor(2 values)");
    }

    #[test]
    fn a_mark_that_becomes_known_later_goes_in_all_copies() {
        let redactor = Redactor::default();
        let copy = redactor.clone();
        redactor.hide_mark("0a1b2c3d4e5f");
        assert_eq!(copy.redact("<mr_body_0A1B2C3D4E5F>"), "<mr_body_[redacted]>");
    }

    #[test]
    fn a_key_that_is_made_later_goes_in_all_copies() {
        let redactor = Redactor::new(["hunter2-hunter2".to_owned()]);
        let copy = redactor.clone();
        for value in ["0a1b2c3d4e5f", "0a1b2c3d4e5f", "short"] {
            redactor.hide_value(value);
        }
        assert_eq!(
            copy.redact("CONCLAVE_RUN_KEY=0a1b2c3d4e5f short hunter2-hunter2"),
            "CONCLAVE_RUN_KEY=[redacted] short [redacted]"
        );
    }
}
