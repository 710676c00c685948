//! The variables of GitHub Actions, and the file with the event that started the job.
//!
//! The file is written by GitHub, and parts of what stands in it by the author of the change. Nothing of it is believed but the
//! number of the pull request, the repository's, and the commit: everything else is asked of the API.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::publish::installation_secret;
use conclave_forge::client_builder;
use conclave_job_token::{ActionsTokens, JobToken};
use conclave_plugin_github::{ExpectedHead, GitHubSettings, PullRequestAddress};
use conclave_shared::oidc::github_project;
use secrecy::SecretString;
use serde::{Deserialize, de::IgnoredAny};
use url::Url;

use super::{CiEnvironment, CloneOf, ForgeSettings, RefusedCheckout, web_address};
use crate::{
    env::{Environment, names},
    exit::Failure,
};

/// Maximum size of the event's file, in bytes. GitHub's own limit for events is 25 MB.
const MAX_EVENT_BYTES: u64 = 25 << 20;

/// Events that run for the code of a pull request, with no more rights than its author has.
const OF_THE_HEAD: [&str; 1] = ["pull_request"];
/// Events that run with the secrets of the repository beside a pull request: nothing of it may be checked out in their jobs.
const TRUSTED: [&str; 1] = ["pull_request_target"];
/// The event of a workflow that follows another one, which ran without rights.
const FOLLOWING: &str = "workflow_run";
/// The event of a comment on a pull request, which runs with the secrets of the repository.
pub(super) const COMMENT: &str = "issue_comment";
/// The event of a group of pull requests that a merge queue is about to merge.
const QUEUE: &str = "merge_group";
/// The account whose jobs have a reading token and secrets of their own.
const DEPENDABOT: &str = "dependabot[bot]";

/// Maximum size of what a job without rights hands on, in bytes.
const MAX_HANDED_ON: u64 = 1_000;

/// Where a job with `id-token: write` asks for its tokens, and what it is known by there. No agent's process gets either.
const TOKEN_ADDRESS: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const TOKEN_BEARER: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
/// The audience of the CI component's tokens, too.
const DEFAULT_AUDIENCE: &str = "conclave";

/// The advice where an event is not of a pull request.
const HINT: &str = "`conclave review` runs on `pull_request` events, and on `issue_comment` for commands; name a pull request with --pr URL, or use `conclave local`";

/// The advice for a job without a token.
const TOKEN_HINT: &str = "hand the job's token to the step: `env: { GITHUB_TOKEN: \"${{ github.token }}\" }`, with `permissions: { \
                          contents: read, pull-requests: write, checks: write }`";

/// Keys of providers, the first of which is set makes the secret where none is set.
const PROVIDER_KEYS: [&str; 5] = [
    names::ANTHROPIC_API_KEY,
    names::OPENAI_API_KEY,
    names::COMPATIBLE_API_KEY,
    names::CLOUDFLARE_API_TOKEN,
    names::CF_AIG_TOKEN,
];

/// The files that a job's program may add to, and the job's own address.
#[derive(Debug)]
pub(crate) struct WorkflowFiles {
    /// The job's summary.
    pub(crate) summary: Option<Utf8PathBuf>,
    /// The outputs of the step.
    pub(crate) output: Option<Utf8PathBuf>,
    /// The run of the workflow, as people see it.
    pub(crate) run_url: Option<String>,
}

/// The task of a job of GitHub Actions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkflowJob {
    /// A review, or an error that says why it cannot be one.
    Review,
    /// A command in the comment of this number.
    Command(u64),
    /// The check of a merge queue's commit: each pull request in the queue was reviewed before.
    Queue(String),
    /// Nothing: the job of a fork or of Dependabot, which got no secret.
    WithoutSecrets,
}

/// The parts of an event that are read.
#[derive(Debug, Deserialize)]
struct Event {
    action: Option<String>,
    pull_request: Option<EventPull>,
    issue: Option<EventIssue>,
    comment: Option<EventComment>,
    merge_group: Option<EventGroup>,
    repository: Option<EventRepository>,
    workflow_run: Option<EventRun>,
}

/// An issue, which is a pull request or not.
#[derive(Debug, Deserialize)]
struct EventIssue {
    number: u64,
    pull_request: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct EventComment {
    id: u64,
}

#[derive(Debug, Deserialize)]
struct EventGroup {
    head_sha: String,
}

/// GitHub's own record of the run that a workflow follows.
#[derive(Debug, Deserialize)]
struct EventRun {
    event: String,
    head_sha: String,
    head_repository: Option<RunRepository>,
}

#[derive(Debug, Deserialize)]
struct RunRepository {
    id: u64,
}

/// The word of a job without rights. None of it is believed: the number is looked up, and its head compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HandedOn {
    number: u64,
    head: String,
}

#[derive(Debug, Deserialize)]
struct EventPull {
    number: u64,
    head: EventHead,
}

#[derive(Debug, Deserialize)]
struct EventHead {
    sha: String,
    /// None where a fork was deleted.
    repo: Option<RunRepository>,
}

#[derive(Debug, Deserialize)]
struct EventRepository {
    id: u64,
    full_name: String,
}

impl Environment {
    /// Returns whether this is a job of GitHub Actions, of whatever event.
    pub(crate) fn is_github_job(&self) -> bool {
        self.get("GITHUB_ACTIONS") == Some("true")
    }

    /// The files of a job; none outside of one.
    pub(crate) fn workflow_files(&self) -> Option<WorkflowFiles> {
        let file = |name: &str| self.get(name).map(Utf8PathBuf::from);
        let run_url = || {
            let (server, repository) = (self.get("GITHUB_SERVER_URL")?, self.get("GITHUB_REPOSITORY")?);
            Some(format!(
                "{server}/{repository}/actions/runs/{}",
                self.get("GITHUB_RUN_ID")?
            ))
        };
        self.is_github_job().then(|| WorkflowFiles {
            summary: file("GITHUB_STEP_SUMMARY"),
            output: file("GITHUB_OUTPUT"),
            run_url: run_url(),
        })
    }

    /// The name of the job's repository at the Workers, and the number of its pull request as far as the variables say.
    pub(super) fn github_subject(&self) -> Option<(String, Option<u64>)> {
        let repository = self.get("GITHUB_REPOSITORY").filter(|_| self.is_github_job())?;
        let reference = self.get("GITHUB_REF").and_then(|name| name.strip_prefix("refs/pull/"));
        let number = reference.and_then(|rest| rest.split('/').next()?.parse().ok());
        let server = self.get("GITHUB_SERVER_URL").and_then(|url| Url::parse(url).ok())?;
        Some((project_name(&server, repository), number))
    }

    /// The tokens of the job itself, for the Workers, if it may ask for them: each has its audience.
    pub(crate) fn workflow_token(&self) -> Result<Option<JobToken>, Failure> {
        let (Some(address), Some(bearer)) = (
            self.get(TOKEN_ADDRESS).filter(|_| self.is_github_job()),
            self.secret(TOKEN_BEARER),
        ) else {
            return Ok(None);
        };
        if let Some(made) = self.workflow_token.get() {
            return Ok(Some(made.clone()));
        }
        let url = web_address(TOKEN_ADDRESS, address)?;
        let client = client_builder(
            &self.ca_files(),
            "CONCLAVE_CA_FILE, or what --ca-file names",
            Some(&url),
        )?;
        let audience = self.get(names::OIDC_AUDIENCE).unwrap_or(DEFAULT_AUDIENCE);
        let tokens = ActionsTokens::new(client, url, bearer, audience)
            .map_err(|error| Failure::Settings(format!("{TOKEN_ADDRESS} cannot be used: {error}")))?;
        Ok(Some(self.workflow_token.get_or_init(|| tokens.into()).clone()))
    }

    /// The checkout of a job.
    pub(super) fn github_checkout(&self) -> Option<&str> {
        self.get("GITHUB_WORKSPACE").filter(|_| self.is_github_job())
    }

    /// Reads what the job is for. What is wrong with a job of a review is found when it begins.
    pub(crate) fn workflow_job(&self) -> Result<WorkflowJob, Failure> {
        let (Some(event_name), Some(repository), Some(path)) = (
            self.get("GITHUB_EVENT_NAME").filter(|_| self.is_github_job()),
            self.get("GITHUB_REPOSITORY"),
            self.get("GITHUB_EVENT_PATH"),
        ) else {
            return Ok(WorkflowJob::Review);
        };
        match event_name {
            COMMENT => Ok(WorkflowJob::Command(
                commented(&self.event_of(repository, path)?, path)?.1,
            )),
            QUEUE => Ok(WorkflowJob::Queue(queued(self.event_of(repository, path)?, path)?)),
            name if OF_THE_HEAD.contains(&name) => {
                let is_foreign = || {
                    let event = self.event_of(repository, path).ok()?;
                    let (head, own) = (event.pull_request?.head, event.repository?.id);
                    Some(head.repo.is_none_or(|head| head.id != own))
                };
                let is_of_others = is_foreign() == Some(true) || self.get("GITHUB_ACTOR") == Some(DEPENDABOT);
                let has_secret = self.github_secret().is_ok();
                Ok(if is_of_others && !has_secret {
                    WorkflowJob::WithoutSecrets
                } else {
                    WorkflowJob::Review
                })
            }
            _ => Ok(WorkflowJob::Review),
        }
    }

    /// Reads the job's variables and its event.
    pub(super) fn github_job(&self) -> Result<CiEnvironment, Failure> {
        let required = |name: &str| self.required(name, HINT);
        let event_name = required("GITHUB_EVENT_NAME")?;
        let is_known = OF_THE_HEAD.contains(&event_name)
            || TRUSTED.contains(&event_name)
            || [FOLLOWING, COMMENT, QUEUE].contains(&event_name);
        if !is_known {
            return Err(Failure::Settings(format!("this job runs for `{event_name}`: {HINT}")));
        }
        self.check_timeout()?;
        let repository = required("GITHUB_REPOSITORY")?;
        let path = required("GITHUB_EVENT_PATH")?;
        let event = self.event_of(repository, path)?;
        let (number, head, expected) = match event_name {
            FOLLOWING => {
                let (number, head, expected) = self.followed(event)?;
                (number, Some(head), Some(expected))
            }
            // The head is what GitHub says when the command is read.
            COMMENT => (commented(&event, path)?.0, None, None),
            QUEUE => (0, Some(queued(event, path)?), None),
            _ => {
                let pull = pull_of(event, path)?;
                (pull.number, Some(pull.head.sha), None)
            }
        };
        let is_trusted = event_name == FOLLOWING || TRUSTED.contains(&event_name);
        let address = |name: &str| web_address(name, required(name)?);
        let server = address("GITHUB_SERVER_URL")?;
        let token = self.required(names::GITHUB_TOKEN, TOKEN_HINT)?;
        let settings = GitHubSettings {
            api_url: address("GITHUB_API_URL")?,
            graphql_url: address("GITHUB_GRAPHQL_URL")?,
            token: SecretString::from(token),
            repository: repository.to_owned(),
            number,
            secret: self.github_secret()?,
            ca_files: self.ca_files(),
            expected,
        };
        let mut clone = server.clone();
        clone.set_path(&format!("/{repository}.git"));
        Ok(CiEnvironment {
            directory: Utf8PathBuf::from(self.get("GITHUB_WORKSPACE").unwrap_or(".")),
            project_path: project_name(&server, repository),
            refused_checkout: head.clone().filter(|_| is_trusted).map(|head| RefusedCheckout {
                head,
                event: event_name.to_owned(),
            }),
            head_sha: head,
            repository_url: Some(with_token(clone, token)),
            clone_of: None,
            forge: ForgeSettings::GitHub(settings),
        })
    }

    /// Says that the job's time cannot be read: without it the run would have no end before the job is killed.
    fn check_timeout(&self) -> Result<(), Failure> {
        match self.get(names::TIMEOUT_MINUTES) {
            Some(minutes) if minutes.parse::<u64>().is_err() => Err(Failure::Settings(format!(
                "{} is `{minutes}`: set it to the job's `timeout-minutes`, a whole number",
                names::TIMEOUT_MINUTES
            ))),
            _ => Ok(()),
        }
    }

    /// Reads the event's file, which has to be of this repository.
    fn event_of(&self, repository: &str, path: &str) -> Result<Event, Failure> {
        let wrong = |what: &str| wrong_event(path, what);
        let size = std::fs::metadata(path).map_err(|error| wrong(&format!("which cannot be read ({error})")))?;
        if !size.is_file() || size.len() > MAX_EVENT_BYTES {
            return Err(wrong("which is not a file of an event"));
        }
        let text = std::fs::read(path).map_err(|error| wrong(&format!("which cannot be read ({error})")))?;
        let event: Event = serde_json::from_slice(&text)
            .map_err(|error| wrong(&format!("which is not the whole of an event ({error})")))?;
        let of = event
            .repository
            .as_ref()
            .ok_or_else(|| wrong("whose event names no repository"))?;
        if !of.full_name.eq_ignore_ascii_case(repository) {
            return Err(wrong(&format!(
                "whose event is of the repository {}, and GITHUB_REPOSITORY is {repository}",
                of.full_name
            )));
        }
        if let Some(id) = self.get("GITHUB_REPOSITORY_ID").filter(|id| id.parse() != Ok(of.id)) {
            return Err(wrong(&format!(
                "whose event is of the repository {} with the number {}, and GITHUB_REPOSITORY_ID is {id}",
                of.full_name, of.id
            )));
        }
        Ok(event)
    }

    /// The pull request of the run that this workflow follows: its number by what that run has handed on, its head by GitHub's own record.
    fn followed(&self, event: Event) -> Result<(u64, String, ExpectedHead), Failure> {
        let advice =
            "name the file that the first workflow has handed on with --handed-on FILE, as docs/github.md shows";
        let path = self.required(names::HANDED_ON, advice)?;
        let wrong = |what: &str| Failure::Settings(format!("what was handed on in {path} is not believed: {what}"));
        let run = event.workflow_run.ok_or_else(|| wrong("the event names no run"))?;
        if run.event != "pull_request" {
            return Err(wrong(&format!("the run was of `{}`, not of `pull_request`", run.event)));
        }
        let repository = run
            .head_repository
            .ok_or_else(|| wrong("the repository of the run's commit is gone"))?;
        let file = std::fs::symlink_metadata(path).map_err(|error| wrong(&format!("it cannot be read ({error})")))?;
        if !file.is_file() || file.len() > MAX_HANDED_ON {
            return Err(wrong("it is not a small file"));
        }
        let text = std::fs::read(path).map_err(|error| wrong(&format!("it cannot be read ({error})")))?;
        // A struct is also read from a list of its fields, which is not what the first workflow writes.
        let is_object = text.trim_ascii_start().starts_with(b"{");
        let handed_on: HandedOn = Some(&text)
            .filter(|_| is_object)
            .and_then(|text| serde_json::from_slice(text).ok())
            .ok_or_else(|| wrong("it is not `{\"number\": N, \"head\": \"COMMIT\"}` and nothing else"))?;
        if handed_on.head != run.head_sha || !is_commit(&run.head_sha) {
            return Err(wrong("it names another commit than the run was of"));
        }
        let expected = ExpectedHead {
            sha: run.head_sha.clone(),
            repository: repository.id,
        };
        Ok((handed_on.number, run.head_sha, expected))
    }

    /// The installation's secret: the one that is set, else made from a provider's key. The token of a job is another one in each job,
    /// so that what is signed with it would never be found again.
    fn github_secret(&self) -> Result<SecretString, Failure> {
        if let Some(secret) = self.secret(names::SECRET) {
            return Ok(secret);
        }
        let key = PROVIDER_KEYS.into_iter().find_map(|name| self.secret(name));
        key.map(|key| installation_secret(&key)).ok_or_else(|| {
            Failure::Settings(format!(
                "{} is not set, nor a provider's key that it could be made from: store a long random text as a secret of that name, \
                 and hand it to the step",
                names::SECRET
            ))
        })
    }

    /// Reads the address of a pull request.
    pub(super) fn pull_request(&self, address: &str, directory: Option<&Utf8Path>) -> Result<CiEnvironment, Failure> {
        let PullRequestAddress {
            api_url,
            graphql_url,
            repository,
            number,
            repository_url,
        } = PullRequestAddress::parse(address)?;
        let token = self.required(
            names::GITHUB_TOKEN,
            "make a fine-grained access token for the repository with `Pull requests: write` and `Contents: read`, or use an App's",
        )?;
        let (api_url, graphql_url) = self.apis_of(&repository_url, (api_url, graphql_url))?;
        let ca_files = self.ca_files();
        let clone_of = CloneOf {
            host: repository_url.host_str().unwrap_or_default().to_owned(),
            path: repository.clone(),
        };
        Ok(CiEnvironment {
            directory: directory.map_or_else(|| Utf8PathBuf::from("."), Utf8Path::to_owned),
            project_path: project_name(&repository_url, &repository),
            head_sha: None,
            refused_checkout: None,
            repository_url: Some(with_token(repository_url, token)),
            clone_of: Some(clone_of),
            forge: ForgeSettings::GitHub(GitHubSettings {
                api_url,
                graphql_url,
                token: SecretString::from(token),
                repository,
                number,
                secret: self.github_secret()?,
                ca_files,
                expected: None,
            }),
        })
    }
}

impl Environment {
    /// The addresses of both APIs for a pull request on this server: those that the environment names, where they are of the server. A token
    /// that is of another server is not sent to this one.
    fn apis_of(&self, server: &Url, (api, graphql): (Url, Url)) -> Result<(Url, Url), Failure> {
        const API: &str = "GITHUB_API_URL";
        let read = |name: &str| self.get(name).map(|text| web_address(name, text)).transpose();
        let own = read("GITHUB_SERVER_URL")?;
        let named = read(API)?;
        let (name, is_of_server) = match (&own, &named) {
            (Some(own), _) => ("GITHUB_SERVER_URL", is_same_server(own, server)),
            (None, Some(named)) => (API, is_same_server(named, &api)),
            (None, None) => return Ok((api, graphql)),
        };
        if !is_of_server {
            return Err(Failure::Settings(format!(
                "{name} is {}, and the pull request is on {}: {} is not sent to another server. Unset {name} if the token is of the pull \
                 request's server",
                self.get(name).unwrap_or_default(),
                server.host_str().unwrap_or_default(),
                names::GITHUB_TOKEN
            )));
        }
        Ok((named.unwrap_or(api), read("GITHUB_GRAPHQL_URL")?.unwrap_or(graphql)))
    }
}

/// Returns whether two addresses are of one server.
fn is_same_server(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    (one.scheme(), host(one), one.port_or_known_default())
        == (other.scheme(), host(other), other.port_or_known_default())
}

/// The numbers of the pull request and of the comment that an event is of.
fn commented(event: &Event, path: &str) -> Result<(u64, u64), Failure> {
    let wrong = |what: &str| Err(wrong_event(path, what));
    if event.action.as_deref() != Some("created") {
        return wrong("whose event is not of a new comment");
    }
    match (&event.issue, &event.comment) {
        (Some(issue), Some(comment)) if issue.pull_request.is_some() => Ok((issue.number, comment.id)),
        _ => wrong("whose event is of no comment on a pull request"),
    }
}

/// The commit that a merge queue made.
fn queued(event: Event, path: &str) -> Result<String, Failure> {
    let head = event
        .merge_group
        .map(|group| group.head_sha)
        .filter(|head| is_commit(head));
    head.ok_or_else(|| wrong_event(path, "whose event names no commit of a merge queue"))
}

/// The pull request that an event is of.
fn pull_of(event: Event, path: &str) -> Result<EventPull, Failure> {
    let pull = event
        .pull_request
        .ok_or_else(|| wrong_event(path, "whose event is of no pull request"))?;
    if is_commit(&pull.head.sha) {
        Ok(pull)
    } else {
        Err(wrong_event(path, "whose event names no commit"))
    }
}

fn wrong_event(path: &str, what: &str) -> Failure {
    Failure::Settings(format!("GITHUB_EVENT_PATH is {path}, {what}: {HINT}"))
}

/// The name of a repository at the Workers, as its tokens prove it: with the host, because a project of a GitLab may have its path.
pub(crate) fn project_name(server: &Url, repository: &str) -> String {
    let host = server.host_str().unwrap_or_default();
    github_project(host.strip_prefix("www.").unwrap_or(host), repository)
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.chars().all(|digit| digit.is_ascii_hexdigit())
}

/// The address of a repository with the token as GitHub takes it.
fn with_token(mut url: Url, token: &str) -> SecretString {
    let _ = url.set_username("x-access-token");
    let _ = url.set_password(Some(token));
    SecretString::from(url.as_str())
}
