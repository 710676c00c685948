//! `conclave local`: review what is on this machine and print it.

use camino::Utf8Path;
use conclave_git::Repository;
use conclave_plugin_local::{LocalError, Range};
use conclave_shared::redact::Redactor;

use crate::{
    args::LocalArguments,
    exit::{Exit, Failure},
    output,
    rundir::Scratch,
    settings::Environment,
    wiring::{self, Assignment, Origin},
};

pub(crate) async fn run(
    arguments: LocalArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let range = Range::parse(arguments.range.as_deref())?;
    let scratch = Scratch::create()?;
    let directory = arguments.repo.as_deref().unwrap_or(Utf8Path::new("."));
    let repository = Repository::open(directory).await?;
    let assignment = Assignment {
        project: repository.root().file_name().unwrap_or("repository").to_owned(),
        origin: Origin::Local {
            directory: directory.to_owned(),
            range,
            scratch: scratch.path().join("snapshot"),
        },
        secret: None,
    };
    match wiring::review(assignment, &arguments.common, scratch, environment, redactor).await {
        Err(Failure::Local(LocalError::Empty(reason))) => {
            output::note(&format!("Nothing to review: {reason}."), redactor);
            Ok(Exit::Reviewed)
        }
        result => result,
    }
}
