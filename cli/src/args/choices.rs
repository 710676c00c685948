//! The values that flags choose between.

use clap::ValueEnum;
use conclave_engine::{publish::BreakGlassPolicy, repo_config::RepoGate, review::ReviewMode};
use conclave_shared::config::Preset;

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
    /// That of the people whom `[break_glass]` of the target branch names
    #[default]
    Developers,
    /// Only that of developers who neither opened the merge request nor committed to it
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
