//! The command line.

mod config;
mod memory;

pub(crate) use config::{
    ApplyArguments, ChangeArguments, ConfigArguments, ConfigCommand, FailbackArguments, HistoryArguments,
    ProviderArguments, ProviderState, RollbackArguments, ShowArguments,
};

pub(crate) use memory::{ClearMemoryArguments, MemoryArguments, MemoryCommand, MemoryProject, ShowMemoryArguments};

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use conclave_engine::{pipeline::Wish, ports::ReviewMode, repo_config::RepoGate};
use conclave_plugin_gitlab::BreakGlassPolicy;
use conclave_shared::{config::Preset, model::ModelId};

use crate::settings::Environment;

/// Code review of merge requests by a panel of AI reviewers and a judge
#[derive(Debug, Parser)]
#[command(name = "conclave", version = VERSION, max_term_width = 100, long_about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The version, the commit if the build knew it, and the machine that it was built for.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("CONCLAVE_BUILT_FROM"), ")");

impl Arguments {
    /// Reads a command line, and what the environment says of it. CI systems cannot unset a variable, so an empty one counts
    /// as not set.
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = OsString>,
        environment: &Environment,
    ) -> Result<Self, clap::Error> {
        let mut command = without_empty(Self::command(), environment);
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// The command without the variables that are empty, and so for all commands below it.
fn without_empty(command: clap::Command, environment: &Environment) -> clap::Command {
    let command = command.mut_args(|argument| {
        let name = argument.get_env().and_then(|name| name.to_str());
        match name {
            Some(name) if environment.get(name).is_none() => argument.env(None::<&str>),
            _ => argument,
        }
    });
    command.mut_subcommands(|below| without_empty(below, environment))
}

const ABOUT: &str = "Code review of merge requests by a panel of AI reviewers and a judge.

The reviewers are sessions of OpenCode that can only read. What they find is checked against the code, judged, and \
turned into one review with a verdict. Set at least one key: ANTHROPIC_API_KEY, OPENAI_API_KEY, or \
CLOUDFLARE_API_TOKEN with CLOUDFLARE_ACCOUNT_ID.";

const AFTER_HELP: &str = "Examples:
  conclave local                     review what your working tree adds to the default branch
  conclave local main..my-branch     review a range of commits
  conclave local --staged            review what the next commit would add
  conclave plan main..my-branch      who would review that, with which models, at what cost; asks no model
  conclave review                    in a GitLab merge-request pipeline: review and post
  conclave review --dry-run          the same, but print instead of posting
  conclave init                      make a repository ready for reviews in its pipelines
  conclave doctor                    is everything here that a review needs?
  conclave replay RUN_DIR            show a finished or crashed run again
  conclave config provider off anthropic --reason 'incident 7'    every review goes round it within seconds
  conclave memory show               what reviews of this project have learned from people

Exit codes: 0 reviewed; 1 blocked (--gate block); 2 bad usage or configuration; 3 the forge failed;
4 inconclusive (--strict); 5 out of time; 130, 143 stopped by a signal.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Review local changes and print the result
    Local(LocalArguments),
    /// Review the merge request of this pipeline and post the result
    Review(ReviewArguments),
    /// Show what a review would be: tier, panel, models, tokens and cost; asks no model and needs no key
    Plan(PlanArguments),
    /// Show a finished or crashed run again from its records; calls no model
    Replay(ReplayArguments),
    /// Make a repository ready for reviews: the job of its pipeline, its settings, and /fullreview for OpenCode
    Init(InitArguments),
    /// Check everything that a review needs, and say for each failure what to do; asks no model and writes nothing
    Doctor(DoctorArguments),
    /// Review before each push: install or remove a pre-push hook of this repository
    Hook(HookArguments),
    /// Show and change the configuration of all reviews: providers, models, limits (the reviewer-config Worker)
    Config(ConfigArguments),
    /// Show or clear what the tracker remembers of a project (the review-tracker Worker)
    Memory(MemoryArguments),
    /// Print what completes the arguments in a shell
    Completions(CompletionsArguments),
    /// Print the manual page, or write all of them
    Man(ManArguments),
}

#[derive(Debug, Args)]
pub(crate) struct LocalArguments {
    /// What to review: `base..head`, or a branch to compare with; by default everything that the working tree, with its
    /// uncommitted changes, adds to the default branch
    pub(crate) range: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Review nothing: install a pre-push hook, as `conclave hook install` does
    #[arg(long, conflicts_with_all = ["range", "staged"], env = "CONCLAVE_INSTALL_HOOK")]
    pub(crate) install_hook: bool,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

/// Which changes of which repository.
#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
    /// Only what is staged: what the next commit would add
    #[arg(long, conflicts_with = "range", env = "CONCLAVE_STAGED")]
    pub(crate) staged: bool,
    /// A directory in the repository; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// Print the review, post nothing
    #[arg(long, env = "CONCLAVE_DRY_RUN")]
    pub(crate) dry_run: bool,
    /// Review nothing: print what `conclave plan` prints, for this merge request
    #[arg(long, env = "CONCLAVE_ESTIMATE")]
    pub(crate) estimate: bool,
    /// The merge request's address, as in the browser; by default that of the pipeline
    #[arg(long, value_name = "URL", env = "CONCLAVE_MR")]
    pub(crate) mr: Option<String>,
    /// With --mr: a directory in a clone of the project, or in no repository at all; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// What the verdict may do on the merge request; by default what `.conclave.toml` says, else `approve`
    #[arg(long, value_enum, env = "CONCLAVE_MODE")]
    pub(crate) mode: Option<Mode>,
    /// Most findings beside their lines, the others stand in the summary; by default what `.conclave.toml` says, else 20
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=1000), env = "CONCLAVE_MAX_INLINE")]
    pub(crate) max_inline: Option<u16>,
    /// Whose comment `break glass` skips the review: that of developers, the same without the author, or nobody's
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_BREAK_GLASS")]
    pub(crate) break_glass: BreakGlass,
    /// Additional certificates (PEM) to trust when talking to GitLab and to model providers
    #[arg(long, value_name = "FILE", env = "CONCLAVE_CA_FILE")]
    pub(crate) ca_file: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// What would be reviewed: `base..head`, or a branch to compare with; by default everything that the working tree,
    /// with its uncommitted changes, adds to the default branch
    pub(crate) range: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_FORMAT")]
    pub(crate) format: Format,
    /// Show `opencode.json` instead, each line with the plugin that it comes from
    #[arg(long, env = "CONCLAVE_EXPLAIN")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) planning: PlanningArguments,
}

/// What decides the panel and its models.
#[derive(Debug, Args)]
pub(crate) struct PlanningArguments {
    /// The models that are preferred where nobody names others; by default what `.conclave.toml` says, else `current`
    #[arg(long, value_enum, env = "CONCLAVE_PRESET")]
    pub(crate) preset: Option<PresetName>,
    /// Models for every reviewer and the coordinator, best first, as `provider/model`, with commas between them; in place of
    /// what the configuration and the preset say
    #[arg(long, value_name = "MODELS", value_delimiter = ',', env = "CONCLAVE_MODELS")]
    pub(crate) models: Vec<ModelId>,
    /// The organisation's engineering rules: a file, a directory, or an https address. A path in the repository is read from
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

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The run directory: what `--output` named, or what the review printed as `records`
    #[arg(value_name = "RUN_DIR")]
    pub(crate) directory: Utf8PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_FORMAT")]
    pub(crate) format: ReviewFormat,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// A directory in the repository; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// The project of your GitLab that has a copy of Conclave, and the version, as in platform/conclave@1.0.0; without it
    /// the job is copied into the repository
    #[arg(long, value_name = "PROJECT", env = "CONCLAVE_COMPONENT")]
    pub(crate) component: Option<String>,
    /// The image that the job runs in
    #[arg(long, value_name = "IMAGE", env = "CONCLAVE_IMAGE")]
    pub(crate) image: Option<String>,
    /// Significant concerns fail the job
    #[arg(long, env = "CONCLAVE_BLOCK")]
    pub(crate) block: bool,
    /// Show what would be written, and write nothing
    #[arg(long, env = "CONCLAVE_DRY_RUN")]
    pub(crate) dry_run: bool,
    /// Ask nothing: what is not given is the default
    #[arg(long, env = "CONCLAVE_YES")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "For example, in ~/.bashrc: source <(conclave completions bash)")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "To read it at once: conclave man | man -l -")]
pub(crate) struct ManArguments {
    /// A directory for the pages of all commands; without it the first one is printed
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 nothing failed, 1 something did, 2 bad usage.")]
pub(crate) struct DoctorArguments {
    /// A merge request's address, to check the token there; by default the pipeline's
    #[arg(long, value_name = "URL", env = "CONCLAVE_MR")]
    pub(crate) mr: Option<String>,
    /// A directory in the repository; by default the job's checkout, else the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// Additional certificates (PEM) to trust when talking to GitLab and to model providers
    #[arg(long, value_name = "FILE", env = "CONCLAVE_CA_FILE")]
    pub(crate) ca_file: Option<Utf8PathBuf>,
    /// Most seconds that a check may take; all run at once
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=120), env = "CONCLAVE_CHECK_SECONDS")]
    pub(crate) check_seconds: u64,
    /// Print JSON
    #[arg(long, env = "CONCLAVE_JSON")]
    pub(crate) json: bool,
}

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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), env = "CONCLAVE_AGENTS")]
    pub(crate) agents: Option<u32>,
    /// Stop asking models once the run has cost this much (US dollars)
    #[arg(long, value_name = "X", value_parser = positive, env = "CONCLAVE_MAX_COST_USD")]
    pub(crate) max_cost_usd: Option<f64>,
    /// Stop asking models once the run has used this many tokens, of all kinds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), env = "CONCLAVE_MAX_TOKENS")]
    pub(crate) max_tokens: Option<u64>,
    /// Stop asking models after this many calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), env = "CONCLAVE_MAX_CALLS")]
    pub(crate) max_calls: Option<u64>,
    /// Whether significant concerns fail the job; by default what `.conclave.toml` says, else `off`, with --mode gate `block`
    #[arg(long, value_enum, env = "CONCLAVE_GATE")]
    pub(crate) gate: Option<Gate>,
    /// Fail if the review is inconclusive
    #[arg(long, env = "CONCLAVE_STRICT")]
    pub(crate) strict: bool,
    /// Do not use what the tracker remembers of the project's earlier merge requests
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Human,
    /// The whole plan as JSON
    Json,
}

/// How a review is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReviewFormat {
    /// For people
    #[default]
    Human,
    /// The whole review as JSON
    Json,
    /// What would be posted
    Markdown,
    /// SARIF 2.1.0
    Sarif,
    /// For the prompt of an agent: plain text that attaches no file
    Prompt,
}

impl From<ReviewFormat> for Format {
    /// The nearest that a plan can be printed as.
    fn from(format: ReviewFormat) -> Self {
        match format {
            ReviewFormat::Json | ReviewFormat::Sarif => Self::Json,
            ReviewFormat::Human | ReviewFormat::Markdown | ReviewFormat::Prompt => Self::Human,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    #[command(subcommand)]
    pub(crate) command: HookCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Put the hook where git looks for hooks of this repository; never in the place of another
    Install(HookPlaceArguments),
    /// Take it away again
    Uninstall(HookPlaceArguments),
    /// What the hook runs: review what git says on standard input
    PrePush(Box<PrePushArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct HookPlaceArguments {
    /// A directory in the repository; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PrePushArguments {
    /// The remote's name, from git
    pub(crate) remote: Option<String>,
    /// The remote's address, from git
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) common: CommonArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gate {
    /// Exit 0 whatever the review says
    Off,
    /// Exit 1 on significant concerns
    Block,
}

impl Gate {
    /// The gate in force: what the job says, else what the repository says, else what the mode means: on GitLab Free
    /// nothing blocks but a failed job.
    pub(crate) fn in_force(job: Option<Self>, repo: Option<RepoGate>, mode: ReviewMode) -> Self {
        job.unwrap_or(match (repo, mode) {
            (Some(RepoGate::Block), _) | (None, ReviewMode::Gate) => Self::Block,
            (Some(RepoGate::Off), _) | (None, ReviewMode::Comment | ReviewMode::Approve) => Self::Off,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Comment, and nothing else
    Comment,
    /// Approve, and never block
    Approve,
    /// Approve, or request changes, which blocks the merge
    Gate,
}

impl From<Mode> for ReviewMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Comment => Self::Comment,
            Mode::Approve => Self::Approve,
            Mode::Gate => Self::Gate,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BreakGlass {
    /// Everybody with the role Developer or a higher one
    #[default]
    Developers,
    /// The same, but not the author of the merge request
    NotAuthor,
    /// Nobody
    Off,
}

impl From<BreakGlass> for BreakGlassPolicy {
    fn from(choice: BreakGlass) -> Self {
        match choice {
            BreakGlass::Developers => Self::Developers,
            BreakGlass::NotAuthor => Self::NotAuthor,
            BreakGlass::Off => Self::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    /// The newest generation of models
    Current,
    /// What the system that Conclave is measured against ran
    Yardstick,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Current => Self::Current,
            PresetName::Yardstick => Self::Yardstick,
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("an amount of US dollars greater than 0 is needed, as in 1.50".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_counts_more_than_the_repository() {
        for (job, repo, gate) in [
            (None, None, Gate::Off),
            (None, Some(RepoGate::Block), Gate::Block),
            (Some(Gate::Off), Some(RepoGate::Block), Gate::Off),
            (Some(Gate::Block), Some(RepoGate::Off), Gate::Block),
        ] {
            assert_eq!(Gate::in_force(job, repo, ReviewMode::Approve), gate, "{job:?} {repo:?}");
        }
        assert_eq!(Gate::in_force(None, None, ReviewMode::Gate), Gate::Block);
        assert_eq!(Gate::in_force(None, Some(RepoGate::Off), ReviewMode::Gate), Gate::Off);
        assert_eq!(Gate::in_force(Some(Gate::Off), None, ReviewMode::Gate), Gate::Off);
        assert_eq!(Gate::in_force(None, None, ReviewMode::Comment), Gate::Off);
    }

    #[test]
    fn the_command_line_is_consistent_and_every_flag_has_a_variable() {
        let command = Arguments::command();
        command.clone().debug_assert();
        let mut subs: Vec<&clap::Command> = command.get_subcommands().collect();
        while let Some(sub) = subs.pop() {
            subs.extend(sub.get_subcommands());
            for argument in sub
                .get_arguments()
                .filter(|argument| argument.get_long().is_some_and(|long| long != "help"))
            {
                let long = argument.get_long().expect("filtered");
                let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
                let expected = format!("CONCLAVE_{}", long.to_uppercase().replace('-', "_"));
                assert_eq!(variable, Some(expected), "--{long} of {}", sub.get_name());
            }
        }
    }
}
