//! A finding after judging.

use conclave_shared::{
    engineering_rule::OnBreach, finding::Finding, reviewer::ReviewerName, severity::Severity, telemetry::FindingFate,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Anchor, Overruled, Refutation, RefutationStatus};

/// Who took a finding out of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemovedBy {
    /// The judge, by its decision.
    Judge,
    /// A rule in code: it repeats another report, or nobody was there to judge it.
    Rules,
    /// People of the repository, who turned it down in earlier merge requests.
    Memory,
    /// An earlier finding of the merge request, which it repeats.
    EarlierReview,
}

/// A finding after judging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedFinding {
    /// The finding; its severity is the judge's.
    pub finding: Finding,
    /// What became of it.
    pub fate: FindingFate,
    /// The section of the review that it stands in.
    pub section: ReviewerName,
    /// Whether it endangers production, by the judge's word.
    pub production_risk: bool,
    /// Why it was merged or dropped.
    pub reason_code: Option<String>,
    /// The same in a sentence.
    pub reason: Option<String>,
    /// The severity that it was reported with, if that was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Severity>,
    /// Who took it out, if it does not stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_by: Option<RemovedBy>,
    /// The code that the judge quotes against it, and whether that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refutation: Option<Refutation>,
    /// What the judge would have done with it, where its word alone does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<Overruled>,
    /// The open thread of an earlier review that shows it: it is not posted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Where the forge shows it beside its lines, once it does; the summary then only names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<String>,
    /// The code that it stands on, for the next review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Anchor>,
    /// The commit of the earlier review that it stands from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl JudgedFinding {
    /// A finding that stands as it is.
    pub fn kept(finding: Finding) -> Self {
        Self {
            section: finding.reviewer.clone(),
            finding,
            fate: FindingFate::Kept,
            production_risk: false,
            reason_code: None,
            reason: None,
            reported: None,
            removed_by: None,
            refutation: None,
            overruled: None,
            thread: None,
            posted: None,
            anchor: None,
            since: None,
        }
    }

    /// Whether it becomes milder only by a refutation.
    pub fn weighs(&self) -> bool {
        let severity = self
            .reported
            .unwrap_or(self.finding.severity)
            .max(self.finding.severity);
        weighs(
            &self.finding,
            Weight {
                severity,
                production_risk: self.production_risk,
            },
        )
    }

    /// Takes it out of the review, if it stands.
    pub fn remove(&mut self, fate: FindingFate, by: RemovedBy) {
        if self.stands() {
            self.fate = fate;
            self.removed_by = Some(by);
        }
    }

    /// Takes it out of the review, if it stands, and says why: by a code and in a sentence.
    pub fn remove_for(&mut self, fate: FindingFate, by: RemovedBy, code: &str, reason: impl Into<String>) {
        if self.stands() {
            self.remove(fate, by);
            self.reason_code = Some(code.to_owned());
            self.reason = Some(reason.into());
        }
    }

    /// Whether a rule took it out because nobody was there to judge it. A report that repeats another one needs no judge.
    pub fn is_unjudged(&self) -> bool {
        self.removed_by == Some(RemovedBy::Rules) && self.fate == FindingFate::Dropped
    }

    /// The refutation by which a serious finding was taken out or lowered.
    pub fn refuted_by_code(&self) -> Option<&Refutation> {
        let refutation = self.refutation.as_ref().filter(|_| self.overruled.is_none())?;
        (refutation.needed && refutation.is_valid()).then_some(refutation)
    }

    /// The same, if those lines are of the change itself.
    pub fn refuted_by_this_change(&self) -> Option<&Refutation> {
        self.refuted_by_code()
            .filter(|refutation| refutation.status == RefutationStatus::ThisChange)
    }

    /// Whether it is part of the review.
    pub fn stands(&self) -> bool {
        self.fate == FindingFate::Kept
    }
}

/// How much a finding weighs: its severity, and whether it endangers production.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// Its severity.
    pub severity: Severity,
    /// Whether it endangers production.
    pub production_risk: bool,
}

impl Weight {
    /// The worse of both, in each respect.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            severity: self.severity.max(other.severity),
            production_risk: self.production_risk || other.production_risk,
        }
    }
}

/// Whether a finding of this weight becomes milder only by a refutation.
pub fn weighs(finding: &Finding, weight: Weight) -> bool {
    let by_rule = finding.on_breach().is_some_and(OnBreach::is_serious);
    weight.severity == Severity::Critical || weight.production_risk || finding.is_prompt_injection() || by_rule
}
