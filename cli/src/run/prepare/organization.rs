//! What the organization brings to a review: its engineering rules and its template for AGENTS.md, and what the diff says
//! about the latter.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    diff::{Content, Diff, FilteredDiff},
    plugin::ReviewPlugin,
    rules::AppliedRules,
};
use conclave_fetch::{FetchSettings, Fetcher, TextUrl};
use conclave_plugin_agents_md::{
    AgentsMdPlugin, AgentsMdSettings, ChangedFile, Hint, Instructions, Survey, is_instructions,
};
use conclave_plugin_codex::{ChangedPath, CodexPlugin, CodexSettings, RuleSource, RulesHandle, SourceError};
use secrecy::SecretString;

use crate::{
    diff::Spool,
    env::{Environment, names},
    exit::Failure,
    run::prepare::change::Job,
};

/// The longest patch that the survey looks at, in bytes: nobody writes more by hand.
const MAX_PATCH: u64 = 1024 * 1024;

/// What is known before there is a change.
#[derive(Debug)]
pub(crate) struct OrganizationSettings {
    fetch: FetchSettings,
    template: Option<TextUrl>,
}

impl OrganizationSettings {
    /// Reads them.
    pub(crate) fn read(environment: &Environment, secret: Option<&SecretString>) -> Result<Self, Failure> {
        // Below the user's directory for such things, which a CI job may put into its cache.
        let cache = match (environment.get("XDG_CACHE_HOME"), environment.get("HOME")) {
            (Some(cache), _) => Some(Utf8PathBuf::from(cache)),
            (None, Some(home)) => Some(Utf8PathBuf::from(home).join(".cache")),
            (None, None) => None,
        };
        let cache = cache.map(|cache| cache.join("conclave/fetched"));
        let mut fetch = FetchSettings::new(cache, secret.cloned());
        fetch.extra_ca_file = environment.get(names::CA_FILE).map(Into::into);
        let template = environment.get(names::AGENTS_MD_TEMPLATE_URL).map(TextUrl::parse);
        Ok(Self {
            fetch,
            template: template
                .transpose()
                .map_err(|error| Failure::Settings(format!("{}: {error}", names::AGENTS_MD_TEMPLATE_URL)))?,
        })
    }
}

/// The two plugins that need the change before they can start.
pub(crate) struct Organization {
    pub(crate) plugins: Vec<Box<dyn ReviewPlugin>>,
    /// What becomes of the rules.
    pub(crate) rules: RulesHandle,
}

impl Organization {
    /// The plugins for this diff; nothing is fetched yet. Of two places of rules the argument's counts.
    pub(crate) fn new(
        settings: OrganizationSettings,
        argument: Option<&str>,
        repo: Option<&str>,
        change: Change<'_>,
    ) -> Result<Self, Failure> {
        let fetcher = Fetcher::new(settings.fetch);
        let codex = CodexPlugin::new(CodexSettings {
            source: rule_source(change.job.repository.root(), argument, repo)?,
            repository: change.job.repository.clone(),
            commit: change.job.subject.settings_commit().to_owned(),
            changed: all_paths(change.diff),
            fetcher: fetcher.clone(),
        });
        let agents_md = AgentsMdPlugin::new(AgentsMdSettings {
            template: settings.template,
            fetcher,
            hints: change.hints,
        });
        Ok(Self {
            rules: codex.handle(),
            plugins: vec![Box::new(codex), Box::new(agents_md)],
        })
    }
}

/// What the rules mean, once the noise is out.
pub(crate) fn applied(rules: &RulesHandle, diff: &FilteredDiff) -> AppliedRules {
    let reviewed = diff
        .files
        .iter()
        .map(|file| changed_path(&file.path, &file.old_path, true));
    let filtered = diff
        .filtered
        .iter()
        .map(|file| changed_path(&file.path, &file.path, false));
    rules.applied_to(&reviewed.chain(filtered).collect::<Vec<_>>())
}

/// A change as the plugins need it.
pub(crate) struct Change<'a> {
    pub(crate) job: &'a Job,
    pub(crate) diff: &'a Diff,
    pub(crate) hints: Vec<Hint>,
}

fn rule_source(
    root: &Utf8Path,
    argument: Option<&str>,
    repo: Option<&str>,
) -> Result<Option<Result<RuleSource, SourceError>>, Failure> {
    let Some(place) = argument else {
        return Ok(repo.map(RuleSource::of_repository));
    };
    let here = std::env::current_dir().map_err(Failure::io("find out the current directory"))?;
    let here = Utf8PathBuf::from_path_buf(here)
        .map_err(|_| Failure::Settings("the name of the current directory is not UTF-8".to_owned()))?;
    RuleSource::of_argument(place, &here, root)
        .map(|source| Some(Ok(source)))
        .map_err(|error| Failure::Settings(format!("--codex-rules: {error}")))
}

fn changed_path(path: &str, old_path: &str, reviewed: bool) -> ChangedPath {
    ChangedPath {
        path: path.to_owned(),
        old_path: (old_path != path).then(|| old_path.to_owned()),
        reviewed,
    }
}

/// All files. Whether one is noise is known only later; what cannot be read is certain.
fn all_paths(diff: &Diff) -> Vec<ChangedPath> {
    let readable = |file: &conclave_engine::diff::FileDiff| file.content != Content::Binary && file.unread.is_none();
    diff.files
        .iter()
        .map(|file| changed_path(&file.path, &file.old_path, readable(file)))
        .collect()
}

/// What the diff says about AGENTS.md. One patch at a time is in memory.
pub(crate) async fn survey(job: &Job, diff: &Diff, spool: &Spool) -> Result<Vec<Hint>, Failure> {
    let mut survey = Survey::default();
    let mut instructions = vec!["AGENTS.md".to_owned()];
    let mut patch = Vec::new();
    for file in &diff.files {
        let changed = ChangedFile {
            path: file.path.clone(),
            old_path: file.old_path.clone(),
            kind: file.kind,
        };
        patch.clear();
        if file.unread.is_none() && file.patch.length <= MAX_PATCH {
            spool.patch(file, &mut patch)?;
        }
        survey.file(&changed, &String::from_utf8_lossy(&patch));
        if is_instructions(&file.path) && !instructions.contains(&file.path) {
            instructions.push(file.path.clone());
        }
    }
    let mut texts = Vec::new();
    for path in instructions {
        if let Some(bytes) = job.repository.file(&job.subject.head_sha, &path).await? {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            texts.push(Instructions { path, text });
        }
    }
    Ok(survey.finish(&texts))
}
