//! Repositories, their rules, and pushes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::git::GitRepository;
use crate::ids::{Kind, PullRef, RepositoryId, UserId};
use crate::rules::synchronize;
use crate::server::FakeGithub;
use crate::state::checks::WorkflowRun;
use crate::state::repository::{Protection, Repository};

impl FakeGithub {
    /// Creates a public repository with every branch of the git repository at `source`.
    pub fn create_repository(&self, owner: UserId, name: &str, source: &Path) -> RepositoryId {
        self.add_repository(owner, name, source, None)
    }

    /// Forks a repository with all its branches.
    pub fn fork(&self, repository: RepositoryId, owner: UserId) -> RepositoryId {
        let (name, source) = {
            let core = self.server.core();
            let original = core.state.repository(repository);
            (original.name.clone(), original.git.path().to_owned())
        };
        self.add_repository(owner, &name, &source, Some(repository))
    }

    /// Makes a repository private or public.
    pub fn set_private(&self, repository: RepositoryId, private: bool) {
        self.server.core().state.repository_mut(repository).private = private;
    }

    /// Deletes a repository, such as the fork of an open pull request.
    pub fn delete_repository(&self, repository: RepositoryId) {
        self.server.core().state.repository_mut(repository).deleted = true;
    }

    /// Renames a repository. Its old addresses redirect.
    pub fn rename_repository(&self, repository: RepositoryId, name: &str) {
        let mut core = self.server.core();
        let former = core.state.full_name(repository).to_lowercase();
        let repository = core.state.repository_mut(repository);
        repository.former_names.push(former);
        name.clone_into(&mut repository.name);
    }

    /// `owner/name` of a repository.
    pub fn full_name(&self, repository: RepositoryId) -> String {
        self.server.core().state.full_name(repository)
    }

    /// The bare git repository on disk.
    pub fn repository_path(&self, repository: RepositoryId) -> PathBuf {
        self.server.core().state.repository(repository).git.path().to_owned()
    }

    /// Protects a branch, or replaces what it asks for.
    pub fn protect(&self, repository: RepositoryId, branch: &str, protection: Protection) {
        let mut core = self.server.core();
        core.state
            .repository_mut(repository)
            .protections
            .insert(branch.to_owned(), protection);
    }

    /// Sets "Allow GitHub Actions to create and approve pull requests".
    pub fn allow_actions_to_approve(&self, repository: RepositoryId, allowed: bool) {
        self.server.core().state.repository_mut(repository).actions_may_approve = allowed;
    }

    /// Switches code scanning on or off.
    pub fn set_code_scanning(&self, repository: RepositoryId, on: bool) {
        self.server.core().state.repository_mut(repository).code_scanning = on;
    }

    /// Pushes a branch of the git repository at `source`, with force, and gives its pull requests their new head.
    pub fn push(&self, repository: RepositoryId, source: &Path, branch: &str) {
        let mut core = self.server.core();
        let git = core.state.repository(repository).git.clone();
        git.fetch(source, &format!("+refs/heads/{branch}:refs/heads/{branch}"));
        synchronize::all(&mut core.state);
    }

    /// Adds the run of a workflow on the head of a pull request, which another workflow follows; returns its id.
    pub fn add_workflow_run(&self, pull: PullRef, event: &str) -> u64 {
        let mut core = self.server.core();
        let id = core.state.next_id(Kind::Run);
        let own = core.state.pull(pull).clone();
        core.state.repository_mut(pull.repository).runs.push(WorkflowRun {
            id,
            event: event.to_owned(),
            head_branch: own.head_branch,
            head: own.head,
            head_repository: own.head_repository,
            pull: Some(pull.number),
            artifacts: Vec::new(),
        });
        id
    }

    /// Adds an artifact to a run.
    pub fn add_artifact(&self, repository: RepositoryId, run: u64, name: &str, zip: &[u8]) {
        let mut core = self.server.core();
        let id = core.state.next_id(Kind::Run);
        let runs = &mut core.state.repository_mut(repository).runs;
        let run = runs.iter_mut().find(|own| own.id == run).expect("the run exists");
        run.artifacts.push((id, name.to_owned(), zip.to_owned()));
    }

    fn add_repository(&self, owner: UserId, name: &str, source: &Path, fork_of: Option<RepositoryId>) -> RepositoryId {
        let mut core = self.server.core();
        let id = RepositoryId(core.state.next_id(Kind::Repository));
        let path = core.state.directory.join(format!("{}.git", id.0));
        let repository = Repository {
            name: name.to_owned(),
            owner,
            git: GitRepository::create_from(path, source),
            private: false,
            deleted: false,
            fork_of,
            former_names: Vec::new(),
            collaborators: BTreeMap::new(),
            protections: BTreeMap::new(),
            actions_may_approve: false,
            code_scanning: true,
            next_number: 1,
            pulls: BTreeMap::new(),
            checks: Vec::new(),
            statuses: Vec::new(),
            runs: Vec::new(),
            sarifs: BTreeMap::new(),
        };
        core.state.repositories.insert(id, repository);
        id
    }
}
