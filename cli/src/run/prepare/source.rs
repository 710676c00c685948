//! Reading the reviewed source from git.

use std::collections::HashMap;

use async_trait::async_trait;
use conclave_engine::{
    diff::{Content, Encoding, FileDiff, peek},
    ports::{AtTarget, SourceTree},
    review::{CONTEXT_FILE, Review},
};
use conclave_git::Repository;

use crate::{output::Excerpts, run::prepare::change::Job};

/// A file larger than this is no evidence of anything; reading it whole would cost more than it tells.
const MAX_SOURCE: usize = 32 << 20;

/// The source at base and head, and at the tip of the target branch.
pub(crate) struct RepositoryTree {
    repository: Repository,
    base: String,
    head: String,
    /// The tip of the target branch, where that is not the base.
    target: Option<String>,
    /// The objects of the changed files. They are found also where the path is one that git itself cannot be asked for.
    objects: HashMap<String, Objects>,
    context: String,
}

struct Objects {
    submodule: bool,
    base: String,
    head: String,
}

impl RepositoryTree {
    pub(crate) fn new(job: &Job, files: &[FileDiff], context: String) -> Self {
        let objects = files.iter().map(|file| {
            let objects = Objects {
                submodule: file.content == Content::Submodule,
                base: file.objects.0.clone(),
                head: file.objects.1.clone(),
            };
            (file.path.clone(), objects)
        });
        Self {
            repository: job.repository.clone(),
            base: job.subject.base_sha.clone(),
            head: job.subject.head_sha.clone(),
            target: job.subject.moved_target().map(str::to_owned),
            objects: objects.collect(),
            context,
        }
    }

    /// The text of an object; `None` if it is not there, too large, or no text.
    async fn decoded(&self, object: &str) -> Option<String> {
        let blob = self.repository.read_blob(object, MAX_SOURCE).await.ok()??;
        if blob.is_cut() {
            return None;
        }
        if let Some(encoding) = Encoding::of(&blob.content) {
            return encoding.decode(&blob.content);
        }
        if !(blob.content.is_empty() || peek(&blob.content).text) {
            return None;
        }
        // A reviewer reads other encodings in the same way, so its quotes stand there.
        Some(String::from_utf8_lossy(&blob.content).into_owned())
    }
}

#[async_trait]
impl SourceTree for RepositoryTree {
    async fn text(&self, path: &str, at_base: bool) -> Option<String> {
        if path == CONTEXT_FILE {
            return Some(self.context.clone());
        }
        let object = if let Some(objects) = self.objects.get(path) {
            let object = if at_base { &objects.base } else { &objects.head };
            if objects.submodule {
                // All that there is of it here, in git's words.
                return Some(format!("Subproject commit {object}\n"));
            }
            object.clone()
        } else {
            let commit = if at_base { &self.base } else { &self.head };
            self.repository.object(commit, path).await.ok()??
        };
        self.decoded(&object).await
    }

    async fn at_target(&self, path: &str) -> AtTarget {
        let Some(tip) = &self.target else {
            return AtTarget::AsAtBase;
        };
        let text = match self.repository.object(tip, path).await {
            Ok(Some(object)) => self.decoded(&object).await,
            Ok(None) | Err(_) => None,
        };
        text.map_or(AtTarget::Missing, AtTarget::Text)
    }
}

/// The files at head that findings with a fix are about: what a fix replaces is compared with them.
pub(crate) async fn texts_with_fixes(repository: &Repository, review: &Review) -> HashMap<String, String> {
    let mut texts = HashMap::new();
    for entry in review.surviving().filter(|entry| entry.finding.fix.is_some()) {
        let path = &entry.finding.file;
        if texts.contains_key(path) {
            continue;
        }
        let bytes = repository.file(&review.head_sha, path).await.ok().flatten();
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            texts.insert(path.clone(), text);
        }
    }
    texts
}

/// The lines around each finding, for the terminal.
pub(crate) async fn excerpts(repository: &Repository, review: &Review) -> Excerpts {
    let mut excerpts = Excerpts::default();
    for entry in review.surviving() {
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
