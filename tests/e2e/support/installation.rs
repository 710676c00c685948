//! An installation as the documents put it together, and the CI component's job as GitLab expands it.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use super::repository_root;

/// Deploying starts wrangler twenty times, on a machine that does a lot else.
const STARTUP: Duration = Duration::from_mins(10);

/// Both Workers, deployed by the documents' commands. They end with this.
pub(crate) struct Installation {
    pub(crate) config_url: String,
    pub(crate) tracker_url: String,
    secrets: Value,
    commands: Value,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
    _directory: TempDir,
}

/// A job's own token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobToken {
    /// As GitLab makes it.
    Good,
    /// Signed by somebody else.
    Forged,
}

impl Installation {
    /// Runs the documents' commands for the deployment. Nothing is served yet.
    pub(crate) async fn deploy() -> Self {
        Self::start(&[]).await
    }

    /// The same without the deployment, with made-up secrets.
    pub(crate) async fn local() -> Self {
        Self::start(&["--local"]).await
    }

    async fn start(arguments: &[&str]) -> Self {
        let root = repository_root();
        let directory = tempfile::tempdir().unwrap();
        let mut child = Command::new(root.join("node_modules/.bin/node"))
            .args(["--no-warnings", "tests/support/installation.mjs"])
            .arg(directory.path())
            .args(arguments)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("Node is there: run `scripts/setup`");
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let made = next(&mut output).await;
        Self {
            config_url: String::new(),
            tracker_url: String::new(),
            secrets: made["secrets"].clone(),
            commands: made["commands"].clone(),
            input,
            output,
            _child: child,
            _directory: directory,
        }
    }

    /// Serves both Workers anew: with lists of the jobs' tokens or without, with the variables for jobs' own tokens or without.
    pub(crate) async fn serve(&mut self, listed: bool, jobs: bool) {
        let answer = self.ask(json!({"do": "serve", "listed": listed, "jobs": jobs})).await;
        answer["config_url"].as_str().unwrap().clone_into(&mut self.config_url);
        answer["tracker_url"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.tracker_url);
    }

    /// What GitLab gives to a job of a project that asks for a token with this audience.
    pub(crate) async fn job_token(&mut self, project: &str, audience: &str, kind: JobToken) -> String {
        let forged = kind == JobToken::Forged;
        let question = json!({"do": "job-token", "project": project, "aud": audience, "forged": forged});
        self.ask(question).await["token"].as_str().unwrap().to_owned()
    }

    /// A secret that the deployment made, without its holder's name.
    pub(crate) fn secret(&self, name: &str) -> &str {
        let secret = self.secrets[name].as_str().expect("it was made");
        secret.rsplit(':').next().unwrap()
    }

    /// A shell block of the documents.
    pub(crate) fn commands(&self, name: &str) -> &str {
        self.commands[name].as_str().expect("it is there")
    }

    async fn ask(&mut self, question: Value) -> Value {
        self.input.write_all(format!("{question}\n").as_bytes()).await.unwrap();
        let answer = next(&mut self.output).await;
        assert_eq!(answer["ok"], true, "{question}: {answer:#}");
        answer
    }
}

async fn next(output: &mut Lines<BufReader<ChildStdout>>) -> Value {
    let line = tokio::time::timeout(STARTUP, output.next_line()).await;
    let line = line.expect("it answers in time").unwrap();
    serde_json::from_str(&line.expect("it goes on: see what it says above")).unwrap()
}

/// The CI component's job, expanded.
pub(crate) struct Component {
    /// The commands.
    pub(crate) script: String,
    /// The variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// The audience of each token that the job asks for.
    pub(crate) id_tokens: BTreeMap<String, String>,
}

impl Component {
    /// Expands `templates/conclave` with these inputs besides the image.
    pub(crate) async fn expand(inputs: &Value) -> Self {
        let (root, project) = (repository_root(), tempfile::tempdir().unwrap());
        let write = |name: &str, text: &str| std::fs::write(project.path().join(name), text).unwrap();
        write(
            "template.yml",
            &std::fs::read_to_string(root.join("templates/conclave/template.yml")).unwrap(),
        );
        let mut inputs = inputs.clone();
        inputs["image"] = json!("registry.example.com/conclave:1");
        // JSON is YAML.
        let include = json!({"include": [{"local": "template.yml", "inputs": inputs}]});
        write(".gitlab-ci.yml", &include.to_string());
        let git = "git init --quiet . && git remote add origin https://gitlab.example.com/group/service.git && git add --all && \
                   git -c user.name=t -c user.email=t@example.org commit --quiet --message=Start";
        let preview = format!(
            "{git} && exec '{node}' '{program}' --preview",
            node = root.join("node_modules/.bin/node").display(),
            program = root.join("node_modules/gitlab-ci-local/dist/index.js").display(),
        );
        let output = Command::new("bash")
            .args(["-euc", &preview])
            .env("HOME", project.path())
            .current_dir(project.path())
            .output()
            .await
            .expect("gitlab-ci-local starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let expanded: Value = serde_norway::from_slice(&output.stdout).expect("YAML");
        let job = &expanded["conclave"];
        let texts = |fields: &Value, of: fn(&Value) -> &Value| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            let text = |(name, value): (String, Value)| (name, of(&value).as_str().expect("text").to_owned());
            fields.into_iter().map(text).collect()
        };
        let script = job["script"].as_array().expect("a script").iter();
        Self {
            script: script.map(|line| line.as_str().unwrap()).collect::<Vec<_>>().join("\n"),
            variables: texts(&job["variables"], |value| value),
            id_tokens: texts(&job["id_tokens"], |value| &value["aud"]),
        }
    }
}
