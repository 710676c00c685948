//! What earlier reviews of the merge request have to do with this one: read from git and from what the forge told.

use std::sync::Arc;

use conclave_engine::{
    diff::{FileDiff, FilterReason, FilteredDiff, FilteredFile, text_of},
    incremental::{Instructions, Texts, assess, narrow, still_refuted, wanted},
    pipeline::Prior,
    repo_config::AuthorSettles,
    review::{Comment, PatchId, Plan},
    session::CoordinatorMailbox,
};
use conclave_git::Repository;
use conclave_shared::reviewer::ReviewerName;

use crate::{diff::Spool, exit::Failure, run::prepare::change::Job};

/// Takes out of the diff what was reviewed as it is, and finds the earlier findings again. The plan is made before, of the
/// whole diff: how risky a merge request is does not depend on how often somebody pushed to it.
pub(crate) async fn prepare(
    job: &mut Job,
    diff: &mut FilteredDiff,
    plan: &Plan,
    instructions: &Instructions,
    author_settles: AuthorSettles,
    spool: &Spool,
) -> Result<Prior, Failure> {
    if job.subject.merge_request.is_none() {
        return Ok(Prior::default());
    }
    // Who cannot run does not make a review of what others have reviewed.
    let panel = plan.members.iter().filter(|member| member.route.is_ok());
    let panel: Vec<ReviewerName> = panel.map(|member| member.name.clone()).collect();
    narrow_down(job, diff, &panel, instructions, author_settles, spool).await
}

/// The same for this panel.
async fn narrow_down(
    job: &mut Job,
    diff: &mut FilteredDiff,
    panel: &[ReviewerName],
    instructions: &Instructions,
    author_settles: AuthorSettles,
    spool: &Spool,
) -> Result<Prior, Failure> {
    let existing = std::mem::take(&mut job.subject.existing_findings);
    let texts = texts(job, &wanted(&existing, &job.ledger, &diff.files)).await?;
    job.subject.existing_findings = assess(existing, &job.ledger, &diff.files, &texts, author_settles);

    let patches = identities(&diff.files, instructions, spool)?;
    let narrowed = narrow(std::mem::take(&mut diff.files), patches, panel, &job.ledger);
    diff.files = narrowed.files;
    diff.filtered.extend(narrowed.unchanged.iter().map(|file| FilteredFile {
        path: file.path.clone(),
        reason: FilterReason::ReviewedBefore,
    }));
    let refuted = still_refuted(&job.ledger.refuted, &narrowed.unchanged, &job.subject.existing_findings);
    Ok(Prior {
        refuted,
        patches: narrowed.patches,
        unchanged: narrowed.unchanged,
        earlier: narrowed.earlier,
        reviewed: narrowed.reviewed,
        aside_open: job.aside_open && job.subject.comments.iter().any(asks),
    })
}

/// All changed files: something can be said about each, also about one that is not reviewed again.
pub(crate) fn all_files(diff: &FilteredDiff, prior: &Prior) -> Vec<FileDiff> {
    diff.files.iter().chain(&prior.unchanged).cloned().collect()
}

/// Where the coordinator's tool calls arrive: it knows the earlier findings.
pub(crate) fn mailbox(job: &Job) -> Arc<CoordinatorMailbox> {
    Arc::new(CoordinatorMailbox::new(job.subject.existing_findings.clone()))
}

fn identities(files: &[FileDiff], instructions: &Instructions, spool: &Spool) -> Result<Vec<PatchId>, Failure> {
    let mut patch = Vec::new();
    let mut identities = Vec::with_capacity(files.len());
    for file in files {
        spool.patch(file, &mut patch)?;
        identities.push(PatchId::new(file, &patch).under(&instructions.of(file)));
    }
    Ok(identities)
}

/// Returns whether a person asks something.
fn asks(comment: &Comment) -> bool {
    comment.body.sanitized().contains('?')
}

/// The texts of these files; what is not there is missing.
async fn texts(job: &Job, wanted: &[(String, bool)]) -> Result<Texts, Failure> {
    let (repository, subject): (&Repository, _) = (&job.repository, &job.subject);
    let mut texts = Texts::new();
    for (path, at_base) in wanted {
        let commit = if *at_base { &subject.base_sha } else { &subject.head_sha };
        if let Some(bytes) = repository.file(commit, path).await? {
            let text = text_of(&bytes).unwrap_or_else(|| String::from_utf8_lossy(&bytes).into_owned());
            texts.insert(path.clone(), text);
        }
    }
    Ok(texts)
}

#[cfg(test)]
#[path = "incremental_tests.rs"]
mod tests;
