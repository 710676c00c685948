//! A merge request with its versions, discussions and review state.

use chrono::{DateTime, Utc};

use super::note::{Discussion, DraftNote, Note};
use crate::git::Commit;
use crate::git::diff::FileDiff;

/// The state of a merge request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRequestState {
    /// Open.
    Opened,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
    /// Being merged.
    Locked,
}

impl MergeRequestState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Closed => "closed",
            Self::Merged => "merged",
            Self::Locked => "locked",
        }
    }
}

/// The state of a reviewer, spelled as the API spells it.
pub(crate) const REVIEWER_STATES: [&str; 6] = [
    "unreviewed",
    "reviewed",
    "requested_changes",
    "approved",
    "unapproved",
    "review_started",
];

#[derive(Debug)]
pub(crate) struct MergeRequest {
    pub(crate) id: u64,
    pub(crate) iid: u64,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) state: MergeRequestState,
    pub(crate) author: u64,
    pub(crate) source_branch: String,
    pub(crate) target_branch: String,
    pub(crate) source_project: u64,
    pub(crate) labels: Vec<String>,
    pub(crate) assignees: Vec<u64>,
    pub(crate) reviewers: Vec<Reviewer>,
    pub(crate) approvals: Vec<Approval>,
    /// Users who requested changes and have not taken it back.
    pub(crate) blocks: Vec<u64>,
    pub(crate) block_bypassed: bool,
    pub(crate) has_conflicts: bool,
    /// Oldest first; never empty.
    pub(crate) versions: Vec<Version>,
    pub(crate) discussions: Vec<Discussion>,
    pub(crate) drafts: Vec<DraftNote>,
    pub(crate) state_events: Vec<StateEvent>,
    pub(crate) executed_commands: Vec<ExecutedCommand>,
    /// How many reads still show the merge request as not prepared.
    pub(crate) unprepared_reads: u64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl MergeRequest {
    /// The newest version.
    pub(crate) fn version(&self) -> &Version {
        self.versions.last().expect("a merge request has a version")
    }

    /// The head of the diff.
    pub(crate) fn head(&self) -> &str {
        &self.version().head
    }

    /// Whether the title marks a draft.
    pub(crate) fn is_draft(&self) -> bool {
        self.title.starts_with("Draft:")
    }

    /// Every note with its discussion, oldest first.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (&Discussion, &Note)> {
        self.discussions
            .iter()
            .flat_map(|discussion| discussion.notes.iter().map(move |note| (discussion, note)))
    }

    pub(crate) fn note(&self, id: u64) -> Option<&Note> {
        self.notes().find(|(_, note)| note.id == id).map(|(_, note)| note)
    }

    pub(crate) fn note_mut(&mut self, id: u64) -> Option<&mut Note> {
        self.discussions
            .iter_mut()
            .flat_map(|discussion| discussion.notes.iter_mut())
            .find(|note| note.id == id)
    }

    pub(crate) fn discussion(&self, id: &str) -> Option<&Discussion> {
        self.discussions.iter().find(|discussion| discussion.id == id)
    }

    pub(crate) fn discussion_mut(&mut self, id: &str) -> Option<&mut Discussion> {
        self.discussions.iter_mut().find(|discussion| discussion.id == id)
    }

    pub(crate) fn reviewer_mut(&mut self, user: u64) -> Option<&mut Reviewer> {
        self.reviewers.iter_mut().find(|reviewer| reviewer.user == user)
    }

    pub(crate) fn is_reviewer(&self, user: u64) -> bool {
        self.reviewers.iter().any(|reviewer| reviewer.user == user)
    }

    pub(crate) fn has_approved(&self, user: u64) -> bool {
        self.approvals.iter().any(|approval| approval.user == user)
    }

    /// Whether every resolvable thread is resolved.
    pub(crate) fn threads_resolved(&self) -> bool {
        self.discussions
            .iter()
            .all(|discussion| !discussion.is_resolvable() || discussion.is_resolved())
    }
}

/// One state of the diff.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    pub(crate) id: u64,
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) start: String,
    pub(crate) patch_id: String,
    pub(crate) diffs: Vec<FileDiff>,
    /// Newest first.
    pub(crate) commits: Vec<Commit>,
    pub(crate) created_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reviewer {
    pub(crate) user: u64,
    pub(crate) state: String,
    pub(crate) created_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) user: u64,
    pub(crate) approved_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub(crate) struct StateEvent {
    pub(crate) id: u64,
    pub(crate) user: u64,
    pub(crate) state: &'static str,
    pub(crate) created_at: DateTime<Utc>,
}

/// A quick action that took effect.
#[derive(Debug, Clone)]
pub(crate) struct ExecutedCommand {
    pub(crate) user: u64,
    pub(crate) command: String,
}
