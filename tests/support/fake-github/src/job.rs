//! What a job of GitHub Actions finds: its variables, the file with its event, and the files that it writes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::entities::{checks, people, pull, repository, review};
use crate::ids::{PullRef, UserId};
use crate::server::FakeGithub;
use crate::state::State;

/// The event that starts a job.
#[derive(Debug, Clone)]
pub enum JobEvent {
    /// `pull_request` with an action such as `opened` or `synchronize`.
    PullRequest(&'static str),
    /// `pull_request`, because the target branch changed from this one.
    Retargeted(String),
    /// `pull_request_target` with an action; a label only for `labeled`.
    PullRequestTarget(&'static str, Option<String>),
    /// `issue_comment`, `created`: the id of the comment.
    IssueComment(u64),
    /// `workflow_run`, `completed`: the id of the run.
    WorkflowRun(u64),
    /// `merge_group`, `checks_requested`.
    MergeGroup,
    /// `workflow_dispatch` with its inputs.
    WorkflowDispatch(BTreeMap<String, String>),
}

impl JobEvent {
    /// `GITHUB_EVENT_NAME`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PullRequest(_) | Self::Retargeted(_) => "pull_request",
            Self::PullRequestTarget(..) => "pull_request_target",
            Self::IssueComment(_) => "issue_comment",
            Self::WorkflowRun(_) => "workflow_run",
            Self::MergeGroup => "merge_group",
            Self::WorkflowDispatch(_) => "workflow_dispatch",
        }
    }
}

/// A job: its variables and files. The files go when it is dropped.
#[derive(Debug)]
pub struct Job {
    /// The variables, without the token and the machine's own such as `PATH`.
    pub variables: BTreeMap<String, String>,
    /// The event, as it stands in the file.
    pub event: Value,
    directory: TempDir,
}

impl Job {
    /// The directory for the job's temporary files: `RUNNER_TEMP`.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What was written to the job summary.
    pub fn summary(&self) -> String {
        self.read("summary.md")
    }

    /// What was written to the outputs.
    pub fn output(&self) -> String {
        self.read("output")
    }

    /// What was written to the environment of later steps, or to their path: a careful program writes neither.
    pub fn environment(&self) -> String {
        self.read("env") + &self.read("path")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.directory.path().join(name)).expect("the job's files are there")
    }
}

impl FakeGithub {
    /// Makes what a job of an event finds; `workspace` is where its checkout is.
    pub fn job(&self, pull: PullRef, event: &JobEvent, workspace: &Path) -> Job {
        let directory = TempDir::with_prefix("fake-github-job-").expect("a temporary directory can be created");
        let file = |name: &str| {
            let path: PathBuf = directory.path().join(name);
            std::fs::write(&path, "").expect("the job's files can be written");
            path.to_string_lossy().into_owned()
        };
        let core = self.server.core();
        let state = &core.state;
        let payload = payload(state, pull, event);
        std::fs::write(file("event.json"), payload.to_string()).expect("the job's files can be written");
        let own = state.pull(pull);
        let target = state.repository(pull.repository);
        let default_branch = target.git.default_branch();
        let default_head = target.git.branch_head(&default_branch).unwrap_or_default();
        // `pull_request` runs on the test merge, which is in no diff; what is trusted runs on the default branch.
        let (reference, sha) = match event {
            JobEvent::PullRequest(_) | JobEvent::Retargeted(_) => (
                format!("refs/pull/{}/merge", pull.number),
                own.merge_commit.clone().unwrap_or_default(),
            ),
            JobEvent::MergeGroup => (
                merge_group_ref(state, pull),
                own.merge_commit.clone().unwrap_or_default(),
            ),
            _ => (format!("refs/heads/{default_branch}"), default_head),
        };
        let name = state.full_name(pull.repository);
        let actor = state.user(own.author).rest_login();
        let has_branches = matches!(event.name(), "pull_request" | "pull_request_target");
        let branch = |name: &String| if has_branches { name.clone() } else { String::new() };
        let graphql = if state.options.enterprise.is_some() {
            "/api/graphql"
        } else {
            "/graphql"
        };
        let variables = [
            ("CI", "true".to_owned()),
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_EVENT_NAME", event.name().to_owned()),
            (
                "GITHUB_EVENT_PATH",
                directory.path().join("event.json").to_string_lossy().into_owned(),
            ),
            ("GITHUB_REPOSITORY", name.clone()),
            ("GITHUB_REPOSITORY_ID", pull.repository.0.to_string()),
            ("GITHUB_REPOSITORY_OWNER", state.user(target.owner).login.clone()),
            ("GITHUB_API_URL", state.api_url.clone()),
            ("GITHUB_GRAPHQL_URL", format!("{}{graphql}", state.url)),
            ("GITHUB_SERVER_URL", state.url.clone()),
            ("GITHUB_REF", reference),
            ("GITHUB_SHA", sha),
            ("GITHUB_HEAD_REF", branch(&own.head_branch)),
            ("GITHUB_BASE_REF", branch(&own.base_branch)),
            ("GITHUB_ACTOR", actor.clone()),
            ("GITHUB_TRIGGERING_ACTOR", actor),
            ("GITHUB_RUN_ID", "9000001".to_owned()),
            ("GITHUB_RUN_ATTEMPT", "1".to_owned()),
            ("GITHUB_RUN_NUMBER", "1".to_owned()),
            ("GITHUB_JOB", "review".to_owned()),
            ("GITHUB_WORKFLOW", "conclave".to_owned()),
            (
                "GITHUB_WORKFLOW_REF",
                format!("{name}/.github/workflows/conclave.yml@refs/heads/{default_branch}"),
            ),
            ("GITHUB_WORKSPACE", workspace.to_string_lossy().into_owned()),
            ("GITHUB_STEP_SUMMARY", file("summary.md")),
            ("GITHUB_OUTPUT", file("output")),
            ("GITHUB_ENV", file("env")),
            ("GITHUB_PATH", file("path")),
            ("RUNNER_TEMP", directory.path().to_string_lossy().into_owned()),
            ("RUNNER_ENVIRONMENT", "github-hosted".to_owned()),
            ("RUNNER_OS", "Linux".to_owned()),
        ];
        drop(core);
        Job {
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            event: payload,
            directory,
        }
    }
}

fn payload(state: &State, at: PullRef, event: &JobEvent) -> Value {
    let own = state.pull(at);
    let mut payload = json!({
        "repository": repository::repository(state, at.repository, "repository"),
        "sender": sender(state, own.author),
    });
    let mut add = |name: &str, value: Value| payload[name] = value;
    match event {
        JobEvent::PullRequest(action) | JobEvent::PullRequestTarget(action, _) => {
            add("action", json!(action));
            if *action == "synchronize" {
                add("before", json!(own.former_heads.last().unwrap_or(&own.head)));
                add("after", json!(own.head));
            }
            if let JobEvent::PullRequestTarget(_, Some(label)) = event {
                add("label", json!({ "name": label }));
            }
        }
        JobEvent::Retargeted(from) => {
            add("action", json!("edited"));
            add(
                "changes",
                json!({ "base": { "ref": { "from": from }, "sha": { "from": own.base } } }),
            );
        }
        JobEvent::IssueComment(id) => {
            let comment = own
                .comments
                .iter()
                .find(|post| post.id == *id)
                .expect("the comment exists");
            add("action", json!("created"));
            add("comment", review::issue_comment(state, at, comment));
            add("sender", sender(state, comment.author));
            add("issue", issue(state, at));
        }
        JobEvent::WorkflowRun(id) => {
            let runs = &state.repository(at.repository).runs;
            let run = runs.iter().find(|run| run.id == *id).expect("the run exists");
            add("action", json!("completed"));
            add("workflow_run", checks::workflow_run(state, at.repository, run));
            add(
                "workflow",
                json!({ "name": "review", "path": ".github/workflows/review.yml" }),
            );
        }
        JobEvent::MergeGroup => {
            add("action", json!("checks_requested"));
            let group = json!({
                "head_sha": own.merge_commit, "head_ref": merge_group_ref(state, at), "base_sha": own.base,
                "base_ref": format!("refs/heads/{}", own.base_branch), "head_commit": null,
            });
            add("merge_group", group);
        }
        JobEvent::WorkflowDispatch(inputs) => {
            add("inputs", json!(inputs));
            add(
                "ref",
                json!(format!(
                    "refs/heads/{}",
                    state.repository(at.repository).git.default_branch()
                )),
            );
        }
    }
    if matches!(event.name(), "pull_request" | "pull_request_target") {
        add("number", json!(at.number));
        add("pull_request", pull::full(state, at));
    }
    payload
}

fn sender(state: &State, user: UserId) -> Value {
    people::simple(state, user)
}

fn merge_group_ref(state: &State, at: PullRef) -> String {
    let pull = state.pull(at);
    format!(
        "refs/heads/gh-readonly-queue/{}/pr-{}-{}",
        pull.base_branch, at.number, pull.base
    )
}

/// A pull request as the issue that it is.
fn issue(state: &State, at: PullRef) -> Value {
    let full = pull::full(state, at);
    let kept = [
        "id",
        "number",
        "title",
        "state",
        "locked",
        "user",
        "author_association",
        "body",
        "labels",
    ];
    let mut issue: Value = kept
        .iter()
        .map(|name| ((*name).to_owned(), full[*name].clone()))
        .collect();
    issue["url"] = full["issue_url"].clone();
    issue["pull_request"] = json!({ "url": full["url"], "html_url": full["html_url"] });
    issue
}
