//! A problem that a reviewer found, and what makes two reports the same problem.

mod fingerprint;

use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serialize};

pub use fingerprint::{Fingerprint, fingerprint};

use crate::{engineering_rule::OnBreach, named_enum, reviewer::ReviewerName, severity::Severity};

/// Code quoted from a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Quote {
    /// The file, relative to the repository's root.
    pub file: String,
    /// The line of the first quoted line, from 1.
    pub line: u32,
    /// The code as it stands there.
    pub code: String,
}

/// The rule of the organisation that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RuleCitation {
    /// The rule's id.
    pub id: String,
    /// Where the rule is explained, as the organisation wrote it.
    pub link: String,
    /// The consequence of a breach; none where the rule leaves the severity to its reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<OnBreach>,
}

impl RuleCitation {
    /// The one of both whose breach has the graver consequence; the first, where that is the same.
    pub fn graver(one: Option<Self>, other: Option<&Self>) -> Option<Self> {
        let on_breach = |rule: &Self| rule.on_breach;
        match (one, other) {
            (Some(one), Some(other)) if on_breach(other) > on_breach(&one) => Some(other.clone()),
            (None, other) => other.cloned(),
            (one, _) => one,
        }
    }
}

/// What the evidence check found out about a finding's quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(schemars::JsonSchema)]
pub enum EvidenceStatus {
    /// The quote stands where the reviewer said.
    Verified,
    /// The quote stands elsewhere in the file; the line was corrected to it.
    Moved,
}

named_enum! {
    /// A fact that a judge should know before taking a claim on one quote: the kind of claim, or a sign in the code that
    /// something is off. No proof that the claim is wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[derive(schemars::JsonSchema)]
    pub enum Doubt {
        /// It says that the code does not build, or that a name is not there. A build would have said so. It asks for a second quote.
        BuildClaim = "build_claim",
        /// It asks the author to confirm, verify or ensure something.
        VerifyRequest = "verify_request",
        /// No quoted line is one that the merge request adds.
        UnchangedLine = "unchanged_line",
        /// It says itself that the diff alone does not show it.
        NeedsContext = "needs_context",
        /// The fix is the code that is there already.
        FixIsTheCode = "fix_is_the_code",
        /// What is said to be missing is imported or defined in the same file.
        NamedInFile = "named_in_file",
    }
}

impl Doubt {
    /// Returns whether a claim needs a second quoted place because of it, and is lowered without one where no judge takes part. Only
    /// one does that comes at least twice as often with rejected claims as with accepted ones in all labeled data, and in each
    /// repository that has enough of them to tell. The others did not, or were never measured: they are facts for the judge.
    pub const fn asks_for_second_quote(self) -> bool {
        matches!(self, Self::BuildClaim)
    }
}

/// One problem, as a reviewer reported it and the evidence check left it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// The name that the coordinator uses: `F1`, `F2`, … in the order of the panel.
    pub id: String,
    /// Who reported it first.
    pub reviewer: ReviewerName,
    /// Everybody who reported it, the first included.
    pub found_by: Vec<ReviewerName>,
    /// How bad it is.
    pub severity: Severity,
    /// What kind of problem, in kebab case.
    pub category: String,
    /// The rule that is broken, for a finding of `codex`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleCitation>,
    /// The file, relative to the repository's root.
    pub file: String,
    /// The line at head (at base for a deleted file), from 1.
    pub line: u32,
    /// The last line, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The problem in one sentence.
    pub claim: String,
    /// The code that shows it.
    pub evidence: String,
    /// The quoted lines that the change removes, for a finding about these: `evidence` is then what stands beside the gap. Only the
    /// review itself needs them.
    #[serde(skip)]
    pub removed: Option<String>,
    /// A second place that the claim rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Quote>,
    /// Which input or state leads to which wrong result.
    pub scenario: String,
    /// What the reviewer opened to make sure.
    pub checked: String,
    /// From 0 to 1, as the reviewer puts it.
    pub confidence: f64,
    /// The smallest change that would solve it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// True if the finding has a fix, and its reviewer quoted whole lines as they stand at head: a fix in code can take
    /// the place of the evidence, and of nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quoted_whole: bool,
    /// What the evidence check found.
    pub evidence_status: EvidenceStatus,
    /// The stable identity of the problem.
    pub fingerprint: Fingerprint,
    /// Facts that its judge should know before taking it on one quote.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "doubts_in_use")]
    pub doubts: Vec<Doubt>,
}

/// Leaves out the doubts that older versions had, which stand in the reviews that they wrote.
fn doubts_in_use<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Doubt>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let known = |name: String| Doubt::ALL.into_iter().find(|doubt| doubt.as_str() == name);
    Ok(names.into_iter().filter_map(known).collect())
}

impl Finding {
    /// Returns the consequence of a breach of the rule that the finding is about.
    pub fn on_breach(&self) -> Option<OnBreach> {
        self.rule.as_ref().and_then(|rule| rule.on_breach)
    }

    /// The lines that it is about.
    pub fn lines(&self) -> RangeInclusive<u32> {
        self.line..=self.end_line.unwrap_or(self.line).max(self.line)
    }

    /// Notes that these reviewers have found it, too.
    pub fn add_found_by(&mut self, reviewers: &[ReviewerName]) {
        for reviewer in reviewers {
            if !self.found_by.contains(reviewer) {
                self.found_by.push(reviewer.clone());
            }
        }
    }

    /// What rules found, and not a model: without a claim yet.
    pub fn of_rules(rules: &str, severity: Severity, category: &str, quote: Quote) -> Self {
        let reviewer = ReviewerName::new(rules).unwrap_or_else(|_| ReviewerName::coordinator());
        Self {
            id: String::new(),
            found_by: vec![reviewer.clone()],
            reviewer,
            severity,
            fingerprint: fingerprint(&quote.file, category, &quote.code),
            category: category.to_owned(),
            rule: None,
            file: quote.file,
            line: quote.line,
            end_line: None,
            claim: String::new(),
            evidence: quote.code,
            removed: None,
            second: None,
            scenario: String::new(),
            checked: String::new(),
            confidence: 1.0,
            fix: None,
            quoted_whole: false,
            evidence_status: EvidenceStatus::Verified,
            doubts: Vec::new(),
        }
    }

    /// The category of text that tries to steer the review.
    pub const PROMPT_INJECTION: &'static str = "prompt-injection";

    /// Returns whether it needs a second quoted place and has none.
    pub fn lacks_second_quote(&self) -> bool {
        self.second.is_none() && self.doubts.iter().any(|doubt| doubt.asks_for_second_quote())
    }

    /// Returns whether it is about text that tries to steer the review.
    pub fn is_prompt_injection(&self) -> bool {
        self.category == Self::PROMPT_INJECTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_of_an_older_version_may_hold_doubts_that_are_no_longer_in_use() {
        let quote = Quote {
            file: "a.rs".into(),
            line: 1,
            code: "a".into(),
        };
        let mut finding = Finding::of_rules("trojan_source", Severity::Warning, "c", quote);
        finding.doubts = vec![Doubt::UnchangedLine];
        let mut written = serde_json::to_value(&finding).expect("JSON");
        written["doubts"] = serde_json::json!(["wording", "unchanged_line", "prose_or_data"]);
        assert_eq!(serde_json::from_value::<Finding>(written).expect("a finding"), finding);
    }
}
