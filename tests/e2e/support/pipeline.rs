//! A merge-request pipeline on the GitLab stand-in.

use conclave_fake_gitlab::{
    AccessLevel, Builder, FakeGitlab, MergeRequestRef, NewMergeRequest, ProjectId, Scope, ThreadSnapshot, UserId,
};

use super::{Conclave, Repository};

/// The project's path.
pub(crate) const PROJECT: &str = "group/service";
/// The account that reviews.
pub(crate) const BOT: &str = "conclave-bot";

/// A project and a bot that may review its merge requests.
pub(crate) struct ProjectWithBot {
    pub(crate) gitlab: FakeGitlab,
    pub(crate) project: ProjectId,
    /// Who opens merge requests.
    pub(crate) author: UserId,
    /// Who reviews them.
    pub(crate) bot: UserId,
    pub(crate) token: String,
}

impl ProjectWithBot {
    /// The project of this repository.
    pub(crate) async fn on(builder: Builder, repository: &Repository) -> Self {
        repository.git(&["checkout", "--quiet", "main"]);
        let gitlab = builder.start().await;
        let author = gitlab.create_user("alice");
        let bot = gitlab.create_bot(BOT);
        let project = gitlab.create_project_from_git(repository.path(), PROJECT);
        gitlab.add_member(project, author, AccessLevel::Developer);
        gitlab.add_member(project, bot, AccessLevel::Developer);
        let token = gitlab.create_token(bot, &[Scope::Api]);
        Self {
            gitlab,
            project,
            author,
            bot,
            token,
        }
    }
}

/// A call with the variables of the merge request's pipeline.
pub(crate) fn in_pipeline(
    gitlab: &FakeGitlab,
    token: &str,
    merge_request: MergeRequestRef,
    repository: &Repository,
    call: Conclave,
) -> Conclave {
    call.env("CI_API_V4_URL", gitlab.api_url())
        .env("CI_PROJECT_DIR", repository.path())
        .env("CI_MERGE_REQUEST_PROJECT_ID", merge_request.project.0.to_string())
        .env("CI_MERGE_REQUEST_PROJECT_PATH", PROJECT)
        .env("CI_MERGE_REQUEST_IID", merge_request.iid.to_string())
        .env("GITLAB_TOKEN", token)
}

/// A project with an open merge request from `feature` to `main`, and a bot that may review it.
pub(crate) struct Pipeline {
    pub(crate) gitlab: FakeGitlab,
    pub(crate) merge_request: MergeRequestRef,
    /// Who opened it.
    pub(crate) author: UserId,
    /// Who reviews it.
    pub(crate) bot: UserId,
    pub(crate) token: String,
}

impl Pipeline {
    pub(crate) async fn new(repository: &Repository) -> Self {
        Self::on(FakeGitlab::builder(), repository).await
    }

    /// The same on a server with other switches.
    pub(crate) async fn on(builder: Builder, repository: &Repository) -> Self {
        let ProjectWithBot {
            gitlab,
            project,
            author,
            bot,
            token,
        } = ProjectWithBot::on(builder, repository).await;
        // As `docs/gitlab.md` says that it should be.
        gitlab.set_project(project, |settings| settings.pipelines_must_succeed = true);
        let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
        Self {
            gitlab,
            merge_request,
            author,
            bot,
            token,
        }
    }

    /// Another member of the project.
    pub(crate) fn member(&self, name: &str, level: AccessLevel) -> UserId {
        let user = self.gitlab.create_user(name);
        self.gitlab.add_member(self.merge_request.project, user, level);
        user
    }

    /// The thread about this category.
    pub(crate) fn thread_about(&self, category: &str) -> ThreadSnapshot {
        let snapshot = self.gitlab.snapshot(self.merge_request);
        let of = |thread: &ThreadSnapshot| thread.notes[0].body.contains(category);
        snapshot.threads.into_iter().find(of).expect("it has a thread")
    }

    /// `conclave review` with the variables of the merge request's pipeline.
    pub(crate) fn job(&self, repository: &Repository, arguments: &[&str]) -> Conclave {
        self.command_of("review", self.merge_request, repository, arguments)
    }

    /// The same on a kernel whose Landlock has this version.
    pub(crate) fn job_on_landlock(&self, version: u8, repository: &Repository, arguments: &[&str]) -> Conclave {
        let all = [&["review"], arguments].concat();
        let job = Conclave::on_landlock(version, repository.path(), &all);
        self.variables_of(self.merge_request, repository, job)
    }

    /// The same for another merge request of the project.
    pub(crate) fn job_of(
        &self,
        merge_request: MergeRequestRef,
        repository: &Repository,
        arguments: &[&str],
    ) -> Conclave {
        self.command_of("review", merge_request, repository, arguments)
    }

    /// Another command with the same variables.
    pub(crate) fn command(&self, command: &str, repository: &Repository, arguments: &[&str]) -> Conclave {
        self.command_of(command, self.merge_request, repository, arguments)
    }

    fn command_of(
        &self,
        command: &str,
        merge_request: MergeRequestRef,
        repository: &Repository,
        arguments: &[&str],
    ) -> Conclave {
        let mut all = vec![command];
        all.extend(arguments);
        self.variables_of(merge_request, repository, Conclave::new(repository.path(), &all))
    }

    /// A call with the variables of a merge request's pipeline.
    pub(crate) fn variables_of(
        &self,
        merge_request: MergeRequestRef,
        repository: &Repository,
        call: Conclave,
    ) -> Conclave {
        in_pipeline(&self.gitlab, &self.token, merge_request, repository, call)
    }

    /// The bot's notes on a merge request.
    pub(crate) fn notes_of(&self, merge_request: MergeRequestRef) -> Vec<String> {
        let snapshot = self.gitlab.snapshot(merge_request);
        let own = snapshot.notes.into_iter().filter(|note| note.author == BOT);
        own.map(|note| note.body).collect()
    }

    /// The bot's notes.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes_of(self.merge_request)
    }

    /// Returns whether the bot approves.
    pub(crate) fn approved(&self) -> bool {
        let snapshot = self.gitlab.snapshot(self.merge_request);
        snapshot.approved_by.iter().any(|name| name == BOT)
    }
}
