//! What the organization brings to a review: its engineering rules and its template for AGENTS.md, and what the diff says
//! about the latter.

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{
    diff::{Content, Diff, FileDiff, FilterReason, FilteredDiff, text_of},
    plugin::{self, ReviewPlugin},
    review::Plan,
    rules::AppliedRules,
};
use conclave_fetch::{FetchSettings, Fetcher, TextUrl};
use conclave_git::{Blob, Repository};
use conclave_plugin_agents_md::{
    AgentsMdPlugin, AgentsMdSettings, ChangedFile, Hint, Instructions, REVIEWER, Survey, Unread, not_shown, places,
};
use conclave_plugin_codex::{ChangedPath, CodexPlugin, CodexSettings, RuleSource, RulesHandle, SourceError};
use secrecy::SecretString;

use crate::{
    diff::Spool,
    env::{Environment, names},
    exit::Failure,
    run::{directory::cache_directory, prepare::change::Job},
};

/// The longest patch that the survey looks at, in bytes: nobody writes more by hand.
const MAX_PATCH: u64 = 1024 * 1024;

/// Maximum number of files for agents that the reviewer is given.
const MAX_INSTRUCTIONS: usize = 64;
/// Maximum length of a file for agents that is read, in bytes: several times what the reviewer is shown of it.
const MAX_INSTRUCTIONS_LENGTH: usize = 256 << 10;

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
        let cache = cache_directory(environment).map(|cache| cache.join("fetched"));
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
    /// The part of the files for agents that their reviewer is not shown, for people.
    pub(crate) not_shown: Option<String>,
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
        let not_shown = not_shown(&change.surveyed.instructions, &change.surveyed.unread);
        let agents_md = AgentsMdPlugin::new(AgentsMdSettings {
            template: settings.template,
            fetcher,
            hints: change.surveyed.hints,
            instructions: change.surveyed.instructions,
            unread: change.surveyed.unread,
        });
        Ok(Self {
            rules: codex.handle(),
            not_shown,
            plugins: vec![Box::new(codex), Box::new(agents_md)],
        })
    }
}

/// What is missing for the reviewer of files for agents, if it is asked.
pub(crate) fn not_shown_in(plan: &Plan, not_shown: Option<String>) -> Option<String> {
    not_shown.filter(|_| plan.members.iter().any(|member| member.name.as_str() == REVIEWER))
}

/// What the rules mean, once the noise is out.
pub(crate) fn applied(rules: &RulesHandle, diff: &FilteredDiff) -> AppliedRules {
    rules.applied_to(&changed_paths(diff))
}

/// The changed files, with what is left out of the review.
fn changed_paths(diff: &FilteredDiff) -> Vec<ChangedPath> {
    let reviewed = diff.files.iter().map(|file| changed_path(file, None));
    let filtered = diff.filtered.iter().map(|file| ChangedPath {
        path: file.path.clone(),
        old_path: file.old_path.clone(),
        left_out: Some(file.reason),
    });
    reviewed.chain(filtered).collect()
}

/// A change as the plugins need it.
pub(crate) struct Change<'a> {
    pub(crate) job: &'a Job,
    pub(crate) diff: &'a Diff,
    pub(crate) surveyed: Surveyed,
}

/// What the diff and the files for agents say about each other.
#[derive(Debug)]
pub(crate) struct Surveyed {
    hints: Vec<Hint>,
    instructions: Vec<Instructions>,
    unread: Vec<Unread>,
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

/// The faults of the engineering rules at a commit, read as a review reads them; nothing where none are configured. No copy is kept.
pub(crate) async fn faults_of_rules(
    environment: &Environment,
    repository: &Repository,
    commit: &str,
    of_repository: Option<&str>,
) -> Result<Option<Vec<String>>, Failure> {
    let argument = environment.get("CONCLAVE_CODEX_RULES");
    let Some(source) = rule_source(repository.root(), argument, of_repository)? else {
        return Ok(None);
    };
    let mut fetch = FetchSettings::new(None, None);
    fetch.extra_ca_file = environment.get(names::CA_FILE).map(Into::into);
    let codex = CodexPlugin::new(CodexSettings {
        source: Some(source),
        repository: repository.clone(),
        commit: commit.to_owned(),
        changed: Vec::new(),
        fetcher: Fetcher::new(fetch),
    });
    let rules = codex.handle();
    let mut plugins: Vec<Box<dyn ReviewPlugin>> = vec![Box::new(codex)];
    let failures = plugin::bootstrap(&mut plugins).await;
    Ok(Some(failures.into_iter().chain(rules.applied().warnings).collect()))
}

fn changed_path(file: &FileDiff, left_out: Option<FilterReason>) -> ChangedPath {
    ChangedPath {
        path: file.path.clone(),
        old_path: (file.old_path != file.path).then(|| file.old_path.clone()),
        left_out,
    }
}

/// All files. Whether one is noise is known only later; what cannot be read is certain.
fn all_paths(diff: &Diff) -> Vec<ChangedPath> {
    let left_out = |file: &FileDiff| {
        let binary = (file.content == Content::Binary).then_some(FilterReason::Binary);
        file.unread.map(FilterReason::from).or(binary)
    };
    let files = diff.files.iter();
    files.map(|file| changed_path(file, left_out(file))).collect()
}

/// Surveys the diff for what AGENTS.md may have to say about it. One patch at a time is in memory.
pub(crate) async fn survey(job: &Job, diff: &Diff, spool: &Spool) -> Result<Surveyed, Failure> {
    let mut survey = Survey::default();
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
    }
    let (instructions, unread) = instructions(job, diff).await?;
    Ok(Surveyed {
        hints: survey.finish(&instructions),
        instructions,
        unread,
    })
}

/// The files for agents that the changed files are under, and those of them that cannot be shown.
async fn instructions(job: &Job, diff: &Diff) -> Result<(Vec<Instructions>, Vec<Unread>), Failure> {
    let changed = diff.files.iter().flat_map(|file| [&file.path, &file.old_path]);
    // A name with a line break would be two questions to git.
    let (nameless, places): (Vec<String>, Vec<String>) = places(changed.map(String::as_str))
        .into_iter()
        .partition(|place| place.contains('\n'));
    let objects: Vec<String> = places
        .iter()
        .map(|place| format!("{}:{place}", job.subject.head_sha))
        .collect();
    let mut found = Vec::new();
    let mut unread = Vec::new();
    let take = |at: usize, blob: Option<Blob>| {
        let (Some(path), Some(blob)) = (places.get(at), blob) else {
            return;
        };
        let fault = if blob.is_cut() {
            Some(format!(
                "it has {} bytes, more than {MAX_INSTRUCTIONS_LENGTH}",
                blob.size
            ))
        } else if found.len() == MAX_INSTRUCTIONS {
            Some(format!("it comes after {MAX_INSTRUCTIONS} others"))
        } else if let Some(text) = text_of(&blob.content) {
            found.push(Instructions {
                path: path.clone(),
                text,
            });
            None
        } else {
            Some("it is not text".to_owned())
        };
        unread.extend(fault.map(|reason| Unread {
            path: path.clone(),
            reason,
        }));
    };
    job.repository
        .read_blobs(&objects, MAX_INSTRUCTIONS_LENGTH, take)
        .await?;
    unread.extend(nameless.into_iter().map(|path| Unread {
        path,
        reason: "not looked for, as its path has a line break".to_owned(),
    }));
    Ok((found, unread))
}

#[cfg(test)]
mod tests {
    use conclave_engine::diff::FilteredFile;

    use super::*;

    #[test]
    fn a_file_that_is_moved_out_of_a_rules_paths_has_both_of_its_names_whether_it_is_reviewed_or_not() {
        let diff = FilteredDiff {
            files: vec![FileDiff {
                path: "old/1.sql".to_owned(),
                old_path: "db/1.sql".to_owned(),
                ..FileDiff::default()
            }],
            filtered: vec![FilteredFile {
                path: "old/1.png".to_owned(),
                old_path: Some("db/1.png".to_owned()),
                reason: FilterReason::Binary,
            }],
            ..FilteredDiff::default()
        };
        let changed = changed_paths(&diff);
        let names: Vec<_> = changed
            .iter()
            .map(|file| (file.path.as_str(), file.old_path.as_deref()))
            .collect();
        assert_eq!(
            names,
            [("old/1.sql", Some("db/1.sql")), ("old/1.png", Some("db/1.png"))]
        );
    }
}
