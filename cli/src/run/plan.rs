//! What a review would be, as data: what `conclave plan --format json` prints.

pub(crate) mod nothing;
pub(crate) mod page;
pub(crate) mod tokenizer;

use conclave_engine::{
    diff::{FileDiff, FilteredFile},
    panel::{EstimateInput, PatchTokens, SessionEstimate, estimate},
    ports::{Progress, ProgressEvent},
    repo_config::RuntimeChoice,
    review::{ApprovalHold, Presence, ReviewMode, RuntimeName},
    rules::RuleInForce,
};
use conclave_opencode::v1::{ConfigFile, Endpoints, ExplainedLine, explain};
use conclave_shared::{
    config::{CapabilityList, ModelReason, ModelSource, PriceList, RouteExplanation},
    effort::Effort,
    engineering_rule::{OnBreach, RuleLevel},
    memory::RepositoryMemory,
    model::ModelId,
    pricing::TokenUsage,
    reviewer::ReviewerName,
    risk::RiskTier,
    sandbox::SandboxLevel,
};
use serde::Serialize;

use self::tokenizer::Tokenizer;
use super::{
    finish::nothing::nothing_left,
    prepare::{ChosenBy, Prepared, change::Source, components::Components, overrides::no_reviewer, prepare},
    scratch::Scratch,
    start::{
        choice::foresee,
        inputs,
        opencode::{COORDINATOR_PROMPT, REVIEWER_PROMPT},
        sandbox::required_here,
        section_mark::SectionMark,
    },
};
use crate::{
    args::{Format, PlanningArguments},
    context::Context,
    diff::patches,
    exit::{Exit, Failure},
    output::door::{self, Keep},
};

/// The version of the shape of the JSON; `docs/plan.md` describes it.
const SCHEMA_VERSION: u32 = 1;

/// A plan. The documentation of its fields is `docs/plan.md`; a test holds both together.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlanDocument {
    pub(crate) schema_version: u32,
    pub(crate) forge: String,
    pub(crate) project: String,
    pub(crate) merge_request: Option<u64>,
    pub(crate) base_sha: String,
    pub(crate) head_sha: String,
    pub(crate) settings_sha: String,
    pub(crate) tier: RiskTier,
    pub(crate) tier_reasons: Vec<String>,
    pub(crate) files: Vec<PlannedFile>,
    pub(crate) filtered: Vec<FilteredFile>,
    /// None where no models come from it.
    pub(crate) preset: Option<PlannedPreset>,
    pub(crate) remote_revision: Option<u64>,
    pub(crate) repo_config: bool,
    pub(crate) runtime: PlannedRuntime,
    pub(crate) reviewers: Vec<PlannedReviewer>,
    pub(crate) coordinator: PlannedReviewer,
    /// The engineering rules that are for a changed file.
    pub(crate) rules: Vec<PlannedRule>,
    pub(crate) estimate: PlannedEstimate,
    pub(crate) approval_holds: Vec<ApprovalHold>,
    pub(crate) warnings: Vec<String>,
}

/// A file that would be reviewed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlannedFile {
    pub(crate) path: String,
    pub(crate) change: &'static str,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// A rule of the organization that is for a changed file.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlannedRule {
    pub(crate) rule: String,
    pub(crate) link: String,
    pub(crate) level: Option<RuleLevel>,
    /// The consequence of a breach; none where the rule leaves the severity to its reviewer.
    pub(crate) on_breach: Option<OnBreach>,
    /// The people who have to approve a breach.
    pub(crate) approvers: Vec<String>,
    /// The files that it would be checked on.
    pub(crate) files: Vec<String>,
}

/// The agent runtime in force.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct PlannedRuntime {
    pub(crate) name: RuntimeName,
    pub(crate) chosen_by: ChosenBy,
}

/// The preset in force.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlannedPreset {
    pub(crate) name: &'static str,
    pub(crate) chosen_by: ChosenBy,
}

/// A reviewer, standing or the project's own, or the coordinator.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlannedReviewer {
    pub(crate) name: ReviewerName,
    pub(crate) presence: Presence,
    pub(crate) required: bool,
    /// True if the project has added it.
    pub(crate) own: bool,
    pub(crate) reason: String,
    /// The effort of its models.
    pub(crate) effort: Option<Effort>,
    pub(crate) models: Option<ModelChoice>,
    pub(crate) estimate: Option<SessionEstimate>,
}

/// A reviewer's models, and who chose them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ModelChoice {
    /// `default`, `repo`, `job` (an argument or a variable), `configured` or `remote`.
    pub(crate) source: &'static str,
    /// The class of the preset; none where the remote configuration names the models.
    pub(crate) class: Option<&'static str>,
    pub(crate) considered: Vec<PlannedModel>,
}

/// A model that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PlannedModel {
    pub(crate) model: ModelId,
    /// The model that it stands in for; none for a preferred one.
    pub(crate) stands_in_for: Option<ModelId>,
    /// Why it is not used; none for one that is.
    pub(crate) skipped: Option<String>,
    /// True if its price and limits are known.
    pub(crate) known: bool,
    /// The request that the reviewer's effort comes to with it, in words.
    pub(crate) effort: String,
    /// The context window, in tokens.
    pub(crate) context: u64,
    /// Maximum length of an answer, in tokens.
    pub(crate) max_output: u64,
}

/// What the whole review would use.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PlannedEstimate {
    pub(crate) tokens: TokenUsage,
    pub(crate) cost_usd: f64,
    pub(crate) counted: conclave_engine::panel::Counted,
    pub(crate) unpriced: Vec<ModelId>,
    pub(crate) assumptions: Vec<String>,
}

/// How a plan is made and shown.
pub(crate) struct PlanRequest<'a> {
    pub(crate) planning: &'a PlanningArguments,
    pub(crate) format: Format,
    /// The least sandbox that the job accepts.
    pub(crate) required: Option<SandboxLevel>,
    /// True if `opencode.json` is shown instead, with the plugin behind each line.
    pub(crate) explain: bool,
}

/// Plans, and prints the plan. No model is asked and no key is needed.
pub(crate) async fn plan(
    source: Source,
    request: &PlanRequest<'_>,
    scratch: &Scratch,
    context: &Context,
) -> Result<Exit, Failure> {
    let output = &context.output;
    // Read while git is at work.
    let tokenizer = tokenizer::load();
    let components = Components::new(&source, None, &context.env)?;
    let notes = components.notes.clone();
    let mut prepared = prepare(source, components, request.planning, None, scratch.path(), &Silent).await?;
    let repo = &prepared.repo;
    let mut problems = repo.in_force.problems.iter().chain(&repo.proposed);
    if problems.any(|problem| problem.weight == conclave_engine::repo_config::Weight::Error) {
        return Err(Failure::RepoConfig(repo.all_problems()));
    }
    if prepared.diff.files.is_empty() {
        output.note(&nothing_left(&prepared));
        // Data stays data, also of a change that has no file to review.
        if matches!(request.format, Format::Human) {
            return Ok(Exit::Reviewed);
        }
    }
    if request.explain {
        let lines = explain_file(&prepared);
        match request.format {
            Format::Json => output.print_json(&lines),
            Format::Human => output.print(&page::explained(&lines)),
        }
        return Ok(Exit::Reviewed);
    }
    let runtime = runtime(request.planning.runtime, request.required, &mut prepared, context).await;
    let document = document(prepared, notes, runtime, &tokenizer.finish().await?).await?;
    match request.format {
        Format::Json => output.print_json(&document),
        Format::Human => output.print_for_person(&page::plan(&document)),
    }
    Ok(Exit::Reviewed)
}

/// The plan as a text without a layout of a terminal's: who would review, and why. With it comes the mode that the repository's settings
/// name.
pub(crate) async fn explanation(
    source: Source,
    planning: &PlanningArguments,
    scratch: &Scratch,
    context: &Context,
) -> Result<(String, Option<ReviewMode>), Failure> {
    let tokenizer = tokenizer::load();
    let components = Components::new(&source, None, &context.env)?;
    let notes = components.notes.clone();
    let mut prepared = prepare(source, components, planning, None, scratch.path(), &Silent).await?;
    let mode = prepared.repo.in_force.config.review.mode;
    let required = required_here(&context.env)?;
    let runtime = runtime(planning.runtime, required, &mut prepared, context).await;
    let document = document(prepared, notes, runtime, &tokenizer.finish().await?).await?;
    let text = context.redactor.redact(&page::plan(&document));
    Ok((door::clean(text.trim(), Keep::Text), mode))
}

/// `opencode.json` as a run would write it, but for the ports, which are known only then.
fn explain_file(prepared: &Prepared) -> Vec<ExplainedLine> {
    explain(&ConfigFile {
        config: &prepared.runtime,
        endpoints: &Endpoints::placeholders(),
        reviewer_prompt: REVIEWER_PROMPT,
        coordinator_prompt: COORDINATOR_PROMPT,
    })
}

/// A plan is printed at once: what would be progress stands in it.
struct Silent;

impl Progress for Silent {
    fn report(&self, _event: ProgressEvent<'_>) {}
}

/// The agent runtime that a review would run on, as far as that is known without starting it. Why it could not start is a
/// warning of the plan.
async fn runtime(
    job: Option<RuntimeChoice>,
    required: Option<SandboxLevel>,
    prepared: &mut Prepared,
    context: &Context,
) -> PlannedRuntime {
    let of_repository = &prepared.repo.in_force.config.review;
    let (choice, chosen_by) = ChosenBy::choose(job, of_repository.runtime, RuntimeChoice::Auto);
    let required = required.max(of_repository.require_sandbox);
    let places = prepared.job.repository.places();
    let foreseen = foresee(&context.env, choice, &places, required, false).await;
    let name = foreseen.name();
    if let Some(problem) = foreseen.problem(&context.env, required).await {
        prepared.warnings.push(format!("a review could not start: {problem}"));
    }
    PlannedRuntime { name, chosen_by }
}

async fn document(
    mut prepared: Prepared,
    notes: Vec<String>,
    runtime: PlannedRuntime,
    tokenizer: &Tokenizer,
) -> Result<PlanDocument, Failure> {
    let boundary = SectionMark::new(&prepared.job, None)?.nonce;
    let memory = RepositoryMemory::default();
    let mut shares = Vec::new();
    let inputs = inputs::render(&mut prepared, &boundary, &memory, |files, spool, shared_out| {
        shares.extend_from_slice(shared_out);
        patches::left_out(files, spool, shared_out)
    })
    .await?;
    let Prepared { job, diff, plan, .. } = &prepared;
    let count = |text: &str| tokenizer.count(text);
    let mut counted = PatchTokens::default();
    let mut patch = Vec::new();
    // Those in the prompt are counted with it, and no reviewer opens one that is left out.
    let to_open = diff
        .files
        .iter()
        .zip(&shares)
        .zip(&inputs.patches)
        .filter(|(_, patch)| !patch.in_prompt && !patch.is_left_out);
    for ((file, share), _) in to_open {
        patches::read(&prepared.spool, file, *share, &mut patch)?;
        counted.add(&String::from_utf8_lossy(&patch), &count);
    }
    let prices = PriceList::new(&prepared.config.prices);
    let capabilities = CapabilityList::new(&prepared.config.capabilities);
    let estimate = estimate(&EstimateInput {
        plan,
        prices: &prices,
        capabilities: &|model| prepared.in_format(model, capabilities.of(model)),
        library: &prepared.library,
        coordinator_message: &inputs.coordinator,
        patches: counted,
        count: &count,
    })?;
    let mut warnings = notes;
    warnings.extend(job.notes.iter().cloned());
    warnings.extend(prepared.warnings.iter().cloned());
    let partly = |gap: &String| format!("this review would approve nothing: {gap}");
    warnings.extend(plan.gaps.iter().map(partly));
    let too_large = |text: &String| format!("this review would approve nothing, because {text}");
    warnings.extend(inputs.too_large.iter().map(too_large));
    warnings.extend(no_reviewer(plan));
    let approval_holds = prepared.approval_holds.clone();
    let planned = |name: &ReviewerName, presence, required, reason| {
        let mut models = prepared.models.iter();
        let explained = models.find(|(known, _)| known == name).map(|(_, explained)| explained);
        let mut sessions = estimate.sessions.iter();
        PlannedReviewer {
            effort: explained.map(|explained| explained.effort),
            models: explained.map(|explained| choice(explained, &prepared, &prices, &capabilities)),
            estimate: sessions.find(|session| session.name == *name).cloned(),
            name: name.clone(),
            presence,
            required,
            own: name.is_own(),
            reason,
        }
    };
    let judge = if plan.is_trivial() {
        "judges, with a standard model on the trivial tier"
    } else {
        "judges"
    };
    Ok(PlanDocument {
        schema_version: SCHEMA_VERSION,
        forge: job.subject.forge.to_owned(),
        project: job.subject.project.clone(),
        merge_request: job.subject.merge_request,
        base_sha: job.subject.base_sha.clone(),
        head_sha: job.subject.head_sha.clone(),
        settings_sha: job.subject.settings_commit().to_owned(),
        tier: plan.assessment.tier,
        tier_reasons: plan.assessment.reasons.clone(),
        files: diff.files.iter().map(planned_file).collect(),
        filtered: diff.filtered.clone(),
        preset: prepared.is_preset_in_force().then(|| PlannedPreset {
            name: prepared.preset.0.as_str(),
            chosen_by: prepared.preset.1,
        }),
        remote_revision: (prepared.config.revision > 0).then_some(prepared.config.revision),
        repo_config: prepared.repo.found,
        runtime,
        reviewers: plan
            .slots
            .iter()
            .map(|seat| planned(&seat.reviewer, seat.presence, seat.required, seat.reason.clone()))
            .collect(),
        coordinator: planned(&ReviewerName::coordinator(), Presence::OnPanel, false, judge.to_owned()),
        rules: plan.rules.book.iter().map(planned_rule).collect(),
        estimate: PlannedEstimate {
            tokens: estimate.tokens,
            cost_usd: estimate.cost_usd,
            counted: estimate.counted,
            unpriced: estimate.unpriced,
            assumptions: estimate.assumptions,
        },
        approval_holds,
        warnings,
    })
}

fn planned_file(file: &FileDiff) -> PlannedFile {
    PlannedFile {
        path: file.path.clone(),
        change: file.kind.as_str(),
        added: file.added,
        removed: file.removed,
    }
}

fn planned_rule(rule: &RuleInForce) -> PlannedRule {
    PlannedRule {
        rule: rule.id.clone(),
        link: rule.link.clone(),
        level: rule.level,
        on_breach: rule.on_breach,
        approvers: rule.approvers.clone(),
        files: rule.files.iter().cloned().collect(),
    }
}

fn choice(
    explained: &RouteExplanation,
    prepared: &Prepared,
    prices: &PriceList,
    capabilities: &CapabilityList,
) -> ModelChoice {
    let source = match (explained.source, prepared.preset.1) {
        _ if prepared.models_of_job => "job",
        (ModelSource::Remote, _) => "remote",
        (ModelSource::Class, _) => "configured",
        (ModelSource::Preset, ChosenBy::Default) => "default",
        (ModelSource::Preset, ChosenBy::Repo) => "repo",
        (ModelSource::Preset, ChosenBy::Job) => "job",
    };
    let effort = explained.effort;
    let considered = explained.considered.iter().map(|considered| {
        let takes = prepared.in_format(&considered.model, capabilities.of(&considered.model));
        PlannedModel {
            known: prices.facts(&considered.model).is_some(),
            effort: takes.request(effort).describe(effort),
            context: takes.context,
            max_output: takes.max_output,
            model: considered.model.clone(),
            stands_in_for: match &considered.reason {
                ModelReason::Preferred => None,
                ModelReason::StandsInFor(model) => Some(model.clone()),
            },
            skipped: considered.skipped.as_ref().map(|skip| skip.reason.clone()),
        }
    });
    ModelChoice {
        source,
        class: (source != "remote" && !prepared.models_of_job).then_some(explained.tier.as_str()),
        considered: considered.collect(),
    }
}
