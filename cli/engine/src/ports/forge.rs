//! The forge: where the merge request comes from and where the review goes.

use async_trait::async_trait;

use crate::{prompt::Untrusted, report::Review};

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
    /// Our own earlier findings that stand on lines of the forge's diff, as far as the forge's plugin reads them.
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

/// A finding of an earlier review of ours, as a thread on the forge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExistingFinding {
    /// The file.
    pub file: String,
    /// The line in the newest version of the diff that the thread is on; none for the whole file.
    pub line: Option<u64>,
    /// What has become of the thread.
    pub state: ThreadState,
    /// What we wrote.
    pub body: Untrusted,
    /// What people answered, oldest first.
    pub replies: Vec<Comment>,
}

/// What has become of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThreadState {
    /// It is open.
    #[default]
    Open,
    /// We resolved it.
    ResolvedByUs,
    /// A person resolved it.
    ResolvedByPerson,
}

impl ThreadState {
    /// The words that the models read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ResolvedByUs => "resolved by us",
            Self::ResolvedByPerson => "resolved by a person",
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
