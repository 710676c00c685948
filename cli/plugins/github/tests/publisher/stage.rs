//! One pull request, the people around it, and the bot's plugin.

use std::{path::Path, process::Command, time::Duration};

use conclave_engine::publish::Signer;
use conclave_fake_github::{
    AppId, Builder, FakeGithub, NewPull, Permissions, PullRef, PullSnapshot, RepositoryId, Role, UserId,
};
use conclave_forge::{ClientTimeouts, Publisher};
use conclave_plugin_github::{GitHub, GitHubSettings};
use conclave_resilience::retry::RetryPolicy;
use tempfile::TempDir;

use crate::conformance::sample::Files;

/// The bot's name, as REST has it.
pub(crate) const BOT: &str = "conclave[bot]";

const SECRET: &str = "the installation's secret";

pub(crate) struct Stage {
    pub(crate) github: FakeGithub,
    pub(crate) repository: RepositoryId,
    pub(crate) pull: PullRef,
    /// The author of the pull request.
    pub(crate) author: UserId,
    /// Another person.
    pub(crate) human: UserId,
    pub(crate) app: AppId,
    pub(crate) token: String,
    /// The plugin's patience.
    pub(crate) timeouts: ClientTimeouts,
    /// Rows of a page.
    pub(crate) page_size: u32,
    working_copy: TempDir,
}

/// Whatever a test is about, the plugin keeps to GitHub's contract.
impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.github.violations(), []);
        }
    }
}

impl Stage {
    /// A pull request whose branch makes `head` of `base`: files with their texts; nothing is a file that is gone.
    pub(crate) async fn of_change(builder: Builder, base: &Files<'_>, head: &Files<'_>) -> Self {
        let github = builder.start().await;
        let working_copy = TempDir::new().unwrap();
        let path = working_copy.path();
        git(path, &["init", "--quiet", "--initial-branch=main"]);
        write(path, base);
        git(path, &["checkout", "--quiet", "-b", "feature"]);
        write(path, head);
        git(path, &["checkout", "--quiet", "main"]);
        let owner = github.create_organization("acme");
        let repository = github.create_repository(owner, "shop", path);
        let (author, human) = (github.create_user("alice"), github.create_user("bob"));
        for user in [author, human] {
            github.set_role(repository, user, Some(Role::Write));
        }
        let app = github.create_app("conclave");
        let token = github.installation_token(app, repository, Permissions::review().write("contents"));
        let pull = github.open_pull(repository, NewPull::new(author, "feature", "main"));
        Self {
            github,
            repository,
            pull,
            author,
            human,
            app,
            token,
            timeouts: quick(),
            page_size: 100,
            working_copy,
        }
    }

    pub(crate) fn settings(&self) -> GitHubSettings {
        GitHubSettings {
            api_url: self.github.api_url().parse().unwrap(),
            graphql_url: self.github.graphql_url().parse().unwrap(),
            token: self.token.clone().into(),
            repository: "acme/shop".to_owned(),
            number: self.pull.number,
            secret: SECRET.to_owned().into(),
            ca_files: Vec::new(),
            expected: None,
        }
    }

    /// The plugin of a new run.
    pub(crate) fn plugin(&self) -> Publisher {
        self.plugin_with(self.settings())
    }

    /// The same with these settings.
    pub(crate) fn plugin_with(&self, settings: GitHubSettings) -> Publisher {
        let api = GitHub::new(&settings, self.timeouts)
            .unwrap()
            .with_pages_of(self.page_size);
        Publisher::new(Box::new(api), settings.secret)
    }

    /// The signature of this pull request.
    pub(crate) fn signer(&self) -> Signer {
        let scope = format!("github\0{}\0{}", self.repository.0, self.pull.number);
        Signer::new(SECRET.to_owned().into(), scope)
    }

    pub(crate) fn bot(&self) -> UserId {
        self.github.bot(self.app)
    }

    pub(crate) fn snapshot(&self) -> PullSnapshot {
        self.github.snapshot(self.pull)
    }

    /// The author pushes this.
    pub(crate) fn push_change(&self, files: &Files<'_>) {
        let path = self.working_copy.path();
        git(path, &["checkout", "--quiet", "feature"]);
        write(path, files);
        self.github.push(self.repository, path, "feature");
    }

    /// A branch gets a commit more than `main` has, with this text in a file.
    pub(crate) fn advance(&self, branch: &str, text: &str) {
        let path = self.working_copy.path();
        git(path, &["checkout", "--quiet", "-B", branch, "main"]);
        write(path, &[("newer.txt", Some(text))]);
        self.github.push(self.repository, path, branch);
    }

    /// Opens a pull request out of a fork.
    pub(crate) fn open_from_fork(&mut self) {
        let fork = self.github.fork(self.repository, self.author);
        let new = NewPull::new(self.author, "feature", "main").from_fork(fork);
        self.pull = self.github.open_pull(self.repository, new);
    }
}

/// The real time limits with milliseconds instead of seconds between the attempts, and no time between writes.
fn quick() -> ClientTimeouts {
    let real = GitHub::timeouts(None);
    ClientTimeouts {
        retry: RetryPolicy {
            base: Duration::from_millis(2),
            longest: Duration::from_millis(5),
            longest_asked: Duration::from_millis(60),
            ..real.retry
        },
        write_gap: Duration::ZERO,
        ..real
    }
}

fn write(path: &Path, files: &Files<'_>) {
    for (name, text) in files {
        let file = path.join(name);
        match text {
            Some(text) => {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            None => std::fs::remove_file(file).unwrap(),
        }
    }
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "--message", "A change"]);
}

fn git(path: &Path, arguments: &[&str]) {
    let identity = [
        "-c",
        "user.name=Alice",
        "-c",
        "user.email=alice@example.com",
        "-c",
        "commit.gpgSign=false",
    ];
    let status = Command::new("git")
        .arg("-C")
        .arg(path)
        .args(identity)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .unwrap();
    assert!(status.success(), "git {arguments:?}");
}
