//! What the sessions read: patches, context, each reviewer's message, and the coordinator's.

use camino::Utf8Path;
use conclave_engine::{
    diff::{FileDiff, FilteredDiff},
    pipeline::Plan,
    plugin::RuntimeConfig,
    prompt::{
        ContextFile, Nonce, PatchEntry, PromptLibrary, Untrusted, add_to_reviewer, assign, brief, patch_budget,
        render_context, render_coordinator, share_out, window_warning,
    },
    repo_config::RepoConfig,
    report::CutFile,
};
use conclave_shared::{config::ModelRoute, pricing, reviewer::ReviewerName};
use secrecy::{ExposeSecret, SecretString};

use super::{Job, patches};
use crate::{env_vars, exit::Failure, rundir::RunDirectory, settings::Environment};

/// The context window of a model that the registry does not know, in tokens.
const UNKNOWN_WINDOW: u64 = 128_000;
/// What the runtime adds to a prompt, in bytes: its tools and its words about the surroundings, rounded up.
const RUNTIME_BYTES: u64 = 16_000;

/// Where the inputs come from, and where they go.
pub(super) struct Sources<'a> {
    pub(super) job: &'a Job,
    pub(super) diff: &'a FilteredDiff,
    /// `.conclave.toml` of the target branch.
    pub(super) repo_config: &'a RepoConfig,
    /// What plugins add to the prompts.
    pub(super) contributed: &'a RuntimeConfig,
    pub(super) library: &'a PromptLibrary,
    pub(super) directory: &'a RunDirectory,
    pub(super) workspace: &'a Utf8Path,
    pub(super) environment: &'a Environment,
}

/// The texts, and where each file's patch is.
pub(super) struct Inputs {
    pub(super) context: String,
    pub(super) coordinator: String,
    /// The patch of each file, relative to the workspace, in the diff's order.
    pub(super) patches: Vec<String>,
    /// Patches that were too large to be given whole.
    pub(super) cut: Vec<CutFile>,
    /// What the review has to say about its inputs.
    pub(super) warnings: Vec<String>,
}

/// Writes patches and context into the run directory and where the agent reads them, and completes the messages of the
/// plan's reviewers.
pub(super) async fn write(sources: Sources<'_>, plan: &mut Plan) -> Result<Inputs, Failure> {
    let Sources { job, diff, library, .. } = sources;
    let nonce = nonce(job, sources.environment)?;
    let agents_md = agents_md(job).await?;
    let filtered: Vec<(String, &'static str)> = diff
        .filtered
        .iter()
        .map(|file| (file.path.clone(), file.reason.describe()))
        .collect();
    let panel = plan.reviewers();
    let uncut: Vec<PatchEntry> = diff
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let file = |entries| ContextFile {
        subject: &job.subject,
        patches: entries,
        filtered: &filtered,
        panel: &panel,
        agents_md: agents_md.as_ref(),
        repo_config: sources.repo_config,
        contributed: sources.contributed,
    };

    let message = render_context(&file(&uncut), &nonce).text.len() + library.shared()?.len();
    let budget = patch_budget(narrowest_window(plan), bytes(message) + RUNTIME_BYTES);
    let shares = share_out(&patches::sizes(&diff.files), budget);
    let files: Vec<(&FileDiff, &str)> = diff
        .files
        .iter()
        .zip(uncut.iter().map(|entry| entry.patch.as_str()))
        .collect();
    let left_out = patches::write(sources.directory, sources.workspace, &files, &shares)?;
    let entries: Vec<PatchEntry> = uncut
        .iter()
        .zip(left_out)
        .map(|(entry, lines_left_out)| PatchEntry {
            lines_left_out,
            ..entry.clone()
        })
        .collect();

    let context = render_context(&file(&entries), &nonce);
    let coordinator = render_coordinator(&file(&entries), &nonce);
    patches::write_context(sources.directory, sources.workspace, &context.text, &entries)?;
    sources
        .directory
        .write("prompts/coordinator-message.md", coordinator.text.as_bytes())?;
    brief_reviewers(plan, &sources, &context.text, &entries, &nonce);

    let mut warnings: Vec<String> = context
        .left_out
        .iter()
        .map(|what| format!("not given to the reviewers, because it is too long: {what}"))
        .collect();
    if let Ok(route) = &plan.coordinator {
        let message = coordinator.text.len() + library.get(ReviewerName::COORDINATOR)?.len();
        let message = bytes(message) + RUNTIME_BYTES;
        warnings.extend(window_warning(route.first().as_str(), window(route), message));
    }
    let cut = entries.iter().filter(|entry| entry.lines_left_out > 0);
    Ok(Inputs {
        cut: cut
            .map(|entry| CutFile {
                path: entry.path.clone(),
                lines_left_out: entry.lines_left_out,
            })
            .collect(),
        patches: entries.into_iter().map(|entry| entry.patch).collect(),
        context: context.text,
        coordinator: coordinator.text,
        warnings,
    })
}

/// What every section's tag carries.
fn nonce(job: &Job, environment: &Environment) -> Result<Nonce, Failure> {
    let secret = match (environment.get(env_vars::SECRET), &job.secret) {
        (Some(secret), _) => SecretString::from(secret),
        (None, Some(secret)) => secret.clone(),
        // Without an installation's secret the boundary is new in every run: safe, only the caches do not last.
        (None, None) => conclave_gateway::random_run_key()?,
    };
    let subject = format!("{}!{}", job.subject.project, job.subject.merge_request.unwrap_or(0));
    Ok(Nonce::new(secret.expose_secret().as_bytes(), &subject))
}

/// AGENTS.md at the root of the target branch. What the merge request makes of it is for the reviewers to judge, and a
/// file deeper down speaks to other tools.
async fn agents_md(job: &Job) -> Result<Option<Untrusted>, Failure> {
    let bytes = job.repository.file(&job.subject.base_sha, "AGENTS.md").await?;
    Ok(bytes.map(|bytes| Untrusted::from(String::from_utf8_lossy(&bytes).into_owned())))
}

fn brief_reviewers(plan: &mut Plan, sources: &Sources<'_>, context: &str, entries: &[PatchEntry], nonce: &Nonce) {
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let panel: Vec<(ReviewerName, bool)> = plan
        .members
        .iter()
        .map(|member| (member.name.clone(), member.required))
        .collect();
    let fields = assign(&panel, &paths);
    for member in &mut plan.members {
        add_to_reviewer(&mut member.parts, sources.contributed, member.name.as_str(), nonce);
        let field = fields.get(&member.name).map_or(&[][..], Vec::as_slice);
        brief(&mut member.parts, context, field, entries.len());
    }
}

/// The smallest context window among the reviewers without whom there is no review.
fn narrowest_window(plan: &Plan) -> u64 {
    plan.members
        .iter()
        .filter(|member| member.required)
        .filter_map(|member| member.route.as_ref().ok())
        .map(window)
        .min()
        .unwrap_or(UNKNOWN_WINDOW)
}

fn window(route: &ModelRoute) -> u64 {
    pricing::facts(route.first()).map_or(UNKNOWN_WINDOW, |facts| facts.context)
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
