//! The files of a repository that steer its reviews: `.conclave.toml`, and what that names. An approval is for what they say on
//! the target branch.

use async_trait::async_trait;
use conclave_engine::{
    ports::SettingsWatch,
    repo_config::{REPO_CONFIG_FILE, RepoConfig},
};
use conclave_git::{GitError, Repository};

use crate::run::prepare::checkout::LaterCommits;

/// The instructions for agents, which reviewers read.
const AGENTS_MD: &str = "AGENTS.md";

/// The files and directories that steer reviews with these settings.
fn places(settings: &RepoConfig) -> Vec<String> {
    let rules = settings.codex.rules.iter().filter(|place| !place.contains("://"));
    let prompts = settings.reviewers.iter().map(|own| &own.prompt);
    [REPO_CONFIG_FILE, AGENTS_MD]
        .into_iter()
        .map(str::to_owned)
        .chain(rules.chain(prompts).cloned())
        .collect()
}

/// Reads all of them once, those in directories too: one that is there and cannot be read ends the run, whatever would be made
/// of its absence.
pub(crate) async fn check(repository: &Repository, commit: &str, settings: &RepoConfig) -> Result<(), GitError> {
    for place in places(settings) {
        if repository.file(commit, &place).await?.is_none() {
            for name in repository.directory(commit, &place).await? {
                repository.file(commit, &name).await?;
            }
        }
    }
    Ok(())
}

/// The settings that a review used, for comparing them with those of a newer commit.
#[derive(Debug)]
pub(crate) struct SettingsInUse<'a> {
    repository: &'a Repository,
    later: Option<&'a LaterCommits>,
    commit: &'a str,
    places: Vec<String>,
}

impl<'a> SettingsInUse<'a> {
    pub(crate) fn new(
        repository: &'a Repository,
        later: Option<&'a LaterCommits>,
        commit: &'a str,
        settings: &RepoConfig,
    ) -> Self {
        Self {
            repository,
            later,
            commit,
            places: places(settings),
        }
    }
}

#[async_trait]
impl SettingsWatch for SettingsInUse<'_> {
    async fn differing(&self, commit: &str) -> Result<Vec<String>, String> {
        let compare = async {
            let repository = match self.later {
                Some(later) => later.with(self.repository, commit).await?,
                None => self.repository.clone(),
            };
            let places: Vec<&str> = self.places.iter().map(String::as_str).collect();
            repository.differing(self.commit, commit, &places).await
        };
        compare.await.map_err(|error| error.to_string())
    }
}
