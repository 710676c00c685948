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
    let range = Range::parse(arguments.range.as_deref())?;
    let scratch = Scratch::create()?;
    let directory = arguments.repo.as_deref().unwrap_or(Utf8Path::new("."));
    let local = match load(directory, &range, &scratch.path().join("snapshot")).await {
        Ok(local) => local,
        Err(LocalError::Empty(reason)) => {
            output::note(&format!("Nothing to review: {reason}."), redactor);
            return Ok(Exit::Reviewed);
        }
        Err(error) => return Err(error.into()),
    };
    let project = local.subject.project.clone();
    let job = Job {
        subject: local.subject,
        repository: local.repository,
        forge: None,
        config_project: project,
        secret: None,
        spent_before_usd: 0.0,
        notes: local.notes,
    };
    wiring::review(job, &arguments.common, scratch, environment, redactor).await
}
