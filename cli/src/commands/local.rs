//! `conclave local`: review what is on this machine and print it.

use camino::Utf8Path;
use conclave_plugin_local::{LocalError, Range, load};
use conclave_shared::redact::Redactor;

use crate::{
    args::LocalArguments,
    exit::{Exit, Failure},
    output,
    rundir::Scratch,
    settings::Environment,
    wiring::{self, Job},
};

pub(crate) async fn run(
    arguments: LocalArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let scratch = Scratch::create()?;
    let (range, repo) = (arguments.range.as_deref(), arguments.repo.as_deref());
    match job(range, repo, &scratch, redactor).await? {
        Some(job) => wiring::review(job, &arguments.common, scratch, environment, redactor).await,
        None => Ok(Exit::Reviewed),
    }
}

/// The job of a range of the repository at hand; `None`, and a note, where it holds nothing.
pub(super) async fn job(
    range: Option<&str>,
    repo: Option<&Utf8Path>,
    scratch: &Scratch,
    redactor: &Redactor,
) -> Result<Option<Job>, Failure> {
    let range = Range::parse(range)?;
    let directory = repo.unwrap_or(Utf8Path::new("."));
    let local = match load(directory, &range, &scratch.path().join("snapshot")).await {
        Ok(local) => local,
        Err(LocalError::Empty(reason)) => {
            output::note(&format!("Nothing to review: {reason}."), redactor);
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let project = local.subject.project.clone();
    Ok(Some(Job {
        subject: local.subject,
        repository: local.repository,
        forge: None,
        config_project: project,
        secret: None,
        notes: local.notes,
    }))
}
