//! The data of a review: what `review.json` holds, and what the stages of a run hand to each other. No logic above accessors.

mod accepted;
mod anchor;
mod approval_hold;
mod carry_over;
mod configuration;
mod cost;
mod coverage;
mod existing_finding;
mod finding_record;
mod given_patch;
mod judged_finding;
mod meanwhile;
mod mode;
mod model_move;
mod nothing;
mod patch_id;
mod patch_place;
mod plan;
mod question;
mod refutation;
mod reviewer_report;
mod runtime_name;
mod settled;
mod stop_cause;
mod subject;
#[cfg(test)]
pub(crate) mod test_support;
mod thread;
mod unproven;
mod workspace;

pub use accepted::AcceptedFinding;
pub use anchor::{Anchor, AnchorState, QuotedPart, RemovedLine, Squeezed};
pub use approval_hold::{ApprovalHold, HoldCause};
pub(crate) use carry_over::MAX_CLAIM;
pub use carry_over::{CarryOver, RefutedFinding, Remembered, RememberedUnproven, ReviewedFiles, Unlisted};
pub use configuration::{ConfigurationFallback, ConfigurationInstead};
pub use cost::{Cost, CountedTokens};
pub use coverage::{Coverage, CutFile, EarlierFiles, SandboxReport};
pub use existing_finding::{AuthorRole, Before, ExistingFinding, RefutingCode, Reply, RuleSince, ThreadState};
pub use finding_record::{FindingRecord, RECORD_SCHEMA};
pub use given_patch::GivenPatch;
pub use judged_finding::{JudgedFinding, RemovedBy, Weight, weighs};
pub use meanwhile::{FoundMeanwhile, HeldMeanwhile, Meanwhile, OtherConclusion};
pub use mode::{ReviewMode, ReviewState};
pub use model_move::ModelMove;
pub use patch_id::{PatchId, PathId};
pub use plan::{PanelMember, PanelSlot, Plan, Presence};
pub use question::{Answer, CommentPlace, OpenQuestions, Question};
pub use refutation::{Overruled, Refutation, RefutationStatus, Surroundings};
pub use reviewer_report::{RepairKind, ReviewerReport, milliseconds};
pub use runtime_name::RuntimeName;
pub use settled::SettledFinding;
pub use stop_cause::StopCause;
pub use subject::{Comment, ReviewSubject};
pub(crate) use thread::FIXED_IN;
pub use thread::{ThreadAction, ThreadChange};
pub use unproven::UnprovenFinding;
pub use workspace::{CONTEXT_FILE, INDEX_FILE, LINE_GOES_ON, REVIEW_DIRECTORY};

use conclave_shared::{
    pricing::TokenUsage, risk::RiskTier, severity::Severity, telemetry::TokensByModel, verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::ManualReview;

/// The version of the shape of `review.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// A finished review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The run's name.
    pub run_id: String,
    /// `gitlab` or `local`.
    pub forge: String,
    /// The project.
    pub project: String,
    /// The merge request's number, where there is one.
    pub merge_request: Option<u64>,
    /// The merge base.
    pub base_sha: String,
    /// The reviewed commit.
    pub head_sha: String,
    /// The commit whose settings, rules and instructions were in force; older reviews do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_sha: Option<String>,
    /// Whether it comes from another project.
    pub from_fork: bool,
    /// The tier.
    pub tier: RiskTier,
    /// Why this tier.
    pub tier_reasons: Vec<String>,
    /// The verdict, from the rubric.
    pub verdict: Verdict,
    /// Why this verdict.
    pub verdict_reason: String,
    /// What the coordinator would have concluded.
    pub proposed_verdict: Option<String>,
    /// The coordinator's words; empty without one.
    pub summary: String,
    /// All findings, also those that do not stand.
    pub findings: Vec<JudgedFinding>,
    /// How each reviewer did.
    pub reviewers: Vec<ReviewerReport>,
    /// How the coordinator did.
    pub coordinator: ReviewerReport,
    /// Why the review was judged without the coordinator, if it was.
    pub degraded: Option<String>,
    /// What a person has to look at, because a rule of the organisation says so. The bot does not approve then.
    #[serde(default)]
    pub manual_reviews: Vec<ManualReview>,
    /// Why the bot withholds its approval whatever the verdict; empty where nothing holds it back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approval_holds: Vec<ApprovalHold>,
    /// Why the review is only a part of one, if the budget cut it short.
    pub partial: Option<String>,
    /// What the review went by where the configuration service had no answer at its start; nothing where it had one, or there is
    /// no service. `warnings` has the reason, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationFallback>,
    /// The agent runtime that the sessions ran on; older reviews do not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeName>,
    /// What was looked at.
    pub coverage: Coverage,
    /// What else the reader should know.
    pub warnings: Vec<String>,
    /// Where the time went.
    pub stages: Vec<StageTime>,
    /// What becomes of the threads that earlier reviews have opened.
    #[serde(default)]
    pub threads: Vec<ThreadAction>,
    /// Findings of earlier reviews that were settled since the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<SettledFinding>,
    /// Serious findings of earlier reviews that do not stand because people have accepted them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedFinding>,
    /// The judge's answers to people's questions in the comments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// The one of them that answers a light-hearted question, which there is at most once in a merge request.
    #[serde(default)]
    pub aside: Option<String>,
    /// What the next review has to know; it goes into the summary, hidden and signed.
    #[serde(default, rename = "ledger")]
    pub carry_over: CarryOver,
    /// Seconds from the start of the sessions to the verdict.
    pub seconds: f64,
    /// The price of all model calls, in US dollars, as far as it is known: see `cost_incomplete`.
    pub cost_usd: f64,
    /// True if `cost_usd` is less than what was paid, because the price of a model or what an answer used is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_incomplete: bool,
    /// The share of all prompt tokens that providers served from their caches, from 0 to 1; `None` without any prompt.
    pub cache_hit_rate: Option<f64>,
}

/// Seconds that a stage took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTime {
    /// The stage.
    pub stage: String,
    /// Seconds.
    pub seconds: f64,
}

impl StageTime {
    /// The time of a stage.
    pub fn new(stage: impl Into<String>, seconds: f64) -> Self {
        Self {
            stage: stage.into(),
            seconds,
        }
    }
}

impl Review {
    /// Whether the bot may approve the merge request: the verdict says so, no person has to, it comes from this project,
    /// and nothing holds the approval back.
    pub fn may_approve(&self) -> bool {
        self.verdict.approves() && !self.from_fork && !self.needs_person()
    }

    /// Returns whether all that had to be reviewed was, by all who had to review and judge it: no budget, time limit or signal cut it short.
    pub fn is_complete(&self) -> bool {
        self.verdict != Verdict::Inconclusive && self.coverage.gaps.is_empty() && self.partial.is_none()
    }

    /// Whether an earlier block may be lifted: this review is a whole one, and found nothing that blocks. One that was stopped,
    /// cut short or not judged leaves a block as it is, and so does one whose verdict is itself in doubt.
    pub fn lifts_blocks(&self) -> bool {
        let whole = self.coverage.gaps.is_empty() && self.partial.is_none() && self.degraded.is_none();
        let clear = !matches!(self.verdict, Verdict::SignificantConcerns | Verdict::Inconclusive);
        let in_doubt = self.approval_holds.iter().any(|hold| hold.cause.doubts_the_verdict());
        whole && clear && !in_doubt
    }

    /// True if an earlier review that cannot be read may have blocked: then the gate stays closed, whatever the verdict.
    pub fn may_be_blocked(&self) -> bool {
        self.approval_holds.iter().any(|hold| hold.cause.may_hide_a_block())
    }

    /// Whether the bot leaves the approval to a person, whatever the verdict.
    pub fn needs_person(&self) -> bool {
        !self.manual_reviews.is_empty() || !self.approval_holds.is_empty()
    }

    /// Whether the result was judged, by a review that nothing cut short.
    pub fn is_judged(&self) -> bool {
        self.degraded.is_none() && self.partial.is_none()
    }

    /// The warnings that no notice has said already.
    pub fn other_warnings(&self) -> impl Iterator<Item = &String> {
        let said = self.configuration.as_ref().map(|fallback| fallback.reason.as_str());
        self.warnings
            .iter()
            .filter(move |warning| Some(warning.as_str()) != said)
    }

    /// Findings that stand, in the order in which they are shown.
    pub fn surviving(&self) -> impl Iterator<Item = &JudgedFinding> {
        self.findings.iter().filter(|finding| finding.stands())
    }

    /// How many findings of this severity stand.
    pub fn count(&self, severity: Severity) -> u64 {
        u64::try_from(
            self.surviving()
                .filter(|entry| entry.finding.severity == severity)
                .count(),
        )
        .unwrap_or(u64::MAX)
    }

    /// What all sessions used, by the model that really answered.
    pub fn usage(&self) -> Vec<TokensByModel> {
        let mut total: Vec<TokensByModel> = Vec::new();
        let reports = self.reviewers.iter().chain([&self.coordinator]);
        for usage in reports.flat_map(|report| &report.usage) {
            match total.iter_mut().find(|entry| entry.model == usage.model) {
                Some(entry) => {
                    entry.tokens += usage.tokens;
                    entry.cost_usd += usage.cost_usd;
                    entry.calls += usage.calls;
                    entry.unpriced |= usage.unpriced;
                    entry.uncounted += usage.uncounted;
                    entry.estimated_usd += usage.estimated_usd;
                }
                None => total.push(usage.clone()),
            }
        }
        total
    }

    /// Cost that counts for budgets: the known one, and the estimate of what providers did not count.
    pub fn spent_usd(&self) -> f64 {
        let estimated = self.usage().iter().fold(0.0, |sum, entry| sum + entry.estimated_usd);
        self.cost_usd.max(0.0) + estimated
    }

    /// All tokens of the run.
    pub fn tokens(&self) -> TokenUsage {
        let mut tokens = TokenUsage::default();
        for usage in self.usage() {
            tokens += usage.tokens;
        }
        tokens
    }
}
