//! Both Workers in `workerd`.

use std::{process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::{Conclave, repository_root};

/// Time that they may take, on a machine that does a lot else.
const STARTUP: Duration = Duration::from_mins(3);

/// The running Workers; they end with this. The address of one that does not run is empty.
pub(crate) struct Workers {
    pub(crate) config_url: String,
    pub(crate) tracker_url: String,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Workers {
    pub(crate) const READER_TOKEN: &str = "reader-token-of-the-test";
    pub(crate) const ADMIN_TOKEN: &str = "admin-token-of-the-test";
    pub(crate) const INGEST_TOKEN: &str = "ingest-token-of-the-test";
    pub(crate) const METRICS_TOKEN: &str = "metrics-token-of-the-test";
    pub(crate) const OPERATOR_TOKEN: &str = "operator-token-of-the-test";
    /// The audience that both Workers ask for.
    pub(crate) const AUDIENCE: &str = "https://config.example.com";
    /// The installation's secret, as the tracker has it.
    pub(crate) const SECRET: &str = "secret-of-the-installation-of-the-test";

    /// Starts both, with empty storage.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// Starts `reviewer-config` alone.
    pub(crate) async fn config() -> Self {
        Self::start_with(&["--only", "reviewer-config"]).await
    }

    /// Starts `review-tracker` alone.
    pub(crate) async fn tracker() -> Self {
        Self::start_with(&["--only", "review-tracker"]).await
    }

    /// Starts `review-tracker` alone, with a variable in place of its default.
    pub(crate) async fn tracker_with(variable: &str) -> Self {
        Self::start_with(&["--only", "review-tracker", "--tracker-var", variable]).await
    }

    async fn start_with(arguments: &[&str]) -> Self {
        let root = repository_root();
        let node = root.join("node_modules/.bin/node");
        assert!(node.exists(), "Node is missing: run `scripts/setup`");
        let mut child = Command::new(node)
            .arg("tests/support/workers-server.mjs")
            .args(arguments)
            .args(["--reader-tokens", Self::READER_TOKEN])
            .args(["--admin-tokens", &format!("ada:{}", Self::ADMIN_TOKEN)])
            .args(["--job-projects", "**,127.0.0.1:**"])
            .args(["--secret", Self::SECRET])
            .args(["--ingest-tokens", Self::INGEST_TOKEN])
            .args(["--metrics-tokens", Self::METRICS_TOKEN])
            .args(["--operator-tokens", &format!("ada:{}", Self::OPERATOR_TOKEN)])
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the Workers' server starts");
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(STARTUP, output.next_line())
            .await
            .expect("it starts in time")
            .unwrap();
        let ready: Value = serde_json::from_str(&line.expect("the Workers are built: `scripts/test` does it")).unwrap();
        let url = |name: &str| ready[name].as_str().unwrap_or_default().to_owned();
        Self {
            config_url: url("config_url"),
            tracker_url: url("tracker_url"),
            input,
            output,
            _child: child,
        }
    }

    /// The rows of a query, as soon as they are enough: what was accepted is in the database a moment later.
    pub(crate) async fn rows(&mut self, query: &str, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let command = format!("sql {query}");
        let start = tokio::time::Instant::now();
        loop {
            let rows = self.command(&command).await["rows"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if enough(&rows) {
                return rows;
            }
            assert!(start.elapsed() < STARTUP, "{query} never had enough rows: {rows:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the configuration that runs are given is as it should be: a Worker answers from memory for a moment.
    pub(crate) async fn until_config(&self, wanted: impl Fn(&Value) -> bool) {
        let url = format!("{}/v1/config", self.config_url);
        let start = tokio::time::Instant::now();
        loop {
            let request = reqwest::Client::new().get(&url).bearer_auth(Self::READER_TOKEN);
            let config: Value = request.send().await.unwrap().json().await.unwrap();
            if wanted(&config) {
                return;
            }
            assert!(start.elapsed() < STARTUP, "it never came into force: {config:#}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A job of GitHub with `id-token: write`, whose tokens the Workers take; each for so many seconds, or for the usual time.
    pub(crate) async fn actions_job(&mut self, repository: &str, seconds: Option<u32>, call: Conclave) -> Conclave {
        let seconds = seconds.map(|seconds| seconds.to_string()).unwrap_or_default();
        let job = self
            .command(format!("actions-job {repository} {seconds}").trim_end())
            .await;
        let text = |name: &str| job[name].as_str().expect("a text").to_owned();
        call.env("ACTIONS_ID_TOKEN_REQUEST_URL", text("url"))
            .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", text("token"))
            .env("CONCLAVE_OIDC_AUDIENCE", Self::AUDIENCE)
            .env("CONCLAVE_CONFIG_URL", &self.config_url)
            .env("CONCLAVE_TRACKER_URL", &self.tracker_url)
    }

    /// The number of tokens that jobs of GitHub asked for.
    pub(crate) async fn actions_given(&mut self) -> u64 {
        let answer = self.command("actions-given").await;
        assert_eq!(answer["violations"], serde_json::json!([]));
        answer["given"].as_u64().expect("a number")
    }

    /// What GitLab gives to a job of a project as its own token.
    pub(crate) async fn job_token(&mut self, project: &str) -> String {
        let answer = self.command(&format!("job-token {project}")).await;
        answer["token"].as_str().expect("a token").to_owned()
    }

    /// Runs a command of the server, such as `kv put KEY VALUE` or `sql STATEMENT`.
    pub(crate) async fn command(&mut self, line: &str) -> Value {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(STARTUP, self.output.next_line())
            .await
            .expect("it answers")
            .unwrap()
            .unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["ok"], true, "{line}: {answer}");
        answer
    }
}
