//! `conclave review`: the job of a merge-request pipeline.

use std::sync::Arc;

use conclave_plugin_gitlab::GitLab;
use conclave_shared::redact::Redactor;

use crate::{
    args::{CommonArguments, ReviewArguments},
    ci_environment, env_vars,
    exit::{Exit, Failure},
    rundir::Scratch,
    settings::Environment,
    wiring::{self, Assignment, Checkout, Origin, PlanRequest, Posting, Skipped},
};

pub(crate) async fn run(
    arguments: ReviewArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let environment = &match &arguments.ca_file {
        Some(file) => environment.with(env_vars::CA_FILE, file.as_str()),
        None => environment.clone(),
    };
    let pipeline = match &arguments.mr {
        Some(address) => ci_environment::read_address(environment, address, arguments.repo.as_deref()).await?,
        None => ci_environment::read(environment)?,
    };
    let secret = pipeline.gitlab.secret.clone();
    let posting = Posting {
        mode: arguments.mode.map(Into::into),
        most_inline: arguments.max_inline,
    };
    let gitlab = Arc::new(GitLab::new(pipeline.gitlab.clone())?);
    if !arguments.estimate
        && let Some(glass) = gitlab.break_glass(arguments.break_glass.into()).await?
    {
        // Before anything else, which may be what is broken.
        let skipped = Skipped {
            gitlab: &gitlab,
            glass: &glass,
            mode: posting.mode.unwrap_or_default(),
            post: !arguments.dry_run,
            project: &pipeline.project_path,
            secret: &secret,
        };
        return wiring::break_glass(skipped, environment, redactor).await;
    }
    let scratch = Scratch::create()?;
    let checkout = Checkout::open(&pipeline, environment, scratch.path()).await?;
    let assignment = Assignment {
        origin: Origin::GitLab {
            gitlab,
            checkout: Box::new(checkout),
            post: (!arguments.dry_run).then_some(posting),
        },
        project: pipeline.project_path,
        secret: Some(secret),
    };
    if arguments.estimate {
        let CommonArguments { planning, format, .. } = &arguments.common;
        let request = PlanRequest {
            planning,
            format: (*format).into(),
            explain: false,
        };
        return wiring::plan(assignment, &request, &scratch, environment, redactor).await;
    }
    let review = wiring::review(assignment, &arguments.common, scratch, environment, redactor);
    Box::pin(review).await
}
