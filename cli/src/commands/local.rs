//! `conclave local` and `conclave plan`: review what is on this machine and print it, or show what that review would be.

use camino::Utf8Path;
use conclave_engine::review::{Review, ReviewSubject};
use conclave_git::Repository;
use conclave_plugin_local::{LocalError, Range, RangeError};
use conclave_shared::telemetry::RunStage;

use crate::{
    args::{CommonArguments, LocalArguments, PlaceArguments, PlanArguments},
    context::Context,
    env::{names, providers::NO_CREDENTIALS},
    exit::{Exit, Failure},
    run::{
        self, directory,
        finish::nothing::{self, nothing_to_review},
        plan::PlanRequest,
        prepare::change::{Origin, Source},
        report::{RunReport, RunSubject},
        scratch::Scratch,
        start::sandbox::required_here,
    },
};

/// The way to a first review, for a person without a key.
const FIRST_STEPS: &str = "To start:
  export ANTHROPIC_API_KEY=...   a key of Anthropic, or of another provider as below
  conclave doctor                is everything else here that a review needs?
  conclave demo                  or see a review of an example first, without a key";

pub(crate) async fn run(arguments: LocalArguments, context: &Context) -> Result<Exit, Failure> {
    context.watch_signals()?;
    let LocalArguments {
        range, place, common, ..
    } = &arguments;
    let range = chosen(range.as_deref(), place);
    let cleared = match &range {
        // The arguments are wrong, and no run begins.
        Err(_) if context.env.job_checkout().is_none() => Ok(()),
        _ => directory::clear(common.output.as_deref(), common.reports.as_deref(), &context.env).await,
    };
    let scratch = Scratch::create(context.signals.stop())?;
    let source = source(range, place.repo.as_deref(), &scratch, context).await;
    let source = cleared.and(source);
    let result = Box::pin(review(source, place.repo.as_deref(), common, scratch, context)).await;
    if let Err(Failure::Plugin(error)) = &result
        && error.0.contains(NO_CREDENTIALS)
    {
        context.output.layout(FIRST_STEPS);
    }
    result
}

/// Shows what a review would be.
pub(crate) async fn plan(arguments: PlanArguments, context: &Context) -> Result<Exit, Failure> {
    context.watch_signals()?;
    tokio::select! {
        exit = context.signals.arrived() => Ok(exit),
        planned = Box::pin(show_plan(arguments, context)) => planned,
    }
}

async fn show_plan(arguments: PlanArguments, context: &Context) -> Result<Exit, Failure> {
    let required = required_here(&context.env)?;
    let scratch = Scratch::create(context.signals.stop())?;
    let range = chosen(arguments.range.as_deref(), &arguments.place);
    let source = source(range, arguments.place.repo.as_deref(), &scratch, context).await?;
    let project = source.project.clone();
    let request = PlanRequest {
        planning: &arguments.planning,
        format: arguments.format,
        required,
        explain: arguments.explain,
    };
    match Box::pin(run::plan::plan(source, &request, &scratch, context)).await {
        // An empty range succeeds.
        Err(Failure::Local(LocalError::Empty(reason))) => {
            context.output.note(&nothing_to_review(&reason));
            run::plan::nothing::show(project, &reason, &request, &context.output);
            Ok(Exit::Reviewed)
        }
        planned => planned,
    }
}

/// Reviews a local range, and reports the run from its start to its end.
pub(crate) async fn review(
    source: Result<Source, Failure>,
    directory: Option<&Utf8Path>,
    arguments: &CommonArguments,
    scratch: Scratch,
    context: &Context,
) -> Result<Exit, Failure> {
    let project = match &source {
        Ok(source) => source.project.clone(),
        Err(_) => directory_name(directory),
    };
    let subject = RunSubject {
        project: project.clone(),
        forge: "local",
        merge_request: None,
    };
    let report = RunReport::begin(&context.env, &subject);
    report.enter(RunStage::Checkout);
    let result = match source {
        Ok(source) => Box::pin(run::review(source, arguments, scratch, &report, context)).await,
        Err(failure) => Err(failure),
    };
    report.conclude(&result);
    if !context.signals.has_insisted() {
        report.flush(&context.output).await;
    }
    match result {
        // A range that adds nothing does not fail.
        Err(Failure::Local(LocalError::Empty(reason))) => {
            let subject = ReviewSubject {
                forge: "local",
                project,
                ..ReviewSubject::default()
            };
            let nothing = Review::of_nothing(report.id().to_string(), &subject, &reason);
            nothing::show(&nothing, &nothing_to_review(&reason), arguments, context).map(|()| Exit::Reviewed)
        }
        result => result,
    }
}

/// The name of the directory that was to be reviewed, where it is not known to be a repository.
fn directory_name(directory: Option<&Utf8Path>) -> String {
    let directory = directory.unwrap_or(Utf8Path::new("."));
    let absolute = directory.canonicalize_utf8().unwrap_or_else(|_| directory.to_owned());
    absolute.file_name().unwrap_or("repository").to_owned()
}

/// The range that the arguments name.
fn chosen(range: Option<&str>, place: &PlaceArguments) -> Result<Range, RangeError> {
    if place.staged {
        Ok(Range::Staged)
    } else {
        Range::parse(range)
    }
}

/// A range of the repository at hand.
pub(crate) async fn source(
    range: Result<Range, RangeError>,
    repo: Option<&Utf8Path>,
    scratch: &Scratch,
    context: &Context,
) -> Result<Source, Failure> {
    let range = range?;
    let directory = repo.unwrap_or(Utf8Path::new("."));
    let repository = Repository::open(directory).await?;
    Ok(Source {
        project: repository.root().file_name().unwrap_or("repository").to_owned(),
        origin: Origin::Local {
            directory: directory.to_owned(),
            range,
            scratch: scratch.path().join("snapshot"),
        },
        // A local review has no installation, but the person may have its secret.
        secret: context.env.secret(names::SECRET),
    })
}
