//! From a range to a review's subject.

use camino::Utf8Path;
use conclave_engine::{ports::ReviewSubject, prompt::Untrusted};
use conclave_git::{GitError, Repository};

use crate::Range;

/// Why a local review cannot start. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Git.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is nothing to compare the working tree with.
    #[error(
        "no default branch was found (origin/HEAD, main or master): name what to compare with, as in `conclave local develop`"
    )]
    NoDefaultBranch,
    /// There is nothing to review.
    #[error("nothing to review: {0}")]
    Empty(String),
}

/// A subject and where its commits are.
#[derive(Debug)]
pub struct LocalReview {
    /// What is reviewed.
    pub subject: ReviewSubject,
    /// A repository that can read both commits.
    pub repository: Repository,
    /// What the person should know.
    pub notes: Vec<String>,
}

/// Resolves the range. `scratch` takes a snapshot of the working tree, if one is needed.
pub async fn load(directory: &Utf8Path, range: &Range, scratch: &Utf8Path) -> Result<LocalReview, LocalError> {
    let repository = Repository::open(directory).await?;
    let mut notes = Vec::new();
    let (repository, base_name, head_name, base, head) = match range {
        Range::Commits { base, head } => {
            let (base_sha, head_sha) = (repository.commit(base).await?, repository.commit(head).await?);
            (repository, base.clone(), head.clone(), base_sha, head_sha)
        }
        Range::WorkingTree => {
            let head = repository.commit("HEAD").await?;
            let base_name = repository.default_branch().await.ok_or(LocalError::NoDefaultBranch)?;
            let base = repository.commit(&base_name).await?;
            let branch = repository.branch().await.unwrap_or_else(|| "HEAD".to_owned());
            match repository.snapshot(scratch).await? {
                Some((commit, repository)) => {
                    notes.push("uncommitted changes are part of this review".to_owned());
                    (repository, base_name, format!("{branch} (working tree)"), base, commit)
                }
                None => (repository, base_name, branch, base, head),
            }
        }
    };
    let merge_base = repository.merge_base(&base, &head).await?;
    if merge_base == head {
        return Err(LocalError::Empty(format!("{head_name} adds nothing to {base_name}")));
    }
    let subjects = repository.subjects(&merge_base, &head).await?;
    let project = repository.root().file_name().unwrap_or("repository").to_owned();
    let subject = ReviewSubject {
        forge: "local",
        project,
        base_sha: merge_base,
        head_sha: head,
        title: Untrusted::from(subjects.last().cloned().unwrap_or_else(|| head_name.clone())),
        source_branch: Untrusted::from(head_name),
        target_branch: Untrusted::from(base_name),
        commit_subjects: subjects.into_iter().map(Untrusted::from).collect(),
        ..ReviewSubject::default()
    };
    Ok(LocalReview {
        subject,
        repository,
        notes,
    })
}
