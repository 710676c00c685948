//! The part of a run that needs the agent runtime: the workspace, the gateway, OpenCode, and the sessions in it.

pub(crate) mod source;

use std::{sync::Arc, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    diff::FileDiff,
    incremental::Instructions,
    pipeline::{ReviewJob, ReviewPorts, review as run_review},
    plugin::RuntimeConfig,
    ports::ProgressEvent,
    prompt::PromptLibrary,
    review::Review,
    session::{CoordinatorMailbox, RouteFacts},
};
use conclave_git::check_out_workspace;
use conclave_plugin_reviewer_config::Follower;
use conclave_shared::{
    config::{ConfigDocument, PriceList},
    path_globs::PathGlobs,
};
use tokio::sync::watch;

use super::{
    Run,
    directory::RunDirectory,
    prepare::{Prepared, change::Job, incremental, memory, overrides::Overrides, report_all},
    start::{
        inputs::{self, Sources},
        live::{self, BudgetOfJob, Live, LiveInput, LivePrices},
        runtime::{Child, Runtime, RuntimeInput},
        section_mark::SectionMark,
    },
    stopwatch::Stopwatch,
    telemetry::Figures,
};
use crate::{exit::Failure, output};

use self::source::RepositoryTree;

/// What is left of a run when its sessions have ended.
pub(crate) struct Ran {
    /// What was reviewed.
    pub(crate) job: Job,
    /// All changed files.
    pub(crate) files: Arc<Vec<FileDiff>>,
    /// The review.
    pub(crate) review: Review,
    /// The caller stops it.
    pub(crate) runtime: Runtime,
    /// What the gateway counted.
    pub(crate) figures: Figures,
}

impl Ran {
    /// Adds to the review what the gateway says, and who follows the configuration.
    fn new(
        job: Job,
        files: Arc<Vec<FileDiff>>,
        mut review: Review,
        runtime: Runtime,
        live: &Live,
        prices: &PriceList,
    ) -> Self {
        let events = runtime.gateway.events();
        let gateway = output::gateway_lines(&events);
        review.warnings.extend(gateway.into_iter().chain(live.warning()));
        review.coverage.notes.extend(live.changes());
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
pub(crate) struct Sessions<'a> {
    /// The run.
    pub(crate) run: &'a Run<'a>,
    /// What is gone when the run has ended.
    pub(crate) scratch: &'a Utf8Path,
    /// What stays.
    pub(crate) directory: &'a RunDirectory,
    /// The time limit of the run, which can be changed.
    pub(crate) run_limit: watch::Sender<Duration>,
}

impl Sessions<'_> {
    fn report_start(&self) {
        let stage = ProgressEvent::Stage("Preparing the workspace and starting OpenCode");
        self.run.progress.report(stage);
    }

    /// Everything that needs the agent runtime, which the caller stops. Nothing if the run has to end before it has begun.
    pub(crate) async fn run(
        &self,
        child: Child,
        prepared: Prepared,
        watch: &mut Stopwatch,
    ) -> Result<Option<Ran>, Failure> {
        let (run, directory) = (self.run, self.directory);
        let Prepared {
            mut job,
            mut diff,
            spool,
            by_rules,
            security,
            trojan_source,
            mut approval_holds,
            mut plan,
            config,
            runtime: runtime_config,
            library,
            repo,
            preset,
            follower,
            overrides,
            mut warnings,
            mut memory,
            ..
        } = prepared;
        self.report_start();
        let workspace = self.workspace();
        let instructions = Instructions::new(&repo.in_force.config, &library, &plan.rules.book);
        let mark = SectionMark::of(&job, run.tape, run.redactor)?;
        let section_marks = mark.leaks(&mut approval_holds, &job, &diff, &spool).await?;
        let settings = &repo.in_force.config.review;
        let prior = incremental::prepare(
            &mut job,
            &mut diff,
            &plan,
            &instructions,
            settings.author_settles,
            &spool,
        )
        .await?;
        memory::give_a_moment(&mut memory).await;
        let sources = Sources {
            job: &job,
            diff: &diff,
            repo_config: &repo.in_force.config,
            contributed: &runtime_config,
            library: &library,
            boundary: mark.nonce.clone(),
            memory: &memory.now(),
        };
        let mailbox = incremental::mailbox(&job);
        let prices = LivePrices::new(&config.prices);
        let starting = async {
            check_out_workspace(&job.repository, &job.subject.head_sha, &workspace).await?;
            let inputs = inputs::write(sources, &mut plan, &spool, directory, &workspace).await?;
            report_all(run.progress.as_ref(), &inputs.warnings);
            watch.lap("workspace");
            let runtime = self
                .start(child, &job, &config, (&runtime_config, &prices), &library, &mailbox)
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
        let facts = live::facts(&plan, preset.0, providers.collect());
        let begun = (&config, overrides, &prices);
        let live = self.follow(&follower, facts, begun, &job, &runtime);
        let all = Arc::new(incremental::all_files(&diff, &prior));
        let review_job = ReviewJob {
            run_id: run.id.to_string(),
            subject: job.subject.clone(),
            files: Arc::new(diff.files),
            patches: inputs.patches,
            cut: inputs.cut,
            filtered: diff.filtered,
            by_rules,
            trojan_source,
            section_marks,
            prior,
            memory,
            plan,
            coordinator_message: inputs.coordinator,
            limits: config.limits,
            rubric: repo.in_force.config.verdict,
            security,
            approval_holds,
            // The patterns are those that could be read.
            prompt_paths: PathGlobs::new(&settings.prompt_paths).unwrap_or_default(),
            configuration: follower.unanswered(),
            warnings,
            stages: watch.laps(),
        };
        let source = Arc::new(RepositoryTree::new(&job, &all, inputs.context));
        let review = run_review(review_job, self.ports(&runtime, &live, source, mailbox)).await;
        watch.lap("sessions");
        Ok(Some(Ran::new(job, all, review, runtime, &live, &prices.now())))
    }

    /// Follows the configuration from where the run began.
    fn follow(
        &self,
        remote: &Follower,
        facts: RouteFacts,
        (config, overrides, prices): (&ConfigDocument, Overrides, &LivePrices),
        job: &Job,
        runtime: &Runtime,
    ) -> Live {
        Live::start(LiveInput {
            remote,
            facts,
            gateway: &runtime.gateway,
            config,
            overrides,
            budget: BudgetOfJob::new(job, self.run.arguments),
            prices: prices.clone(),
            run_limit: self.run_limit.clone(),
            progress: Arc::clone(&self.run.progress),
        })
    }

    /// Starts the gateway and what the agents run in.
    async fn start(
        &self,
        child: Child,
        job: &Job,
        config: &ConfigDocument,
        (contributed, prices): (&RuntimeConfig, &LivePrices),
        library: &PromptLibrary,
        mailbox: &Arc<CoordinatorMailbox>,
    ) -> Result<Runtime, Failure> {
        let run = self.run;
        Runtime::start(RuntimeInput {
            child,
            workspace: &self.workspace(),
            directory: self.directory,
            environment: run.environment,
            redactor: run.redactor,
            budget: BudgetOfJob::new(job, run.arguments).with(&config.limits.budget),
            limits: live::gateway_limits(&config.limits),
            prices: prices.clone(),
            switches: config.providers.clone(),
            observer: live::observer(Arc::clone(&run.progress), run.observers.sink()),
            recording: run.tape.settings(),
            config: contributed,
            library,
            mailbox,
            trace: run.observers.trace(),
        })
        .await
    }

    /// Where the agents' checkout is made.
    fn workspace(&self) -> Utf8PathBuf {
        self.scratch.join("workspace")
    }

    /// What the review asks and tells.
    fn ports(
        &self,
        runtime: &Runtime,
        live: &Live,
        source: Arc<RepositoryTree>,
        mailbox: Arc<CoordinatorMailbox>,
    ) -> ReviewPorts {
        ReviewPorts {
            runtime: Arc::clone(&runtime.opencode) as _,
            ledger: Arc::clone(&runtime.gateway) as _,
            progress: Arc::clone(&self.run.progress),
            telemetry: self.run.observers.sink(),
            routes: live.routes.clone(),
            source,
            mailbox,
            stop: self.run.signals.stop(),
        }
    }
}
