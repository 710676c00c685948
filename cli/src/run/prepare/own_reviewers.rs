//! The reviewers that a project adds to the standing ones: `[[reviewers]]` of its `.conclave.toml`.
//!
//! Settings and prompts come from the target branch only. What the change makes of either counts for the next one.

use std::collections::BTreeMap;

use camino::Utf8Path;
use conclave_engine::{
    diff::peek,
    plugin::{AgentRole, AgentSpec, ConfigureContext, PluginError, ReviewPlugin},
    prompt::PromptLibrary,
    repo_config::{OwnReviewer, RepoConfig},
    review::{ApprovalHold, HoldCause},
};
use conclave_git::{GitError, Repository};
use conclave_shared::{path_globs::PathGlobs, reviewer::ReviewerName};

/// The project's own reviewers with their prompts.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnReviewers {
    ready: Vec<(OwnReviewer, String)>,
    warnings: Vec<String>,
    /// The prompts that cannot be had.
    missing: Vec<String>,
}

impl OwnReviewers {
    /// Reads their prompts at this commit. One without a prompt does not review; the rest of the review goes on.
    pub(crate) async fn load(repository: &Repository, commit: &str, settings: &RepoConfig) -> Result<Self, GitError> {
        let mut loaded = Self::default();
        for reviewer in &settings.reviewers {
            match prompt(repository, commit, &reviewer.prompt).await? {
                Ok(text) => loaded.ready.push((reviewer.clone(), text)),
                Err(fault) => {
                    loaded.warnings.push(format!(
                        "{} does not review: its prompt {} {fault}",
                        reviewer.name.display_name(),
                        reviewer.prompt
                    ));
                    loaded.missing.push(reviewer.prompt.clone());
                }
            }
        }
        Ok(loaded)
    }

    /// The reason to withhold an approval where one of them cannot review.
    pub(crate) fn hold(&self) -> Option<ApprovalHold> {
        let reason = "A reviewer of the project does not review, because its prompt on the target branch cannot be used; the \
                      warnings say what to correct.";
        (!self.missing.is_empty())
            .then(|| ApprovalHold::new(HoldCause::Settings, reason).at(self.missing.iter().cloned()))
    }

    /// Adds their prompts to the others.
    pub(crate) fn add_to(&self, library: &mut PromptLibrary) {
        for (reviewer, text) in &self.ready {
            library.add_own(&reviewer.name, &reviewer.prompt, text);
        }
    }
}

/// A prompt, or what is wrong with it.
async fn prompt(repository: &Repository, commit: &str, path: &str) -> Result<Result<String, String>, GitError> {
    let missing = || Ok(Err("is not on the target branch".to_owned()));
    if repository.is_plain_file(commit, path).await? == Some(false) {
        let fault = "is not a plain file: name the file itself, not a symbolic link or a directory";
        return Ok(Err(fault.to_owned()));
    }
    let Some(object) = repository.object(commit, path).await? else {
        return missing();
    };
    let Some(blob) = repository.read_blob(&object, OwnReviewer::MAX_PROMPT).await? else {
        // A directory, or a file that should be there and cannot be read, which is an error.
        repository.file(commit, path).await?;
        return missing();
    };
    if blob.is_cut() {
        let most = OwnReviewer::MAX_PROMPT >> 10;
        return Ok(Err(format!("has more than {most} KB")));
    }
    let is_text = peek(&blob.content).text;
    Ok(match String::from_utf8(blob.content) {
        Ok(text) if text.trim().is_empty() => Err("is empty".to_owned()),
        Ok(text) if is_text => Ok(text),
        _ => Err("is not UTF-8 text".to_owned()),
    })
}

/// The files of each of them.
pub(crate) fn fields(settings: &RepoConfig) -> BTreeMap<ReviewerName, PathGlobs> {
    let own = settings.reviewers.iter();
    own.map(|reviewer| {
        (
            reviewer.name.clone(),
            PathGlobs::new(&reviewer.paths).unwrap_or_default(),
        )
    })
    .collect()
}

impl ReviewPlugin for OwnReviewers {
    fn name(&self) -> &'static str {
        "own_reviewers"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        for (reviewer, _) in &self.ready {
            context.register_agent(AgentSpec {
                name: reviewer.name.to_string(),
                description: format!(
                    "Added by the project: {}",
                    Utf8Path::new(&reviewer.prompt).file_name().unwrap_or_default()
                ),
                role: AgentRole::Reviewer,
            });
        }
        Ok(())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
