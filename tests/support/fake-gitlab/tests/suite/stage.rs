//! One project with one merge request, a few people, and a client for each of them.

use std::path::Path;
use std::process::Command;

use conclave_fake_gitlab::{
    AccessLevel, Builder, FakeGitlab, MergeRequestRef, NewMergeRequest, ProjectId, Scope, Tier, UserId,
};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The scene of most tests.
pub(crate) struct Stage {
    pub(crate) gitlab: FakeGitlab,
    pub(crate) working_copy: WorkingCopy,
    pub(crate) project: ProjectId,
    pub(crate) merge_request: MergeRequestRef,
    /// The author of the merge request, a Developer.
    pub(crate) author: UserId,
    /// A human Developer.
    pub(crate) human: UserId,
    /// A bot, Developer, whose client is `bot`.
    pub(crate) bot_user: UserId,
    pub(crate) bot: Client,
}

impl Stage {
    pub(crate) async fn free() -> Self {
        Self::with(FakeGitlab::builder()).await
    }

    pub(crate) async fn premium() -> Self {
        Self::with(FakeGitlab::builder().tier(Tier::Premium)).await
    }

    pub(crate) async fn with(builder: Builder) -> Self {
        let gitlab = builder.start().await;
        let working_copy = WorkingCopy::create();
        let project = gitlab.create_project_from_git(working_copy.path(), "group/project");
        let (author, human) = (gitlab.create_user("alice"), gitlab.create_user("bob"));
        let bot_user = gitlab.create_bot("review-bot");
        for user in [author, human, bot_user] {
            gitlab.add_member(project, user, AccessLevel::Developer);
        }
        let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
        let bot = Client::new(&gitlab, gitlab.create_token(bot_user, &[Scope::Api]));
        Self {
            gitlab,
            working_copy,
            project,
            merge_request,
            author,
            human,
            bot_user,
            bot,
        }
    }

    /// A client with an `api` token of the user.
    pub(crate) fn client(&self, user: UserId) -> Client {
        Client::new(&self.gitlab, self.gitlab.create_token(user, &[Scope::Api]))
    }

    /// A path below the merge request.
    pub(crate) fn at(&self, rest: &str) -> String {
        format!(
            "/projects/{}/merge_requests/{}{rest}",
            self.project.0, self.merge_request.iid
        )
    }

    /// A path below the project.
    pub(crate) fn in_project(&self, rest: &str) -> String {
        format!("/projects/{}{rest}", self.project.0)
    }

    /// A position of the newest version with these additional fields.
    pub(crate) fn position(&self, fields: &Value) -> Value {
        let mut position = self.gitlab.diff_refs(self.merge_request);
        position["position_type"] = json!("text");
        for (name, value) in fields.as_object().unwrap() {
            position[name.as_str()] = value.clone();
        }
        position
    }

    pub(crate) fn assert_no_violations(&self) {
        assert_eq!(self.gitlab.violations(), []);
    }
}

/// An HTTP client with a token.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    api_url: String,
    header: &'static str,
    token: String,
}

impl Client {
    pub(crate) fn new(gitlab: &FakeGitlab, token: String) -> Self {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self {
            http,
            api_url: gitlab.api_url(),
            header: "PRIVATE-TOKEN",
            token,
        }
    }

    pub(crate) fn with_header(self, header: &'static str) -> Self {
        Self { header, ..self }
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        self.try_send(method, path, body).await.unwrap()
    }

    pub(crate) async fn try_send(&self, method: Method, path: &str, body: Option<&Value>) -> reqwest::Result<Response> {
        let request = self
            .http
            .request(method, format!("{}{path}", self.api_url))
            .header(self.header, &self.token);
        match body {
            Some(body) => request.json(body).send().await,
            None => request.send().await,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        read(self.send(Method::GET, path, None).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        read(self.send(Method::POST, path, Some(&body)).await).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        read(self.send(Method::PUT, path, Some(&body)).await).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        read(self.send(Method::DELETE, path, None).await).await
    }
}

/// Status and body; a body that is not JSON becomes a string.
async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = match text.as_str() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    };
    (status, body)
}

/// A git repository with `main` and `feature`.
///
/// `feature` changes line 5 of `src/lib.rs` into two lines and removes its line 40, renames `old_name.txt`, removes
/// `gone.txt`, adds `new.txt` and changes `logo.png`. `main` has one commit more than the merge base.
pub(crate) struct WorkingCopy {
    directory: TempDir,
}

impl WorkingCopy {
    fn create() -> Self {
        let copy = Self {
            directory: TempDir::new().unwrap(),
        };
        copy.git(&["init", "--quiet", "--initial-branch=main"]);
        copy.write("src/lib.rs", &numbered(60));
        copy.write("old_name.txt", &numbered(12));
        copy.write("gone.txt", "gone\n");
        copy.write("untouched.txt", "untouched\n");
        copy.write("logo.png", "\u{0}one");
        copy.commit("start");
        copy.git(&["checkout", "--quiet", "-b", "feature"]);
        let changed = numbered(60)
            .replace("line 5\n", "line five\nline five and a half\n")
            .replace("line 40\n", "");
        copy.write("src/lib.rs", &changed);
        copy.git(&["mv", "old_name.txt", "new_name.txt"]);
        copy.write("new_name.txt", &numbered(12).replace("line 3\n", "line three\n"));
        copy.git(&["rm", "--quiet", "gone.txt"]);
        copy.write("new.txt", "a\nb\nc\n");
        copy.write("logo.png", "\u{0}two");
        copy.commit("feature");
        copy.git(&["checkout", "--quiet", "main"]);
        copy.write("other.txt", "other\n");
        copy.commit("main moves on");
        copy
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path())
            .args([
                "-c",
                "user.name=Alice",
                "-c",
                "user.email=alice@example.com",
                "-c",
                "commit.gpgSign=false",
            ])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

fn numbered(count: usize) -> String {
    use std::fmt::Write as _;
    (1..=count).fold(String::new(), |mut text, number| {
        writeln!(text, "line {number}").unwrap();
        text
    })
}
