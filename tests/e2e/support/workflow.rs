//! A pull request on the GitHub stand-in, and the jobs of its workflow.

use std::path::Path;

use conclave_fake_github::{
    FakeGithub, Job, JobEvent, NewPull, Permissions, PullRef, PullSnapshot, RepositoryId, Role, UserId,
};

use super::{Conclave, Repository};

/// The account of the jobs' tokens.
pub(crate) const ACTIONS_BOT: &str = "github-actions[bot]";

/// A repository with an open pull request from `feature` to `main`, and the token that its jobs have.
pub(crate) struct Workflow {
    pub(crate) github: FakeGithub,
    pub(crate) repository: RepositoryId,
    pub(crate) pull: PullRef,
    pub(crate) token: String,
    /// The account that opened the pull request, which has write access.
    pub(crate) author: UserId,
}

impl Workflow {
    pub(crate) async fn new(repository: &Repository) -> Self {
        Self::on(FakeGithub::start().await, repository)
    }

    /// The same on this server.
    pub(crate) fn on(github: FakeGithub, repository: &Repository) -> Self {
        repository.git(&["checkout", "--quiet", "main"]);
        let owner = github.create_organization("acme");
        let author = github.create_user("alice");
        let id = github.create_repository(owner, "service", repository.path());
        github.set_role(id, author, Some(Role::Write));
        let pull = github.open_pull(id, NewPull::new(author, "feature", "main"));
        let token = github.actions_token(id, Permissions::review());
        Self {
            github,
            repository: id,
            pull,
            token,
            author,
        }
    }

    /// Another person with write access.
    pub(crate) fn member(&self, name: &str) -> UserId {
        let user = self.github.create_user(name);
        self.github.set_role(self.repository, user, Some(Role::Write));
        user
    }

    pub(crate) fn push(&self, repository: &Repository) {
        self.github.push(self.repository, repository.path(), "feature");
    }

    pub(crate) fn snapshot(&self) -> PullSnapshot {
        self.github.snapshot(self.pull)
    }

    /// The bot's comments on the pull request.
    pub(crate) fn comments(&self) -> Vec<String> {
        let comments = self.snapshot().comments.into_iter();
        let own = comments.filter(|comment| comment.author == ACTIONS_BOT);
        own.map(|comment| comment.body).collect()
    }

    /// The variables and files of a job of `pull_request`.
    pub(crate) fn opened(&self, workspace: &Path) -> Job {
        self.github
            .job(self.pull, &JobEvent::PullRequest("synchronize"), workspace)
    }

    /// `conclave review` in this job.
    pub(crate) fn review_in(&self, job: &Job, repository: &Repository, arguments: &[&str]) -> Conclave {
        let mut all = vec!["review"];
        all.extend(arguments);
        self.in_job(job, Conclave::new(repository.path(), &all))
    }

    /// A call with the variables of a job, and its token.
    pub(crate) fn in_job(&self, job: &Job, call: Conclave) -> Conclave {
        let call = job
            .variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, value));
        call.env("GITHUB_TOKEN", &self.token)
    }
}
