//! `conclave review`: the job of a merge-request pipeline.

use std::sync::Arc;

use conclave_plugin_gitlab::GitLab;
use conclave_shared::redact::Redactor;

use crate::{
    args::{CommonArguments, ReviewArguments},
    ci_environment,
    exit::{Exit, Failure},
    rundir::Scratch,
    settings::Environment,
    wiring::{self, Assignment, Checkout, Origin, PlanRequest},
};

pub(crate) async fn run(
    arguments: ReviewArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let pipeline = ci_environment::read(environment)?;
    let secret = pipeline.gitlab.secret.clone();
    let scratch = Scratch::create()?;
    let checkout = Checkout::open(&pipeline, environment, scratch.path()).await?;
    let assignment = Assignment {
        origin: Origin::GitLab {
            gitlab: Arc::new(GitLab::new(pipeline.gitlab)?),
            checkout: Box::new(checkout),
            post: !arguments.dry_run,
        },
        project: pipeline.project_path,
        secret: Some(secret),
    };
    if arguments.estimate {
        let CommonArguments { planning, format, .. } = &arguments.common;
        let request = PlanRequest {
            planning,
            format: *format,
            explain: false,
        };
        return wiring::plan(assignment, &request, &scratch, environment, redactor).await;
    }
    let review = wiring::review(assignment, &arguments.common, scratch, environment, redactor);
    Box::pin(review).await
}
