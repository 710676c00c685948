//! `conclave plan`: what a review would be.

use conclave_shared::redact::Redactor;

use super::local;
use crate::{
    args::PlanArguments,
    env::Environment,
    exit::{Exit, Failure},
    run::{self, directory::Scratch, plan::PlanRequest},
};

pub(crate) async fn run(
    arguments: PlanArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let scratch = Scratch::create()?;
    let assignment = local::assignment(arguments.range.as_deref(), &arguments.place, &scratch).await?;
    let request = PlanRequest {
        planning: &arguments.planning,
        format: arguments.format,
        explain: arguments.explain,
    };
    let result = Box::pin(run::plan::plan(assignment, &request, &scratch, environment, redactor)).await;
    local::or_nothing(result, redactor)
}
