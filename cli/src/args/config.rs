//! `conclave config`: what operators do.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand, ValueEnum};

use super::choices::whole;

const AFTER_HELP: &str = "A provider is down:  conclave config provider off anthropic --reason 'incident 7'
and when it is back:  conclave config provider on anthropic

The Worker's address is in CONCLAVE_CONFIG_URL, an administrator's token in CONCLAVE_CONFIG_ADMIN_TOKEN;
`show` also takes a reader's (CONCLAVE_CONFIG_TOKEN), `validate` needs neither.

Exit codes: 0 done; 1 `diff` found differences, or `validate` faults, broken JSON included; 2 bad usage, refused, or the
result could not be written (standard error says so where a change was made all the same); 3 the service failed.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show what is in force: providers, reviewers with their models, limits, prices
    Show(ShowArguments),
    /// Print the document as it is stored, to edit it
    Get,
    /// Check a document, without a network
    Validate(FileArguments),
    /// Show what a document would change
    Diff(FileArguments),
    /// Show what a document changes, and write it
    Apply(ApplyArguments),
    /// Show who changed what, when and why
    History(HistoryArguments),
    /// Go back to an earlier revision
    Rollback(RollbackArguments),
    /// Switch a provider on or off: running reviews follow within seconds
    Provider(ProviderArguments),
    /// Say who stands in for a model; without a model, show who does
    Failback(FailbackArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// A project's path: what is in force there
    #[arg(long, value_name = "PATH", env = "CONCLAVE_PROJECT")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// How a result is shown.
#[derive(Debug, Args)]
pub(crate) struct ShownArguments {
    /// Print JSON
    #[arg(long, env = "CONCLAVE_JSON")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FileArguments {
    /// The document; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

/// Why something is changed, and whether a person is asked first.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// Why, for the history: needed for every change but `provider on`
    #[arg(long, value_name = "TEXT", env = "CONCLAVE_REASON")]
    pub(crate) reason: Option<String>,
    /// Ask nothing
    #[arg(long, env = "CONCLAVE_YES")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// The document; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Utf8PathBuf,
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// How many revisions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole(1_u32, Some(200)), env = "CONCLAVE_LIMIT")]
    pub(crate) limit: u32,
    /// Only revisions below this one
    #[arg(long, value_name = "REVISION", env = "CONCLAVE_BEFORE")]
    pub(crate) before: Option<u64>,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArguments {
    /// The revision to go back to: the last good one of `conclave config history`
    #[arg(value_name = "REVISION")]
    pub(crate) revision: u64,
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderArguments {
    /// What it is to be
    #[arg(value_enum)]
    pub(crate) state: ProviderState,
    /// The provider, as in `anthropic`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderState {
    /// It is used again
    On,
    /// No review uses it
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct FailbackArguments {
    /// The model, as `provider/model`
    pub(crate) model: Option<String>,
    /// Who stands in for it; `none` ends the chain, `default` takes the built-in one again
    #[arg(value_name = "STAND_IN", requires = "model")]
    pub(crate) stand_in: Option<String>,
    #[command(flatten)]
    pub(crate) change: ChangeArguments,
}
