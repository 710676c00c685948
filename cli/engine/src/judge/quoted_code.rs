//! What the judge quotes against a finding, as it writes it.

use serde_json::Value;

use crate::review::{Refutation, RefutationStatus};

/// The longest quote that the records keep, in characters.
const MAX_QUOTE: usize = 4000;

/// Why a decision does not count that quotes no code. People read it, so no fault names a field of the judge's tool.
pub(crate) const NOTHING_QUOTED: &str = "no code was quoted that refutes it";

/// Why no code refutes words that steer.
pub(crate) const ONLY_A_PERSON: &str = "words that try to steer the review are only a person's to settle";

/// A quote as the judge wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotedCode {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) end_line: Option<u32>,
    pub(crate) quote: String,
}

impl QuotedCode {
    /// Reads `refuted_by`, however a model spells the lines. `Err` holds what could be read, and what is wrong.
    pub(crate) fn read(said: &Value) -> Result<Self, (Self, String)> {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| said.get(name).and_then(Value::as_str));
            found.unwrap_or_default().to_owned()
        };
        let mut lines: Vec<u32> = Vec::new();
        for name in ["lines", "line", "start_line", "end_line"] {
            numbers(said.get(name), &mut lines);
        }
        let file = text(&["file", "path"]);
        let file = file.trim().trim_matches('`');
        let quoted = Self {
            file: file.strip_prefix("./").unwrap_or(file).to_owned(),
            line: lines.first().copied().unwrap_or_default(),
            end_line: lines.iter().copied().max(),
            quote: text(&["quote", "code", "evidence"]),
        };
        let fault = if !said.is_object() {
            "the quote does not come with its file and its lines"
        } else if quoted.file.is_empty() {
            "the quote names no file"
        } else if quoted.line == 0 {
            "the quote names no lines"
        } else if quoted.quote.trim().is_empty() {
            "the quote is empty"
        } else {
            return Ok(quoted);
        };
        Err((quoted, fault.to_owned()))
    }

    /// The refutation that it is not.
    pub(crate) fn invalid(self, fault: impl Into<String>) -> Refutation {
        Refutation {
            file: self.file,
            line: self.line,
            end_line: self.end_line.filter(|end| *end > self.line),
            quote: self.quote.chars().take(MAX_QUOTE).collect(),
            status: RefutationStatus::Invalid,
            needed: false,
            lost_by_target: false,
            altered_use: None,
            uncertain: None,
            fault: Some(fault.into()),
            surroundings: None,
        }
    }
}

/// The numbers in a value: `12`, `"12-15"`, `[12, 15]`, `{"start": 12, "end": 15}`.
fn numbers(value: Option<&Value>, found: &mut Vec<u32>) {
    match value {
        Some(Value::Number(number)) => found.extend(number.as_u64().and_then(|number| u32::try_from(number).ok())),
        Some(Value::String(text)) => {
            let digits = text.split(|character: char| !character.is_ascii_digit());
            found.extend(digits.filter_map(|digits| digits.parse::<u32>().ok()));
        }
        Some(Value::Array(items)) => items.iter().for_each(|item| numbers(Some(item), found)),
        Some(Value::Object(fields)) => {
            for name in ["start", "from", "first", "end", "to", "last"] {
                numbers(fields.get(name), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_read_however_they_are_spelled() {
        for lines in [
            json!({"lines": "12-15"}),
            json!({"lines": [12, 15]}),
            json!({"line": 12, "end_line": 15}),
            json!({"lines": {"start": 12, "end": 15}}),
        ] {
            let mut said = json!({"file": "./src/a.py", "quote": "x"});
            said.as_object_mut()
                .expect("an object")
                .extend(lines.as_object().expect("an object").clone());
            let quoted = QuotedCode::read(&said).expect("readable");
            assert_eq!((quoted.line, quoted.end_line), (12, Some(15)), "{said}");
            assert_eq!(quoted.file, "src/a.py");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (said, fault) in [
            (json!("src/a.py"), "does not come with"),
            (json!({"lines": 1, "quote": "x"}), "names no file"),
            (json!({"file": "a", "quote": "x"}), "names no lines"),
            (json!({"file": "a", "lines": "1", "quote": "\n "}), "is empty"),
        ] {
            let (_, said_of_it) = QuotedCode::read(&said).expect_err("unreadable");
            assert!(said_of_it.contains(fault), "{said_of_it}");
        }
    }
}
