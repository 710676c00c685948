//! `conclave review`: the job of a merge-request pipeline.

use conclave_git::Repository;
use conclave_plugin_gitlab::GitLab;
use conclave_shared::redact::Redactor;

use crate::{
    args::ReviewArguments,
    ci_environment,
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
    let repository = Repository::open(&pipeline.directory).await?;
    let gitlab = GitLab::new(pipeline.gitlab)?;
    let info = gitlab.load().await?;
    let spent_before_usd = info.spent_before_usd;
    let mut subject = info.subject;
    // Both have to be here, or the diff would be another one than the merge request's.
    repository.commit(&subject.head_sha).await?;
    repository.commit(&subject.base_sha).await?;
    let subjects = repository.subjects(&subject.base_sha, &subject.head_sha).await?;
    subject.commit_subjects = subjects.into_iter().map(Into::into).collect();
    let job = Job {
        subject,
        repository,
        forge: (!arguments.dry_run).then_some(Box::new(gitlab)),
        config_project: pipeline.project_path,
        secret: Some(secret),
        spent_before_usd,
        notes: Vec::new(),
    };
    wiring::review(job, &arguments.common, Scratch::create()?, environment, redactor).await
}
