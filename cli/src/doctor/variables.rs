//! Variables with values that a review refuses, and those that nothing reads.

use std::ffi::OsString;

use conclave_engine::repo_config::RepoConfig;

use super::{Check, Found, Request, place, settings};
use crate::{
    args::{Arguments, Command, CommonArguments, mistaken_variables, refused_variables, with_variables},
    env::Environment,
    exit::Failure,
    run::{
        prepare::{efforts, focus, organization::OrganizationSettings, own_reviewers::OwnReviewers, plugins},
        recording::RunRecording,
    },
};

/// The name of the check.
const NAME: &str = "variables";

/// One check of all of them; none where there is nothing to say.
pub(super) async fn examine(request: &Request<'_>) -> Found {
    let (mut refused, rest) = refused_variables(request.env);
    // The check of the models names those.
    refused.retain(|problem| !problem.contains("CONCLAVE_MODELS"));
    let settings = settings::of_review(request).await;
    refused.extend(refused_later(&rest, settings.as_ref()));
    let mistaken = mistaken_variables(request.env);
    if !refused.is_empty() {
        let problems = [refused, mistaken].concat();
        let step = "correct the value, or unset the variable";
        return Found::one(Check::failure(NAME, problems.join("\n")).next(step));
    }
    if mistaken.is_empty() {
        return Found::default();
    }
    Found::one(Check::warning(NAME, mistaken.join("\n")).next("correct the name, or unset it"))
}

/// The values that a review can read, and refuses once it has begun, before it asks a model. Names of reviewers are checked where
/// the repository's settings are known, which may bring some.
fn refused_later(env: &Environment, settings: Option<&RepoConfig>) -> Vec<String> {
    let given = ["conclave", "local"].map(OsString::from);
    let Ok(Arguments {
        command: Command::Local(local),
    }) = Arguments::read(given.clone(), env)
    else {
        return Vec::new();
    };
    let common = &local.common;
    let planning = &common.planning;
    let mut failures: Vec<Failure> = Vec::new();
    failures.extend(plugins::library(planning.prompts.as_deref(), &OwnReviewers::default()).err());
    if let Some(settings) = settings {
        failures.extend(focus(planning, settings).err());
        let effort = planning.effort.as_ref();
        failures.extend(effort.and_then(|effort| efforts::check_names(effort, settings).err()));
    }
    if common.replay_models.is_some() {
        failures.extend(RunRecording::open(common, env).err());
    }
    failures.extend(OrganizationSettings::read(env, None).err());
    #[cfg(feature = "otlp")]
    failures.extend(env.tracing(uuid::Uuid::nil()).err());
    let problems = failures
        .iter()
        .map(|failure| with_variables(&failure.to_string(), &given, env));
    problems.chain(unwritable(common)).collect()
}

/// Directories that are asked for and cannot be made.
fn unwritable(common: &CommonArguments) -> impl Iterator<Item = String> {
    let asked = [
        ("CONCLAVE_OUTPUT", &common.output),
        ("CONCLAVE_REPORTS", &common.reports),
        ("CONCLAVE_RECORD", &common.record),
    ];
    asked.into_iter().filter_map(|(variable, directory)| {
        let directory = directory.as_deref()?;
        let error = place::can_be_made(directory).err()?;
        Some(format!("{variable}: {directory} cannot be written: {error}"))
    })
}
