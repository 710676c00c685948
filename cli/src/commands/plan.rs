//! `conclave plan`: what a review would be.

use conclave_shared::redact::Redactor;

use super::local;
use crate::{
    args::PlanArguments,
    exit::{Exit, Failure},
    rundir::Scratch,
    settings::Environment,
    wiring,
};

pub(crate) async fn run(
    arguments: PlanArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let scratch = Scratch::create()?;
    let (range, repo) = (arguments.range.as_deref(), arguments.repo.as_deref());
    match local::job(range, repo, &scratch, redactor).await? {
        Some(job) => wiring::plan(&job, &arguments.planning, arguments.format, environment, redactor).await,
        None => Ok(Exit::Reviewed),
    }
}
