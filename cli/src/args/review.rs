//! The commands that review, or show what a review would be or was.

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::Args;
use conclave_engine::{publish::BreakGlassPolicy, review::ReviewMode};

use super::{
    choices::{BREAK_GLASS, CommentsConclude, Format, MODES, ReviewFormat, one_of, whole},
    common::{CommonArguments, PlanningArguments},
};
use crate::env::{Environment, names};

/// The name of the check where nothing names another.
const CHECK_NAME: &str = "conclave";

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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ReviewArguments {
    /// Print the review, post nothing
    #[arg(long, env = "CONCLAVE_DRY_RUN")]
    pub(crate) dry_run: bool,
    /// Review nothing: print what `conclave plan` prints, for this change
    #[arg(long, env = "CONCLAVE_ESTIMATE")]
    pub(crate) estimate: bool,
    /// The address of the merge request or pull request, as in the browser (--pr is the same); by default that of the job
    #[arg(long, visible_alias = "pr", value_name = "URL", env = "CONCLAVE_MR")]
    pub(crate) mr: Option<String>,
    /// With --mr: a directory in a clone of the project, or in no repository at all; by default the current one
    #[arg(long, value_name = "PATH", env = "CONCLAVE_REPO")]
    pub(crate) repo: Option<Utf8PathBuf>,
    /// What the bot may do besides commenting; by default what `.conclave.toml` says, else `approve`, and on GitHub `comment`
    #[arg(long, value_parser = one_of(MODES), env = "CONCLAVE_MODE")]
    pub(crate) mode: Option<ReviewMode>,
    /// Most findings beside their lines, the others stand in the summary; by default what `.conclave.toml` says, else 20
    #[arg(long, value_name = "N", value_parser = whole(0_u16, Some(1000)), env = "CONCLAVE_MAX_INLINE")]
    pub(crate) max_inline: Option<u16>,
    /// Whose comment `break glass` skips the review, at most: that of developers as the target branch's `[break_glass]` says,
    /// that of developers without a part in the change, or nobody's
    #[arg(long, value_parser = one_of(BREAK_GLASS), default_value = "developers", env = "CONCLAVE_BREAK_GLASS")]
    pub(crate) break_glass: BreakGlassPolicy,
    /// Review everything, also what an earlier review of the change has looked at
    #[arg(long, env = "CONCLAVE_FULL")]
    pub(crate) full: bool,
    /// In a job of a comment: carry out only what needs no review (`explain`, `dismiss`), and hand any other command on to the next job
    /// by the output `command`
    #[arg(long, env = "CONCLAVE_ANSWER_ONLY")]
    pub(crate) answer_only: bool,
    /// In a job of a `workflow_run`: what the workflow of the fork's pull request has handed on
    #[arg(long, value_name = "FILE", env = "CONCLAVE_HANDED_ON")]
    pub(crate) handed_on: Option<Utf8PathBuf>,
    /// In a job of GitHub Actions: the name of the check on the commit, which a branch's rules ask for
    #[arg(long, value_name = "NAME", default_value = CHECK_NAME, env = "CONCLAVE_CHECK_NAME")]
    pub(crate) check_name: String,
    /// In a job of GitHub Actions: the conclusion of the check of an approval with comments
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_COMMENTS_CONCLUDE")]
    pub(crate) comments_conclude: CommentsConclude,
    /// In a job of GitHub Actions: hand the findings to code scanning, which shows them to everyone who can read the repository. The
    /// token needs `security-events: write`
    #[arg(long, env = "CONCLAVE_UPLOAD_SARIF")]
    pub(crate) upload_sarif: bool,
    /// Additional certificates (PEM) to trust in every HTTPS connection: forge, model providers, Workers, collector
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

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The run directory: what `--output` named, or what the review printed as `records`
    #[arg(value_name = "RUN_DIR")]
    pub(crate) directory: Utf8PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value_t, env = "CONCLAVE_FORMAT")]
    pub(crate) format: ReviewFormat,
}

/// A call of `conclave review` whose arguments are wrong, as far as it can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RefusedReview {
    /// The merge request's address, where it is not that of the pipeline.
    pub(crate) mr: Option<String>,
    /// Additional certificates to trust.
    pub(crate) ca_file: Option<Utf8PathBuf>,
    /// The name of the check on the commit.
    pub(crate) check_name: String,
}

impl RefusedReview {
    /// Reads it; nothing for another command, and for a call that would not have posted anything.
    pub(crate) fn read(arguments: &[OsString], environment: &Environment) -> Option<Self> {
        let arguments: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let [_, "review", given @ ..] = arguments.as_slice() else {
            return None;
        };
        let on = |name: &str| {
            environment
                .get(name)
                .is_some_and(|value| !matches!(value.to_lowercase().as_str(), "false" | "f" | "0" | "no" | "n" | "off"))
        };
        let only_shows = given
            .iter()
            .any(|argument| ["--dry-run", "--estimate"].contains(argument));
        if only_shows || on("CONCLAVE_DRY_RUN") || on("CONCLAVE_ESTIMATE") {
            return None;
        }
        let value = |flag: &str, variable: &str| {
            let given = values(given, flag).find(|value| !value.is_empty());
            given.or_else(|| environment.get(variable)).map(str::to_owned)
        };
        Some(Self {
            mr: value("--pr", "").or_else(|| value("--mr", "CONCLAVE_MR")),
            ca_file: value("--ca-file", names::CA_FILE).map(Utf8PathBuf::from),
            check_name: value("--check-name", "CONCLAVE_CHECK_NAME").unwrap_or_else(|| CHECK_NAME.to_owned()),
        })
    }
}

/// The directories of records and of reports that a call with wrong arguments names: what a branch has committed there must
/// not be uploaded as the reports of a run that never began.
pub(crate) fn refused_directories(
    arguments: &[OsString],
    environment: &Environment,
) -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let arguments: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let [_, "review" | "local", given @ ..] = arguments.as_slice() else {
        return (Vec::new(), Vec::new());
    };
    let all = |flag: &str, variable: &str| -> Vec<Utf8PathBuf> {
        let named = values(given, flag).chain(environment.get(variable));
        named.filter(|path| !path.is_empty()).map(Utf8PathBuf::from).collect()
    };
    (all("--output", "CONCLAVE_OUTPUT"), all("--reports", "CONCLAVE_REPORTS"))
}

/// The values that arguments give to a flag, read without knowing any other.
fn values<'a>(given: &'a [&'a str], flag: &'a str) -> impl Iterator<Item = &'a str> {
    given
        .iter()
        .enumerate()
        .filter_map(move |(at, argument)| match argument.strip_prefix(flag)? {
            "" => given.get(at + 1).copied(),
            rest => rest.strip_prefix('='),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_review_is_one_that_would_have_posted() {
        let environment = |variables: &[(&str, &str)]| {
            Environment::new(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())))
        };
        let read = |line: &str, variables: &[(&str, &str)]| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            RefusedReview::read(&arguments, &environment(variables))
        };
        let of = |mr: Option<&str>| {
            Some(RefusedReview {
                mr: mr.map(str::to_owned),
                ca_file: None,
                check_name: "conclave".to_owned(),
            })
        };
        assert_eq!(read("conclave review --nonsense", &[]), of(None));
        assert_eq!(
            read("conclave review --mr https://x/1 --agents many", &[]),
            of(Some("https://x/1"))
        );
        assert_eq!(
            read("conclave review --mr=https://x/1 --agents many", &[]),
            of(Some("https://x/1"))
        );
        assert_eq!(
            read("conclave review --pr https://x/1 --nonsense", &[]),
            of(Some("https://x/1"))
        );
        assert_eq!(
            read("conclave review --nonsense", &[("CONCLAVE_MR", "a")]),
            of(Some("a"))
        );
        assert_eq!(read("conclave review --dry-run --nonsense", &[]), None);
        assert_eq!(
            read("conclave review --nonsense", &[("CONCLAVE_ESTIMATE", "true")]),
            None
        );
        assert_eq!(
            read("conclave review --nonsense", &[("CONCLAVE_DRY_RUN", "false")]),
            of(None)
        );
        assert_eq!(read("conclave local --nonsense", &[]), None);
        for (line, variables) in [
            ("conclave review --check-name=gate --nonsense", &[][..]),
            ("conclave review --nonsense", &[("CONCLAVE_CHECK_NAME", "gate")][..]),
            ("conclave review --check-name=", &[("CONCLAVE_CHECK_NAME", "gate")][..]),
        ] {
            let refused = read(line, variables).expect("a review");
            assert_eq!(refused.check_name, "gate", "{line}");
        }
    }
}
