//! Projects, pushes and merge requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::git::Repository;
use crate::review::opening::create_merge_request;
use crate::review::quick_actions::{Summary, change_state};
use crate::review::versions;
use crate::server::FakeGitlab;
use crate::state::State;
use crate::state::merge_request::{MergeRequestState, Reviewer};
use crate::state::project::{Project, ProjectSettings};
use crate::{MergeRequestRef, NewMergeRequest, ProjectId, UserId};

impl FakeGitlab {
    /// A project whose bare repository gets every branch of the repository at `source`. The default branch is the one
    /// that is checked out there.
    pub fn create_project_from_git(&self, source: impl AsRef<Path>, path_with_namespace: &str) -> ProjectId {
        create_project(
            &mut self.server.core().state,
            source.as_ref(),
            path_with_namespace,
            None,
        )
    }

    /// A fork with its own copy of the repository.
    pub fn create_fork(&self, origin: ProjectId, path_with_namespace: &str) -> ProjectId {
        let state = &mut self.server.core().state;
        let source = state.project(origin.0).repository.path().to_owned();
        create_project(state, &source, path_with_namespace, Some(origin.0))
    }

    /// The bare repository of a project, to clone from or to push to. Pushes are noticed with the next request.
    pub fn repository_path(&self, project: ProjectId) -> PathBuf {
        self.server.core().state.project(project.0).repository.path().to_owned()
    }

    /// Changes the settings of a project.
    pub fn set_project(&self, project: ProjectId, change: impl FnOnce(&mut ProjectSettings)) {
        change(&mut self.server.core().state.project_mut(project.0).settings);
    }

    /// The settings of a project.
    pub fn project_settings(&self, project: ProjectId) -> ProjectSettings {
        self.server.core().state.project(project.0).settings.clone()
    }

    /// Moves a project to another path; the old one answers with a redirect.
    pub fn move_project(&self, project: ProjectId, path_with_namespace: &str) {
        let mut core = self.server.core();
        let project = core.state.project_mut(project.0);
        let old = std::mem::replace(&mut project.path_with_namespace, path_with_namespace.to_owned());
        project.former_paths.push(old);
    }

    /// Opens a merge request.
    pub fn create_merge_request(&self, project: ProjectId, new: NewMergeRequest) -> MergeRequestRef {
        create_merge_request(&mut self.server.core().state, project, new)
    }

    /// Pushes a branch of the repository at `working_copy`; open merge requests of the branch get a new version.
    pub fn push(&self, project: ProjectId, working_copy: impl AsRef<Path>, branch: &str) {
        let mut core = self.server.core();
        let repository = core.state.project(project.0).repository.clone();
        repository.fetch(
            working_copy.as_ref(),
            &format!("+refs/heads/{branch}:refs/heads/{branch}"),
        );
        versions::synchronise(&mut core.state, None);
    }

    /// Closes, reopens or merges a merge request.
    pub fn set_state(&self, merge_request: MergeRequestRef, user: UserId, to: MergeRequestState) {
        let mut core = self.server.core();
        change_state(&mut core.state, merge_request, user.0, to, &mut Summary::default());
    }

    /// Gives the merge request another target branch, and with it a new version of its diff.
    pub fn retarget(&self, merge_request: MergeRequestRef, branch: &str) {
        let mut core = self.server.core();
        let state = &mut core.state;
        branch.clone_into(&mut state.merge_request_mut(merge_request).target_branch);
        let head = state.merge_request(merge_request).head().to_owned();
        let version = versions::build(state, merge_request.project.0, branch, &head);
        state.merge_request_mut(merge_request).versions.push(version);
    }

    /// Changes the title.
    pub fn set_title(&self, merge_request: MergeRequestRef, title: &str) {
        title.clone_into(&mut self.server.core().state.merge_request_mut(merge_request).title);
    }

    /// Changes the description.
    pub fn set_description(&self, merge_request: MergeRequestRef, description: &str) {
        description.clone_into(&mut self.server.core().state.merge_request_mut(merge_request).description);
    }

    /// Replaces the labels.
    pub fn set_labels(&self, merge_request: MergeRequestRef, labels: &[&str]) {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.server.core().state.merge_request_mut(merge_request).labels = labels;
    }

    /// Says whether the merge request conflicts with its target.
    pub fn set_conflicts(&self, merge_request: MergeRequestRef, has_conflicts: bool) {
        self.server.core().state.merge_request_mut(merge_request).has_conflicts = has_conflicts;
    }

    /// Makes a user a reviewer.
    pub fn add_reviewer(&self, merge_request: MergeRequestRef, user: UserId) {
        let state = &mut self.server.core().state;
        let created_at = state.now();
        let merge_request = state.merge_request_mut(merge_request);
        if !merge_request.is_reviewer(user.0) {
            merge_request.reviewers.push(Reviewer {
                user: user.0,
                state: "unreviewed".to_owned(),
                created_at,
            });
        }
    }
}

fn create_project(state: &mut State, source: &Path, path_with_namespace: &str, forked_from: Option<u64>) -> ProjectId {
    let id = state.take_id();
    let repository = Repository::create_from(state.directory.join(format!("{id}.git")), source);
    let default_branch = match forked_from {
        Some(origin) => state.project(origin).default_branch.clone(),
        None => Repository::at(source).current_branch(),
    };
    repository.set_head(&default_branch);
    let project = Project {
        id,
        path_with_namespace: path_with_namespace.to_owned(),
        former_paths: Vec::new(),
        default_branch,
        settings: ProjectSettings::default(),
        repository,
        members: BTreeMap::new(),
        forked_from,
        created_at: state.now(),
        merge_requests: BTreeMap::new(),
    };
    state.projects.insert(id, project);
    ProjectId(id)
}
