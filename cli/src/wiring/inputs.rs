//! What the sessions read: patches, context, and the coordinator's message.

use camino::Utf8Path;
use conclave_engine::{
    diff::{FileDiff, FilteredDiff},
    pipeline::Plan,
    plugin::RuntimeConfig,
    prompt::{ContextFile, Nonce, PatchEntry, Untrusted, add_to_reviewer, render_context, render_coordinator},
};
use secrecy::ExposeSecret;

use super::{Job, changes::Spool, patches};
use crate::{exit::Failure, rundir::RunDirectory};

/// The texts, and where each file's patch is.
pub(super) struct Inputs {
    pub(super) context: String,
    pub(super) coordinator: String,
    /// The patch of each file, relative to the workspace, in the diff's order.
    pub(super) patches: Vec<String>,
}

/// Writes patches and context into the run directory, and where the agent reads them; adds to the reviewers' messages
/// what plugins have for them.
pub(super) async fn write(
    job: &Job,
    diff: &FilteredDiff,
    spool: &Spool,
    plan: &mut Plan,
    runtime: &RuntimeConfig,
    directory: &RunDirectory,
    workspace: &Utf8Path,
) -> Result<Inputs, Failure> {
    let inputs = render(job, diff, plan, runtime).await?;
    let files: Vec<(&FileDiff, &str)> = diff
        .files
        .iter()
        .zip(inputs.patches.iter().map(String::as_str))
        .collect();
    patches::write(directory, workspace, &files, spool, &inputs.context)?;
    directory.write("prompts/coordinator-message.md", inputs.coordinator.as_bytes())?;
    Ok(inputs)
}

/// What the sessions would read, with the additions of plugins to the reviewers' messages.
pub(super) async fn render(
    job: &Job,
    diff: &FilteredDiff,
    plan: &mut Plan,
    runtime: &RuntimeConfig,
) -> Result<Inputs, Failure> {
    let entries: Vec<PatchEntry> = diff
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let secret = match &job.secret {
        Some(secret) => secret.clone(),
        // Without an installation's secret the boundary is new in every run: safe, only the caches do not last.
        None => conclave_gateway::random_run_key()?,
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
        patches: &entries,
        filtered: &filtered,
        panel: &panel,
        project_instructions: instructions.as_ref(),
        contributed: runtime,
    };
    let context = render_context(&file, &nonce);
    let coordinator = render_coordinator(&file, &nonce);
    for member in &mut plan.members {
        add_to_reviewer(&mut member.parts, runtime, member.name.as_str(), &nonce);
    }
    Ok(Inputs {
        context,
        coordinator,
        patches: entries.into_iter().map(|entry| entry.patch).collect(),
    })
}
