//! The change that is reviewed, in the words of its author.

use super::{CommentPlace, ExistingFinding, OpenQuestions};
use crate::untrusted::Untrusted;

/// What is reviewed, in the words of its author.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewSubject {
    /// `gitlab`, `github` or `local`.
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
    /// The questions in these comments that wait for an answer. Set when the review is prepared.
    pub questions: OpenQuestions,
    /// True if a light-hearted question has been answered as such.
    pub aside_given: bool,
    /// Our own earlier findings: those that the forge shows as threads, and those that only our summary shows.
    pub existing_findings: Vec<ExistingFinding>,
    /// Our own last review, as it stands on the forge.
    pub previous_review: Option<Untrusted>,
    /// True if the author says that it is not finished.
    pub draft: bool,
    /// True if it comes from another project: such a one is never approved.
    pub from_fork: bool,
}

impl ReviewSubject {
    /// The commit that settings, rules and instructions are read from. It is never one of the change itself.
    pub fn settings_commit(&self) -> &str {
        self.settings_sha.as_deref().unwrap_or(&self.base_sha)
    }

    /// The tip of the target branch when the run began, if it is known and is not the merge base. What a local review compares with is
    /// not merged into anything.
    pub fn moved_target(&self) -> Option<&str> {
        let tip = self.settings_sha.as_deref().filter(|tip| *tip != self.base_sha);
        tip.filter(|_| self.merge_request.is_some())
    }
}

/// What a person wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comment {
    /// The account's name.
    pub author: Untrusted,
    /// The text.
    pub body: Untrusted,
    /// Grows with time: what was written later has a higher one.
    pub order: u64,
    /// True if a program wrote it: the account is a bot, or belongs to a token.
    pub by_program: bool,
    /// The place of an answer to it; none if it needs none: a program wrote it, we have answered it, another person has in its
    /// thread, or the thread is resolved.
    pub waits: Option<CommentPlace>,
}
