//! Pull requests with their reviews, threads and comments.

use serde::{Deserialize, Serialize};

use crate::ids::{AppId, RepositoryId, UserId};

/// The state of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    /// Open.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged,
}

/// A text that somebody posted.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) id: u64,
    pub(crate) author: UserId,
    /// The App whose token posted it.
    pub(crate) app: Option<AppId>,
    pub(crate) body: String,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    /// Who edited it last, and when.
    pub(crate) edited: Option<(UserId, String)>,
    /// Why it was minimized, as in `ReportedContentClassifiers`.
    pub(crate) minimized: Option<String>,
}

/// The state of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewState {
    /// Not submitted; visible to its author only.
    Pending,
    /// Neither approves nor blocks.
    Commented,
    /// Approves.
    Approved,
    /// Blocks.
    ChangesRequested,
    /// Taken back.
    Dismissed,
}

impl ReviewState {
    /// As in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Dismissed => "DISMISSED",
        }
    }

    /// Whether it is an opinion: such a review stands until it is dismissed or followed by another.
    pub(crate) fn is_opinion(self) -> bool {
        matches!(self, Self::Approved | Self::ChangesRequested)
    }
}

/// A review.
#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) post: Post,
    pub(crate) state: ReviewState,
    /// Moves to the new head after a force-push: no evidence of what was reviewed.
    pub(crate) commit: String,
    pub(crate) submitted_at: Option<String>,
    pub(crate) dismissal: Option<Dismissal>,
}

/// The event of a review that was dismissed.
#[derive(Debug, Clone)]
pub(crate) struct Dismissal {
    pub(crate) by: UserId,
    pub(crate) at: String,
    pub(crate) before: ReviewState,
}

impl Review {
    /// Takes the review back, and notes who has.
    pub(crate) fn dismiss(&mut self, by: UserId, at: String) {
        let before = std::mem::replace(&mut self.state, ReviewState::Dismissed);
        self.dismissal = Some(Dismissal { by, at, before });
    }
}

/// The side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Side {
    /// Removed lines, by their number at base.
    Left,
    /// Added and unchanged lines, by their number at head.
    Right,
}

/// Where a thread stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: String,
    /// The whole file instead of lines.
    pub(crate) is_file: bool,
    pub(crate) side: Side,
    pub(crate) start_side: Option<Side>,
    /// Nothing once the thread is outdated.
    pub(crate) line: Option<u64>,
    pub(crate) start_line: Option<u64>,
    pub(crate) position: Option<u64>,
    pub(crate) commit: String,
    pub(crate) original_line: Option<u64>,
    pub(crate) original_start_line: Option<u64>,
    pub(crate) original_position: Option<u64>,
    pub(crate) original_commit: String,
    pub(crate) diff_hunk: String,
    pub(crate) outdated: bool,
}

/// A thread: only GraphQL knows it.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    pub(crate) place: Place,
    pub(crate) resolved_by: Option<UserId>,
    pub(crate) comments: Vec<ReviewComment>,
}

/// A comment of a thread.
#[derive(Debug, Clone)]
pub(crate) struct ReviewComment {
    pub(crate) post: Post,
    pub(crate) review: u64,
}

/// A pull request.
#[derive(Debug, Clone)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: UserId,
    pub(crate) state: PullState,
    pub(crate) draft: bool,
    pub(crate) locked: bool,
    /// Another repository for a pull request from a fork.
    pub(crate) head_repository: RepositoryId,
    pub(crate) head_branch: String,
    pub(crate) head: String,
    pub(crate) base_branch: String,
    /// The tip of the target branch when the head was last pushed.
    pub(crate) base: String,
    pub(crate) merge_base: String,
    /// The test merge; nothing when there are conflicts.
    pub(crate) merge_commit: Option<String>,
    /// Heads before the current one.
    pub(crate) former_heads: Vec<String>,
    /// Reads until `mergeable` is computed.
    pub(crate) unmergeable_reads: u32,
    pub(crate) labels: Vec<String>,
    pub(crate) requested_reviewers: Vec<UserId>,
    pub(crate) requested_teams: Vec<String>,
    pub(crate) auto_merge: bool,
    pub(crate) reviews: Vec<Review>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) comments: Vec<Post>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) closed_at: Option<String>,
}

impl Pull {
    pub(crate) fn review(&self, id: u64) -> Option<&Review> {
        self.reviews.iter().find(|review| review.post.id == id)
    }

    pub(crate) fn review_mut(&mut self, id: u64) -> Option<&mut Review> {
        self.reviews.iter_mut().find(|review| review.post.id == id)
    }

    /// Every comment of every thread, in the order of their ids.
    pub(crate) fn review_comments(&self) -> impl Iterator<Item = (&Thread, &ReviewComment)> {
        let all = self
            .threads
            .iter()
            .flat_map(|thread| thread.comments.iter().map(move |comment| (thread, comment)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(_, comment)| comment.post.id);
        all.into_iter()
    }

    /// Whether a comment belongs to a review that was not submitted.
    pub(crate) fn is_pending(&self, comment: &ReviewComment) -> bool {
        let review = self.review(comment.review);
        review.is_some_and(|review| review.state == ReviewState::Pending)
    }

    /// A thread of which somebody may see at least one comment.
    pub(crate) fn visible_comments<'a>(&'a self, thread: &'a Thread, viewer: Option<UserId>) -> Vec<&'a ReviewComment> {
        let comments = thread.comments.iter();
        comments
            .filter(|comment| !self.is_pending(comment) || viewer == Some(comment.post.author))
            .collect()
    }

    /// The last opinion of each account, in the order of their submission.
    pub(crate) fn opinions(&self) -> Vec<&Review> {
        let mut opinions: Vec<&Review> = Vec::new();
        for review in self.reviews.iter().filter(|review| review.state.is_opinion()) {
            opinions.retain(|earlier| earlier.post.author != review.post.author);
            opinions.push(review);
        }
        opinions
    }

    /// The post that has a text, by its kind and id.
    pub(crate) fn post_mut(&mut self, kind: crate::ids::Kind, id: u64) -> Option<&mut Post> {
        use crate::ids::Kind;
        let mut posts: Box<dyn Iterator<Item = &mut Post>> = match kind {
            Kind::IssueComment => Box::new(self.comments.iter_mut()),
            Kind::Review => Box::new(self.reviews.iter_mut().map(|review| &mut review.post)),
            Kind::ReviewComment => {
                let comments = self.threads.iter_mut().flat_map(|thread| &mut thread.comments);
                Box::new(comments.map(|comment| &mut comment.post))
            }
            _ => Box::new(std::iter::empty()),
        };
        posts.find(|post| post.id == id)
    }
}
