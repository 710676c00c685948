//! What a posted note says of the finding that it shows, for the next review of the same merge request.

use std::ops::RangeInclusive;

use conclave_shared::{
    engineering_rule::OnBreach,
    finding::{Finding, Fingerprint, RuleCitation},
    reviewer::ReviewerName,
    severity::Severity,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Anchor, JudgedFinding};

/// The version of the shape of a [`FindingRecord`].
pub const RECORD_SCHEMA: u32 = 1;

/// The most characters of a claim that a record keeps; the note itself shows the whole of it.
const MAX_CLAIM: usize = 500;

/// A finding as the note that shows it remembers it.
///
/// It is what the next review knows of this one: nothing else is kept anywhere. New fields are optional with a default,
/// because notes of older versions stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    /// See [`RECORD_SCHEMA`].
    pub schema: u32,
    /// The stable identity of the problem.
    pub fingerprint: Fingerprint,
    /// How bad it was.
    pub severity: Severity,
    /// What kind of problem.
    pub category: String,
    /// The file.
    pub file: String,
    /// The line at the reviewed commit (at the base for a deleted file).
    pub line: u32,
    /// The last line, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The section of the review.
    pub section: ReviewerName,
    /// The commit that was reviewed.
    pub head_sha: String,
    /// The problem in one sentence.
    pub claim: String,
    /// The code that it stands on, by which the next review sees whether it has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// Whether it endangers production, by the judge's word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub production_risk: bool,
    /// The rule of the organization that it breaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleCitation>,
}

impl FindingRecord {
    /// Whether it is about words that try to steer the review.
    pub fn is_prompt_injection(&self) -> bool {
        self.category == Finding::PROMPT_INJECTION
    }

    /// Whether it takes more than a model's word to make it milder.
    pub fn is_serious(&self) -> bool {
        self.severity == Severity::Critical
            || self.production_risk
            || self.is_prompt_injection()
            || self.breaks_serious_rule()
    }

    /// Returns whether it breaks a rule whose breach blocks, or asks for a person's approval.
    pub fn breaks_serious_rule(&self) -> bool {
        let on_breach = self.rule.as_ref().and_then(|rule| rule.on_breach);
        on_breach.is_some_and(OnBreach::is_serious)
    }

    /// The lines that it is about.
    pub(crate) fn lines(&self) -> RangeInclusive<u32> {
        self.line..=self.end_line.unwrap_or(self.line).max(self.line)
    }

    /// Moves it to another place. Its length stays.
    pub(crate) fn move_to(&mut self, file: &str, line: u32) {
        let length = self.end_line.map(|end| end.saturating_sub(self.line));
        self.end_line = length.map(|length| line.saturating_add(length));
        file.clone_into(&mut self.file);
        self.line = line;
    }

    /// Moves it to the last lines of a file of so many lines, if it would be behind them. Its length stays.
    pub(crate) fn keep_within(&mut self, lines: u32) {
        let length = self.end_line.map_or(0, |end| end.saturating_sub(self.line));
        let last = lines.saturating_sub(length).max(1);
        if last < self.line {
            let file = self.file.clone();
            self.move_to(&file, last);
        }
    }

    /// What is remembered of a finding of a review of this commit.
    pub fn new(entry: &JudgedFinding, head_sha: &str) -> Self {
        let finding = &entry.finding;
        Self {
            schema: RECORD_SCHEMA,
            fingerprint: finding.fingerprint.clone(),
            severity: finding.severity,
            category: finding.category.clone(),
            file: finding.file.clone(),
            line: finding.line,
            end_line: finding.end_line,
            section: entry.section.clone(),
            head_sha: head_sha.to_owned(),
            claim: finding.claim.chars().take(MAX_CLAIM).collect(),
            anchor: entry.anchor.clone(),
            production_risk: entry.production_risk,
            rule: finding.rule.clone(),
        }
    }
}
