//! What the organisation brings to a review: its engineering rules and its template for AGENTS.md, and what the diff says
//! about the latter.

use camino::Utf8PathBuf;
use conclave_engine::{
    diff::{ChangeKind, FilterReason, FilteredDiff},
    plugin::{self, ReviewPlugin},
    repo_config::{REPO_CONFIG_FILE, parse},
    rules::AppliedRules,
};
use conclave_fetch::{FetchSettings, Fetcher, TextUrl};
use conclave_git::GitError;
use conclave_plugin_agents_md::{AgentsMdPlugin, AgentsMdSettings, ChangedFile, Instructions, Survey, is_instructions};
use conclave_plugin_codex::{ChangedPath, CodexPlugin, CodexSettings, RuleSource, RulesHandle, SourceError};
use secrecy::SecretString;

use super::Job;
use crate::{args::CommonArguments, env_vars, exit::Failure, settings::Environment};

/// The two plugins, and what became of the rules.
pub(super) struct Organisation {
    pub(super) plugins: Vec<Box<dyn ReviewPlugin>>,
    rules: RulesHandle,
}

impl Organisation {
    /// The plugins for this diff; nothing is fetched yet.
    pub(super) async fn new(
        job: &Job,
        arguments: &CommonArguments,
        environment: &Environment,
        diff: &FilteredDiff,
    ) -> Result<Self, Failure> {
        let fetcher = Fetcher::new(fetch_settings(job, environment));
        let codex = CodexPlugin::new(CodexSettings {
            source: rule_source(job, arguments).await?,
            repository: job.repository.clone(),
            commit: job.subject.base_sha.clone(),
            changed: changed_paths(diff),
            fetcher: fetcher.clone(),
        });
        let template = environment.get(env_vars::AGENTS_MD_TEMPLATE_URL).map(TextUrl::parse);
        let agents_md = AgentsMdPlugin::new(AgentsMdSettings {
            template: template
                .transpose()
                .map_err(|error| Failure::Settings(format!("{}: {error}", env_vars::AGENTS_MD_TEMPLATE_URL)))?,
            fetcher,
            hints: survey(job, diff).await?,
        });
        Ok(Self {
            rules: codex.handle(),
            plugins: vec![Box::new(codex), Box::new(agents_md)],
        })
    }

    /// Fetches. Returns what the reader should know, and what the rules mean.
    pub(super) async fn bootstrap(&mut self) -> (Vec<String>, AppliedRules) {
        let mut warnings = plugin::bootstrap(&mut self.plugins).await;
        warnings.extend(self.plugins.iter().flat_map(|plugin| plugin.warnings()));
        (warnings, self.rules.applied())
    }
}

/// Where copies are kept: below the user's directory for such things, which a CI job may put into its cache.
fn fetch_settings(job: &Job, environment: &Environment) -> FetchSettings {
    let cache = match (environment.get("XDG_CACHE_HOME"), environment.get("HOME")) {
        (Some(cache), _) => Some(Utf8PathBuf::from(cache)),
        (None, Some(home)) => Some(Utf8PathBuf::from(home).join(".cache")),
        (None, None) => None,
    };
    let secret = environment.get(env_vars::SECRET).map(SecretString::from);
    let mut settings = FetchSettings::new(
        cache.map(|cache| cache.join("conclave/fetched")),
        secret.or_else(|| job.secret.clone()),
    );
    settings.extra_ca_file = environment.get(env_vars::CA_FILE).map(Into::into);
    settings
}

/// The argument counts more than the repository's own configuration.
async fn rule_source(
    job: &Job,
    arguments: &CommonArguments,
) -> Result<Option<Result<RuleSource, SourceError>>, Failure> {
    if let Some(place) = &arguments.codex_rules {
        let here = std::env::current_dir().map_err(Failure::io("find out the current directory"))?;
        let here = Utf8PathBuf::from_path_buf(here)
            .map_err(|_| Failure::Settings("the name of the current directory is not UTF-8".to_owned()))?;
        let source = RuleSource::of_argument(place, &here, job.repository.root());
        return source
            .map(|source| Some(Ok(source)))
            .map_err(|error| Failure::Settings(format!("--codex-rules: {error}")));
    }
    let file = job.repository.file(&job.subject.base_sha, REPO_CONFIG_FILE).await?;
    let place = file.and_then(|bytes| parse(&bytes).config.codex.rules);
    Ok(place.map(|place| RuleSource::of_repository(&place)))
}

fn changed_paths(diff: &FilteredDiff) -> Vec<ChangedPath> {
    let reviewed = diff.files.iter().map(|file| ChangedPath {
        path: file.path.clone(),
        old_path: (file.old_path != file.path).then(|| file.old_path.clone()),
        reviewed: true,
    });
    let filtered = diff.filtered.iter().map(|file| ChangedPath {
        path: file.path.clone(),
        old_path: None,
        reviewed: false,
    });
    reviewed.chain(filtered).collect()
}

async fn survey(job: &Job, diff: &FilteredDiff) -> Result<Vec<conclave_plugin_agents_md::Hint>, GitError> {
    let (base, head) = (&job.subject.base_sha, &job.subject.head_sha);
    let mut survey = Survey::default();
    let mut instructions = vec!["AGENTS.md".to_owned()];
    for file in &diff.files {
        let changed = ChangedFile {
            path: file.path.clone(),
            old_path: file.old_path.clone(),
            kind: file.kind,
        };
        survey.file(&changed, &String::from_utf8_lossy(&file.patch));
        if is_instructions(&file.path) && !instructions.contains(&file.path) {
            instructions.push(file.path.clone());
        }
    }
    // Lock files are listed without what happened to them, which says which package manager came and went.
    for file in diff
        .filtered
        .iter()
        .filter(|file| file.reason == FilterReason::LockFile)
    {
        let kind = match (
            job.repository.file(base, &file.path).await?,
            job.repository.file(head, &file.path).await?,
        ) {
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let changed = ChangedFile {
            path: file.path.clone(),
            old_path: file.path.clone(),
            kind,
        };
        survey.file(&changed, "");
    }
    let mut texts = Vec::new();
    for path in instructions {
        if let Some(bytes) = job.repository.file(head, &path).await? {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            texts.push(Instructions { path, text });
        }
    }
    Ok(survey.finish(&texts))
}
