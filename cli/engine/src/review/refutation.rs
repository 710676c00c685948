//! What the judge holds against a finding, and what became of it.

use conclave_shared::severity::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// True if it is one of this change only because the target branch no longer has that code as it stands here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_by_target: bool,
    /// Where this change alters how the code is used, as `path:line`, if it is one of this change only because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub altered_use: Option<String>,
    /// Why the code may not apply to the finding, if it is one of this change only because of that: it may not run, or not where the finding
    /// is, or shares no name with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain: Option<String>,
    /// Why it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The surroundings of code that the change leaves as it was; none in what older versions wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<Surroundings>,
}

/// The surroundings of refuting code, as hashes: by them a later review knows it among its copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Surroundings {
    /// The lines that it is under by their smaller indentation, from that of its block to the outermost.
    pub(crate) under: String,
    /// How many pieces of the same code, this one included, the change leaves as they were under the same lines.
    pub(crate) copies: usize,
}

conclave_shared::named_enum! {
    /// What the check of a refutation found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RefutationStatus {
        /// It stands, in code that the change leaves as it was, with the rest of its function or block.
        UnchangedCode = "unchanged_code",
        /// It stands, in lines that the change itself adds, alters or moves, whose function or block or whose use it alters, that the
        /// target branch no longer has, or that may not apply: a person has to compare the two.
        ThisChange = "this_change",
        /// It does not stand, or says nothing.
        Invalid = "invalid",
    }
}

impl Refutation {
    /// Whether it stands.
    pub fn is_valid(&self) -> bool {
        self.status != RefutationStatus::Invalid
    }

    /// Notes that the change alters at this place how the code is used.
    pub(crate) fn use_is_altered(&mut self, place: String) {
        if self.status == RefutationStatus::UnchangedCode {
            self.status = RefutationStatus::ThisChange;
            self.altered_use = Some(place);
            self.surroundings = None;
        }
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
        format!("the code that was quoted against it does not hold, as {fault}")
    }

    /// The same with a shorter quote, for what is remembered.
    #[must_use]
    pub(crate) fn clipped(mut self, max_characters: usize) -> Self {
        self.quote = self.quote.chars().take(max_characters).collect();
        self
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
