//! Reading the reviewed source from git.

use std::collections::HashMap;

use async_trait::async_trait;
use conclave_engine::{
    diff::{ChangeKind, Content, Diff},
    prompt::CONTEXT_FILE,
    report::Review,
    scheduler::SourceTree,
};
use conclave_git::{GitError, Repository};

use super::Job;
use crate::output::Excerpts;

/// The source at base and head.
pub(super) struct RepositoryTree {
    repository: Repository,
    base: String,
    head: String,
    context: String,
}

impl RepositoryTree {
    pub(super) fn new(job: &Job, context: String) -> Self {
        Self {
            repository: job.repository.clone(),
            base: job.subject.base_sha.clone(),
            head: job.subject.head_sha.clone(),
            context,
        }
    }
}

#[async_trait]
impl SourceTree for RepositoryTree {
    async fn text(&self, path: &str, at_base: bool) -> Option<String> {
        if path == CONTEXT_FILE {
            return Some(self.context.clone());
        }
        let commit = if at_base { &self.base } else { &self.head };
        let bytes = self.repository.file(commit, path).await.ok()??;
        String::from_utf8(bytes).ok()
    }
}

type Contents = HashMap<String, (Option<Vec<u8>>, Option<Vec<u8>>)>;

/// The contents at base and head of the files that could be marked as generated: text that was there before.
pub(super) async fn heads(repository: &Repository, base: &str, head: &str, diff: &Diff) -> Result<Contents, GitError> {
    let mut contents = Contents::new();
    for file in &diff.files {
        if file.content != Content::Text || file.kind == ChangeKind::Added {
            continue;
        }
        let before = repository.file(base, &file.old_path).await?;
        // Nothing depends on the head unless the base is marked.
        let marked = before
            .as_deref()
            .is_some_and(conclave_engine::diff::is_marked_generated);
        let after = if marked {
            repository.file(head, &file.path).await?
        } else {
            None
        };
        contents.insert(file.path.clone(), (before.filter(|_| marked), after));
    }
    Ok(contents)
}

/// The lines around each finding, for the terminal.
pub(super) async fn excerpts(repository: &Repository, review: &Review) -> Excerpts {
    let mut excerpts = Excerpts::default();
    for entry in review.standing() {
        let path = &entry.finding.file;
        if excerpts.has(path) {
            continue;
        }
        let head = repository.file(&review.head_sha, path).await.ok().flatten();
        let bytes = match head {
            Some(bytes) => Some(bytes),
            None => repository.file(&review.base_sha, path).await.ok().flatten(),
        };
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            excerpts.add(review, path, &text);
        }
    }
    excerpts
}
