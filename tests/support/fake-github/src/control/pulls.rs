//! Pull requests and what happens to them.

use serde::Deserialize;

use crate::ids::{Kind, PullRef, RepositoryId, UserId};
use crate::rules::synchronize;
use crate::server::FakeGithub;
use crate::state::pull::{Pull, PullState};

/// A pull request that is to be opened.
#[derive(Debug, Clone, Deserialize)]
pub struct NewPull {
    /// The title.
    #[serde(default)]
    pub title: String,
    /// The description.
    #[serde(default)]
    pub body: String,
    /// Who opens it.
    pub author: UserId,
    /// The branch with the change.
    pub head: String,
    /// The branch it goes to.
    pub base: String,
    /// The fork that has the branch; the repository itself by default.
    #[serde(default)]
    pub head_repository: Option<RepositoryId>,
    /// Whether it is a draft.
    #[serde(default)]
    pub draft: bool,
}

impl NewPull {
    /// A pull request within one repository.
    pub fn new(author: UserId, head: &str, base: &str) -> Self {
        Self {
            title: format!("Merge {head}"),
            body: String::new(),
            author,
            head: head.to_owned(),
            base: base.to_owned(),
            head_repository: None,
            draft: false,
        }
    }

    /// The same from a fork.
    #[must_use]
    pub fn from_fork(mut self, fork: RepositoryId) -> Self {
        self.head_repository = Some(fork);
        self
    }
}

impl FakeGithub {
    /// Opens a pull request.
    pub fn open_pull(&self, repository: RepositoryId, new: NewPull) -> PullRef {
        let mut core = self.server.core();
        let state = &mut core.state;
        let head_repository = new.head_repository.unwrap_or(repository);
        let head = state
            .repository(head_repository)
            .git
            .branch_head(&new.head)
            .expect("the branch with the change exists");
        let (id, created_at) = (state.next_id(Kind::Pull), state.tick());
        let target = state.repository_mut(repository);
        let number = target.next_number;
        target.next_number += 1;
        let pull = Pull {
            id,
            title: new.title,
            body: new.body,
            author: new.author,
            state: PullState::Open,
            draft: new.draft,
            locked: false,
            head_repository,
            head_branch: new.head,
            head: String::new(),
            base_branch: new.base,
            base: String::new(),
            merge_base: String::new(),
            merge_commit: None,
            former_heads: Vec::new(),
            unmergeable_reads: 0,
            labels: Vec::new(),
            requested_reviewers: Vec::new(),
            requested_teams: Vec::new(),
            auto_merge: false,
            reviews: Vec::new(),
            threads: Vec::new(),
            comments: Vec::new(),
            updated_at: created_at.clone(),
            created_at,
            closed_at: None,
        };
        target.pulls.insert(number, pull);
        let at = PullRef { repository, number };
        synchronize::refresh(state, at, &head);
        at
    }

    /// Makes a pull request a draft, or ready for review.
    pub fn set_draft(&self, pull: PullRef, draft: bool) {
        self.server.core().state.pull_mut(pull).draft = draft;
    }

    /// Changes title and description.
    pub fn describe(&self, pull: PullRef, title: &str, body: &str) {
        let mut core = self.server.core();
        let pull = core.state.pull_mut(pull);
        title.clone_into(&mut pull.title);
        body.clone_into(&mut pull.body);
    }

    /// Closes, merges or reopens a pull request. A merge moves the target branch.
    pub fn set_state(&self, pull: PullRef, to: PullState) {
        let mut core = self.server.core();
        let now = core.state.tick();
        let own = core.state.pull_mut(pull);
        own.state = to;
        own.closed_at = (to != PullState::Open).then_some(now);
        let (branch, merge) = (own.base_branch.clone(), own.merge_commit.clone());
        if to == PullState::Merged {
            let merge = merge.expect("a merged pull request has no conflicts");
            core.state
                .repository(pull.repository)
                .git
                .set_reference(&format!("refs/heads/{branch}"), &merge);
        }
    }

    /// Gives a pull request another target branch.
    pub fn retarget(&self, pull: PullRef, base: &str) {
        let mut core = self.server.core();
        base.clone_into(&mut core.state.pull_mut(pull).base_branch);
        let head = core.state.pull(pull).head.clone();
        synchronize::refresh(&mut core.state, pull, &head);
    }

    /// Locks the conversation, or unlocks it.
    pub fn set_locked(&self, pull: PullRef, locked: bool) {
        self.server.core().state.pull_mut(pull).locked = locked;
    }

    /// Puts labels on a pull request instead of those it has.
    pub fn set_labels(&self, pull: PullRef, labels: &[&str]) {
        self.server.core().state.pull_mut(pull).labels = labels.iter().map(|&label| label.to_owned()).collect();
    }

    /// Switches auto-merge on or off.
    pub fn set_auto_merge(&self, pull: PullRef, on: bool) {
        self.server.core().state.pull_mut(pull).auto_merge = on;
    }
}
