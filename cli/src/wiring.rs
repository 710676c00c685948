//! One review, wired: plugins, gateway, agent runtime, engine, output.

mod patches;
mod plugins;
mod signals;
mod source;
mod stopwatch;
mod telemetry;

use std::sync::Arc;

use camino::Utf8Path;
use conclave_engine::{
    diff::{FileDiff, FilteredDiff},
    pipeline::{Plan, PlanInput, ReviewJob, ReviewPorts, plan, review as run_review},
    plugin::{self, ReviewPlugin, StandingPanel},
    ports::{Forge, Progress, ProgressEvent, ReviewSubject, TelemetrySink},
    prompt::{ContextFile, Nonce, PatchEntry, PromptLibrary, Untrusted, render_context, render_coordinator},
    report::{Review, render_markdown},
    scheduler::Desk,
};
use conclave_gateway::{Gateway, GatewayConfig};
use conclave_git::{Repository, check_out_workspace};
use conclave_opencode::{
    ConfigFile, OpenCode, OpenCodeSettings, TOOL_SPAWN_REVIEWERS, TOOL_SUBMIT_REVIEW, find_opencode, render_config,
};
use conclave_plugin_agents_md::AgentsMdPlugin;
use conclave_plugin_reviewer_config::ReviewerConfigPlugin;
use conclave_plugin_telemetry::Telemetry;
use conclave_shared::{
    config::{ConfigDocument, Preset},
    redact::Redactor,
    reviewer::ReviewerName,
    risk::SecurityPaths,
    telemetry::RunStarted,
    verdict::Verdict,
};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use self::{
    plugins::{CoordinatorToolsPlugin, ModelProviders},
    signals::Signals,
    source::RepositoryTree,
    stopwatch::Stopwatch,
};
use crate::{
    args::{CommonArguments, Format, Gate},
    env_vars,
    exit::{Exit, Failure},
    output,
    providers::{self, Provider},
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
    pub(crate) forge: Option<Box<dyn Forge>>,
    /// The project's name for the configuration service.
    pub(crate) config_project: String,
    /// The installation's secret, if there is one.
    pub(crate) secret: Option<SecretString>,
    /// What the person should know.
    pub(crate) notes: Vec<String>,
}

/// What is known once the panel is decided.
struct Prepared {
    diff: FilteredDiff,
    plan: Plan,
    config: ConfigDocument,
    library: PromptLibrary,
    warnings: Vec<String>,
}

/// Reviews, prints, posts.
pub(crate) async fn review(
    job: Job,
    arguments: &CommonArguments,
    scratch: Scratch,
    environment: &Environment,
    redactor: &Redactor,
) -> Result<Exit, Failure> {
    let mut watch = Stopwatch::start();
    let path = environment
        .get("PATH")
        .unwrap_or("/usr/local/bin:/usr/bin:/bin")
        .to_owned();
    let providers = providers::read(environment)?;
    let progress = Arc::new(output::Lines::new(redactor.clone()));
    for note in &job.notes {
        progress.report(ProgressEvent::Warning(note));
    }
    progress.report(ProgressEvent::Stage("Reading the diff and the configuration"));
    let configured = environment.get(env_vars::OPENCODE).map(Utf8Path::new);
    let (binary, prepared) = tokio::join!(
        find_opencode(configured, &path),
        prepare(&job, arguments, &providers, environment, progress.as_ref())
    );
    let (binary, prepared) = (binary?, prepared?);
    watch.lap("diff, configuration, plan");
    if prepared.diff.files.is_empty() {
        nothing_left(&prepared.diff, redactor);
        return Ok(Exit::Reviewed);
    }
    if let Some(none) = prepared.plan.nobody_can_run() {
        return Err(Failure::Settings(format!("nobody can review: {none}")));
    }

    let run_id = Uuid::now_v7();
    let directory = RunDirectory::create(arguments.output.as_deref(), &run_id.to_string(), environment)?;
    let telemetry = telemetry::start(environment, run_id, &job.subject.project)?;
    let sink: &dyn TelemetrySink = telemetry
        .as_ref()
        .map_or(&telemetry::Off as &dyn TelemetrySink, |telemetry| telemetry);
    sink.record(conclave_shared::telemetry::EventBody::RunStarted(RunStarted {
        tier: prepared.plan.assessment.tier,
        forge: job.subject.forge.to_owned(),
        merge_request: job.subject.merge_request,
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        reviewers: prepared.plan.reviewers().iter().map(ToString::to_string).collect(),
    }));
    progress.report(ProgressEvent::Stage(&output::plan_line(&prepared.plan, &prepared.diff)));

    let signals = Signals::watch().map_err(Failure::io("watch for signals"))?;
    let desk = Arc::new(Desk::default());
    let ran = run_sessions(Sessions {
        job: &job,
        prepared,
        providers: &providers,
        arguments,
        environment,
        binary: &binary,
        path: &path,
        scratch: scratch.path(),
        directory: &directory,
        run_id,
        desk,
        progress: progress.clone(),
        signals: &signals,
        watch: &mut watch,
    })
    .await;
    // The runtime is gone by now, so nothing uses the scratch space any more.
    drop(scratch);
    let mut review = match ran {
        Ok(review) => review,
        Err(failure) => {
            flush(telemetry.as_ref(), progress.as_ref()).await;
            return Err(failure);
        }
    };
    if let Some(exit) = signals.exit() {
        telemetry::record_review(sink, &review);
        flush(telemetry.as_ref(), progress.as_ref()).await;
        output::note("Stopped. Nothing was posted, and nothing is left running.", redactor);
        return Ok(exit);
    }
    review.seconds = watch.total();
    finish(&job, arguments, &directory, &review, redactor).await?;
    telemetry::record_review(sink, &review);
    let posted = post(&job, &review, redactor).await;
    flush(telemetry.as_ref(), progress.as_ref()).await;
    posted?;
    Ok(exit_of(&review, arguments))
}

fn exit_of(review: &Review, arguments: &CommonArguments) -> Exit {
    match review.verdict {
        Verdict::SignificantConcerns if arguments.gate == Gate::Block => Exit::Blocked,
        Verdict::Inconclusive if arguments.strict => Exit::Inconclusive,
        _ => Exit::Reviewed,
    }
}

fn nothing_left(diff: &FilteredDiff, redactor: &Redactor) {
    let mut text = String::from("Nothing to review");
    if diff.filtered.is_empty() {
        text.push_str(": the diff is empty.");
    } else {
        text.push_str(": every changed file is noise by rule.");
        for file in &diff.filtered {
            text.push_str(&format!("\n  {} ({})", file.path, file.reason.describe()));
        }
    }
    output::note(&text, redactor);
}

/// Diff, configuration, tier, panel.
async fn prepare(
    job: &Job,
    arguments: &CommonArguments,
    providers: &[Provider],
    environment: &Environment,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let mut remote = ReviewerConfigPlugin::new(plugins::config_source(environment, &job.config_project)?);
    let (bootstrapped, diff) = tokio::join!(remote.bootstrap(), read_diff(job));
    let mut warnings: Vec<String> = bootstrapped.err().into_iter().map(|error| error.to_string()).collect();
    let mut config = ConfigDocument::default();
    if let Err(error) = remote.post_configure(&mut config).await {
        warnings.push(error.to_string());
    }
    warnings.extend(remote.remote_warnings());
    for warning in &warnings {
        progress.report(ProgressEvent::Warning(warning));
    }
    if let Some(agents) = arguments.agents {
        config.limits.sessions = agents;
    }
    let diff = diff?;
    let library = plugins::library(arguments.prompts.as_deref())?;
    let credentials = providers::names(providers);
    let input = PlanInput {
        diff: &diff,
        config: &config,
        preset: Preset::Current,
        credentials: &credentials,
        library: &library,
    };
    let plan = plan(&input)?;
    Ok(Prepared {
        diff,
        plan,
        config,
        library,
        warnings,
    })
}

async fn read_diff(job: &Job) -> Result<FilteredDiff, Failure> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let raw = job.repository.diff(base, head).await?;
    let diff = conclave_engine::diff::parse(&raw.raw, &raw.numstat, &raw.patch)?;
    // The filter asks for few files; reading them beforehand keeps it free of I/O.
    let contents = source::heads(&job.repository, base, head, &diff).await?;
    let security = SecurityPaths::default();
    Ok(conclave_engine::diff::filter(diff, &security, |file| {
        contents.get(&file.path).cloned().unwrap_or_default()
    }))
}

struct Sessions<'a> {
    job: &'a Job,
    prepared: Prepared,
    providers: &'a [Provider],
    arguments: &'a CommonArguments,
    environment: &'a Environment,
    binary: &'a Utf8Path,
    path: &'a str,
    scratch: &'a Utf8Path,
    directory: &'a RunDirectory,
    run_id: Uuid,
    desk: Arc<Desk>,
    progress: Arc<dyn Progress>,
    signals: &'a Signals,
    watch: &'a mut Stopwatch,
}

/// Everything that needs the agent runtime. It is stopped on every way out of here.
async fn run_sessions(sessions: Sessions<'_>) -> Result<Review, Failure> {
    let Sessions {
        job,
        prepared,
        directory,
        scratch,
        watch,
        ..
    } = sessions;
    let Prepared {
        diff,
        plan,
        config,
        library,
        warnings,
    } = prepared;
    sessions
        .progress
        .report(ProgressEvent::Stage("Preparing the workspace and starting OpenCode"));
    let workspace = scratch.join("workspace");
    check_out_workspace(&job.repository, &job.subject.head_sha, &workspace).await?;
    let entries: Vec<PatchEntry> = diff
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let texts = write_inputs(job, &diff, &plan, &entries, directory, &workspace, sessions.environment).await?;
    directory.write("prompts/REVIEWER_SHARED.md", library.shared()?.as_bytes())?;
    directory.write("prompts/coordinator.md", library.get("coordinator")?.as_bytes())?;
    watch.lap("workspace");

    let run_key = conclave_gateway::random_run_key()?;
    let mut gateway = GatewayConfig::new(
        sessions.providers.iter().map(Provider::upstream).collect(),
        run_key.clone(),
    );
    gateway.max_cost_usd = sessions.arguments.max_cost_usd;
    gateway.http.extra_ca_file = sessions.environment.get(env_vars::CA_FILE).map(Into::into);
    let gateway = Arc::new(Gateway::start(gateway).await?);
    let token = conclave_gateway::random_run_key()?;
    let mcp = OpenCode::serve_tools(Arc::clone(&sessions.desk) as _, token.clone())
        .await
        .map_err(Failure::io("start the tool server"))?;

    let reviewers = plan.reviewers();
    let on_panel = reviewers
        .iter()
        .any(|name| name.as_str() == conclave_plugin_agents_md::REVIEWER);
    let standing = reviewers
        .iter()
        .filter(|name| name.as_str() != conclave_plugin_agents_md::REVIEWER);
    let plugins: Vec<Box<dyn ReviewPlugin>> = vec![
        Box::new(StandingPanel::new(standing.cloned().collect())),
        Box::new(AgentsMdPlugin::new(on_panel)),
        Box::new(ModelProviders::new(sessions.providers, &plan, &gateway)),
        Box::new(CoordinatorToolsPlugin::new(mcp.endpoints.clone())),
    ];
    let runtime_config = plugin::configure(&plugins)?;
    let rendered = render_config(&ConfigFile {
        config: &runtime_config,
        reviewer_prompt: "./prompts/REVIEWER_SHARED.md",
        coordinator_prompt: "./prompts/coordinator.md",
    });
    let config_file = directory.write("opencode.json", format!("{rendered:#}\n").as_bytes())?;

    let mut child_environment = vec![
        (
            conclave_opencode::GATEWAY_KEY_VARIABLE.to_owned(),
            run_key.expose_secret().to_owned(),
        ),
        (
            conclave_opencode::MCP_TOKEN_VARIABLE.to_owned(),
            token.expose_secret().to_owned(),
        ),
    ];
    child_environment.extend(runtime_config.environment.iter().map(|owned| owned.value.clone()));
    let mut agents = vec![ReviewerName::COORDINATOR.to_owned()];
    agents.extend(reviewers.iter().map(ToString::to_string));
    let opencode = OpenCode::start(OpenCodeSettings {
        binary: sessions.binary,
        workspace: &workspace,
        home: &scratch.join("home"),
        config: &config_file,
        journal: &directory.path().join("events.jsonl"),
        path: sessions.path,
        environment: &child_environment,
        agents: &agents,
        mcp_servers: &["spawn".to_owned(), "submit".to_owned()],
        password: conclave_gateway::random_run_key()?,
    })
    .await?;
    let opencode = Arc::new(opencode);
    watch.lap("OpenCode start");

    let source = RepositoryTree::new(job, texts.context.clone());
    let review_job = ReviewJob {
        run_id: sessions.run_id.to_string(),
        subject: job.subject.clone(),
        files: Arc::new(diff.files),
        patches: entries.into_iter().map(|entry| entry.patch).collect(),
        filtered: diff.filtered,
        plan,
        coordinator_message: texts.coordinator,
        limits: config.limits,
        warnings,
        stages: watch.laps(),
    };
    let ports = ReviewPorts {
        runtime: Arc::clone(&opencode) as _,
        ledger: Arc::clone(&gateway) as _,
        progress: Arc::clone(&sessions.progress),
        source: Arc::new(source),
        desk: Arc::clone(&sessions.desk),
        stop: sessions.signals.stop(),
    };
    let mut review = run_review(review_job, ports).await;
    watch.lap("sessions");
    review.warnings.extend(output::gateway_lines(&gateway.events()));
    opencode.stop().await;
    gateway.shutdown().await;
    drop(mcp);
    watch.lap("shutdown");
    review.stages.extend(watch.last());
    Ok(review)
}

struct Inputs {
    context: String,
    coordinator: String,
}

/// Writes patches and context into the run directory, and where the agent reads them.
async fn write_inputs(
    job: &Job,
    diff: &FilteredDiff,
    plan: &Plan,
    entries: &[PatchEntry],
    directory: &RunDirectory,
    workspace: &Utf8Path,
    environment: &Environment,
) -> Result<Inputs, Failure> {
    let secret = match (environment.get(env_vars::SECRET), &job.secret) {
        (Some(secret), _) => SecretString::from(secret),
        (None, Some(secret)) => secret.clone(),
        // Without an installation's secret the boundary is new in every run: safe, only the caches do not last.
        (None, None) => conclave_gateway::random_run_key()?,
    };
    let subject_name = format!("{}!{}", job.subject.project, job.subject.merge_request.unwrap_or(0));
    let nonce = Nonce::new(secret.expose_secret().as_bytes(), &subject_name);
    let instructions = job
        .repository
        .file(&job.subject.base_sha, "AGENTS.md")
        .await?
        .map(|bytes| Untrusted::from(String::from_utf8_lossy(&bytes).into_owned()));
    let filtered: Vec<(String, &'static str)> = diff
        .filtered
        .iter()
        .map(|file| (file.path.clone(), file.reason.describe()))
        .collect();
    let panel = plan.reviewers();
    let file = ContextFile {
        subject: &job.subject,
        patches: entries,
        filtered: &filtered,
        panel: &panel,
        project_instructions: instructions.as_ref(),
    };
    let context = render_context(&file, &nonce);
    let coordinator = render_coordinator(&file, &nonce);
    let files: Vec<(&FileDiff, &str)> = diff
        .files
        .iter()
        .zip(entries.iter().map(|entry| entry.patch.as_str()))
        .collect();
    patches::write(directory, workspace, &files, &context)?;
    directory.write("prompts/coordinator-message.md", coordinator.as_bytes())?;
    Ok(Inputs { context, coordinator })
}

/// The records and what is printed.
async fn finish(
    job: &Job,
    arguments: &CommonArguments,
    directory: &RunDirectory,
    review: &Review,
    redactor: &Redactor,
) -> Result<(), Failure> {
    let json = output::json(review, redactor);
    directory.write("review.json", json.as_bytes())?;
    directory.write("review.md", redactor.redact(&render_markdown(review)).as_bytes())?;
    match arguments.format {
        Format::Json => output::print(&json),
        Format::Human => {
            let source = source::excerpts(&job.repository, review).await;
            output::print(&redactor.redact(&output::review(review, &source, directory.path())));
        }
    }
    Ok(())
}

async fn post(job: &Job, review: &Review, redactor: &Redactor) -> Result<(), Failure> {
    let Some(forge) = &job.forge else { return Ok(()) };
    let text = redactor.redact(&render_markdown(review));
    let outcome = forge.publish(review, &text).await?;
    let state = if outcome.approved {
        "approved by the bot"
    } else {
        "not approved by the bot"
    };
    match outcome.url {
        Some(url) => output::note(&format!("Posted: {url} ({state})"), redactor),
        None => output::note(&format!("Posted ({state})"), redactor),
    }
    for warning in &outcome.warnings {
        output::note(&format!("Warning: {warning}"), redactor);
    }
    Ok(())
}

async fn flush(telemetry: Option<&Telemetry>, progress: &dyn Progress) {
    if let Some(telemetry) = telemetry {
        let lost = telemetry.flush().await;
        if lost > 0 {
            progress.report(ProgressEvent::Warning(&format!(
                "{lost} telemetry events did not reach the tracker"
            )));
        }
    }
}
