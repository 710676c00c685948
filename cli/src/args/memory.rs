//! `conclave memory`: what the tracker remembers of a project.

use clap::{Args, Subcommand};

use super::config::ShownArguments;

const AFTER_HELP: &str =
    "The tracker's address is in CONCLAVE_TRACKER_URL. `show` takes the token of a job (CONCLAVE_TRACKER_TOKEN);
`clear` needs one of the Worker's OPERATOR_TOKENS, in CONCLAVE_TRACKER_OPERATOR_TOKEN.

Reviews leave out what people of a project have turned down in two changes, and point reviewers to files with many
fixes. `memory = false` under `[review]` in .conclave.toml, or --no-memory, switches both off.

Exit codes: 0 done; 2 bad usage, refused, or the result could not be written (standard error says so where it was
forgotten all the same); 3 the tracker failed.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct MemoryArguments {
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Show which findings people turned down, and where findings were fixed
    Show(ShowMemoryArguments),
    /// Forget all of it, or that one finding was turned down
    Clear(ClearMemoryArguments),
}

/// Whose memory.
#[derive(Debug, Args)]
pub(crate) struct MemoryProject {
    /// The project's path, as in `group/project`; by default that of the CI job, or of the repository's remote `origin`
    #[arg(long, value_name = "PATH", env = "CONCLAVE_PROJECT")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowMemoryArguments {
    #[command(flatten)]
    pub(crate) project: MemoryProject,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ClearMemoryArguments {
    #[command(flatten)]
    pub(crate) project: MemoryProject,
    /// Only that this finding was turned down; `show` has the fingerprints
    #[arg(long, value_name = "FINGERPRINT", env = "CONCLAVE_FINDING")]
    pub(crate) finding: Option<String>,
    /// Ask nothing
    #[arg(long, env = "CONCLAVE_YES")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) shown: ShownArguments,
}
