//! A review that is to be run.

use std::sync::Arc;

use conclave_shared::{finding::Finding, path_globs::PathGlobs, risk::SecurityPaths};

use super::Prior;
use crate::{
    diff::{FileDiff, FilteredFile},
    memory::Recall,
    repo_config::RubricSettings,
    review::{ApprovalHold, ConfigurationFallback, CutFile, GivenPatch, Plan, ReviewSubject, RuntimeName, StageTime},
};

/// What is reviewed, by whom.
#[derive(Debug)]
pub struct ReviewJob {
    /// The run's name.
    pub run_id: String,
    /// What is reviewed.
    pub subject: ReviewSubject,
    /// The filtered diff.
    pub files: Arc<Vec<FileDiff>>,
    /// The patch of each file, in the same order.
    pub patches: Vec<GivenPatch>,
    /// Patches that reviewers get a part of only, or nothing but the header.
    pub cut: Vec<CutFile>,
    /// The gap that they leave in the review, with what to do about it; nothing without any.
    pub too_large: Option<String>,
    /// What is not reviewed.
    pub filtered: Vec<FilteredFile>,
    /// What rules found, without any model. `None` if there was nothing for them to check.
    pub by_rules: Option<Vec<Finding>>,
    /// What rules found in the characters of added code.
    pub trojan_source: Vec<Finding>,
    /// Where the mark of the prompts' sections stands in text that is not ours.
    pub section_marks: Vec<Finding>,
    /// What is known of earlier reviews.
    pub prior: Prior,
    /// What the repository remembers.
    pub memory: Recall,
    /// Tier, panel and models.
    pub plan: Plan,
    /// The coordinator's message.
    pub coordinator_message: String,
    /// When warnings form a risk pattern.
    pub rubric: RubricSettings,
    /// The language of summaries and comments, as people call it; English without one.
    pub language: Option<String>,
    /// Which paths are security-sensitive.
    pub security: SecurityPaths,
    /// Why the approval is withheld, as far as that is known before the run.
    pub approval_holds: Vec<ApprovalHold>,
    /// Files in which words for a model are the product, by the target branch's settings.
    pub prompt_paths: PathGlobs,
    /// What the review goes by where the configuration service had no answer at its start.
    pub configuration: Option<ConfigurationFallback>,
    /// The agent runtime that the sessions run on.
    pub runtime: Option<RuntimeName>,
    /// Warnings that came up before the run, for the review.
    pub warnings: Vec<String>,
    /// Times of the stages before the run.
    pub stages: Vec<StageTime>,
}
