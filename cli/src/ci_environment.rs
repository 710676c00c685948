//! The variables of GitLab CI: all reading of them is in this file.

use camino::Utf8PathBuf;
use secrecy::SecretString;
use url::Url;

use crate::{env_vars, exit::Failure, settings::Environment};
use conclave_plugin_gitlab::GitLabSettings;

/// What a merge-request pipeline says of itself.
#[derive(Debug)]
pub(crate) struct CiEnvironment {
    pub(crate) gitlab: GitLabSettings,
    /// The checkout.
    pub(crate) directory: Utf8PathBuf,
    /// The target project's path, for the configuration service; the number where there is no path.
    pub(crate) project_path: String,
}

/// Whether this is a job of GitLab CI, of whatever pipeline.
pub(crate) fn is_gitlab_job(environment: &Environment) -> bool {
    environment.get("GITLAB_CI") == Some("true")
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
    let token = environment.get(env_vars::GITLAB_TOKEN).ok_or_else(|| {
        missing(
            env_vars::GITLAB_TOKEN,
            "make a project access token with the scope `api` and the role Developer, and add it as a masked, \
             unprotected CI/CD variable of that name. The job's own token cannot comment",
        )
    })?;
    let secret = environment.get(env_vars::SECRET).unwrap_or(token);
    Ok(CiEnvironment {
        directory: Utf8PathBuf::from(environment.get("CI_PROJECT_DIR").unwrap_or(".")),
        project_path: environment
            .get("CI_MERGE_REQUEST_PROJECT_PATH")
            .unwrap_or(&project)
            .to_owned(),
        gitlab: GitLabSettings {
            api_url,
            token: SecretString::from(token),
            project,
            iid,
            secret: SecretString::from(secret),
        },
    })
}
