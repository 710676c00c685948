//! One repository with one pull request, a few people, and a client for each kind of token.

use std::path::Path;
use std::process::Command;

use conclave_fake_github::{AppId, Builder, FakeGithub, NewPull, Permissions, PullRef, RepositoryId, Role, UserId};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Stage {
    pub(crate) github: FakeGithub,
    pub(crate) copy: WorkingCopy,
    pub(crate) repository: RepositoryId,
    pub(crate) pull: PullRef,
    /// The author of the pull request, with the role to write.
    pub(crate) alice: UserId,
    /// Another person with that role.
    pub(crate) bob: UserId,
    pub(crate) app: AppId,
    /// The App, with the permissions of a review.
    pub(crate) bot: Client,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(FakeGithub::builder()).await
    }

    pub(crate) async fn with(builder: Builder) -> Self {
        let github = builder.start().await;
        let copy = WorkingCopy::create();
        let owner = github.create_organization("acme");
        let repository = github.create_repository(owner, "shop", copy.path());
        copy.git(&["checkout", "--quiet", "feature"]);
        let (alice, bob) = (github.create_user("alice"), github.create_user("bob"));
        for user in [alice, bob] {
            github.set_role(repository, user, Some(Role::Write));
        }
        let pull = github.open_pull(repository, NewPull::new(alice, "feature", "main"));
        let app = github.create_app("conclave");
        let bot = Client::new(
            &github,
            &github.installation_token(app, repository, Permissions::review()),
        );
        Self {
            github,
            copy,
            repository,
            pull,
            alice,
            bob,
            app,
            bot,
        }
    }

    /// A client of the App with these permissions.
    pub(crate) fn installation(&self, permissions: Permissions) -> Client {
        Client::new(
            &self.github,
            &self.github.installation_token(self.app, self.repository, permissions),
        )
    }

    /// A client with a person's classic token.
    pub(crate) fn person(&self, user: UserId) -> Client {
        Client::new(&self.github, &self.github.classic_token(user))
    }

    /// Posts a review of one comment and returns the id of the comment.
    pub(crate) async fn thread(&self, client: &Client, comment: Value) -> u64 {
        let body = json!({ "event": "COMMENT", "body": "See below.", "comments": [comment] });
        let (status, review) = client.post("/pulls/1/reviews", body).await;
        assert_eq!(status, 200, "{review}");
        let (_, comments) = client.get(&format!("/pulls/1/reviews/{}/comments", review["id"])).await;
        comments[0]["id"].as_u64().unwrap()
    }

    pub(crate) fn assert_no_violations(&self) {
        assert_eq!(self.github.violations(), []);
    }
}

/// An HTTP client with a token; paths are below the repository.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    api_url: String,
    graphql_url: String,
    pub(crate) prefix: String,
    pub(crate) token: String,
    accept: &'static str,
}

impl Client {
    pub(crate) fn new(github: &FakeGithub, token: &str) -> Self {
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Self {
            http: builder.user_agent("suite").build().unwrap(),
            api_url: github.api_url(),
            graphql_url: github.graphql_url(),
            prefix: "/repos/acme/shop".to_owned(),
            token: token.to_owned(),
            accept: "application/vnd.github+json",
        }
    }

    pub(crate) fn accepting(&self, accept: &'static str) -> Self {
        Self { accept, ..self.clone() }
    }

    pub(crate) fn at(&self, prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            ..self.clone()
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{}{path}", self.api_url, self.prefix);
        let request = self.http.request(method, url).header("accept", self.accept);
        if self.token.is_empty() {
            request
        } else {
            request.bearer_auth(&self.token)
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.request(method, path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        read(request.send().await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::PUT, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let request = self.http.post(&self.graphql_url).bearer_auth(&self.token).json(&body);
        read(request.send().await.unwrap()).await.1
    }

    /// The threads of the pull request, with some fields.
    pub(crate) async fn threads(&self, fields: &str) -> Vec<Value> {
        let query = format!(
            "query {{ repository(owner: \"acme\", name: \"shop\") {{ pullRequest(number: 1) {{
                reviewThreads(first: 100) {{ nodes {{ id {fields} }} }} }} }} }}"
        );
        let answer = self.graphql(&query, json!({})).await;
        let nodes = &answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"];
        nodes.as_array().unwrap_or_else(|| panic!("{answer}")).clone()
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
        copy.write("logo.png", "\u{0}one");
        copy.commit("start");
        copy.git(&["checkout", "--quiet", "-b", "feature"]);
        copy.write("src/lib.rs", &changed());
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

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments)
    }
}

/// Runs git in a directory.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
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
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// `src/lib.rs` at head.
pub(crate) fn changed() -> String {
    let text = numbered(60).replace("line 5\n", "line five\nline five and a half\n");
    text.replace("line 40\n", "")
}

fn numbered(count: usize) -> String {
    use std::fmt::Write as _;
    (1..=count).fold(String::new(), |mut text, number| {
        writeln!(text, "line {number}").unwrap();
        text
    })
}
