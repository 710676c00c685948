//! Before any model is asked: the phases of the plugins, the diff, and the plan.

pub(crate) mod change;
pub(crate) mod checkout;
pub(crate) mod components;
pub(crate) mod efforts;
pub(crate) mod holds;
pub(crate) mod incremental;
pub(crate) mod lock_files;
pub(crate) mod memory;
pub(crate) mod merging;
pub(crate) mod organization;
pub(crate) mod overrides;
pub(crate) mod own_reviewers;
pub(crate) mod plugins;
pub(crate) mod repo_config;
pub(crate) mod settings_files;
pub(crate) mod source;
pub(crate) mod trojan_source;

use std::collections::BTreeSet;

use camino::Utf8Path;
use conclave_engine::{
    diff::{Diff, FilterRules, FilteredDiff},
    incremental::{Identities, still_unproven, written_texts},
    memory::Recall,
    panel::{Focus, PlanInput, explain_models, plan},
    plugin::{self, Assembled, RuntimeConfig},
    ports::{Progress, ProgressEvent, PublishSettings},
    prompt::PromptLibrary,
    repo_config::{PathSettings, RepoConfig},
    review::{ApprovalHold, Before, ExistingFinding, HoldCause, Plan, ThreadState},
    rules::AppliedRules,
};
use conclave_plugin_reviewer_config::Follower;
use conclave_shared::{
    config::{Capabilities, ConfigDocument, ModelSource, Preset, RouteExplanation, ineffective},
    finding::Finding,
    model::ModelId,
    path_globs::PathGlobs,
    pricing::mistyped,
    reviewer::ReviewerName,
    risk::SecurityPaths,
};
use serde::Serialize;
use tokio::sync::watch;

use crate::{
    args::PlanningArguments,
    diff::{self, Spool, attributes},
    exit::Failure,
    run::prepare::{
        change::{Job, Source},
        components::{Components, OfRepository},
        lock_files::LockFiles,
        memory::MemorySource,
        organization::{Change, Organization, OrganizationSettings},
        overrides::{Overrides, check_models},
        own_reviewers::OwnReviewers,
        repo_config::LoadedRepoConfig,
    },
};

/// What is known once the panel is decided.
pub(crate) struct Prepared {
    pub(crate) job: Job,
    pub(crate) diff: FilteredDiff,
    pub(crate) spool: Spool,
    /// What rules found in lock files; `None` if none changed.
    pub(crate) by_rules: Option<Vec<Finding>>,
    /// Which paths are security-sensitive.
    pub(crate) security: SecurityPaths,
    /// What rules found in characters of added code.
    pub(crate) trojan_source: Vec<Finding>,
    /// Why the approval is withheld, as far as that is known before the run.
    pub(crate) approval_holds: Vec<ApprovalHold>,
    pub(crate) plan: Plan,
    pub(crate) config: ConfigDocument,
    /// What the runtime will be started with. Rendering it needs the addresses of running servers, or placeholders.
    pub(crate) runtime: RuntimeConfig,
    pub(crate) library: PromptLibrary,
    /// The repository's own settings.
    pub(crate) repo: LoadedRepoConfig,
    /// The preset, which is in force for whom nobody names models, and who chose it.
    pub(crate) preset: (Preset, ChosenBy),
    /// How the models of the panel, and then of the coordinator, come about.
    pub(crate) models: Vec<(ReviewerName, RouteExplanation)>,
    /// True if an argument or a variable of the job names the models.
    pub(crate) models_of_job: bool,
    pub(crate) warnings: Vec<String>,
    /// Follows the configuration while the run goes on.
    pub(crate) follower: Follower,
    /// What counts more than the document of all reviews.
    pub(crate) overrides: Overrides,
    /// What the project remembers, which may still be on its way.
    pub(crate) memory: Recall,
}

/// Who chose a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChosenBy {
    /// Nobody: it is built in.
    Default,
    /// `.conclave.toml` of the target branch.
    Repo,
    /// An argument or a variable of the job.
    Job,
}

impl ChosenBy {
    /// The setting in force, and who chose it.
    pub(crate) fn choose<T>(job: Option<T>, repo: Option<T>, default: T) -> (T, Self) {
        match (job, repo) {
            (Some(chosen), _) => (chosen, Self::Job),
            (None, Some(chosen)) => (chosen, Self::Repo),
            (None, None) => (default, Self::Default),
        }
    }
}

/// Runs the phases. Nothing listens and no child runs before, during or after it: a plan can be shown without.
///
/// The order: all plugins start at once, and the diff is read as soon as the change is loaded. Then
/// they configure, then the models are amended (the last word is an operator's, so it comes after what plugins propose),
/// and only then is the plan made: it depends on which reviewers were registered, which providers can be used and which
/// models are in force. What was assembled is narrowed down to the plan at the end, so that no plugin has to know who
/// sits on the panel to contribute to it.
pub(crate) async fn prepare(
    source: Source,
    components: Components,
    arguments: &PlanningArguments,
    agents: Option<u32>,
    scratch: &Utf8Path,
    progress: &dyn Progress,
) -> Result<Prepared, Failure> {
    let Components {
        mut plugins,
        organization,
        follower,
        memory,
        notes,
        of_repository,
        ..
    } = components;
    let change = Box::pin(load(source, (organization, memory, of_repository), arguments, scratch));
    // Without a change there is nothing to wait for: its failure ends the phase for all.
    let (mut warnings, loaded) = tokio::try_join!(async { Ok(plugin::bootstrap(&mut plugins).await) }, change)?;
    let Loaded {
        job,
        diff,
        spool,
        locks,
        repo,
        own,
        organization,
        failures,
        merging_gap,
        memory,
    } = loaded;
    lead_with_configuration(&mut warnings, &follower);
    warnings.extend(locks.faults.into_iter().chain(failures));
    plugins.extend(organization.plugins);
    plugins.push(Box::new(own.clone()));
    let mut config = ConfigDocument::default();
    let mut assembled = plugin::configure(&plugins)?;
    let base = config.clone();
    warnings.extend(plugin::post_configure(&plugins, &mut assembled, &mut config).await);
    warnings.extend(plugins.iter().flat_map(|plugin| plugin.warnings()));
    warnings.extend(repo.warnings());
    let broken = follower.unanswered().filter(|fallback| fallback.is_broken);
    // The notice on top says why; a second time would be a second fault to a reader.
    let broken = broken.map(|_| ApprovalHold::new(HoldCause::Settings, DOCUMENT_NOT_IN_FORCE));
    let mut unread: Vec<ApprovalHold> = repo.hold().into_iter().chain(own.hold()).chain(broken).collect();
    let security = security_paths(&config, &mut warnings, &mut unread);
    let (library, without_effect) = plugins::library(arguments.prompts.as_deref(), &own)?;
    warnings.extend(without_effect);
    report_all(progress, notes.iter().chain(&job.notes).chain(&warnings));
    check_models(&arguments.models, &config, &assembled.providers())?;
    let settings = &repo.in_force.config;
    let preset = ChosenBy::choose(arguments.preset, settings.review.preset, Preset::default());
    let overrides = Overrides::new(base, preset.0, arguments, agents, settings);
    efforts::check_names(&overrides.effort_of_job, settings)?;
    overrides.apply(&mut config);
    // What counts as noise depends on the operator's and the repository's settings, so it is taken out only now.
    let diff = filter(&job, (diff, &spool), &security, &settings.paths).await?;
    let trojan_source = trojan_source::check(&diff, &spool)?;
    let rules = organization::applied(&organization.rules, &diff);
    let registered = registered(&assembled, &rules);
    let focus = focus(arguments, settings)?;
    let input = PlanInput {
        diff: &diff,
        config: &config,
        preset: preset.0,
        credentials: &assembled.providers(),
        registered: &registered,
        rules: &rules,
        library: &library,
        repo: settings,
        security: &security,
        focus: focus.as_ref(),
        classes: &settings.classes(),
    };
    let mut plan = plan(&input)?;
    plan.gaps.extend(merging_gap);
    let models = explain(&plan, &input);
    let mut of_plan = warnings_of_plan(&plan, &overrides, &config);
    of_plan.extend(preset_without_effect(preset, &models, !arguments.models.is_empty()));
    of_plan.extend(organization::not_shown_in(&plan, organization.not_shown));
    let runtime = assembled.for_plan(&plan, &config);
    of_plan.extend(efforts::warnings(&plan, &config, &runtime.providers));
    report_all(progress, &of_plan);
    warnings.extend(of_plan);
    unread.extend(holds::of_rules(&rules.left_out));
    let of_change = locks.doubts.holds(&diff).into_iter().chain(trojan_source.hold);
    let approval_holds = known_holds(&job, unread.into_iter().chain(of_change), &diff);
    Ok(Prepared {
        job,
        diff,
        spool,
        by_rules: locks.findings,
        security,
        approval_holds,
        trojan_source: trojan_source.findings,
        plan,
        config,
        runtime,
        library,
        repo,
        preset,
        models,
        models_of_job: !arguments.models.is_empty(),
        warnings,
        follower,
        overrides,
        memory,
    })
}

/// The change and what its repository says about its review.
struct Loaded {
    job: Job,
    diff: Diff,
    spool: Spool,
    locks: LockFiles,
    repo: LoadedRepoConfig,
    own: OwnReviewers,
    organization: Organization,
    /// What the organization's plugins failed at.
    failures: Vec<String>,
    /// The gap that changes of the merge make in the review.
    merging_gap: Option<String>,
    memory: Recall,
}

/// Reads them: the diff and the settings as soon as the change is known.
async fn load(
    source: Source,
    (organization, memory, of_repository): (
        OrganizationSettings,
        Option<MemorySource>,
        watch::Sender<Option<OfRepository>>,
    ),
    arguments: &PlanningArguments,
    scratch: &Utf8Path,
) -> Result<Loaded, Failure> {
    let mut job = source.load().await?;
    let ((diff, spool), repo) = diff_and_settings(&job, scratch, &of_repository).await?;
    let merging = merging::check(&job, &diff, scratch).await;
    job.holds.extend(merging.as_ref().map(|unseen| unseen.hold.clone()));
    let memory = recall(memory, &repo);
    // Before the noise is taken out: lock files are a part of it.
    let head = &job.subject.head_sha;
    let locks = lock_files::check(&job.repository, head, &diff, &trusted(&repo)).await?;
    let change = Change {
        surveyed: organization::survey(&job, &diff, &spool).await?,
        job: &job,
        diff: &diff,
    };
    let commit = job.subject.settings_commit();
    settings_files::check(&job.repository, commit, &repo.in_force.config).await?;
    let own = OwnReviewers::load(&job.repository, commit, &repo.in_force.config).await?;
    let of_repository = repo.in_force.config.codex.rules.as_deref();
    let mut organization = Organization::new(organization, arguments.codex_rules.as_deref(), of_repository, change)?;
    let failures = plugin::bootstrap(&mut organization.plugins).await;
    Ok(Loaded {
        job,
        diff,
        spool,
        locks,
        repo,
        own,
        organization,
        failures,
        merging_gap: merging.and_then(|unseen| unseen.gap),
        memory,
    })
}

/// The reason of a hold where the organization's document cannot be used.
const DOCUMENT_NOT_IN_FORCE: &str = "What the organization's configuration protects is not in force.";

/// Puts it before everything else that a review is not on the organization's configuration.
fn lead_with_configuration(warnings: &mut Vec<String>, follower: &Follower) {
    if let Some(unanswered) = follower.unanswered() {
        // As the plugin's failure it has the plugin's name in front.
        warnings.retain(|warning| !warning.ends_with(&unanswered.reason));
        warnings.insert(0, unanswered.reason);
    }
}

/// Files that nobody has to read. The patterns are those that could be read.
fn trusted(repo: &LoadedRepoConfig) -> PathGlobs {
    PathGlobs::new(&repo.in_force.config.paths.trusted).unwrap_or_default()
}

/// Asks what the project remembers, unless it does not want to know.
fn recall(memory: Option<MemorySource>, repo: &LoadedRepoConfig) -> Recall {
    let is_wanted = repo.in_force.config.review.memory.unwrap_or(true);
    memory
        .filter(|_| is_wanted)
        .map_or_else(Recall::nothing, MemorySource::ask)
}

/// Why the approval is withheld, as far as that is known before the run.
fn known_holds(job: &Job, found: impl Iterator<Item = ApprovalHold>, diff: &FilteredDiff) -> Vec<ApprovalHold> {
    let known = job.holds.iter().cloned().chain(found);
    known.chain(holds::of_diff(diff)).collect()
}

/// Shows warnings as they come up.
pub(crate) fn report_all<'a>(progress: &dyn Progress, warnings: impl IntoIterator<Item = &'a String>) {
    for warning in warnings {
        progress.report(ProgressEvent::Warning(warning));
    }
}

/// Warnings about the plan and its models.
fn warnings_of_plan(plan: &Plan, overrides: &Overrides, config: &ConfigDocument) -> Vec<String> {
    let mistyped = overrides.models.iter().filter_map(mistyped);
    let limits = [&overrides.limits_of_project, &overrides.limits_of_job];
    plan.warnings()
        .into_iter()
        .chain(switched_off(plan))
        .chain(mistyped)
        .chain(ineffective(&config.limits, &config.reviewers, &limits))
        .collect()
}

/// The diff as it is, with its patches, and the repository's settings, read side by side.
async fn diff_and_settings(
    job: &Job,
    scratch: &Utf8Path,
    of_repository: &watch::Sender<Option<OfRepository>>,
) -> Result<((Diff, Spool), LoadedRepoConfig), Failure> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let diff = diff::read(&job.repository, base, head, scratch);
    let repo = async {
        let repo = repo_config::load(&job.repository, &job.subject).await?;
        let review = &repo.in_force.config.review;
        of_repository.send_replace(Some(OfRepository {
            runtime: review.runtime,
            sandbox: review.require_sandbox,
        }));
        Ok(repo)
    };
    tokio::try_join!(diff, repo)
}

/// Returns whether anybody's models come from the preset.
fn comes_from_preset(models: &[(ReviewerName, RouteExplanation)], of_job: bool) -> bool {
    !of_job
        && models
            .iter()
            .any(|(_, explained)| explained.source == ModelSource::Preset)
}

/// A warning about a preset that was chosen and changes nothing.
fn preset_without_effect(
    (preset, chosen_by): (Preset, ChosenBy),
    models: &[(ReviewerName, RouteExplanation)],
    of_job: bool,
) -> Option<String> {
    let chosen_by = match chosen_by {
        ChosenBy::Default => return None,
        // The limits of this preset are in force whether or not its models are.
        _ if preset == Preset::Local => return None,
        ChosenBy::Repo => ".conclave.toml",
        ChosenBy::Job => "the job",
    };
    let by = if of_job { "--models" } else { "the configuration" };
    (!comes_from_preset(models, of_job)).then(|| {
        format!(
            "the preset {}, chosen by {chosen_by}, has no effect: {by} names the models of everybody on the panel",
            preset.as_str()
        )
    })
}

/// Who can sit on a panel.
fn registered(assembled: &Assembled, rules: &AppliedRules) -> BTreeSet<String> {
    let mut registered = assembled.reviewers();
    if rules.book.is_empty() {
        // What its rules are for turned out to be noise.
        registered.remove(conclave_plugin_codex::REVIEWER);
    }
    registered
}

/// Whom the job asks for. A name that nobody has is an error before anything is paid for.
pub(crate) fn focus(arguments: &PlanningArguments, settings: &RepoConfig) -> Result<Option<Focus>, Failure> {
    let focus = Focus::new(&arguments.focus);
    let own: Vec<ReviewerName> = settings.reviewers.iter().map(|own| own.name.clone()).collect();
    match focus.as_ref().and_then(|focus| focus.unknown(&own)) {
        Some(unknown) => Err(Failure::Settings(unknown)),
        None => Ok(focus),
    }
}

/// How the models of the panel, and then of the coordinator, come about.
fn explain(plan: &Plan, input: &PlanInput<'_>) -> Vec<(ReviewerName, RouteExplanation)> {
    let mut members = plan.reviewers();
    members.push(ReviewerName::coordinator());
    let explained = members.into_iter().map(|name| {
        let explained = explain_models(name.as_str(), plan.assessment.tier, input);
        (name, explained)
    });
    explained.collect()
}

/// The security-sensitive paths. A document's patterns are checked when it is read, so the built-in ones stand in only
/// for what no check foresaw; then the review says so.
fn security_paths(config: &ConfigDocument, warnings: &mut Vec<String>, holds: &mut Vec<ApprovalHold>) -> SecurityPaths {
    SecurityPaths::new(&config.risk).unwrap_or_else(|faults| {
        let reason = "The configuration's security-sensitive paths cannot be read; the warnings say what to correct.";
        holds.push(ApprovalHold::new(HoldCause::Settings, reason));
        warnings.extend(faults.into_iter().map(|fault| {
            let place = format!("risk.{}[{}]", fault.list, fault.index);
            format!(
                "the built-in security-sensitive paths are used: {place}: {}",
                fault.detail
            )
        }));
        SecurityPaths::default()
    })
}

/// Providers that an operator has switched off, with the reason, each once.
fn switched_off(plan: &Plan) -> Vec<String> {
    let routes = plan
        .members
        .iter()
        .map(|member| &member.route)
        .chain([&plan.coordinator]);
    let skipped = routes.flat_map(|route| match route {
        Ok(route) => &route.skipped,
        Err(none) => &none.skipped,
    });
    let mut lines: Vec<String> = Vec::new();
    for skip in skipped.filter(|skip| skip.switched_off) {
        if !lines.contains(&skip.reason) {
            lines.push(skip.reason.clone());
        }
    }
    lines
}

/// Takes the noise out, and what the project leaves out of its reviews; adds what a checkout would turn into something else.
/// The patterns are those that could be read.
async fn filter(
    job: &Job,
    (diff, spool): (Diff, &Spool),
    security: &SecurityPaths,
    paths: &PathSettings,
) -> Result<FilteredDiff, Failure> {
    let ignore = PathGlobs::new(&paths.ignore).unwrap_or_default();
    let trusted = PathGlobs::new(&paths.trusted).unwrap_or_default();
    let rules = FilterRules {
        security,
        ignore: ignore.as_set(),
        trusted: trusted.as_set(),
    };
    let scope = attributes::Scope::of(&diff);
    let mut diff = diff::without_noise(&job.repository, &job.subject.head_sha, diff, rules, spool).await?;
    let differing = attributes::differing(&job.repository, &job.subject, &diff, &scope).await?;
    diff.filtered.extend(differing);
    Ok(diff)
}

impl Prepared {
    /// How the review is posted.
    pub(crate) fn publishing(&self) -> PublishSettings {
        let (repo, limits) = (&self.repo.in_force.config.review, &self.config.limits);
        self.job.posting.settings(repo, &limits.budget)
    }

    /// Returns whether anybody's models, or the limits, come from the preset.
    pub(crate) fn is_preset_in_force(&self) -> bool {
        self.preset.0 == Preset::Local || comes_from_preset(&self.models, self.models_of_job)
    }

    /// The capabilities of a model that its provider can be asked for in this run.
    pub(crate) fn in_format(&self, model: &ModelId, capabilities: Capabilities) -> Capabilities {
        efforts::in_format(model, capabilities, &self.runtime.providers)
    }

    /// Returns whether findings of earlier reviews may stand: then the run goes on without a file, because only a review says what
    /// has become of them.
    fn carries_findings(&self) -> bool {
        let stood = |before| matches!(before, Before::Stood | Before::Posted | Before::Reopened);
        let open = |known: &ExistingFinding| match known.state {
            ThreadState::Open
            | ThreadState::ResolvedByOutsider
            | ThreadState::ResolvedByUnnamed
            | ThreadState::ResolvedByOther
            | ThreadState::Unknown => true,
            // Who wrote the change may not settle everything.
            ThreadState::ResolvedByAuthor => known.record.is_serious(),
            ThreadState::ResolvedByUs | ThreadState::ResolvedByPerson => false,
        };
        let carry_over = &self.job.carry_over;
        carry_over.findings.iter().any(|known| stood(known.before))
            || self.job.subject.existing_findings.iter().any(open)
            || self.lacks_proof()
    }

    /// Returns whether a serious finding without proof is about a file that is noise now, or about none of the change.
    fn lacks_proof(&self) -> bool {
        let remembered = &self.job.carry_over.unproven;
        let written = written_texts(&self.job.subject);
        let none = Identities::new();
        !still_unproven(remembered, &none, &[], &none, &self.diff.filtered, &written).is_empty()
    }

    /// Returns whether there is neither anything to review nor anything to say without a review.
    pub(crate) fn is_settled(&self) -> bool {
        // Findings that cannot be read may stand, too.
        let may_be_blocked = self.approval_holds.iter().any(|hold| hold.cause.may_hide_a_block());
        self.diff.files.is_empty()
            && !self.carries_findings()
            && !may_be_blocked
            && self.by_rules.as_ref().is_none_or(Vec::is_empty)
            && !self.diff.filtered.iter().any(|file| file.reason.is_gap())
    }
}
