//! What a repository says about its own reviews: `.conclave.toml` of the target branch.

mod models;
mod parse;
mod problem;
mod protection;
mod reader;
mod reviewers;
mod schema;

pub use parse::{ParsedRepoConfig, parse};
pub use problem::{RepoConfigProblem, Weight};
pub use schema::schema;

use std::collections::BTreeMap;

use conclave_shared::{
    config::{CapabilityOverrides, ClassEfforts, EffortOverrides, ModelTier, Preset, TimeLimitOverrides},
    effort::Effort,
    reviewer::ReviewerName,
    risk::RiskTier,
    sandbox::SandboxLevel,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::review::ReviewMode;

/// The file's name, at the root of the repository.
pub const REPO_CONFIG_FILE: &str = ".conclave.toml";

/// The settings of a repository. Everything is optional; an empty file is a valid one.
///
/// It is read from the target branch, never from the merge request, so the people who may merge decide, not the author.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RepoConfig {
    /// How reviews are done.
    pub review: ReviewSettings,
    /// Reviewers that sit on the panel of a tier besides its own.
    pub panel: PanelSettings,
    /// Which paths are not reviewed.
    pub paths: PathSettings,
    /// Instructions for reviewers about some paths.
    pub path_instructions: Vec<PathInstruction>,
    /// The engineering rules that the `codex` reviewer checks.
    pub codex: CodexSettings,
    /// When several warnings together are more than comments.
    pub verdict: RubricSettings,
    /// Whose comment `break glass` skips the review.
    pub break_glass: BreakGlassSettings,
    /// Time limits in seconds, each in place of what the configuration of all reviews says.
    #[serde(skip_serializing_if = "conclave_shared::skip::is_default")]
    pub limits: TimeLimitOverrides,
    /// Effort and capabilities of models, each in place of what the configuration of all reviews says.
    pub models: ModelSettings,
    /// Reviewers that the project adds to the standing ones, at most 5.
    #[schemars(length(max = 5))]
    pub reviewers: Vec<OwnReviewer>,
}

/// Reviewers that sit on the panel of a tier besides its own. Each has to finish, or the review is inconclusive, as far as that
/// holds for it elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct PanelSettings {
    /// On trivial changes.
    #[schemars(schema_with = "schema::reviewer_names")]
    pub trivial: Vec<ReviewerName>,
    /// On lite changes.
    #[schemars(schema_with = "schema::reviewer_names")]
    pub lite: Vec<ReviewerName>,
    /// On full changes.
    #[schemars(schema_with = "schema::reviewer_names")]
    pub full: Vec<ReviewerName>,
}

impl PanelSettings {
    /// Those of a tier.
    pub fn of(&self, tier: RiskTier) -> &[ReviewerName] {
        match tier {
            RiskTier::Trivial => &self.trivial,
            RiskTier::Lite => &self.lite,
            RiskTier::Full => &self.full,
        }
    }
}

/// A reviewer that the project adds. It sits on every panel of a change in which one of its paths changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OwnReviewer {
    /// Its name, which no standing reviewer has.
    #[schemars(schema_with = "schema::own_name")]
    pub name: ReviewerName,
    /// The file with its prompt, read from the target branch; at most 32 KB.
    #[schemars(regex(pattern = schema::NOT_BLANK))]
    pub prompt: String,
    /// Globs of the files that it reads.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub paths: Vec<String>,
    /// The class of models that it uses: `light`, `standard` (the default) or `top`.
    #[serde(default)]
    #[schemars(schema_with = "schema::model_class")]
    pub model: ModelTier,
    /// Whether the review is inconclusive without it; by default it is not.
    #[serde(default)]
    pub required: bool,
    /// Effort of its model; by default that of its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// Effort and capabilities of models.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ModelSettings {
    /// Effort of all models, whatever the configuration of all reviews says; an argument or a variable of the job counts
    /// more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Efforts of the models of a class.
    #[serde(skip_serializing_if = "ClassEfforts::is_empty")]
    pub class_effort: ClassEfforts,
    /// Effort of a reviewer's model, or of the `coordinator`'s, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub reviewer_effort: BTreeMap<String, Effort>,
    /// Corrections of what models take, by `provider/model`; under `provider/*` for those that the registry does not have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<String, CapabilityOverrides>,
}

impl OwnReviewer {
    /// More of them are no panel any more.
    pub const MAX: usize = 5;
    /// The longest prompt, in bytes: the built-in ones have a third of it.
    pub const MAX_PROMPT: usize = 32 << 10;
}

impl RepoConfig {
    /// The efforts that the project sets, its own reviewers' included.
    pub fn efforts(&self) -> EffortOverrides {
        let own = self.reviewers.iter();
        let mut reviewers: BTreeMap<String, Effort> = own
            .filter_map(|reviewer| Some((reviewer.name.to_string(), reviewer.effort?)))
            .collect();
        reviewers.extend(self.models.reviewer_effort.clone());
        EffortOverrides {
            all: self.models.effort,
            classes: self.models.class_effort.clone(),
            reviewers,
        }
    }

    /// The classes of models that the project's own reviewers use.
    pub fn classes(&self) -> BTreeMap<String, ModelTier> {
        let own = self.reviewers.iter();
        own.map(|reviewer| (reviewer.name.to_string(), reviewer.model))
            .collect()
    }
}

/// How reviews of this repository are done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct ReviewSettings {
    /// The language of summaries and comments, as people call it (`German`); by default English.
    #[schemars(regex(pattern = schema::LANGUAGE_IN_SCHEMA))]
    pub language: Option<String>,
    /// How much is worth a comment.
    pub strictness: Strictness,
    /// Reviewers that never sit on a panel of this repository.
    #[schemars(schema_with = "schema::reviewer_names")]
    pub disabled_reviewers: Vec<ReviewerName>,
    /// Whether significant concerns fail the job; an argument or a variable of the job counts more.
    pub gate: Option<RepoGate>,
    /// What the verdict may do on the merge request: `comment` does nothing, `approve` approves, `gate` also requests
    /// changes; an argument or a variable of the job counts more.
    pub mode: Option<ReviewMode>,
    /// The most findings that are posted beside their lines, 20 by default; the others stand in the summary. An argument or
    /// a variable of the job counts more.
    #[schemars(range(max = 1000))]
    pub max_inline: Option<u16>,
    /// The preferred models where no others are named: `current`, the newest generation, or `yardstick`, what the
    /// system that Conclave is measured against ran; an argument or a variable of the job counts more.
    #[schemars(schema_with = "schema::preset")]
    pub preset: Option<Preset>,
    /// The agent runtime: `opencode`, `native`, or `auto`, the default, which is OpenCode where the pinned one is installed and
    /// `native` elsewhere; an argument or a variable of the job counts more.
    pub runtime: Option<RuntimeChoice>,
    /// Whether the tracker's memory of earlier merge requests is used, which it is by default: what people turned down twice
    /// is not reported again, and files with many fixes are pointed out.
    pub memory: Option<bool>,
    /// Up to which severity the author of a merge request settles findings of it, by an answer or by resolving the thread.
    /// What is worse, endangers production, or tries to steer the review takes another member of the project.
    pub author_settles: AuthorSettles,
    /// Globs of files in which words for a model are the product, such as prompts. Only there may the judge find words that
    /// look like an attempt to steer the review harmless, and only with the code that shows it.
    #[schemars(inner(length(min = 1)))]
    pub prompt_paths: Vec<String>,
    /// The sandbox of the operating system that a review needs around its agents: `enforced` for all of it, `partial` for one
    /// that at least shuts files. On a machine without it the review does not start. A job can only ask for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::required_sandbox")]
    pub require_sandbox: Option<SandboxLevel>,
}

conclave_shared::named_enum! {
    /// Which agent runtime the sessions run on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum RuntimeChoice {
        /// OpenCode where the pinned one is installed, else Conclave's own.
        #[default]
        Auto = "auto",
        /// OpenCode.
        OpenCode = "opencode",
        /// Conclave's own.
        Native = "native",
    }
}

conclave_shared::named_enum! {
    /// Up to which severity the author of a merge request settles its findings.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum AuthorSettles {
        /// None of them.
        None = "none",
        /// Suggestions.
        Suggestion = "suggestion",
        /// Suggestions and warnings.
        #[default]
        Warning = "warning",
        /// All, but those about words that try to steer the review.
        Critical = "critical",
    }
}

/// Whose comment `break glass` skips the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct BreakGlassSettings {
    /// `not_author`, the default: members with at least the role Developer, but not the author of the merge request and
    /// nobody who committed to it. `developers`: the author, too. A job's `--break-glass` can only be stricter.
    pub by: BreakGlassBy,
}

conclave_shared::named_enum! {
    /// Who may skip a review.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum BreakGlassBy {
        /// Members with at least the role Developer who have no part in the merge request.
        #[default]
        NotAuthor = "not_author",
        /// All members with at least the role Developer.
        Developers = "developers",
    }
}

conclave_shared::named_enum! {
    /// How much is worth a comment.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    pub enum Strictness {
        /// Only what will hurt: no suggestions.
        Relaxed = "relaxed",
        /// The reviewers' own rules as they stand.
        #[default]
        Standard = "standard",
        /// Also smaller improvements, if they are certain.
        Strict = "strict",
    }
}

conclave_shared::named_enum! {
    /// Whether significant concerns fail the job.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RepoGate {
        /// Never.
        Off = "off",
        /// Yes.
        Block = "block",
    }
}

/// Which paths are not reviewed, and which of them do not hold an approval back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct PathSettings {
    /// Globs of files that are listed as not reviewed, and that the bot may approve all the same. Migrations and
    /// security-sensitive files are reviewed nevertheless.
    #[schemars(inner(length(min = 1)))]
    pub ignore: Vec<String>,
    /// Globs of vendored, minified, bundled, generated and compiled files that no person has to read: although they can run, the
    /// bot may approve a change of them.
    #[schemars(inner(length(min = 1)))]
    pub trusted: Vec<String>,
}

/// Instructions for reviewers about some paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PathInstruction {
    /// Globs; the instruction is given only if a changed file matches one.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub paths: Vec<String>,
    /// The text.
    #[schemars(regex(pattern = schema::NOT_BLANK))]
    pub instructions: String,
}

/// The engineering rules that the `codex` reviewer checks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct CodexSettings {
    /// A file or directory of the repository, read from the target branch, or an https address.
    #[schemars(regex(pattern = schema::NOT_BLANK))]
    pub rules: Option<String>,
}

/// When warnings form a risk pattern, which makes the verdict `minor_issues`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
pub struct RubricSettings {
    /// So many warnings are a pattern wherever they stand; 3 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub warnings: usize,
    /// So many warnings of one category on one file are a pattern; 2 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub warnings_alike: usize,
}

impl Default for RubricSettings {
    fn default() -> Self {
        Self {
            warnings: 3,
            warnings_alike: 2,
        }
    }
}
