//! The variables of CI systems: all reading of them is in this file, and in those below it.

mod github;

pub(crate) use github::{WorkflowFiles, WorkflowJob, project_name};

use std::{path::PathBuf, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use conclave_certificates::ExtraCertificates;
use conclave_engine::review::ReviewMode;
use conclave_forge::{ApiError, ForgeWords, Publisher};
use conclave_plugin_github::{GitHub, GitHubSettings, PullRequestAddress};
use secrecy::SecretString;
use tokio::time::Instant;
use url::Url;

use crate::{
    env::{Environment, names},
    exit::Failure,
};
use conclave_plugin_gitlab::{GitLab, GitLabSettings, Located, MergeRequestAddress};

/// The forge of the change, and the account that posts.
#[derive(Debug)]
pub(crate) enum ForgeSettings {
    GitLab(GitLabSettings),
    GitHub(GitHubSettings),
}

impl ForgeSettings {
    /// The forge's name in events and reports.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::GitLab(_) => "gitlab",
            Self::GitHub(_) => "github",
        }
    }

    /// The forge's words in texts.
    pub(crate) const fn words(&self) -> ForgeWords {
        match self {
            Self::GitLab(_) => conclave_plugin_gitlab::WORDS,
            Self::GitHub(_) => conclave_plugin_github::WORDS,
        }
    }

    /// The number of the merge request.
    pub(crate) const fn number(&self) -> u64 {
        match self {
            Self::GitLab(settings) => settings.iid,
            Self::GitHub(settings) => settings.number,
        }
    }

    /// The installation's secret.
    pub(crate) const fn secret(&self) -> &SecretString {
        match self {
            Self::GitLab(settings) => &settings.secret,
            Self::GitHub(settings) => &settings.secret,
        }
    }

    /// The mode where nothing says one. On GitHub the check is the gate, and GitHub itself calls approvals by programs
    /// a risk.
    pub(crate) fn default_mode(&self) -> ReviewMode {
        match self {
            Self::GitLab(_) => ReviewMode::default(),
            Self::GitHub(_) => ReviewMode::Comment,
        }
    }

    /// The publisher of the merge request, in a job that ends then.
    pub(crate) fn publisher(&self, ends: Option<Instant>) -> Result<Publisher, ApiError> {
        match self {
            Self::GitLab(settings) => GitLab::publisher(settings, ends),
            Self::GitHub(settings) => GitHub::publisher(settings, ends),
        }
    }
}

/// The merge request that a job is for, and how it is reached.
#[derive(Debug)]
pub(crate) struct CiEnvironment {
    pub(crate) forge: ForgeSettings,
    /// The checkout.
    pub(crate) directory: Utf8PathBuf,
    /// The target project's name at the Workers: its path, or the number where there is none; a repository of GitHub has its host before it.
    pub(crate) project_path: String,
    /// The commit that the pipeline runs for, as far as it is one of the merge request's.
    pub(crate) head_sha: Option<String>,
    /// The repository's address, with the job's own credentials in it.
    pub(crate) repository_url: Option<SecretString>,
    /// The commit that must not be checked out, because the job has secrets that the change's author does not.
    pub(crate) refused_checkout: Option<RefusedCheckout>,
    /// The project that a repository in `directory` has to be a clone of, where nobody has checked it out for this.
    pub(crate) clone_of: Option<CloneOf>,
}

/// A commit of the change that must not be checked out, and the event whose jobs have secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedCheckout {
    pub(crate) head: String,
    /// The event's name, as in `pull_request_target`.
    pub(crate) event: String,
}

impl RefusedCheckout {
    /// The head of the pull request in the job of a command.
    pub(crate) fn of_command(head: &str) -> Self {
        Self {
            head: head.to_owned(),
            event: github::COMMENT.to_owned(),
        }
    }
}

/// A project by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CloneOf {
    /// The server, without a port.
    pub(crate) host: String,
    /// The path below the host.
    pub(crate) path: String,
}

/// What is kept of the job's time for ending in good order: stopping, posting, telemetry, and the artifacts.
const ENDING: Duration = Duration::from_secs(30);

/// The part of it after the last request to a forge: for telemetry and the artifacts.
const LEAVING: Duration = Duration::from_secs(5);

/// Variables that name files of certificates, each with what a person has to correct where its file cannot be used.
const CA_FILES: [(&str, &str); 2] = [
    (names::CA_FILE, "CONCLAVE_CA_FILE, or what --ca-file names"),
    ("CI_SERVER_TLS_CA_FILE", "CI_SERVER_TLS_CA_FILE"),
];

impl Environment {
    /// Returns whether this is a job of GitLab CI, of whatever pipeline.
    pub(crate) fn is_gitlab_job(&self) -> bool {
        self.get("GITLAB_CI") == Some("true")
    }

    /// The name of the job's project at the Workers; of a merge request's pipeline, that of the target.
    pub(crate) fn project(&self) -> Option<String> {
        self.get("CI_MERGE_REQUEST_PROJECT_PATH")
            .or_else(|| self.get("CI_PROJECT_PATH"))
            .map(str::to_owned)
            .or_else(|| Some(self.github_subject()?.0))
    }

    /// The forge, the project and the number of the merge request, as far as the job's variables say; nothing outside of a job.
    pub(crate) fn run_subject(&self) -> Option<(&'static str, String, Option<u64>)> {
        if let Some((repository, number)) = self.github_subject() {
            return Some(("github", repository, number));
        }
        let number = || self.get("CI_MERGE_REQUEST_PROJECT_ID").map(str::to_owned);
        let project = self.project().or_else(number)?;
        let number = self.get("CI_MERGE_REQUEST_IID");
        Some(("gitlab", project, number.and_then(|number| number.parse().ok())))
    }

    /// Reads the variables of the job.
    pub(crate) fn pipeline(&self) -> Result<CiEnvironment, Failure> {
        if self.is_github_job() {
            self.github_job()
        } else {
            self.gitlab_pipeline()
        }
    }

    fn gitlab_pipeline(&self) -> Result<CiEnvironment, Failure> {
        let hint = "`conclave review` runs in a GitLab merge-request pipeline or a GitHub Actions job of a pull request; locally use \
                    `conclave local`";
        let required = |name: &str| self.required(name, hint);
        let iid = required("CI_MERGE_REQUEST_IID")?;
        let iid = iid
            .parse()
            .map_err(|_| Failure::Settings(format!("CI_MERGE_REQUEST_IID is `{iid}`, which is not a number")))?;
        // The target project's: in a fork's pipeline CI_PROJECT_ID is another one.
        let project = required("CI_MERGE_REQUEST_PROJECT_ID")?.to_owned();
        let api_url = required("CI_API_V4_URL")?;
        let api_url = web_address("CI_API_V4_URL", api_url)?;
        let token = self.required(
        names::GITLAB_TOKEN,
        "make a project access token with the scope `api` and the role Developer, and add it as a masked, unprotected \
         CI/CD variable of that name. The job's own token cannot comment",
    )?;
        let secret = self.get(names::SECRET).unwrap_or(token);
        Ok(CiEnvironment {
            directory: Utf8PathBuf::from(self.get("CI_PROJECT_DIR").unwrap_or(".")),
            project_path: self.get("CI_MERGE_REQUEST_PROJECT_PATH").unwrap_or(&project).to_owned(),
            // In a merged-results pipeline the checked-out commit is one of GitLab's making, and in no merge request.
            head_sha: self
                .get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
                .or_else(|| self.get("CI_COMMIT_SHA"))
                .map(str::to_owned),
            repository_url: self.secret("CI_REPOSITORY_URL"),
            refused_checkout: None,
            clone_of: None,
            forge: ForgeSettings::GitLab(GitLabSettings {
                ca_files: self.ca_files(),
                api_url,
                token: SecretString::from(token),
                project,
                iid,
                secret: SecretString::from(secret),
            }),
        })
    }

    /// Reads the address of a merge request or a pull request, and finds out where its forge is.
    pub(crate) async fn merge_request(
        &self,
        address: &str,
        directory: Option<&Utf8Path>,
    ) -> Result<CiEnvironment, Failure> {
        if PullRequestAddress::is_one(address) {
            return self.pull_request(address, directory);
        }
        let address = MergeRequestAddress::parse(address).map_err(|error| {
            // What is of neither forge may be meant for either.
            if address.contains("merge_requests") {
                return Failure::from(error);
            }
            let example = PullRequestAddress::EXAMPLE;
            Failure::Settings(format!("{error}, and that of a pull request like {example}"))
        })?;
        let token = self.required(
            names::GITLAB_TOKEN,
            "make an access token with the scope `api` for an account with the role Developer in the project",
        )?;
        let secret = self.get(names::SECRET).unwrap_or(token);
        let known = self.get("CI_API_V4_URL").and_then(|url| url.parse().ok());
        let ca_files = self.ca_files();
        let Located {
            api_url,
            project,
            iid,
            repository_url,
        } = address.locate(known.as_ref(), &ca_files).await?;
        let clone_of = CloneOf {
            host: repository_url.host_str().unwrap_or_default().to_owned(),
            path: repository_url
                .path()
                .trim_matches('/')
                .trim_end_matches(".git")
                .to_owned(),
        };
        // Commits that are not here are fetched with the token, as GitLab takes it from any user name.
        let mut with_token = repository_url;
        let _ = with_token.set_username("oauth2");
        let _ = with_token.set_password(Some(token));
        Ok(CiEnvironment {
            directory: directory.map_or_else(|| Utf8PathBuf::from("."), Utf8Path::to_owned),
            project_path: project.clone(),
            head_sha: None,
            repository_url: Some(SecretString::from(with_token.as_str())),
            refused_checkout: None,
            clone_of: Some(clone_of),
            forge: ForgeSettings::GitLab(GitLabSettings {
                ca_files,
                api_url,
                token: SecretString::from(token),
                project,
                iid,
                secret: SecretString::from(secret),
            }),
        })
    }
    /// Finds the forge as a review does; nothing where neither a pipeline nor an address names one. Whether there is a merge request
    /// is the second value: a pipeline may be of a branch.
    pub(crate) async fn forge(
        &self,
        address: Option<&str>,
        directory: Option<&Utf8Path>,
    ) -> Result<Option<(CiEnvironment, bool)>, Failure> {
        if let Some(address) = address {
            return Ok(Some((self.merge_request(address, directory).await?, true)));
        }
        if self.is_github_job() {
            return Ok(Some((self.github_job()?, true)));
        }
        if self.get("CI_API_V4_URL").is_none() {
            return Ok(None);
        }
        if self.get("CI_MERGE_REQUEST_IID").is_some() {
            return Ok(Some((self.pipeline()?, true)));
        }
        let Some(project) = self.get("CI_PROJECT_ID") else {
            return Ok(None);
        };
        // As in a merge request's pipeline of this project.
        let environment = self
            .with("CI_MERGE_REQUEST_PROJECT_ID", project)
            .with("CI_MERGE_REQUEST_IID", "0");
        Ok(Some((environment.pipeline()?, false)))
    }

    /// The branch that the job's change is to be merged into, else the project's default branch, as far as the job's variables say.
    pub(crate) fn target_branch(&self) -> Option<&str> {
        [
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
            "GITHUB_BASE_REF",
            "CI_DEFAULT_BRANCH",
        ]
        .into_iter()
        .find_map(|name| self.get(name))
    }

    /// The checkout of a job.
    pub(crate) fn job_checkout(&self) -> Option<&str> {
        self.get("CI_PROJECT_DIR").or_else(|| self.github_checkout())
    }

    /// Certificates to trust besides the system's: those of the job, and those that the user names.
    pub(crate) fn ca_files(&self) -> Vec<PathBuf> {
        self.named_ca_files().map(|(file, _)| file).collect()
    }

    /// The same files, each with what a person has to correct where it cannot be used.
    pub(crate) fn named_ca_files(&self) -> impl Iterator<Item = (PathBuf, &'static str)> {
        CA_FILES
            .iter()
            .filter_map(move |(name, correct)| Some((PathBuf::from(self.get(name)?), *correct)))
    }

    /// The environment without files of certificates that cannot be used: for a run that fails for them and still has something to take
    /// back. What is left, and the system's own, is all that is trusted then.
    pub(crate) fn without_unusable_certificates(&self) -> Self {
        CA_FILES.iter().fold(self.clone(), |environment, (name, _)| {
            if ExtraCertificates::read(environment.get(name)).is_ok() {
                environment
            } else {
                environment.with(name, "")
            }
        })
    }

    /// How much of the job's time is left for the run, in a job of GitLab CI. It kills the job when its time is over, and then
    /// nothing could be posted any more.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.left_at(Utc::now())
    }

    /// Time of the last request to the forge: a little before the job ends, in a job whose time is known.
    pub(crate) fn last_request(&self) -> Option<Instant> {
        Some(Instant::now() + self.time_left()? + ENDING.saturating_sub(LEAVING))
    }

    fn left_at(&self, now: DateTime<Utc>) -> Option<Duration> {
        let minutes = || {
            Some(
                self.get(names::TIMEOUT_MINUTES)?
                    .parse::<u64>()
                    .ok()?
                    .saturating_mul(60),
            )
        };
        let timeout = match self.get("CI_JOB_TIMEOUT") {
            Some(seconds) => seconds.parse().ok()?,
            None => minutes()?,
        };
        let started = self
            .get("CI_JOB_STARTED_AT")
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        let gone = started.and_then(|started| now.signed_duration_since(started).to_std().ok());
        let left = Duration::from_secs(timeout).saturating_sub(gone.unwrap_or_default());
        Some(left.saturating_sub(ENDING))
    }
}

/// Reads the address of a server that a variable of the job names.
fn web_address(name: &str, text: &str) -> Result<Url, Failure> {
    let wrong = |problem: &str| Failure::Settings(format!("{name} is `{text}`: {problem}"));
    let url: Url = text.parse().map_err(|error| wrong(&format!("{error}")))?;
    if matches!(url.scheme(), "https" | "http") {
        Ok(url)
    } else {
        Err(wrong("it does not begin with https://"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_on_the_web() {
        assert!(web_address("CI_API_V4_URL", "https://gitlab.example.com/api/v4").is_ok());
        for (text, problem) in [("nowhere", "relative URL"), ("ftp://x/api/v4", "begin with https://")] {
            let error = web_address("CI_API_V4_URL", text).expect_err(text).to_string();
            assert!(
                error.starts_with(&format!("CI_API_V4_URL is `{text}`: ")) && error.contains(problem),
                "{error}"
            );
        }
    }

    #[test]
    fn the_job_s_time_leaves_some_for_the_end() {
        let now: DateTime<Utc> = "2026-03-01T12:10:00Z".parse().expect("a time");
        let left = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Environment::new(variables).left_at(now).map(|time| time.as_secs())
        };
        assert_eq!(left(&[]), None);
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "soon")]), None);
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "3600")]), Some(3570));
        let started = ("CI_JOB_STARTED_AT", "2026-03-01T12:00:00Z");
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "3600"), started]), Some(2970));
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "60"), started]), Some(0));
        // Where nothing says when the job began, it began now.
        assert_eq!(left(&[("CONCLAVE_TIMEOUT_MINUTES", "45")]), Some(45 * 60 - 30));
    }

    #[test]
    fn each_file_of_certificates_is_known_by_what_names_it() {
        let none = Environment::default();
        assert!(none.ca_files().is_empty());
        let both = none
            .with("CI_SERVER_TLS_CA_FILE", "job.pem")
            .with(names::CA_FILE, "own.pem");
        let named: Vec<_> = both.named_ca_files().collect();
        let own = (PathBuf::from("own.pem"), "CONCLAVE_CA_FILE, or what --ca-file names");
        assert_eq!(named, [own, (PathBuf::from("job.pem"), "CI_SERVER_TLS_CA_FILE")]);
    }
}
