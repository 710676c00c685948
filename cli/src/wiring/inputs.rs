//! What the sessions read: patches, context, and the coordinator's message.

use camino::Utf8Path;
use conclave_engine::{
    diff::{FileDiff, FilteredDiff},
    pipeline::Plan,
    prompt::{ContextFile, Nonce, PatchEntry, Untrusted, render_context, render_coordinator},
};
use secrecy::{ExposeSecret, SecretString};

use super::{Job, patches};
use crate::{env_vars, exit::Failure, rundir::RunDirectory, settings::Environment};

/// The texts, and where each file's patch is.
pub(super) struct Inputs {
    pub(super) context: String,
    pub(super) coordinator: String,
    /// The patch of each file, relative to the workspace, in the diff's order.
    pub(super) patches: Vec<String>,
    /// The boundary of the prompts' sections.
    pub(super) boundary: Nonce,
}

/// Writes patches and context into the run directory, and where the agent reads them.
pub(super) async fn write(
    job: &Job,
    diff: &FilteredDiff,
    plan: &Plan,
    directory: &RunDirectory,
    workspace: &Utf8Path,
    environment: &Environment,
    recorded: Option<Nonce>,
) -> Result<Inputs, Failure> {
    let entries: Vec<PatchEntry> = diff
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| PatchEntry::new(at, file))
        .collect();
    let secret = match (environment.get(env_vars::SECRET), &job.secret) {
        (Some(secret), _) => SecretString::from(secret),
        (None, Some(secret)) => secret.clone(),
        // Without an installation's secret the boundary is new in every run: safe, only the caches do not last.
        (None, None) => conclave_gateway::random_run_key()?,
    };
    let subject_name = format!("{}!{}", job.subject.project, job.subject.merge_request.unwrap_or(0));
    // A replayed run has to say what the recorded one said.
    let nonce = recorded.unwrap_or_else(|| Nonce::new(secret.expose_secret().as_bytes(), &subject_name));
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
    Ok(Inputs {
        context,
        coordinator,
        patches: entries.into_iter().map(|entry| entry.patch).collect(),
        boundary: nonce,
    })
}
