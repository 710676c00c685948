//! The variables of GitHub Actions, and the file with the event that started the job.
//!
//! The file is written by GitHub, and parts of what stands in it by the author of the change. Nothing of it is believed but the
//! number of the pull request, the repository's, and the commit: everything else is asked of the API.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::publish::installation_secret;
use conclave_plugin_github::{GitHubSettings, PullRequestAddress};
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{CiEnvironment, CloneOf, ForgeSettings};
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

/// What to do where an event is of no pull request.
const HINT: &str =
    "`conclave review` runs on `pull_request` events; name a pull request with --pr URL, or use `conclave local`";

/// What to do where there is no token.
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

/// The parts of an event that are read.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    pull_request: Option<EventPull>,
    #[serde(default)]
    repository: Option<EventRepository>,
}

#[derive(Debug, Deserialize)]
struct EventPull {
    number: u64,
    head: EventHead,
}

#[derive(Debug, Deserialize)]
struct EventHead {
    sha: String,
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

    /// The repository of the job, and the number of its pull request as far as the variables say.
    pub(super) fn github_subject(&self) -> Option<(&str, Option<u64>)> {
        let repository = self.get("GITHUB_REPOSITORY").filter(|_| self.is_github_job())?;
        let reference = self.get("GITHUB_REF").and_then(|name| name.strip_prefix("refs/pull/"));
        let number = reference.and_then(|rest| rest.split('/').next()?.parse().ok());
        Some((repository, number))
    }

    /// The checkout of a job.
    pub(super) fn github_checkout(&self) -> Option<&str> {
        self.get("GITHUB_WORKSPACE").filter(|_| self.is_github_job())
    }

    /// Reads the job's variables and its event.
    pub(super) fn github_job(&self) -> Result<CiEnvironment, Failure> {
        let required = |name: &str| self.required(name, HINT);
        let event_name = required("GITHUB_EVENT_NAME")?;
        if !OF_THE_HEAD.contains(&event_name) && !TRUSTED.contains(&event_name) {
            return Err(Failure::Settings(format!("this job runs for `{event_name}`: {HINT}")));
        }
        let repository = required("GITHUB_REPOSITORY")?;
        let pull = self.event_of(repository, required("GITHUB_EVENT_PATH")?)?;
        let address = |name: &str| {
            let text = required(name)?;
            let wrong = |error| Failure::Settings(format!("{name} is `{text}`: {error}"));
            text.parse::<Url>().map_err(wrong)
        };
        let server = address("GITHUB_SERVER_URL")?;
        let token = self.required(names::GITHUB_TOKEN, TOKEN_HINT)?;
        let settings = GitHubSettings {
            api_url: address("GITHUB_API_URL")?,
            graphql_url: address("GITHUB_GRAPHQL_URL")?,
            token: SecretString::from(token),
            repository: repository.to_owned(),
            number: pull.number,
            secret: self.github_secret()?,
            ca_files: self.ca_files(),
        };
        let mut clone = server;
        clone.set_path(&format!("/{repository}.git"));
        Ok(CiEnvironment {
            directory: Utf8PathBuf::from(self.get("GITHUB_WORKSPACE").unwrap_or(".")),
            project_path: repository.to_owned(),
            refused_checkout: TRUSTED.contains(&event_name).then(|| pull.head.sha.clone()),
            head_sha: Some(pull.head.sha),
            repository_url: Some(with_token(clone, token)),
            ca_file: self.get(names::CA_FILE).map(Utf8PathBuf::from),
            clone_of: None,
            forge: ForgeSettings::GitHub(settings),
        })
    }

    /// Reads the pull request's number and head from the event's file.
    fn event_of(&self, repository: &str, path: &str) -> Result<EventPull, Failure> {
        let wrong = |what: &str| Failure::Settings(format!("GITHUB_EVENT_PATH is {path}, {what}: {HINT}"));
        let size = std::fs::metadata(path).map_err(|error| wrong(&format!("which cannot be read ({error})")))?;
        if !size.is_file() || size.len() > MAX_EVENT_BYTES {
            return Err(wrong("which is not a file of an event"));
        }
        let text = std::fs::read(path).map_err(|error| wrong(&format!("which cannot be read ({error})")))?;
        let event: Event = serde_json::from_slice(&text)
            .map_err(|error| wrong(&format!("which is not the whole of an event ({error})")))?;
        let of = event
            .repository
            .ok_or_else(|| wrong("whose event names no repository"))?;
        let id = self.get("GITHUB_REPOSITORY_ID").and_then(|id| id.parse::<u64>().ok());
        if !of.full_name.eq_ignore_ascii_case(repository) || id.is_some_and(|id| id != of.id) {
            return Err(wrong(&format!(
                "whose event is of the repository {}, and GITHUB_REPOSITORY is {repository}",
                of.full_name
            )));
        }
        let pull = event
            .pull_request
            .ok_or_else(|| wrong("whose event is of no pull request"))?;
        let is_commit =
            matches!(pull.head.sha.len(), 40 | 64) && pull.head.sha.chars().all(|digit| digit.is_ascii_hexdigit());
        if !is_commit {
            return Err(wrong("whose event names no commit"));
        }
        Ok(pull)
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
        let ca_files = self.ca_files();
        let clone_of = CloneOf {
            host: repository_url.host_str().unwrap_or_default().to_owned(),
            path: repository.clone(),
        };
        let ca_file = ca_files.first().cloned();
        Ok(CiEnvironment {
            directory: directory.map_or_else(|| Utf8PathBuf::from("."), Utf8Path::to_owned),
            project_path: repository.clone(),
            head_sha: None,
            refused_checkout: None,
            repository_url: Some(with_token(repository_url, token)),
            ca_file: ca_file.and_then(|path| Utf8PathBuf::from_path_buf(path).ok()),
            clone_of: Some(clone_of),
            forge: ForgeSettings::GitHub(GitHubSettings {
                api_url,
                graphql_url,
                token: SecretString::from(token),
                repository,
                number,
                secret: self.github_secret()?,
                ca_files,
            }),
        })
    }
}

/// The address of a repository with the token as GitHub takes it.
fn with_token(mut url: Url, token: &str) -> SecretString {
    let _ = url.set_username("x-access-token");
    let _ = url.set_password(Some(token));
    SecretString::from(url.as_str())
}
