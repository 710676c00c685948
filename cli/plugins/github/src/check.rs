//! The gate: a check run on the reviewed commit. Where the token may not make one, a commit status; where it may not make that, the
//! job's exit code is all there is.
//!
//! A check that was begun and not completed blocks a merge that asks for it: a run that is killed does not pass.

use conclave_forge::{ApiError, ApiErrorKind, ClientTimeouts};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{GitHub, GitHubSettings};

/// Annotations of one request.
const MAX_ANNOTATIONS: usize = 50;
/// Maximum characters of a check's title and summary, of an annotation's message, and of a status.
const MAX_TITLE: usize = 255;
const MAX_SUMMARY: usize = 65_000;
const MAX_MESSAGE: usize = 4_000;
const MAX_STATUS: usize = 140;

/// The end of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// It passes.
    Success,
    /// It passes, and asks for a look.
    Neutral,
    /// It does not pass.
    Failure,
    /// It does not pass until a person has done something.
    ActionRequired,
    /// The run was stopped.
    Cancelled,
    /// The run had no time left.
    TimedOut,
}

impl Conclusion {
    /// The word of check runs.
    const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Neutral => "neutral",
            Self::Failure => "failure",
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    /// The word of statuses, which know less.
    const fn status(self) -> &'static str {
        match self {
            Self::Success | Self::Neutral => "success",
            Self::Failure => "failure",
            Self::ActionRequired | Self::Cancelled | Self::TimedOut => "error",
        }
    }
}

/// A remark at lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The file's path.
    pub path: String,
    /// The first and the last line.
    pub lines: (u32, u32),
    /// A failure, not a warning.
    pub is_failure: bool,
    /// Its title, in one line.
    pub title: String,
    /// Its text.
    pub message: String,
}

/// The end of a run, as its check says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckEnd {
    /// The conclusion.
    pub conclusion: Conclusion,
    /// One line.
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// Remarks that stand nowhere else beside the code.
    pub annotations: Vec<Annotation>,
}

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

/// The form of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// A check run of this number.
    Run(u64),
    /// A commit status.
    Status,
    /// The job's exit code.
    ExitCode,
}

/// A check of one run.
#[derive(Debug)]
pub struct Check {
    github: GitHub,
    settings: CheckSettings,
    /// The commit that it was begun on, and how.
    begun: Mutex<(String, Shown)>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    #[serde(default)]
    check_runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    id: u64,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    output: Output,
}

#[derive(Debug, Default, Deserialize)]
struct Output {
    #[serde(default)]
    annotations_count: u64,
}

impl Check {
    /// Begins the check on this commit, and says what it falls back to, if it does.
    pub async fn begin(
        github: &GitHubSettings,
        settings: CheckSettings,
        head: &str,
    ) -> Result<(Self, Option<String>), ApiError> {
        let check = Self {
            github: GitHub::new(github, settings.timeouts)?,
            settings,
            begun: Mutex::new((head.to_owned(), Shown::ExitCode)),
        };
        if check.github.expected.is_some() {
            // It has to be the right one before anything is shown on its commit.
            check.github.read_pull().await?;
        }
        let (shown, said) = check.start(head).await?;
        check.begun.lock().await.1 = shown;
        Ok((check, said))
    }

    async fn start(&self, head: &str) -> Result<(Shown, Option<String>), ApiError> {
        let without_run = match self.start_run(head).await {
            Ok(run) => return Ok((Shown::Run(run), None)),
            Err(error) if is_denied(&error) => error,
            Err(error) => return Err(error),
        };
        let pending = self.set_status(head, "pending", "The review is running").await;
        match pending {
            Ok(()) => Ok((
                Shown::Status,
                Some(format!(
                    "there is a commit status in place of a check run: {without_run}"
                )),
            )),
            Err(error) if is_denied(&error) => Ok((
                Shown::ExitCode,
                Some(format!(
                    "there is neither a check run nor a commit status, only the job's exit code: {without_run}"
                )),
            )),
            Err(error) => Err(error),
        }
    }

    /// Begins a check run. One that an earlier run made on the commit is begun anew, so that there is one; unless it has annotations,
    /// which GitHub never takes away.
    async fn start_run(&self, head: &str) -> Result<u64, ApiError> {
        let name: String = url::form_urlencoded::byte_serialize(self.settings.name.as_bytes()).collect();
        let url = format!("/commits/{head}/check-runs?check_name={name}&filter=latest&per_page=100");
        let listed: Listed = self
            .github
            .get("look for its check", &self.github.repository(&url))
            .await?;
        let own = listed
            .check_runs
            .into_iter()
            .find(|run| run.external_id.as_deref() == Some(self.external_id().as_str()))
            .filter(|run| run.output.annotations_count == 0);
        let mut body = self.fields(head);
        body["status"] = json!("in_progress");
        if let Some(run) = own {
            let mut again = body.clone();
            if let Some(fields) = again.as_object_mut() {
                fields.remove("head_sha");
            }
            match self.patch(run.id, &again).await {
                // Another App has made it.
                Err(error) if is_denied(&error) => {}
                patched => return patched.map(|()| run.id),
            }
        }
        self.create(&body).await
    }

    fn fields(&self, head: &str) -> Value {
        let mut fields = json!({ "name": self.settings.name, "head_sha": head, "external_id": self.external_id() });
        if let Some(url) = &self.settings.details_url {
            fields["details_url"] = json!(url);
        }
        fields
    }

    /// A check hangs on a commit, which can be the head of several pull requests.
    fn external_id(&self) -> String {
        format!("conclave-{}", self.github.number)
    }

    async fn create(&self, body: &Value) -> Result<u64, ApiError> {
        let url = self.github.repository("/check-runs");
        let run = self.github.create("begin its check", &url, body).await?;
        Ok(run["id"].as_u64().unwrap_or_default())
    }

    async fn patch(&self, run: u64, body: &Value) -> Result<(), ApiError> {
        let url = self.github.repository(&format!("/check-runs/{run}"));
        self.github
            .http
            .put("complete its check", Method::PATCH, &url, body)
            .await
    }

    async fn set_status(&self, head: &str, state: &str, text: &str) -> Result<(), ApiError> {
        let url = self.github.repository(&format!("/statuses/{head}"));
        let mut body = json!({ "state": state, "context": self.settings.name, "description": cut(text, MAX_STATUS) });
        if let Some(address) = &self.settings.details_url {
            body["target_url"] = json!(address);
        }
        self.github
            .http
            .put("set a commit status", Method::POST, &url, &body)
            .await
    }

    /// Ends the check on the reviewed commit, which may be a newer one than it was begun on.
    pub async fn end(&self, head: Option<&str>, end: &CheckEnd) -> Result<(), ApiError> {
        let mut begun = self.begun.lock().await;
        let (begun_on, mut shown) = begun.clone();
        let head = head.unwrap_or(&begun_on).to_owned();
        if head != begun_on {
            let elsewhere = CheckEnd {
                conclusion: Conclusion::Neutral,
                title: "A newer commit is reviewed".to_owned(),
                summary: format!("The review is of {head}."),
                annotations: Vec::new(),
            };
            self.complete(&begun_on, shown, &elsewhere).await?;
            shown = self.start(&head).await?.0;
        }
        *begun = (head.clone(), shown);
        self.complete(&head, shown, end).await
    }

    async fn complete(&self, head: &str, shown: Shown, end: &CheckEnd) -> Result<(), ApiError> {
        let run = match shown {
            Shown::Run(run) => run,
            Shown::Status => return self.set_status(head, end.conclusion.status(), &end.title).await,
            Shown::ExitCode => return Ok(()),
        };
        let output = json!({ "title": cut(&end.title, MAX_TITLE), "summary": cut(&end.summary, MAX_SUMMARY) });
        // They are added by each request; what is completed first cannot be missed.
        let mut pages = end.annotations.chunks(MAX_ANNOTATIONS);
        let first = pages.next().unwrap_or_default();
        let mut body = json!({ "status": "completed", "conclusion": end.conclusion.word(), "output": output });
        body["output"]["annotations"] = first.iter().map(annotation).collect();
        self.patch(run, &body).await?;
        for page in pages {
            let mut more = json!({ "output": output });
            more["output"]["annotations"] = page.iter().map(annotation).collect();
            self.patch(run, &more).await?;
        }
        Ok(())
    }
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

/// Returns whether the token lacks the right: a person's token gets no check run, a reader's no status.
fn is_denied(error: &ApiError) -> bool {
    matches!(error.kind, ApiErrorKind::Forbidden | ApiErrorKind::NotFound)
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
