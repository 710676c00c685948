//! `conclave local`: review what is on this machine and print it.

use camino::Utf8Path;
use conclave_git::Repository;
use conclave_plugin_local::{LocalError, Range};
use conclave_shared::{redact::Redactor, telemetry::RunStage};

use crate::{
    args::{CommonArguments, LocalArguments, PlaceArguments},
    context::signals::Signals,
    env::Environment,
    exit::{Exit, Failure},
    output,
    run::{
        self,
        directory::{self, Scratch},
        prepare::change::{Assignment, Origin},
        report::{RunReport, RunSubject},
    },
};

pub(crate) async fn run(
    arguments: LocalArguments,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let signals = Signals::watch().map_err(Failure::io("watch for signals"))?;
    directory::clear(
        arguments.common.output.as_deref(),
        arguments.common.reports.as_deref(),
        environment,
    );
    let scratch = Scratch::create()?;
    let assignment = assignment(arguments.range.as_deref(), &arguments.place, &scratch).await;
    let directory = arguments.place.repo.as_deref();
    let result = review(
        assignment,
        directory,
        &arguments.common,
        scratch,
        environment,
        redactor,
        &signals,
    );
    or_nothing(Box::pin(result).await, redactor)
}

/// Reviews a local range, and reports the run from its start to its end.
pub(super) async fn review(
    assignment: Result<Assignment, Failure>,
    directory: Option<&Utf8Path>,
    arguments: &CommonArguments,
    scratch: Scratch,
    environment: &Environment,
    redactor: &Redactor,
    signals: &Signals,
) -> Result<Exit, Failure> {
    let project = match &assignment {
        Ok(assignment) => assignment.project.clone(),
        Err(_) => directory_name(directory),
    };
    let subject = RunSubject {
        project,
        forge: "local",
        merge_request: None,
    };
    let report = RunReport::begin(environment, &subject);
    report.enter(RunStage::Checkout);
    let result = match assignment {
        Ok(assignment) => {
            let review = run::review(
                assignment,
                arguments,
                scratch,
                environment,
                redactor,
                (signals, &report),
            );
            Box::pin(review).await
        }
        Err(failure) => Err(failure),
    };
    report.conclude(&result);
    if !signals.has_insisted() {
        report.flush(redactor).await;
    }
    result
}

/// The name of the directory that was to be reviewed, where it is not known to be a repository.
fn directory_name(directory: Option<&Utf8Path>) -> String {
    let directory = directory.unwrap_or(Utf8Path::new("."));
    let absolute = directory.canonicalize_utf8().unwrap_or_else(|_| directory.to_owned());
    absolute.file_name().unwrap_or("repository").to_owned()
}

/// A range of the repository at hand.
pub(super) async fn assignment(
    range: Option<&str>,
    place: &PlaceArguments,
    scratch: &Scratch,
) -> Result<Assignment, Failure> {
    let range = if place.staged {
        Range::Staged
    } else {
        Range::parse(range)?
    };
    assignment_of(range, place.repo.as_deref(), scratch).await
}

/// The same for a range that is known.
pub(super) async fn assignment_of(
    range: Range,
    repo: Option<&Utf8Path>,
    scratch: &Scratch,
) -> Result<Assignment, Failure> {
    let directory = repo.unwrap_or(Utf8Path::new("."));
    let repository = Repository::open(directory).await?;
    Ok(Assignment {
        project: repository.root().file_name().unwrap_or("repository").to_owned(),
        origin: Origin::Local {
            directory: directory.to_owned(),
            range,
            scratch: scratch.path().join("snapshot"),
        },
        secret: None,
    })
}

/// A range that adds nothing is no failure.
pub(super) fn or_nothing(result: Result<Exit, Failure>, redactor: &Redactor) -> Result<Exit, Failure> {
    match result {
        Err(Failure::Local(LocalError::Empty(reason))) => {
            output::note(&format!("Nothing to review: {reason}."), redactor);
            Ok(Exit::Reviewed)
        }
        result => result,
    }
}
