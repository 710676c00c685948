//! `conclave review`: the job of a merge-request pipeline.

use std::time::Duration;

use conclave_git::{FetchSettings, GitError, Remote, Repository, with_commits};
use conclave_plugin_gitlab::GitLab;
use conclave_shared::redact::Redactor;
use secrecy::ExposeSecret;

use crate::{
    args::ReviewArguments,
    ci_environment::{self, CiEnvironment},
    exit::{Exit, Failure},
    rundir::Scratch,
    settings::Environment,
    wiring::{self, Job},
};

pub(crate) async fn run(
    arguments: ReviewArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let pipeline = ci_environment::read(environment)?;
    let secret = pipeline.gitlab.secret.clone();
    let checkout = match Repository::open(&pipeline.directory).await {
        Ok(checkout) => Some(checkout),
        // `GIT_STRATEGY: none`: everything is fetched.
        Err(GitError::NotARepository(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let fetching = fetch_settings(&pipeline, checkout.as_ref(), environment).await;
    let gitlab = GitLab::new(pipeline.gitlab)?;
    let mut subject = gitlab.load().await?.subject;
    let scratch = Scratch::create()?;
    // Both have to be here, or the diff would be another one than the merge request's.
    let wanted = [subject.head_sha.as_str(), subject.base_sha.as_str()];
    let repository = with_commits(checkout, &wanted, &fetching, &scratch.path().join("fetched.git")).await?;
    let notes = pipeline
        .head_sha
        .filter(|head| *head != subject.head_sha)
        .map(|head| {
            format!(
                "this pipeline runs for the commit {head}; the newest version of the merge request, {}, is reviewed",
                subject.head_sha
            )
        })
        .into_iter()
        .collect();
    let subjects = repository.subjects(&subject.base_sha, &subject.head_sha).await?;
    subject.commit_subjects = subjects.into_iter().map(Into::into).collect();
    let job = Job {
        subject,
        repository,
        forge: (!arguments.dry_run).then_some(Box::new(gitlab)),
        config_project: pipeline.project_path,
        secret: Some(secret),
        notes,
    };
    wiring::review(job, &arguments.common, scratch, environment, redactor).await
}

/// The longest time for fetching one commit; a large repository over a slow line takes minutes.
const FETCH_PATIENCE: Duration = Duration::from_mins(5);

const PROXIES: [&str; 7] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Where missing commits come from: the job's own address of the repository, then the checkout's.
async fn fetch_settings(
    pipeline: &CiEnvironment,
    checkout: Option<&Repository>,
    environment: &Environment,
) -> FetchSettings {
    let origin = match checkout {
        Some(checkout) => checkout.origin().await,
        None => None,
    };
    let of_job = pipeline.repository_url.as_ref().map(ExposeSecret::expose_secret);
    FetchSettings {
        remotes: of_job
            .into_iter()
            .chain(origin.as_deref())
            .filter_map(Remote::parse)
            .collect(),
        ca_file: pipeline.ca_file.clone(),
        proxies: PROXIES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), environment.get(name)?.to_owned())))
            .collect(),
        patience: FETCH_PATIENCE,
    }
}
