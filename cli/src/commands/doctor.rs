//! `conclave doctor`: is everything here that a review needs?

use conclave_shared::redact::Redactor;

use crate::{
    args::DoctorArguments,
    doctor::{self, Request},
    env::{Environment, names},
    exit::{Exit, Failure},
    output,
};

pub(crate) async fn run(
    arguments: DoctorArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let environment = match &arguments.ca_file {
        Some(file) => environment.with(names::CA_FILE, file.as_str()),
        None => environment.clone(),
    };
    let report = Box::pin(doctor::examine(&Request {
        environment: &environment,
        address: arguments.mr.as_deref(),
        repository: arguments.repo.as_deref(),
        limit: std::time::Duration::from_secs(arguments.check_seconds),
    }))
    .await;
    let text = if arguments.json {
        output::json(&report, redactor)
    } else {
        redactor.redact(&doctor::page::doctor(&report))
    };
    output::print(text.trim_end());
    Ok(if report.healthy { Exit::Reviewed } else { Exit::Blocked })
}
