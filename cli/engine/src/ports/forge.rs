//! The forge: where the merge request comes from and where the review goes.

use std::collections::HashMap;

use async_trait::async_trait;
use conclave_shared::{finding::Fingerprint, telemetry::FindingPlacement, verdict::Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    diff::{FileDiff, FilteredFile},
    prompt::Untrusted,
    report::{FindingRecord, Review},
    rereview::{AnchorState, Meanwhile},
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
    /// The commit whose settings, rules and instructions are in force: the tip of the target branch when the run began. Without
    /// one it is the merge base.
    pub settings_sha: Option<String>,
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

impl ReviewSubject {
    /// The commit that settings, rules and instructions are read from. It is never one of the change itself.
    pub fn settings_commit(&self) -> &str {
        self.settings_sha.as_deref().unwrap_or(&self.base_sha)
    }
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
    /// Whether it stood in the last review, as far as our summary remembers: what has become of it since is news.
    pub stood: bool,
    /// Whether the author of the merge request may settle it, by the settings of the target branch. Set by
    /// [`crate::rereview::assess`].
    pub author_may_settle: bool,
}

/// What the last review remembered of an earlier finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Whether the text was changed after it was written, perhaps by another person: then it is read, and decides nothing.
    pub edited: bool,
}

/// Whose word something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Voice {
    /// Our own account's.
    Us,
    /// A person's with at least the role Developer: such a word decides.
    Member,
    /// The same, of the person who opened the merge request or committed to it: such a word decides as far as the settings of
    /// the target branch say.
    Author,
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
            Self::Author => "member, author of the change",
            Self::Outsider => "not a member",
            Self::Machine => "a program",
        }
    }

    /// Whether a person speaks.
    pub const fn is_person(self) -> bool {
        matches!(self, Self::Member | Self::Author | Self::Outsider)
    }

    /// Whether a person speaks whose argument is weighed.
    pub const fn is_member(self) -> bool {
        matches!(self, Self::Member | Self::Author)
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
    /// Such a person resolved it who opened the merge request or committed to it.
    ResolvedByAuthor,
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
            Self::ResolvedByAuthor => "resolved by the author of the change",
            Self::ResolvedByOther => "resolved by somebody who is no member",
        }
    }
}

/// The forge failed. The text says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ForgeError(pub String);

/// What the verdict may do on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewMode {
    /// The review only comments: it neither approves nor blocks.
    Comment,
    /// It approves, and never blocks.
    #[default]
    Approve,
    /// It approves, and requests changes, which blocks the merge.
    Gate,
}

/// What the bot wants the merge request to show of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// It approves.
    Approved,
    /// It requests changes.
    RequestedChanges,
    /// Neither.
    None,
}

impl Stance {
    /// What a review asks for in this mode. An earlier stance is taken back by every other one.
    pub fn of(review: &Review, mode: ReviewMode) -> Self {
        match mode {
            ReviewMode::Approve | ReviewMode::Gate if review.may_approve() => Self::Approved,
            ReviewMode::Gate if review.verdict == Verdict::SignificantConcerns => Self::RequestedChanges,
            _ => Self::None,
        }
    }

    /// The word in logs and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::RequestedChanges => "requested_changes",
            Self::None => "none",
        }
    }
}

/// How a review is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishSettings {
    /// What the verdict may do.
    pub mode: ReviewMode,
    /// The most findings that stand beside their lines, those of earlier reviews included; the others are in the summary.
    pub most_inline: usize,
    /// Whether what the review has cost has to be remembered, because there is a limit for all reviews of it together.
    pub remember_cost: bool,
}

impl PublishSettings {
    /// The most findings beside their lines, if nobody says another number.
    pub const MOST_INLINE: usize = 20;
}

impl Default for PublishSettings {
    fn default() -> Self {
        Self {
            mode: ReviewMode::default(),
            most_inline: Self::MOST_INLINE,
            remember_cost: true,
        }
    }
}

/// A review that is to be posted, and what has to be known for that.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The review. No text in it holds a secret any more.
    pub review: &'a Review,
    /// The changed files: where on the diff something can be said.
    pub files: &'a [FileDiff],
    /// The files that findings are about as they stand at head, by path; what is missing gets no suggestion to commit.
    pub sources: &'a HashMap<String, String>,
    /// How it is posted.
    pub settings: PublishSettings,
    /// Whether there are only seconds left: then everything is in the summary, and nothing beside its lines.
    pub hurried: bool,
    /// Compares the settings of the review with those of a newer tip of the target branch.
    pub settings_watch: &'a dyn SettingsWatch,
}

/// The settings that a review used, beside those of another commit.
#[async_trait]
pub trait SettingsWatch: std::fmt::Debug + Send + Sync {
    /// The files that steer reviews and are not the same at this commit; an error in words if that cannot be found out.
    async fn differing(&self, commit: &str) -> Result<Vec<String>, String>;
}

/// For reviews whose settings are not in a repository: whatever the commit, nothing differs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSettings;

#[async_trait]
impl SettingsWatch for NoSettings {
    async fn differing(&self, _commit: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
}

/// What became of a posted review.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PublishOutcome {
    /// Where the review can be read.
    pub url: Option<String>,
    /// Whether the forge counts our approval, read back after posting.
    pub approved: bool,
    /// What the verdict asked for, and what the forge shows.
    pub stance: Option<AppliedStance>,
    /// Findings that now stand beside their lines and did not before.
    pub posted_inline: usize,
    /// Where each finding is shown that has a note of its own; the others that stand are in the summary.
    pub placements: HashMap<Fingerprint, FindingPlacement>,
    /// What did not work as asked, in words.
    pub warnings: Vec<String>,
    /// The review as it stands now, where something happened up to the last moment that made it another one.
    pub amended: Option<Box<Review>>,
}

/// What the verdict asked for, and what the forge shows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedStance {
    /// What was asked for.
    pub wanted: Stance,
    /// What is shown, read back; nothing where the forge does not tell.
    pub shown: Option<Stance>,
}

impl AppliedStance {
    /// Whether the forge shows something else than was asked for.
    pub fn is_mismatch(self) -> bool {
        self.shown.is_some_and(|shown| shown != self.wanted)
    }
}

/// A place where reviews are posted.
#[async_trait]
pub trait Forge: Send + Sync {
    /// Posts the review and takes the stance that its verdict asks for. A second time it changes nothing.
    async fn publish(&self, publication: Publication<'_>) -> Result<PublishOutcome, ForgeError>;

    /// Reads what other runs have posted since this one read the merge request, and what counts against this review.
    async fn meanwhile(&self, review: &Review) -> Result<Meanwhile, ForgeError>;

    /// Notes the files of a change that has none to review, for what is posted about the end of the run.
    fn left_out(&self, files: &[FilteredFile]);
    /// Sets the time for one request, from the next one on.
    fn limit_requests(&self, _limit: std::time::Duration) {}
}
