//! What the judge holds against a finding, and what became of it.

use conclave_shared::severity::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest quote that the records keep, in characters.
const MAX_QUOTE: usize = 4000;

/// Why a decision does not count that quotes no code.
pub(crate) const NOTHING_QUOTED: &str = "there is no `refuted_by` with the code that refutes it";

/// Why no code refutes words that steer.
pub(crate) const ONLY_A_PERSON: &str = "words that try to steer the review are only a person's to settle";

/// The code that the judge quotes against a finding, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refutation {
    /// The file.
    pub file: String,
    /// The first quoted line at head, from 1; where the quote stands, if it stands anywhere.
    pub line: u32,
    /// The last one, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The code: as it stands in the file, or as the judge wrote it if it stands nowhere.
    pub quote: String,
    /// What the check found.
    pub status: RefutationStatus,
    /// Whether the decision takes effect only with it.
    #[serde(default)]
    pub needed: bool,
    /// Why it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// What the check of a refutation found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefutationStatus {
    /// It stands, in code that the change leaves as it was.
    UnchangedCode,
    /// It stands, in lines that the change itself adds, alters or moves: a person has to compare the two.
    ThisChange,
    /// It does not stand, or says nothing.
    Invalid,
}

impl RefutationStatus {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnchangedCode => "unchanged_code",
            Self::ThisChange => "this_change",
            Self::Invalid => "invalid",
        }
    }
}

impl Refutation {
    /// Whether it stands.
    pub fn is_valid(&self) -> bool {
        self.status != RefutationStatus::Invalid
    }

    /// The place, as `path:line` or `path:line-line`.
    pub fn place(&self) -> String {
        match self.end_line {
            Some(end) => format!("{}:{}-{end}", self.file, self.line),
            None => format!("{}:{}", self.file, self.line),
        }
    }

    /// Why it does not count, as the judge and the note read it.
    pub(crate) fn describe_fault(&self) -> String {
        let fault = self.fault.as_deref().unwrap_or("it is not enough");
        format!("`refuted_by` does not hold, {fault}")
    }

    /// The same with a shorter quote, for what is remembered.
    #[must_use]
    pub(crate) fn clipped(mut self, max_characters: usize) -> Self {
        self.quote = self.quote.chars().take(max_characters).collect();
        self
    }

    /// One that does not count.
    pub(crate) fn invalid(quoted: &QuotedCode, fault: impl Into<String>) -> Self {
        Self {
            file: quoted.file.clone(),
            line: quoted.line,
            end_line: quoted.end_line.filter(|end| *end > quoted.line),
            quote: quoted.quote.chars().take(MAX_QUOTE).collect(),
            status: RefutationStatus::Invalid,
            needed: false,
            fault: Some(fault.into()),
        }
    }
}

/// What the judge would have done, and may not without a valid refutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overruled {
    /// `drop`, `merge` or `lower`; `withdraw` or `fixed` for a finding of an earlier review.
    pub action: String,
    /// The severity that it would have given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The judge's reason code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// The judge's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it does not count.
    pub fault: String,
}

impl Overruled {
    /// The judge's view in a sentence, for the note and the terminal.
    pub fn describe(&self) -> String {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let reason = said(&self.reason)
            .or_else(|| said(&self.reason_code).map(|code| code.replace('_', " ")))
            .unwrap_or_else(|| "no reason given".to_owned());
        let what = match (self.action.as_str(), self.severity) {
            ("drop", _) => "would drop it".to_owned(),
            ("merge", _) => "would merge it away".to_owned(),
            ("fixed", _) => "would call it fixed".to_owned(),
            ("withdraw", _) => "would withdraw it".to_owned(),
            (_, Some(severity)) => format!("would lower it to {severity}"),
            (_, None) => "would lower it".to_owned(),
        };
        format!(
            "the judge disagrees: {} (It {what}. That does not count: {}.)",
            reason.trim(),
            self.fault.trim_end_matches('.')
        )
    }
}

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
            "`refuted_by` is not an object with `file`, `lines` and `quote`"
        } else if quoted.file.is_empty() {
            "`refuted_by` names no file"
        } else if quoted.line == 0 {
            "`refuted_by` names no lines"
        } else if quoted.quote.trim().is_empty() {
            "`refuted_by` quotes nothing"
        } else {
            return Ok(quoted);
        };
        Err((quoted, fault.to_owned()))
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
            (json!("src/a.py"), "is not an object"),
            (json!({"lines": 1, "quote": "x"}), "names no file"),
            (json!({"file": "a", "quote": "x"}), "names no lines"),
            (json!({"file": "a", "lines": "1", "quote": "\n "}), "quotes nothing"),
        ] {
            let (_, said_of_it) = QuotedCode::read(&said).expect_err("unreadable");
            assert!(said_of_it.contains(fault), "{said_of_it}");
        }
    }
}
