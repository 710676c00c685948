//! Check runs and commit statuses, as [`Gate`] asks for them.

use async_trait::async_trait;
use conclave_forge::{
    Annotation, ApiError, ApiErrorKind, ClientTimeouts, Conclusion, Gate, GateApi, GateRun, GateState, HttpClient,
    PullState, Repeat,
};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{GitHub, GitHubSettings, pull_request::Pull};

/// Annotations of one request.
const MAX_ANNOTATIONS: usize = 50;
/// Maximum characters of a check's title and summary, of an annotation's message, and of a status.
const MAX_TITLE: usize = 255;
const MAX_SUMMARY: usize = 65_000;
const MAX_MESSAGE: usize = 4_000;
const MAX_STATUS: usize = 140;

/// The names by which a check is known.
#[derive(Debug, Clone)]
pub struct CheckSettings {
    /// Its name, which a branch's rules ask for.
    pub name: String,
    /// The address of the job.
    pub details_url: Option<String>,
    /// Time limits of requests.
    pub timeouts: ClientTimeouts,
}

/// Checks of one name.
#[derive(Debug)]
struct Checks {
    github: GitHub,
    settings: CheckSettings,
}

#[derive(Debug, Deserialize)]
struct Listed {
    #[serde(default)]
    check_runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    id: u64,
    status: Option<String>,
    conclusion: Option<String>,
    external_id: Option<String>,
    #[serde(default)]
    output: Value,
}

impl GitHub {
    /// The check on this commit; nothing is asked yet.
    pub fn check(settings: &GitHubSettings, check: CheckSettings, head: &str) -> Result<Gate, ApiError> {
        let github = Self::new(settings, check.timeouts)?;
        let settings = check;
        Ok(Gate::new(Box::new(Checks { github, settings }), head.to_owned()))
    }

    /// Uploads a SARIF log, compressed and encoded as GitHub wants it, for code scanning of this commit.
    pub async fn upload_sarif(settings: &GitHubSettings, head: &str, sarif: &str) -> Result<(), ApiError> {
        let github = Self::new(settings, Self::timeouts(None))?;
        let reference = format!("refs/pull/{}/head", github.number);
        let body = json!({ "commit_sha": head, "ref": reference, "sarif": sarif });
        let url = github.repository("/code-scanning/sarifs");
        let what = "hand the findings to code scanning";
        github.http.put(what, Method::POST, &url, &body).await
    }
}

impl Checks {
    /// The fields of a run in this state, with the first annotations.
    fn fields(&self, state: GateState<'_>) -> Value {
        let mut fields = json!({ "name": self.settings.name, "external_id": state.reference });
        if let Some(url) = &self.settings.details_url {
            fields["details_url"] = json!(url);
        }
        match state.end {
            None => {
                fields["status"] = json!("in_progress");
                // What an earlier run has said of the commit must not stand beside it.
                fields["output"] = json!({ "title": GateState::RUNNING, "summary": GateState::RUNNING_SUMMARY });
            }
            Some(end) => {
                fields["status"] = json!("completed");
                fields["conclusion"] = json!(end.conclusion.word());
                let first = end.annotations.iter().take(MAX_ANNOTATIONS);
                fields["output"] = json!({
                    "title": cut(&end.title, MAX_TITLE),
                    "summary": cut(&end.summary, MAX_SUMMARY),
                    "annotations": first.map(annotation).collect::<Vec<_>>(),
                });
            }
        }
        fields
    }

    async fn patch(&self, run: u64, body: &Value) -> Result<(), ApiError> {
        let (http, what) = (&self.github.http, "complete its check");
        http.put(what, Method::PATCH, &self.run(run), body).await
    }

    /// The address of a run.
    fn run(&self, run: u64) -> String {
        self.github.repository(&format!("/check-runs/{run}"))
    }
}

impl Run {
    /// Returns whether it shows that a run is at work.
    fn is_at_work(&self) -> bool {
        self.conclusion.is_none() && self.status.as_deref() != Some("completed")
    }

    /// Returns whether it lets a merge happen.
    fn passes(&self) -> bool {
        self.status.as_deref() == Some("completed") && matches!(self.conclusion.as_deref(), Some("success" | "neutral"))
    }
}

#[async_trait]
impl GateApi for Checks {
    fn number(&self) -> u64 {
        self.github.number
    }

    fn http(&self) -> &HttpClient {
        &self.github.http
    }

    async fn pull_state(&self, number: u64) -> Result<Option<PullState>, ApiError> {
        let github = &self.github;
        let pull: Option<Pull> = match number {
            // A merge queue has none.
            0 => None,
            own if own == github.number => Some(github.read_pull().await?),
            _ => {
                let url = github.repository(&format!("/pulls/{number}"));
                ApiError::found(github.http.get("read another pull request", &url).await)?
            }
        };
        Ok(pull.map(|pull| PullState {
            lifecycle: pull.lifecycle(),
            head: pull.head.sha,
            target: pull.base.branch,
        }))
    }

    async fn open_at(&self, head: &str) -> Result<Vec<u64>, ApiError> {
        let github = &self.github;
        if github.number == 0 {
            return Ok(Vec::new());
        }
        // By a commit or a branch GitHub does not find those from forks, or from another branch.
        let url = github.repository("/pulls?state=open");
        let open: Vec<Pull> = github.http.list("list the open pull requests", &url).await?;
        let at_head = open.into_iter().filter(|pull| pull.head.sha == head);
        Ok(at_head.map(|pull| pull.number).collect())
    }

    async fn runs(&self, head: &str) -> Result<Vec<GateRun>, ApiError> {
        let name: String = url::form_urlencoded::byte_serialize(self.settings.name.as_bytes()).collect();
        let runs = format!("/commits/{head}/check-runs?check_name={name}&filter=latest&per_page=100");
        let url = self.github.repository(&runs);
        let listed = self.github.http.get("look for its check", &url).await;
        let Listed { check_runs } = listed.map_err(without_checks)?;
        let runs = check_runs.into_iter().map(|run| GateRun {
            id: run.id,
            passed: run.passes(),
            reference: run.external_id.unwrap_or_default(),
            annotated: run.output["annotations_count"].as_u64().unwrap_or_default() > 0,
        });
        Ok(runs.collect())
    }

    async fn create_run(&self, head: &str, state: GateState<'_>) -> Result<u64, ApiError> {
        let mut body = self.fields(state);
        body["head_sha"] = json!(head);
        let (http, url) = (&self.github.http, self.github.repository("/check-runs"));
        let begun = http.write("begin its check", Method::POST, &url, &body, Repeat::Never);
        let run: Run = begun.await.map_err(without_checks)?;
        Ok(run.id)
    }

    async fn begin_again(&self, run: u64, reference: &str) -> Result<bool, ApiError> {
        let body = self.fields(GateState { reference, end: None });
        let (http, what, url) = (&self.github.http, "begin its check again", self.run(run));
        let shown: Run = http.write(what, Method::PATCH, &url, &body, Repeat::Safe).await?;
        Ok(shown.is_at_work())
    }

    async fn change_run(&self, run: u64, state: GateState<'_>) -> Result<(), ApiError> {
        // Annotations are added by each request; what is completed first cannot be missed.
        let mut body = self.fields(state);
        self.patch(run, &body).await?;
        let annotations = state.end.map(|end| end.annotations.as_slice()).unwrap_or_default();
        for page in annotations.chunks(MAX_ANNOTATIONS).skip(1) {
            body["output"]["annotations"] = page.iter().map(annotation).collect();
            self.patch(run, &json!({ "output": body["output"] })).await?;
        }
        Ok(())
    }

    async fn status(&self, head: &str) -> Result<String, ApiError> {
        let url = self.github.repository(&format!("/commits/{head}/status?per_page=100"));
        let found: Value = self.github.http.get("look for its status", &url).await?;
        let mut own = found["statuses"].as_array().into_iter().flatten();
        let own = own.find(|status| status["context"] == self.settings.name.as_str());
        let text = own.and_then(|own| own["description"].as_str());
        Ok(text.unwrap_or_default().to_owned())
    }

    async fn set_status(&self, head: &str, conclusion: Option<Conclusion>, text: &str) -> Result<(), ApiError> {
        let url = self.github.repository(&format!("/statuses/{head}"));
        let state = conclusion.map_or("pending", Conclusion::status);
        let mut body = json!({ "state": state, "context": self.settings.name, "description": cut(text, MAX_STATUS) });
        if let Some(address) = &self.settings.details_url {
            body["target_url"] = json!(address);
        }
        let http = &self.github.http;
        http.put("set a commit status", Method::POST, &url, &body).await
    }
}

/// The error where check runs are not found: the pull request was read before, so the repository is seen.
fn without_checks(error: ApiError) -> ApiError {
    if error.kind != ApiErrorKind::NotFound {
        return error;
    }
    let text = format!(
        "GitHub does not find the check runs of the repository (404 {}). An older Enterprise Server has none; a token that may not see \
         them gets the same answer",
        error.words
    );
    ApiError::new(ApiErrorKind::NotFound, text).with_words(error.words)
}

fn annotation(one: &Annotation) -> Value {
    json!({
        "path": one.path,
        "start_line": one.lines.0,
        "end_line": one.lines.1.max(one.lines.0),
        "annotation_level": if one.is_failure { "failure" } else { "warning" },
        "title": cut(&one.title, MAX_TITLE),
        "message": cut(&one.message, MAX_MESSAGE),
    })
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
