//! One review, wired: plugins, gateway, agent runtime, engine, output.

mod assignment;
mod break_glass;
pub(crate) mod changes;
mod checkout;
mod ending;
mod inputs;
mod live;
mod lock_files;
mod memory;
mod observers;
mod organisation;
mod own_reviewers;
pub(crate) mod patches;
mod plan;
pub(crate) mod plugin_settings;
mod plugins;
mod prepare;
mod registry;
mod rereview;
mod runtime;
mod signals;
mod source;
mod stopwatch;
mod tape;
mod telemetry;

use std::{fmt::Write, sync::Arc, time::Duration};

use camino::Utf8Path;
use conclave_engine::{
    diff::{FileDiff, FilteredDiff},
    pipeline::{ReviewJob, ReviewPorts, review as run_review},
    ports::{Forge, Progress, ProgressEvent, ReviewSubject},
    report::Review,
    rereview::{Instructions, Ledger},
};
use conclave_git::{Repository, check_out_workspace};
use conclave_shared::{
    config::PriceList,
    redact::Redactor,
    telemetry::{EventBody, RunStarted},
    verdict::Verdict,
};
use secrecy::SecretString;
use uuid::Uuid;

pub(crate) use self::{
    assignment::{Assignment, Origin, Posting},
    break_glass::{Skipped, break_glass},
    checkout::Checkout,
    plan::{ModelChoice, PlanDocument, PlanRequest, PlannedModel, PlannedReviewer, plan},
    prepare::ChosenBy,
    runtime::upstream,
};
use self::{
    ending::Ending,
    inputs::Sources,
    live::Live,
    observers::Observers,
    prepare::{Prepared, prepare},
    registry::{House, Purpose},
    runtime::{Child, Runtime, RuntimeInput},
    signals::Signals,
    source::RepositoryTree,
    stopwatch::Stopwatch,
    tape::Tape,
    telemetry::Figures,
};
use crate::{
    args::{CommonArguments, Gate},
    ci_environment,
    exit::{Exit, Failure},
    output,
    rundir::{RunDirectory, Scratch},
    settings::Environment,
};

/// What is reviewed and where the result goes.
pub(crate) struct Job {
    /// What is reviewed.
    pub(crate) subject: ReviewSubject,
    /// Where its commits are.
    pub(crate) repository: Repository,
    /// Where the review is posted; nowhere means that it is only printed.
    pub(crate) forge: Option<Arc<dyn Forge>>,
    /// What the job says about posting.
    pub(crate) posting: Posting,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What earlier reviews of the merge request have cost, as far as they are known.
    pub(crate) spent_before_usd: f64,
    /// What our last review of the merge request remembers.
    pub(crate) ledger: Ledger,
    /// The number of the account that opened the merge request.
    pub(crate) author: Option<u64>,
    /// Whether a light-hearted question may be answered.
    pub(crate) aside_open: bool,
    /// What the person should know.
    pub(crate) notes: Vec<String>,
}

/// Reviews, prints, posts; and whatever happened, tells everybody who listens.
pub(crate) async fn review(
    assignment: Assignment,
    arguments: &CommonArguments,
    scratch: Scratch,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    // From here on a signal ends the run in good order, with nothing left behind; a second one at once.
    let signals = Signals::watch().map_err(Failure::io("watch for signals"))?;
    if let Some(time) = ci_environment::time_left(environment) {
        signals.end_in(time);
    }
    let run_id = Uuid::now_v7();
    let tape = Tape::open(arguments)?;
    let mut house = registry::build(assignment, environment, run_id, Purpose::Review(&tape))?;
    house.memory = house.memory.filter(|_| !arguments.no_memory);
    let observers = house.observers.clone();
    let in_job = ci_environment::is_gitlab_job(environment);
    let screen = output::screen(arguments.quiet, in_job, environment.get("TERM"));
    let display = Arc::new(output::Display::new(screen, redactor.clone()));
    let run = Run {
        id: run_id,
        tape: &tape,
        arguments,
        environment,
        redactor,
        signals: &signals,
        progress: observers.progress(Arc::clone(&display) as _),
        display: &display,
        observers: &observers,
    };
    let told = async {
        signals.interrupted().await;
        output::note(
            "Stopping: what is known so far comes in a moment; once more, and it ends at once.",
            redactor,
        );
        std::future::pending::<std::convert::Infallible>().await
    };
    tokio::select! {
        never = told => match never {},
        exit = signals.insisted() => {
            output::note("Stopped at once.", redactor);
            Ok(exit)
        }
        result = async {
            let result = Box::pin(run.review(house, scratch)).await;
            observers.flush(display.as_ref()).await;
            result
        } => result,
    }
}

/// What all parts of a run share.
struct Run<'a> {
    id: Uuid,
    tape: &'a Tape,
    arguments: &'a CommonArguments,
    environment: &'a Environment,
    redactor: &'a Redactor,
    signals: &'a Signals,
    progress: Arc<dyn Progress>,
    display: &'a output::Display,
    observers: &'a Observers,
}

impl Run<'_> {
    async fn review(&self, house: House, scratch: Scratch) -> Result<Exit, Failure> {
        let Self {
            arguments,
            environment,
            redactor,
            signals,
            ..
        } = *self;
        let mut watch = Stopwatch::start(self.observers.trace());
        self.progress
            .report(ProgressEvent::Stage("Reading the diff and the configuration"));
        let mut child = Child::start(environment, scratch.path());
        let preparing = async {
            let progress = self.progress.as_ref();
            let prepared = prepare(house, &arguments.planning, arguments.agents, scratch.path(), progress);
            worth_a_review(prepared.await.map_err(Err)?, redactor)
        };
        let answering = async {
            Ok(match &mut child {
                Ok(child) => child.answers().await,
                Err(_) => Ok(()),
            })
        };
        let ready = tokio::select! {
            exit = signals.arrived() => Err(Ok(nothing_reviewed(exit, redactor))),
            // That there is nothing to review counts more than what would be missing for it.
            ready = async { tokio::try_join!(preparing, answering) } => ready,
        };
        let (prepared, answered) = match ready {
            Ok(ready) => ready,
            Err(end) => {
                if let Ok(child) = child {
                    child.stop().await;
                }
                return end;
            }
        };
        let child = child?;
        answered?;
        watch.lap("diff, configuration, plan");
        let repo = &prepared.repo.in_force.config.review;
        let publishing = prepared.job.posting.settings(repo, &prepared.config.limits.budget);
        let gate = Gate::in_force(arguments.gate, repo.gate, publishing.mode);
        let directory = RunDirectory::create(arguments.output.as_deref(), &self.id.to_string(), environment)?;
        self.display
            .record_in(directory.path())
            .map_err(Failure::io(format!("write {}", output::PROGRESS_FILE)))?;
        let sink = self.observers.sink();
        sink.record(EventBody::RunStarted(RunStarted {
            tier: prepared.plan.assessment.tier,
            forge: prepared.job.subject.forge.to_owned(),
            merge_request: prepared.job.subject.merge_request,
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            reviewers: prepared.plan.reviewers().iter().map(ToString::to_string).collect(),
            author: telemetry::author(&prepared.job),
        }));
        self.progress
            .report(ProgressEvent::Stage(&output::plan_line(&prepared.plan, &prepared.diff)));

        signals.end_in(Duration::from_secs(prepared.config.limits.run_seconds));
        let sessions = Sessions {
            run: self,
            scratch: scratch.path(),
            directory: &directory,
        };
        let ran = Box::pin(sessions.run(child, prepared, &mut watch)).await;
        self.display.close();
        let Some(Ran {
            job,
            files,
            mut review,
            runtime,
            figures,
        }) = ran?
        else {
            return Ok(nothing_reviewed(signals.exit().unwrap_or(Exit::Terminated), redactor));
        };
        let early = signals.exit();
        let ending = Ending {
            job: &job,
            files: &files,
            publishing,
            sink: sink.as_ref(),
            format: arguments.format,
            links: output::Links::into_tree(job.repository.root(), environment),
            directory: &directory,
            reports: arguments.reports.as_deref(),
            redactor,
        };
        let posted = ending.conclude(&mut review, runtime, early.is_some(), &mut watch).await;
        // The runtime is gone by now, so nothing uses the scratch space any more.
        drop(scratch);
        watch.lap("printing and posting");
        let outcome = posted.as_ref().ok().and_then(Option::as_ref);
        telemetry::record_review(sink.as_ref(), &review, outcome.filter(|_| early.is_none()));
        telemetry::record_figures(sink.as_ref(), &review, figures, &watch.laps());
        match early {
            None => posted.map(|_| exit_of(&review, gate, arguments.strict)),
            Some(exit) => Ok(ended_early(exit, posted.map(drop), redactor)),
        }
    }
}

/// Says how a run ended that was ended early. Its exit code tells that, even if posting failed as well.
fn ended_early(exit: Exit, posted: Result<(), Failure>, redactor: &Redactor) -> Exit {
    if let Err(failure) = posted {
        output::note(&format!("What is known could not be posted: {failure}"), redactor);
    }
    let how = if exit == Exit::OutOfTime {
        "Out of time"
    } else {
        "Stopped"
    };
    output::note(
        &format!("{how}: this is what is known so far. Nothing is left running."),
        redactor,
    );
    exit
}

/// What is said when there is nothing to show yet.
fn nothing_reviewed(exit: Exit, redactor: &Redactor) -> Exit {
    let how = if exit == Exit::OutOfTime {
        "Out of time"
    } else {
        "Stopped"
    };
    output::note(&format!("{how} before anything was reviewed."), redactor);
    exit
}

fn exit_of(review: &Review, gate: Gate, strict: bool) -> Exit {
    match review.verdict {
        Verdict::SignificantConcerns if gate == Gate::Block => Exit::Blocked,
        Verdict::Inconclusive if strict => Exit::Inconclusive,
        _ => Exit::Reviewed,
    }
}

/// What was prepared, or the end of a run that has nothing to do or nobody to do it.
fn worth_a_review(prepared: Prepared, redactor: &Redactor) -> Result<Prepared, Result<Exit, Failure>> {
    if prepared.is_settled() {
        nothing_left(&prepared.diff, redactor);
        return Err(Ok(Exit::Reviewed));
    }
    match prepared.plan.nobody_can_run() {
        None => Ok(prepared),
        Some(none) => Err(Err(Failure::Settings(format!("nobody can review: {none}")))),
    }
}

fn nothing_left(diff: &FilteredDiff, redactor: &Redactor) {
    let mut text = String::from("Nothing to review");
    if diff.filtered.is_empty() {
        text.push_str(": the diff is empty.");
    } else {
        text.push_str(": every changed file is noise by rule.");
        for file in &diff.filtered {
            let _ = write!(text, "\n  {} ({})", file.path, file.reason.describe());
        }
    }
    output::note(&text, redactor);
}

/// What is left of a run when its sessions have ended.
struct Ran {
    job: Job,
    /// All changed files.
    files: Arc<Vec<FileDiff>>,
    review: Review,
    /// The caller stops it.
    runtime: Runtime,
    /// What the gateway counted.
    figures: Figures,
}

impl Ran {
    /// Adds to the review what the gateway says, and who follows the configuration.
    fn new(
        job: Job,
        files: Arc<Vec<FileDiff>>,
        mut review: Review,
        runtime: Runtime,
        warning: Option<String>,
        prices: &PriceList,
    ) -> Self {
        let events = runtime.gateway.events();
        let gateway = output::gateway_lines(&events);
        review.warnings.extend(gateway.into_iter().chain(warning));
        date_prices(&mut review, prices);
        Self {
            job,
            files,
            review,
            runtime,
            figures: Figures::of(&events),
        }
    }
}

/// Says of which day the prices are, where they are an operator's.
fn date_prices(review: &mut Review, prices: &PriceList) {
    let usage = review.usage();
    let line = prices.describe(usage.iter().map(|usage| &usage.model));
    review.coverage.notes.extend(line);
}

/// What only the part with the agent runtime needs.
struct Sessions<'a> {
    run: &'a Run<'a>,
    scratch: &'a Utf8Path,
    directory: &'a RunDirectory,
}

impl Sessions<'_> {
    /// Everything that needs the agent runtime, which the caller stops. Nothing if the run has to end before it has begun.
    async fn run(&self, child: Child, prepared: Prepared, watch: &mut Stopwatch) -> Result<Option<Ran>, Failure> {
        let (run, directory, scratch) = (self.run, self.directory, self.scratch);
        let Prepared {
            mut job,
            mut diff,
            spool,
            by_rules,
            mut plan,
            config,
            runtime: runtime_config,
            library,
            repo,
            preset,
            follower,
            mut warnings,
            mut memory,
            ..
        } = prepared;
        run.progress
            .report(ProgressEvent::Stage("Preparing the workspace and starting OpenCode"));
        let workspace = scratch.join("workspace");
        let instructions = Instructions::new(&repo.in_force.config, &library, &plan.rules.book);
        let prior = rereview::prepare(&mut job, &mut diff, &plan, &instructions, &spool).await?;
        memory::give_a_moment(&mut memory).await;
        let sources = Sources {
            job: &job,
            diff: &diff,
            repo_config: &repo.in_force.config,
            contributed: &runtime_config,
            library: &library,
            boundary: run.tape.boundary(),
            memory: &memory.now(),
        };
        let desk = rereview::desk(&job);
        let starting = async {
            check_out_workspace(&job.repository, &job.subject.head_sha, &workspace).await?;
            let inputs = inputs::write(sources, &mut plan, &spool, directory, &workspace).await?;
            let tell = |warning: &String| run.progress.report(ProgressEvent::Warning(warning));
            inputs.warnings.iter().for_each(tell);
            watch.lap("workspace");
            let runtime = Runtime::start(RuntimeInput {
                child,
                workspace: &workspace,
                directory,
                environment: run.environment,
                redactor: run.redactor,
                budget: live::budget(&job, run.arguments, &config.limits.budget),
                limits: live::gateway_limits(&config.limits),
                prices: PriceList::new(&config.prices),
                observer: live::observer(Arc::clone(&run.progress), run.observers.sink()),
                tape: run.tape.settings(&inputs.boundary),
                config: &runtime_config,
                library: &library,
                desk: &desk,
                trace: run.observers.trace(),
            })
            .await?;
            watch.lap("OpenCode start");
            Ok::<_, Failure>((runtime, inputs))
        };
        let (runtime, inputs) = tokio::select! {
            _ = run.signals.arrived() => return Ok(None),
            started = starting => started?,
        };
        warnings.extend(inputs.warnings);

        let providers = runtime_config.providers.iter().map(|owned| owned.value.name.clone());
        let live = Live::start(&follower, &plan, preset.0, providers.collect(), &runtime.gateway);
        let all = Arc::new(rereview::all_files(&diff, &prior));
        let review_job = ReviewJob {
            run_id: run.id.to_string(),
            subject: job.subject.clone(),
            files: Arc::new(diff.files),
            patches: inputs.patches,
            cut: inputs.cut,
            filtered: diff.filtered,
            by_rules,
            prior,
            memory,
            plan,
            coordinator_message: inputs.coordinator,
            limits: config.limits,
            rubric: repo.in_force.config.verdict,
            warnings,
            stages: watch.laps(),
        };
        let ports = ReviewPorts {
            runtime: Arc::clone(&runtime.opencode) as _,
            ledger: Arc::clone(&runtime.gateway) as _,
            progress: Arc::clone(&run.progress),
            telemetry: run.observers.sink(),
            routes: live.routes.clone(),
            source: Arc::new(RepositoryTree::new(&job, &all, inputs.context)),
            desk,
            stop: run.signals.stop(),
        };
        let review = run_review(review_job, ports).await;
        watch.lap("sessions");
        let prices = PriceList::new(&config.prices);
        Ok(Some(Ran::new(job, all, review, runtime, live.warning(), &prices)))
    }
}
