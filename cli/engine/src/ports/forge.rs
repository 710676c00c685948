//! The forge: where the merge request comes from and where the review goes.

use async_trait::async_trait;

use serde::{Deserialize, Serialize};

use crate::{
    prompt::Untrusted,
    report::{FindingRecord, Review},
    rereview::AnchorState,
};

/// What is reviewed, in the words of its author.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewSubject {
    /// `gitlab` or `local`.
    pub forge: &'static str,
    /// The project's path on the forge, or the directory's name.
    pub project: String,
    /// The merge request's number in its project.
    pub merge_request: Option<u64>,
    /// Where a person can look at it.
    pub web_url: Option<String>,
    /// The merge base.
    pub base_sha: String,
    /// The reviewed commit.
    pub head_sha: String,
    /// The title.
    pub title: Untrusted,
    /// The description.
    pub description: Untrusted,
    /// The branch that is to be merged.
    pub source_branch: Untrusted,
    /// The branch that it is merged into.
    pub target_branch: Untrusted,
    /// First lines of the commit messages, newest first.
    pub commit_subjects: Vec<Untrusted>,
    /// What people wrote, oldest first; neither the forge's own messages nor ours.
    pub comments: Vec<Comment>,
    /// Our own earlier findings: those that the forge shows as threads, and those that only our summary shows.
    pub existing_findings: Vec<ExistingFinding>,
    /// Our own last review, as it stands on the forge.
    pub previous_review: Option<Untrusted>,
    /// Whether the author says that it is not finished.
    pub draft: bool,
    /// Whether it comes from another project: such a one is never approved.
    pub from_fork: bool,
}

/// What a person wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comment {
    /// The account's name.
    pub author: Untrusted,
    /// The text.
    pub body: Untrusted,
}

/// A finding of an earlier review of ours, as a thread on the forge or as a part of our summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingFinding {
    /// The name that the coordinator uses: `E1`, … Given by [`crate::rereview::assess`].
    pub id: String,
    /// What we know of it. File and lines are those at head, as far as the code was found again.
    pub record: FindingRecord,
    /// Its thread; none for one that only our summary shows.
    pub thread: Option<String>,
    /// What has become of the thread.
    pub state: ThreadState,
    /// What we wrote.
    pub body: Untrusted,
    /// What was answered in the thread, oldest first.
    pub replies: Vec<Reply>,
    /// What has become of the code since.
    pub anchor: AnchorState,
    /// The code that it stands on, as it is at head; empty if it is gone.
    pub code: String,
    /// What the last review made of it.
    pub before: Before,
}

/// What the last review remembered of an earlier finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// It stood, in the summary only, or nothing is remembered.
    #[default]
    Stood,
    /// It stood, and a thread showed it.
    Posted,
    /// It was found to be fixed; its thread was left to the people who talk in it.
    Fixed,
    /// We resolved its thread.
    Resolved,
    /// We had resolved its thread, and a person opened it again: from then on it is that person's to resolve.
    Reopened,
}

/// An answer in a thread of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The account's name.
    pub author: Untrusted,
    /// The text.
    pub body: Untrusted,
    /// Whose word it is.
    pub voice: Voice,
}

/// Whose word something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Voice {
    /// Our own account's.
    Us,
    /// A person's with at least the role Developer: such a word decides.
    Member,
    /// A person's without it: it is read, and decides nothing.
    #[default]
    Outsider,
    /// Another program's.
    Machine,
}

impl Voice {
    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::Member => "member",
            Self::Outsider => "not a member",
            Self::Machine => "a program",
        }
    }

    /// Whether a person speaks.
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Member | Self::Outsider)
    }
}

/// What has become of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// It is open.
    #[default]
    Open,
    /// We resolved it.
    ResolvedByUs,
    /// A person resolved it who has at least the role Developer.
    ResolvedByPerson,
    /// Somebody resolved it who may not decide that: a person without that role, or another program. The finding stands.
    ResolvedByOther,
}

impl ThreadState {
    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ResolvedByUs => "resolved by us",
            Self::ResolvedByPerson => "resolved by a person",
            Self::ResolvedByOther => "resolved by somebody who is no member",
        }
    }
}

/// The forge failed. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ForgeError(pub String);

/// What became of a posted review.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PublishOutcome {
    /// Where the review can be read.
    pub url: Option<String>,
    /// Whether the forge counts our approval, read back after posting.
    pub approved: bool,
    /// What did not work as asked, in words.
    pub warnings: Vec<String>,
}

/// A place where reviews are posted.
#[async_trait]
pub trait Forge: Send + Sync {
    /// Posts the review and sets the approval that its verdict asks for.
    async fn publish(&self, review: &Review, text: &str) -> Result<PublishOutcome, ForgeError>;
}
