//! A project: its repository, members, settings and merge requests.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::merge_request::MergeRequest;
use super::people::AccessLevel;
use crate::git::Repository;

/// Who can see a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Members only.
    Private,
    /// Every signed-in user.
    Internal,
    /// Everyone.
    Public,
}

impl Visibility {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }
}

/// The approval settings of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalSettings {
    /// How many approvals a merge request needs (Premium).
    pub required: u64,
    /// The author may approve the own merge request.
    pub author_may_approve: bool,
    /// A push removes every approval.
    pub reset_on_push: bool,
    /// Whoever wrote a commit of a merge request may approve it.
    pub committers_may_approve: bool,
}

/// What a test can set on a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSettings {
    /// Who can see the project.
    pub visibility: Visibility,
    /// The approval settings.
    pub approvals: ApprovalSettings,
    /// An unresolved thread blocks the merge.
    pub all_threads_must_be_resolved: bool,
    /// A pipeline that fails blocks the merge.
    pub pipelines_must_succeed: bool,
    /// Branches that everybody with the role Developer may push to. The default branch is protected unless it is one of them.
    pub unprotected_branches: Vec<String>,
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self {
            visibility: Visibility::Private,
            approvals: ApprovalSettings::default(),
            all_threads_must_be_resolved: false,
            pipelines_must_succeed: false,
            unprotected_branches: Vec::new(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) id: u64,
    pub(crate) path_with_namespace: String,
    pub(crate) former_paths: Vec<String>,
    pub(crate) default_branch: String,
    pub(crate) settings: ProjectSettings,
    pub(crate) repository: Repository,
    pub(crate) members: BTreeMap<u64, AccessLevel>,
    pub(crate) forked_from: Option<u64>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) merge_requests: BTreeMap<u64, MergeRequest>,
}

impl Project {
    /// The last part of the path.
    pub(crate) fn path(&self) -> &str {
        self.path_with_namespace.rsplit('/').next().unwrap_or_default()
    }

    /// Everything before the last part of the path.
    pub(crate) fn namespace(&self) -> &str {
        self.path_with_namespace
            .rsplit_once('/')
            .map_or("root", |(namespace, _)| namespace)
    }
}
