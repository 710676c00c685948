//! The variables of GitLab CI: all reading of them is in this file.

use std::{path::PathBuf, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use url::Url;

use crate::{
    env::{Environment, names},
    exit::Failure,
};
use conclave_plugin_gitlab::{GitLabSettings, Located, MergeRequestAddress, check_certificates};

/// What a merge-request pipeline says of itself.
#[derive(Debug)]
pub(crate) struct CiEnvironment {
    pub(crate) gitlab: GitLabSettings,
    /// The checkout.
    pub(crate) directory: Utf8PathBuf,
    /// The target project's path, for the configuration service; the number where there is no path.
    pub(crate) project_path: String,
    /// The commit that the pipeline runs for, as far as it is one of the merge request's.
    pub(crate) head_sha: Option<String>,
    /// The repository's address, with the job's own credentials in it.
    pub(crate) repository_url: Option<SecretString>,
    /// The certificate authority of the GitLab server, if it is not a public one.
    pub(crate) ca_file: Option<Utf8PathBuf>,
    /// The project that a repository in `directory` has to be a clone of, where nobody has checked it out for this.
    pub(crate) clone_of: Option<CloneOf>,
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

/// Whether this is a job of GitLab CI, of whatever pipeline.
pub(crate) fn is_gitlab_job(environment: &Environment) -> bool {
    environment.get("GITLAB_CI") == Some("true")
}

/// The path of the job's project; of a merge request's pipeline, that of the target.
pub(crate) fn project(environment: &Environment) -> Option<&str> {
    environment
        .get("CI_MERGE_REQUEST_PROJECT_PATH")
        .or_else(|| environment.get("CI_PROJECT_PATH"))
}

/// The project of the pipeline, and the number of its merge request, as far as its variables say; nothing outside of a pipeline.
pub(crate) fn run_subject(environment: &Environment) -> Option<(&str, Option<u64>)> {
    let project = project(environment).or_else(|| environment.get("CI_MERGE_REQUEST_PROJECT_ID"))?;
    let number = environment.get("CI_MERGE_REQUEST_IID");
    Some((project, number.and_then(|number| number.parse().ok())))
}

/// Reads the pipeline's variables.
pub(crate) fn read(environment: &Environment) -> Result<CiEnvironment, Failure> {
    let missing = |name: &str, hint: &str| Failure::Settings(format!("{name} is not set: {hint}"));
    let pipeline = "`conclave review` runs in a GitLab merge-request pipeline; locally use `conclave local`";
    let required = |name: &str| environment.get(name).ok_or_else(|| missing(name, pipeline));
    let iid = required("CI_MERGE_REQUEST_IID")?;
    let iid = iid
        .parse()
        .map_err(|_| Failure::Settings(format!("CI_MERGE_REQUEST_IID is `{iid}`, which is no number")))?;
    // The target project's: in a fork's pipeline CI_PROJECT_ID is another one.
    let project = required("CI_MERGE_REQUEST_PROJECT_ID")?.to_owned();
    let api_url = required("CI_API_V4_URL")?;
    let api_url: Url = api_url
        .parse()
        .map_err(|error| Failure::Settings(format!("CI_API_V4_URL is `{api_url}`: {error}")))?;
    let token = token(
        environment,
        "make a project access token with the scope `api` and the role Developer, and add it as a masked, unprotected \
         CI/CD variable of that name. The job's own token cannot comment",
    )?;
    let secret = environment.get(names::SECRET).unwrap_or(token);
    Ok(CiEnvironment {
        directory: Utf8PathBuf::from(environment.get("CI_PROJECT_DIR").unwrap_or(".")),
        project_path: environment
            .get("CI_MERGE_REQUEST_PROJECT_PATH")
            .unwrap_or(&project)
            .to_owned(),
        // In a merged-results pipeline the checked-out commit is one of GitLab's making, and in no merge request.
        head_sha: environment
            .get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")
            .or_else(|| environment.get("CI_COMMIT_SHA"))
            .map(str::to_owned),
        repository_url: environment.get("CI_REPOSITORY_URL").map(SecretString::from),
        ca_file: environment.get("CI_SERVER_TLS_CA_FILE").map(Utf8PathBuf::from),
        clone_of: None,
        gitlab: GitLabSettings {
            ca_files: ca_files(environment),
            api_url,
            token: SecretString::from(token),
            project,
            iid,
            secret: SecretString::from(secret),
        },
    })
}

/// Reads the address of a merge request, and finds out where its GitLab is.
pub(crate) async fn read_address(
    environment: &Environment,
    address: &str,
    directory: Option<&Utf8Path>,
) -> Result<CiEnvironment, Failure> {
    let address = MergeRequestAddress::parse(address)?;
    let token = token(
        environment,
        "make an access token with the scope `api` for an account with the role Developer in the project",
    )?;
    let secret = environment.get(names::SECRET).unwrap_or(token);
    let known = environment.get("CI_API_V4_URL").and_then(|url| url.parse().ok());
    let ca_files = ca_files(environment);
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
        ca_file: ca_files
            .first()
            .cloned()
            .and_then(|path| Utf8PathBuf::from_path_buf(path).ok()),
        clone_of: Some(clone_of),
        gitlab: GitLabSettings {
            ca_files,
            api_url,
            token: SecretString::from(token),
            project,
            iid,
            secret: SecretString::from(secret),
        },
    })
}

/// The forge that a review from here would talk to.
#[derive(Debug)]
pub(crate) struct ForgeInSight {
    /// Where it is. The number of the merge request means nothing without one.
    pub(crate) gitlab: GitLabSettings,
    /// Whether there is a merge request: a pipeline may be of a branch.
    pub(crate) with_merge_request: bool,
    /// The project's path or number.
    pub(crate) project: String,
}

/// Finds the forge as a review does; nothing where neither a pipeline nor an address names one.
pub(crate) async fn forge(environment: &Environment, address: Option<&str>) -> Result<Option<ForgeInSight>, Failure> {
    let sight = |found: CiEnvironment| ForgeInSight {
        project: found.project_path,
        gitlab: found.gitlab,
        with_merge_request: true,
    };
    if let Some(address) = address {
        return Ok(Some(sight(read_address(environment, address, None).await?)));
    }
    if environment.get("CI_API_V4_URL").is_none() {
        return Ok(None);
    }
    if environment.get("CI_MERGE_REQUEST_IID").is_some() {
        return Ok(Some(sight(read(environment)?)));
    }
    let Some(project) = environment.get("CI_PROJECT_ID") else {
        return Ok(None);
    };
    // As in a merge request's pipeline of this project.
    let environment = environment
        .with("CI_MERGE_REQUEST_PROJECT_ID", project)
        .with("CI_MERGE_REQUEST_IID", "0");
    let mut found = sight(read(&environment)?);
    found.with_merge_request = false;
    Ok(Some(found))
}

/// The checkout of a job.
pub(crate) fn checkout(environment: &Environment) -> Option<&str> {
    environment.get("CI_PROJECT_DIR")
}

fn token<'e>(environment: &'e Environment, hint: &str) -> Result<&'e str, Failure> {
    environment
        .get(names::GITLAB_TOKEN)
        .ok_or_else(|| Failure::Settings(format!("{} is not set: {hint}", names::GITLAB_TOKEN)))
}

/// Certificates to trust besides the system's: those of the job, and those that somebody names.
pub(crate) fn ca_files(environment: &Environment) -> Vec<PathBuf> {
    [names::CA_FILE, "CI_SERVER_TLS_CA_FILE"]
        .iter()
        .filter_map(|name| environment.get(name).map(PathBuf::from))
        .collect()
}

/// The environment without files of certificates that cannot be used: for a run that fails for them and still has something to take
/// back. What is left, and the system's own, is all that is trusted then.
pub(crate) fn without_unusable_certificates(environment: &Environment) -> Environment {
    [names::CA_FILE, "CI_SERVER_TLS_CA_FILE"]
        .iter()
        .fold(environment.clone(), |environment, name| {
            let file: Vec<PathBuf> = environment.get(name).map(PathBuf::from).into_iter().collect();
            match check_certificates(&file) {
                Ok(()) => environment,
                Err(_) => environment.with(name, ""),
            }
        })
}

/// How much of the job's time is left for the run, in a job of GitLab CI. It kills the job when its time is over, and then
/// nothing could be posted any more.
pub(crate) fn time_left(environment: &Environment) -> Option<Duration> {
    left_at(environment, Utc::now())
}

fn left_at(environment: &Environment, now: DateTime<Utc>) -> Option<Duration> {
    let timeout: u64 = environment.get("CI_JOB_TIMEOUT")?.parse().ok()?;
    let started = environment
        .get("CI_JOB_STARTED_AT")
        .and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    let gone = started.and_then(|started| now.signed_duration_since(started).to_std().ok());
    let left = Duration::from_secs(timeout).saturating_sub(gone.unwrap_or_default());
    Some(left.saturating_sub(ENDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_s_time_leaves_some_for_the_end() {
        let now: DateTime<Utc> = "2026-03-01T12:10:00Z".parse().expect("a time");
        let left = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            left_at(&Environment::new(variables), now).map(|time| time.as_secs())
        };
        assert_eq!(left(&[]), None);
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "soon")]), None);
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "3600")]), Some(3570));
        let started = ("CI_JOB_STARTED_AT", "2026-03-01T12:00:00Z");
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "3600"), started]), Some(2970));
        assert_eq!(left(&[("CI_JOB_TIMEOUT", "60"), started]), Some(0));
    }
}
