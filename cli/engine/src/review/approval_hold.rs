//! Reasons why the bot leaves an approval to a person although the verdict alone would allow it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One reason for the bot to withhold its approval. The verdict itself does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalHold {
    /// What kind of reason it is.
    pub cause: HoldCause,
    /// The reason in a sentence, for the note and the terminal.
    pub reason: String,
    /// Files, places (`path:line`) or addresses of notes that it is about; empty where it is about the whole review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

impl ApprovalHold {
    /// A reason that is about the whole review.
    pub fn new(cause: HoldCause, reason: impl Into<String>) -> Self {
        Self {
            cause,
            reason: reason.into(),
            places: Vec::new(),
        }
    }

    /// The same reason, with the files or places that it is about.
    #[must_use]
    pub fn at(mut self, places: impl IntoIterator<Item = String>) -> Self {
        self.places.extend(places);
        self
    }
}

/// The kinds of reasons to withhold an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldCause {
    /// A finding of the run, standing or not, says that the change tries to steer its reviewers.
    PromptInjection,
    /// The judge refuted a serious finding with lines that this change itself adds or alters, or that the target branch no longer has.
    RefutedByThisChange,
    /// A judge was asked and did not take part, and there are findings.
    NoJudge,
    /// A reviewer reported a critical problem and could not quote the code that shows it.
    UnprovenCritical,
    /// A dependency comes from another registry or host, has another hash for the same version, or its lock file cannot be read.
    Dependencies,
    /// Files that can run or steer something were left out of the review.
    ReadByNobody,
    /// The target branch or a setting on it is another one, its newest commit is unknown, or merging changes what the diff does not show.
    TargetBranch,
    /// An earlier review requested changes, and this one is not a whole one.
    BlockStands,
    /// No file of the change was reviewed: each is noise, or there is none.
    NothingReviewed,
    /// Added code holds characters that show something else than what runs.
    TrojanSource,
    /// Findings of an earlier review had no room on the merge request, and their code is as it was.
    Unlisted,
    /// A setting that protects, or a rule, cannot be read, so it is not in force.
    Settings,
    /// Another run has posted findings, or a verdict that does not approve, while this review was at work.
    OtherRun,
    /// A person has taken the bot's approval of this commit back, or dismissed its review.
    Dismissed,
    /// Earlier reviews of the bot's account cannot be read: they are signed with another secret, edited by another account, or deleted.
    UnreadableReviews,
}

impl HoldCause {
    /// Whether the verdict itself rests on words that nothing confirms. Then it lifts no earlier block either.
    pub const fn doubts_the_verdict(self) -> bool {
        matches!(
            self,
            Self::PromptInjection
                | Self::RefutedByThisChange
                | Self::NoJudge
                | Self::UnprovenCritical
                | Self::TargetBranch
                | Self::Unlisted
                | Self::Settings
                | Self::OtherRun
                | Self::UnreadableReviews
        )
    }

    /// Whether an earlier review may have blocked without this one seeing it. Then the gate stays closed.
    pub const fn may_hide_a_block(self) -> bool {
        matches!(self, Self::UnreadableReviews)
    }

    /// The title of a notice about it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::PromptInjection => "Attempt to steer this review",
            Self::RefutedByThisChange => "Refuted or fixed by this change itself",
            Self::NoJudge => "No judge took part",
            Self::UnprovenCritical => "Unproven finding",
            Self::Dependencies => "Dependencies",
            Self::ReadByNobody => "Read by nobody",
            Self::TargetBranch => "Target branch",
            Self::BlockStands => "Request for changes",
            Self::NothingReviewed => "Nothing reviewed",
            Self::TrojanSource => "Hidden characters in code",
            Self::Unlisted => "Findings without room",
            Self::Settings => "Settings that cannot be read",
            Self::OtherRun => "Another run",
            Self::Dismissed => "Dismissed by a person",
            Self::UnreadableReviews => "Reviews that cannot be read",
        }
    }
}
