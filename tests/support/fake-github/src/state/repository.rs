//! Repositories, their people and their rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checks::{CheckRun, Status, WorkflowRun};
use super::people::Role;
use super::pull::Pull;
use crate::git::GitRepository;
use crate::ids::{AppId, RepositoryId, UserId};

/// What a protected branch asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Protection {
    /// Approvals that a merge needs.
    pub required_approvals: u32,
    /// A push that changes the diff dismisses approvals.
    pub dismiss_stale_approvals: bool,
    /// The most recent push needs the approval of somebody else.
    pub require_last_push_approval: bool,
    /// Every thread has to be resolved.
    pub require_resolution: bool,
    /// Names of required checks, with the App they have to come from.
    pub required_checks: Vec<(String, Option<AppId>)>,
    /// Only these may dismiss reviews, if there is a list.
    pub may_dismiss: Option<Vec<UserId>>,
}

/// A repository.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of a repository, not one state"
)]
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) owner: UserId,
    pub(crate) git: GitRepository,
    pub(crate) private: bool,
    pub(crate) deleted: bool,
    pub(crate) fork_of: Option<RepositoryId>,
    /// `owner/name` in lower case, from before a rename.
    pub(crate) former_names: Vec<String>,
    pub(crate) collaborators: BTreeMap<UserId, Role>,
    pub(crate) protections: BTreeMap<String, Protection>,
    /// "Allow GitHub Actions to create and approve pull requests".
    pub(crate) actions_may_approve: bool,
    /// Code scanning takes results.
    pub(crate) code_scanning: bool,
    /// The next number of an issue or pull request.
    pub(crate) next_number: u64,
    pub(crate) pulls: BTreeMap<u64, Pull>,
    pub(crate) checks: Vec<CheckRun>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) runs: Vec<WorkflowRun>,
    /// What was uploaded to code scanning: the commit, the reference, the compressed results.
    pub(crate) sarifs: BTreeMap<String, [String; 3]>,
}

impl Repository {
    /// The role of a person: the owner's, the collaborator's, or everybody's in a public repository.
    pub(crate) fn role(&self, user: UserId) -> Option<Role> {
        if user == self.owner {
            return Some(Role::Admin);
        }
        self.collaborators
            .get(&user)
            .copied()
            .or_else(|| (!self.private).then_some(Role::Read))
    }
}
