//! What several commands take alike.

use camino::Utf8PathBuf;
use clap::Args;
use conclave_engine::{panel::Wish, repo_config::RuntimeChoice};
use conclave_shared::{
    config::{EffortOverrides, Preset, TimeLimitOverrides},
    model::ModelId,
    sandbox::SandboxLevel,
};

use super::choices::{Gate, PRESETS, REQUIRED_SANDBOXES, RUNTIMES, ReviewFormat, one_of, whole};
use crate::env::names;

#[derive(Debug, Args)]
pub(crate) struct CommonArguments {
    /// Keep the run's records (the reports, patches, prompts, events.jsonl) in this directory
    #[arg(long, value_name = "DIR", env = "CONCLAVE_OUTPUT")]
    pub(crate) output: Option<Utf8PathBuf>,
    /// Write the reports (review.json, review.md, review.sarif, code-quality.json, junit.xml) into this directory too, and
    /// nothing else: a place for CI artifacts
    #[arg(long, value_name = "DIR", env = "CONCLAVE_REPORTS")]
    pub(crate) reports: Option<Utf8PathBuf>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_FORMAT")]
    pub(crate) format: ReviewFormat,
    /// Show no progress, only what goes wrong
    #[arg(long, env = "CONCLAVE_QUIET")]
    pub(crate) quiet: bool,
    /// Most reviewers at once; by default what the configuration says, which is 7
    #[arg(long, value_name = "N", value_parser = whole(1_u32, Some(64)), env = "CONCLAVE_AGENTS")]
    pub(crate) agents: Option<u32>,
    /// Stop asking models once the run has cost this much (US dollars)
    #[arg(long, value_name = "X", value_parser = positive, env = "CONCLAVE_MAX_COST_USD")]
    pub(crate) max_cost_usd: Option<f64>,
    /// Stop asking models once the run has used this many tokens, of all kinds
    #[arg(long, value_name = "N", value_parser = whole(1_u64, None), env = "CONCLAVE_MAX_TOKENS")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop asking models after this many calls
    #[arg(long, value_name = "N", value_parser = whole(1_u64, None), env = "CONCLAVE_MAX_CALLS")]
    pub(crate) max_calls: Option<u64>,
    /// Whether significant concerns fail the job; by default what `.conclave.toml` says, else `off`, with --mode gate `block`
    #[arg(long, value_enum, env = "CONCLAVE_GATE")]
    pub(crate) gate: Option<Gate>,
    /// Fail if the review is inconclusive
    #[arg(long, env = "CONCLAVE_STRICT")]
    pub(crate) strict: bool,
    /// Refuse to start a review or OpenCode (exit code 6) unless the sandbox is at least LEVEL; without a value `enforced`. By default
    /// what `.conclave.toml` says, which this can only raise
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "enforced",
        value_parser = one_of(REQUIRED_SANDBOXES),
        env = names::REQUIRE_SANDBOX
    )]
    pub(crate) require_sandbox: Option<SandboxLevel>,
    /// Do not use what the tracker remembers of the project's earlier changes
    #[arg(long, env = "CONCLAVE_NO_MEMORY")]
    pub(crate) no_memory: bool,
    /// Record every model call, request and answer, in this directory (model-calls.jsonl), without secrets
    #[arg(long, value_name = "DIR", env = "CONCLAVE_RECORD", conflicts_with = "replay_models")]
    pub(crate) record: Option<Utf8PathBuf>,
    /// Answer every model call from such a recording: no provider is asked, no key is needed
    #[arg(long, value_name = "FILE", env = "CONCLAVE_REPLAY_MODELS")]
    pub(crate) replay_models: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
}

/// What decides the panel and its models.
#[derive(Debug, Args)]
pub(crate) struct PlanningArguments {
    /// The preferred models where no others are named, and with `local` the limits of a slow model server; by default what
    /// `.conclave.toml` says, else `current`
    #[arg(long, value_parser = one_of(PRESETS), env = "CONCLAVE_PRESET")]
    pub(crate) preset: Option<Preset>,
    /// Models for every reviewer and the coordinator, best first, as `provider/model`, with commas between them; in place of
    /// what the configuration and the preset say
    #[arg(long, value_name = "MODELS", value_delimiter = ',', env = "CONCLAVE_MODELS")]
    pub(crate) models: Vec<ModelId>,
    /// Effort of models: `none`, `low`, `medium`, `high` or `max` for all, or `NAME=EFFORT` for a class (`top`, `standard`,
    /// `light`), for `trivial` changes or for a reviewer, with commas between them; more than what `.conclave.toml` and the
    /// configuration say
    #[arg(long, value_name = "EFFORT", env = "CONCLAVE_EFFORT")]
    pub(crate) effort: Option<EffortOverrides>,
    /// The agent runtime that the sessions run on; by default what `.conclave.toml` says, else `auto`
    #[arg(long, value_parser = one_of(RUNTIMES), env = "CONCLAVE_RUNTIME")]
    pub(crate) runtime: Option<RuntimeChoice>,
    /// Limits by name, as `reviewer_seconds=600,tool_calls=500`; each counts more than what `.conclave.toml` and the
    /// configuration say
    #[arg(long, value_name = "NAME=NUMBER", env = "CONCLAVE_LIMITS")]
    pub(crate) limits: Option<TimeLimitOverrides>,
    /// The organization's engineering rules: a file, a directory, or an https address. A path in the repository is read from
    /// the target branch
    #[arg(long, value_name = "PLACE", env = "CONCLAVE_CODEX_RULES")]
    pub(crate) codex_rules: Option<String>,
    /// Ask for reviewers by name: `security,tests` has these review in place of the panel, and such a review approves
    /// nothing; `+tests` has the whole panel review, and tests with it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', env = "CONCLAVE_FOCUS")]
    pub(crate) focus: Vec<Wish>,
    /// Replace built-in prompts by the files of the same name in this directory
    #[arg(long, value_name = "DIR", env = "CONCLAVE_PROMPTS")]
    pub(crate) prompts: Option<Utf8PathBuf>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("an amount of US dollars greater than 0 is needed, as in 1.50".to_owned()),
    }
}
