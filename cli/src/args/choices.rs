//! The values that flags take.

use std::{fmt::Display, str::FromStr};

use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use conclave_engine::{
    publish::BreakGlassPolicy,
    repo_config::{RepoGate, RuntimeChoice},
    review::ReviewMode,
};
use conclave_shared::{config::Preset, sandbox::SandboxLevel};

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

impl ReviewFormat {
    /// The same format of a plan, which has fewer.
    pub(crate) const fn of_plan(self) -> Option<Format> {
        match self {
            Self::Human => Some(Format::Human),
            Self::Json => Some(Format::Json),
            Self::Markdown | Self::Sarif | Self::Prompt => None,
        }
    }
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

/// A forge that a repository is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InitForge {
    /// GitLab: a job of its CI
    Gitlab,
    /// GitHub: a workflow of Actions
    Github,
}

/// The conclusion of the check of an approval with comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CommentsConclude {
    /// It is green
    #[default]
    Success,
    /// It is grey, and passes
    Neutral,
}

/// The values of a flag that become a type from elsewhere: each with its name, and what it means.
pub(crate) type Choices<T> = &'static [(&'static str, T, &'static str)];

pub(crate) const MODES: Choices<ReviewMode> = &[
    ("comment", ReviewMode::Comment, "Comment, and nothing else"),
    ("approve", ReviewMode::Approve, "Approve, and never block"),
    (
        "gate",
        ReviewMode::Gate,
        "Approve, or request changes, which blocks the merge",
    ),
];

pub(crate) const REQUIRED_SANDBOXES: Choices<SandboxLevel> = &[
    ("enforced", SandboxLevel::Enforced, "All of it has to hold"),
    ("partial", SandboxLevel::Partial, "At least files have to be shut"),
];

pub(crate) const BREAK_GLASS: Choices<BreakGlassPolicy> = &[
    (
        "developers",
        BreakGlassPolicy::Developers,
        "That of the people whom `[break_glass]` of the target branch names",
    ),
    (
        "not-author",
        BreakGlassPolicy::NotAuthor,
        "Only that of developers who neither opened the change nor committed to it",
    ),
    ("off", BreakGlassPolicy::Off, "No comment skips it"),
];

pub(crate) const PRESETS: Choices<Preset> = &[
    ("current", Preset::Current, "The newest generation of models"),
    (
        "yardstick",
        Preset::Yardstick,
        "What the system that Conclave is measured against ran",
    ),
    (
        "local",
        Preset::Local,
        "The models of `current`; long waits, a small context and two reviewers at once, for a model server of your own",
    ),
];

pub(crate) const RUNTIMES: Choices<RuntimeChoice> = &[
    (
        "auto",
        RuntimeChoice::Auto,
        "OpenCode where the pinned one is installed, else the native one",
    ),
    ("opencode", RuntimeChoice::OpenCode, "OpenCode, as a child process"),
    ("native", RuntimeChoice::Native, "Conclave's own, in process"),
];

/// Reads one of these values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(choices: Choices<T>) -> impl TypedValueParser<Value = T> {
    let values = choices
        .iter()
        .map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(move |name| {
        let chosen = choices.iter().find(|(known, ..)| *known == name);
        chosen.map(|(_, value, _)| *value).ok_or("this value is not known")
    })
}

/// Reads a whole number within these bounds.
pub(crate) fn whole<T>(least: T, most: Option<T>) -> impl TypedValueParser<Value = T>
where
    T: Copy + PartialOrd + Display + FromStr + Send + Sync + 'static,
{
    move |text: &str| -> Result<T, String> {
        let within = |number: &T| *number >= least && most.is_none_or(|most| *number <= most);
        text.parse::<T>().ok().filter(within).ok_or_else(|| {
            let range = match most {
                Some(most) => format!("from {least} to {most}"),
                None => format!("of at least {least}"),
            };
            format!("a whole number {range} is needed, in digits alone")
        })
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
}
