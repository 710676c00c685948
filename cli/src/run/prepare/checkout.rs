//! The checkout of a pipeline, and what it lacks.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::review::ReviewSubject;
use conclave_forge::ForgeWords;
use conclave_git::{FetchSettings, GitError, Parting, Remote, Repository, with_commits, with_history};
use conclave_shared::config::{Limits, seconds};
use secrecy::ExposeSecret;

use crate::{
    env::{
        Environment,
        ci::{CiEnvironment, CloneOf, RefusedCheckout},
        names,
    },
    exit::Failure,
};

/// The time for a commit that is only compared, unless the job says how long fetching may take.
const LATER_PATIENCE: Duration = Duration::from_secs(30);

/// The advice for a person on whose machine a commit cannot be fetched.
const OF_PERSON: &str = "Give the token the right to read the code (in GitLab `read_repository`, which `api` includes; in GitHub `Contents: read`), \
                         or name a clone that has the commit with --repo PATH";

/// Returns whether the address of a remote is that of the project, over HTTP or SSH.
fn is_clone(remote: &str, project: &CloneOf) -> bool {
    let (host, path) = match remote.split_once("://") {
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        // `git@host:group/project.git`
        None => remote.split_once(':').unwrap_or((remote, "")),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    host.eq_ignore_ascii_case(&project.host)
        && (path.eq_ignore_ascii_case(&project.path)
            // Over SSH the path that GitLab is installed at is no part of the address.
            || (project.path.len() > path.len()
                && path.contains('/')
                && project.path.to_ascii_lowercase().ends_with(&format!("/{}", path.to_ascii_lowercase()))
                && !remote.starts_with("http")))
}

const PROXIES: [&str; 7] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// How commits are had that come while the review runs.
#[derive(Debug)]
pub(crate) struct LaterCommits {
    fetching: FetchSettings,
    target: Utf8PathBuf,
}

impl LaterCommits {
    /// A repository that has this commit, besides what the given one has.
    pub(crate) async fn with(&self, repository: &Repository, commit: &str) -> Result<Repository, GitError> {
        with_commits(Some(repository.clone()), &[commit], &self.fetching, &self.target).await
    }

    /// At how many commits the change and its target branch parted. The commits are fetched where the history that is here does not say.
    pub(crate) async fn parting(&self, repository: &Repository, subject: &ReviewSubject) -> Parting {
        let Some(target) = subject.moved_target() else {
            return Parting::Once;
        };
        let (base, head) = (subject.base_sha.as_str(), subject.head_sha.as_str());
        match repository.parting(base, target, head).await {
            Ok(Parting::Unknown) | Err(_) => {}
            Ok(known) => return known,
        }
        let place = self.target.with_file_name("history.git");
        let Some(history) = with_history(&[head, target], &self.fetching, &place).await else {
            return Parting::Unknown;
        };
        match history.parting(base, target, head).await {
            Ok(Parting::Several { .. }) => Parting::SeveralFarBack,
            Ok(known) => known,
            // A review goes on without the answer, and the approval is withheld.
            Err(_) => Parting::Unknown,
        }
    }
}

/// What a job has of the repository, and how it gets the rest.
pub(crate) struct Checkout {
    /// None with `GIT_STRATEGY: none`.
    repository: Option<Repository>,
    fetching: FetchSettings,
    target: Utf8PathBuf,
    /// The commit that the pipeline runs for.
    pipeline_head: Option<String>,
    /// How long fetching may take, if the job says so.
    limit_of_job: Option<Duration>,
    words: ForgeWords,
}

/// A file with all that git has to trust, if a user or the job names certificates: git takes a file in place of the system's.
fn certificates(env: &Environment, scratch: &Utf8Path) -> Result<Option<Utf8PathBuf>, Failure> {
    let files = env.ca_files();
    if files.is_empty() {
        return Ok(None);
    }
    let bundle = conclave_certificates::bundle(&files).map_err(|error| {
        Failure::Settings(format!(
            "{error}. Correct {}, what --ca-file names, or CI_SERVER_TLS_CA_FILE",
            names::CA_FILE
        ))
    })?;
    let file = scratch.join("certificates.pem");
    std::fs::write(&file, bundle).map_err(Failure::io("write the certificates that git trusts"))?;
    Ok(Some(file))
}

impl Checkout {
    /// The directories of the pipeline's checkout.
    pub(crate) fn places(&self) -> Vec<Utf8PathBuf> {
        self.repository.as_ref().map(Repository::places).unwrap_or_default()
    }

    /// Looks at the pipeline's checkout. What it lacks will be fetched into a directory below `scratch`.
    pub(crate) async fn open(
        pipeline: &CiEnvironment,
        env: &Environment,
        scratch: &Utf8Path,
        limit: Option<Duration>,
    ) -> Result<Self, Failure> {
        let repository = acceptable(pipeline).await?;
        let origin = match &repository {
            Some(repository) => repository.origin().await,
            None => None,
        };
        // The job's own address of the repository has its credentials; the checkout's may have old ones.
        let of_job = pipeline.repository_url.as_ref().map(ExposeSecret::expose_secret);
        let words = pipeline.forge.words();
        let fetching = FetchSettings {
            remotes: of_job
                .into_iter()
                .chain(origin.as_deref())
                .filter_map(Remote::parse)
                .collect(),
            ca_file: certificates(env, scratch)?,
            proxies: PROXIES
                .iter()
                .filter_map(|name| Some(((*name).to_owned(), env.get(name)?.to_owned())))
                .collect(),
            max_time: limit.unwrap_or_else(|| seconds(Limits::default().fetch_seconds)),
            remedy: match &pipeline.clone_of {
                // No job, but a person who has named the address.
                Some(_) => OF_PERSON,
                None => words.whole_history,
            },
        };
        Ok(Self {
            repository,
            fetching,
            target: scratch.join("fetched.git"),
            pipeline_head: pipeline.head_sha.clone(),
            limit_of_job: limit,
            words,
        })
    }

    /// A repository with the commits of the merge request, what a person should know of them, and how others are had later.
    /// All have to be here, or the diff would be another one than the merge request's, or the settings older ones than the
    /// target branch's.
    pub(crate) async fn complete(
        self,
        subject: &ReviewSubject,
    ) -> Result<(Repository, Vec<String>, LaterCommits), Failure> {
        let wanted = [
            subject.head_sha.as_str(),
            subject.base_sha.as_str(),
            subject.settings_commit(),
        ];
        let repository = with_commits(self.repository, &wanted, &self.fetching, &self.target).await?;
        let later = LaterCommits {
            fetching: FetchSettings {
                max_time: self.limit_of_job.unwrap_or(LATER_PATIENCE),
                ..self.fetching
            },
            target: self.target.with_file_name("later.git"),
        };
        let other = self.pipeline_head.filter(|head| *head != subject.head_sha);
        let notes = other.map(|head| {
            format!(
                "this job runs for the commit {head}; the newest version of the {}, {}, is reviewed",
                self.words.noun, subject.head_sha
            )
        });
        Ok((repository, notes.into_iter().collect(), later))
    }
}

/// The repository in the directory of a run, if there is one; an error where no review may use it.
pub(crate) async fn acceptable(pipeline: &CiEnvironment) -> Result<Option<Repository>, Failure> {
    let repository = match Repository::open(&pipeline.directory).await {
        Ok(repository) => repository,
        Err(GitError::NotARepository(_) | GitError::Unreadable(..)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if let Some(project) = &pipeline.clone_of {
        let remotes = repository.remotes().await;
        if !remotes.iter().any(|remote| is_clone(remote, project)) {
            return Err(Failure::Settings(format!(
                "the repository at {} is not a clone of {}/{}: none of its remotes is that project. Name a clone with --repo PATH, \
                 or run this outside of any repository: then what is needed is fetched",
                repository.root(),
                project.host,
                project.path
            )));
        }
    }
    if let Some(refused) = &pipeline.refused_checkout {
        refuse_head(&repository, refused).await?;
    }
    Ok(Some(repository))
}

/// Refuses a checkout of the change, or of a merge of it, in a job that has secrets: whatever runs in it beside this program would
/// run the author's code with them.
async fn refuse_head(
    repository: &Repository,
    RefusedCheckout { head, event }: &RefusedCheckout,
) -> Result<(), Failure> {
    for revision in ["HEAD", "HEAD^1", "HEAD^2"] {
        if repository.commit(revision).await.is_ok_and(|commit| commit == *head) {
            return Err(Failure::Settings(format!(
                "this job runs with the repository's secrets (`{event}`) and has checked out the code of the pull request ({revision} \
                 is {head}): what runs there could steal them. Remove `ref:` from the step with `actions/checkout`; the commits that \
                 are reviewed are fetched as data"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_is_known_by_its_remote() {
        let project = CloneOf {
            host: "gitlab.example.com".to_owned(),
            path: "gitlab/group/my.project".to_owned(),
        };
        for (remote, is) in [
            ("https://gitlab.example.com/gitlab/group/my.project.git", true),
            ("https://me:token@GitLab.example.com:8443/gitlab/Group/my.project", true),
            ("git@gitlab.example.com:group/my.project.git", true),
            ("ssh://git@gitlab.example.com:2222/group/my.project.git", true),
            ("https://gitlab.example.com/group/my.project.git", false),
            ("https://gitlab.example.org/gitlab/group/my.project.git", false),
            ("git@gitlab.example.com:other/my.project.git", false),
            ("git@gitlab.example.com:my.project.git", false),
            ("git@gitlab.example.com:group/my.project.x.git", false),
            ("/srv/git/my.project.git", false),
        ] {
            assert_eq!(is_clone(remote, &project), is, "{remote}");
        }
    }
}
