//! The command line.

mod choices;
mod common;
mod config;
mod memory;
mod read;
mod review;
mod setup;

pub(crate) use choices::{CommentsConclude, Format, Gate, InitForge, REQUIRED_SANDBOXES, ReviewFormat};
pub(crate) use common::{CommonArguments, PlanningArguments};
pub(crate) use config::{
    ApplyArguments, ChangeArguments, ConfigArguments, ConfigCommand, FailbackArguments, HistoryArguments,
    ProviderArguments, ProviderState, RollbackArguments, ShowArguments,
};
pub(crate) use memory::{ClearMemoryArguments, MemoryArguments, MemoryCommand, MemoryProject, ShowMemoryArguments};
pub(crate) use read::{mistaken_variables, problem_of, refused_variables, switch, with_variables};
pub(crate) use review::refused_directories;
pub(crate) use review::{
    LocalArguments, PlaceArguments, PlanArguments, RefusedReview, ReplayArguments, ReviewArguments,
};
pub(crate) use setup::{
    CompletionsArguments, DoctorArguments, HookArguments, HookCommand, InitArguments, InstallArguments, ManArguments,
    PrePushArguments, RuntimeArguments, RuntimeCommand,
};

use clap::{Parser, Subcommand};

/// Code review of merge and pull requests by a panel of AI reviewers and a judge
#[derive(Debug, Parser)]
#[command(name = "conclave", version = VERSION, max_term_width = 100, long_about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The version, the commit if the build knew it, and the machine that it was built for.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("CONCLAVE_BUILT_FROM"), ")");

const ABOUT: &str = "Code review of merge and pull requests by a panel of AI reviewers and a judge.

The reviewers are sessions of OpenCode, or of Conclave's own runtime, that can only read. What they find is checked \
against the code, judged, and turned into one review with a verdict. Set at least one key: ANTHROPIC_API_KEY, OPENAI_API_KEY, or \
CLOUDFLARE_API_TOKEN with CLOUDFLARE_ACCOUNT_ID.";

const AFTER_HELP: &str = "Examples:
  conclave demo                      review a built-in example, without a key
  conclave local                     review what your working tree adds to the default branch
  conclave local main..my-branch     review a range of commits
  conclave local --staged            review what the next commit would add
  conclave plan main..my-branch      who would review that, with which models, at what cost; asks no model
  conclave review                    in a job of GitLab CI or GitHub Actions: review and post
  conclave review --dry-run          the same, but print instead of posting
  conclave init                      make a repository ready for reviews in its pipelines
  conclave doctor                    is everything here that a review needs?
  conclave runtime install           fetch OpenCode for reviews to run in, in place of Conclave's own runtime
  conclave replay RUN_DIR            show a finished or crashed run again
  conclave config provider off anthropic --reason 'incident 7'    every review goes round it within seconds
  conclave memory show               what reviews of this project have learned from people

Exit codes: 0 reviewed; 1 blocked (--gate block); 2 bad usage or configuration, or the result could not be written;
3 the forge failed; 4 inconclusive (--strict); 5 out of time; 6 no such sandbox here (--require-sandbox);
129, 130, 143 stopped by a signal.";

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
    /// Review a built-in example with a scripted stand-in for a model: no key, no cost
    Demo,
    /// Check everything that a review needs, and say for each failure what to do; asks no model and writes nothing
    Doctor(DoctorArguments),
    /// Fetch or remove the OpenCode that reviews run in; without one they run in Conclave's own runtime
    Runtime(RuntimeArguments),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::exit::Exit;

    #[test]
    fn the_help_names_every_exit_code() {
        let codes = AFTER_HELP.split_once("Exit codes:").expect("they are told").1;
        let told: Vec<u8> = codes
            .split(|character: char| !character.is_ascii_digit())
            .filter_map(|code| code.parse().ok())
            .collect();
        for (exit, _) in Exit::ALL {
            assert!(told.contains(&exit.code()), "{}", exit.code());
        }
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
