//! The commands around reviews: to set them up, to check what they need, and what shells and manuals read.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};
use conclave_engine::repo_config::RuntimeChoice;

use super::{
    choices::{InitForge, RUNTIMES, one_of, whole},
    common::CommonArguments,
};

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// A directory in the repository; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// The forge of the repository; by default what the remote `origin` says
    #[arg(long, value_enum, env = "CONCLAVE_FORGE")]
    pub(crate) forge: Option<InitForge>,
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
#[command(after_help = "Exit codes: 0 nothing failed, 1 something did, 2 bad usage.")]
pub(crate) struct DoctorArguments {
    /// The address of a merge request or pull request, to check the token there; by default the job's
    #[arg(long, visible_alias = "pr", value_name = "URL", env = "CONCLAVE_MR")]
    pub(crate) mr: Option<String>,
    /// A directory in the repository; by default the job's checkout, else the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// The agent runtime that reviews will be asked for; by default what `.conclave.toml` says, else `auto`
    #[arg(long, value_parser = one_of(RUNTIMES), env = "CONCLAVE_RUNTIME")]
    pub(crate) runtime: Option<RuntimeChoice>,
    /// Additional certificates (PEM) to trust in every HTTPS connection: forge, model providers, Workers, collector
    #[arg(long, value_name = "FILE", env = "CONCLAVE_CA_FILE")]
    pub(crate) ca_file: Option<Utf8PathBuf>,
    /// Most seconds that a check may take; all run at once
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole(1_u64, Some(120)), env = "CONCLAVE_CHECK_SECONDS")]
    pub(crate) check_seconds: u64,
    /// Print JSON
    #[arg(long, env = "CONCLAVE_JSON")]
    pub(crate) json: bool,
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

#[derive(Debug, Args)]
pub(crate) struct RuntimeArguments {
    #[command(subcommand)]
    pub(crate) command: RuntimeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeCommand {
    /// Fetch exactly the OpenCode that Conclave is made for, and ripgrep if there is none; checked, for this user only
    Install(InstallArguments),
    /// Remove what was fetched, whichever version
    Remove,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The registry of npm packages; by default what npm is set to (`npm_config_registry`, else `~/.npmrc`), else registry.npmjs.org
    #[arg(long, value_name = "URL", env = "CONCLAVE_REGISTRY", conflicts_with = "tarball")]
    pub(crate) registry: Option<String>,
    /// A package's file, made by `npm pack`, in place of a registry; can be given more than once
    #[arg(long, value_name = "FILE", env = "CONCLAVE_TARBALL")]
    pub(crate) tarball: Vec<Utf8PathBuf>,
    /// Additional certificates (PEM) to trust when talking to the registry
    #[arg(long, value_name = "FILE", env = "CONCLAVE_CA_FILE")]
    pub(crate) ca_file: Option<Utf8PathBuf>,
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
