//! Commits that a checkout lacks: a shallow clone, a merged-results pipeline, a job without a checkout.
//!
//! They are fetched by their names into a repository of our own, which borrows what the checkout has; the checkout itself
//! stays as it is. Credentials are given to this one git process, as a header for this one server: they stand in no
//! argument, no file and no message, and nothing that is started later has them.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    command::{self, GitError, ObjectStores},
    repository::{Repository, object_format},
};

/// History that comes with a commit: enough to connect most branches with their base.
const DEPTH: [&str; 1] = ["--depth=50"];
/// A longer one, of commits without their directories and files.
const COMMITS_ALONE: [&str; 2] = ["--depth=1000", "--filter=tree:0"];

/// The advice where a partial clone could not be completed.
const WITHOUT_FILTER: &str =
    "Clone without a filter (in a job, `--filter` in GIT_CLONE_EXTRA_FLAGS or `filter` of actions/checkout)";

/// A place to fetch from, its credentials apart from its address.
#[derive(Debug, Clone)]
pub struct Remote {
    url: String,
    credentials: Option<SecretString>,
}

impl Remote {
    /// Reads the address of a remote. `None` for one that is not fetched from: by SSH, for want of a key, or by a command.
    pub fn parse(url: &str) -> Option<Self> {
        if url.starts_with('/') || url.starts_with("file:///") {
            return Some(Self {
                url: url.to_owned(),
                credentials: None,
            });
        }
        let (scheme, rest) = url
            .split_once("://")
            .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let decoded = percent_decode_str(user).decode_utf8_lossy().into_owned();
        Some(Self {
            url: format!("{scheme}://{host}/{path}"),
            credentials: (!user.is_empty()).then(|| SecretString::from(decoded)),
        })
    }

    /// The one transport that leads there.
    fn transport(&self) -> &str {
        self.url.split_once("://").map_or("file", |(scheme, _)| scheme)
    }

    /// The server as it may be shown.
    pub fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split('/')
            .next()
            .filter(|host| !host.is_empty())
            .unwrap_or("this machine")
    }
}

/// Settings of a fetch.
#[derive(Debug, Clone)]
pub struct FetchSettings {
    /// The places to fetch from, in this order.
    pub remotes: Vec<Remote>,
    /// All certificates to trust, in place of the system's.
    pub ca_file: Option<Utf8PathBuf>,
    /// The proxy variables (`https_proxy`, `no_proxy`, …) and their values.
    pub proxies: Vec<(String, String)>,
    /// Maximum time for one commit from one remote.
    pub max_time: Duration,
    /// The settings with which the commits would be in the checkout, as an order.
    pub remedy: &'static str,
}

impl Repository {
    /// The addresses of all remotes of the checkout.
    pub async fn remotes(&self) -> Vec<String> {
        let arguments = ["config", "--local", "--get-regexp", r"^remote\..*\.url$"];
        let lines = self.text(&arguments).await.unwrap_or_default();
        let address = |line: &str| Some(line.split_once(' ')?.1.trim().to_owned());
        lines.lines().filter_map(address).collect()
    }

    /// The address of the checkout's own remote.
    pub async fn origin(&self) -> Option<String> {
        self.text(&["config", "--local", "--get", "remote.origin.url"])
            .await
            .ok()
    }
}

/// A repository that has all of these commits: the checkout itself if it does, else a new one at `target` that borrows
/// the checkout's objects and has the others fetched. A commit of which a partial clone has only a part counts as missing.
pub async fn with_commits(
    checkout: Option<Repository>,
    wanted: &[&str],
    settings: &FetchSettings,
    target: &Utf8Path,
) -> Result<Repository, GitError> {
    let mut missing = wanted.to_vec();
    let mut partial = None;
    if let Some(checkout) = &checkout {
        let absent = still_missing(checkout, wanted).await;
        if absent.is_empty() && !checkout.lacks_objects(wanted).await? {
            return Ok(checkout.clone());
        }
        if checkout.is_partial() {
            partial = Some(checkout);
        } else {
            missing = absent;
        }
    }
    let repository = empty(wanted, target).await?;
    // A server takes a clone that has a commit to have all of it, so it does not learn what a partial clone has.
    if let Some(checkout) = checkout.as_ref().filter(|_| partial.is_none()) {
        borrow(checkout, target).await?;
    }
    let mut reasons = Vec::new();
    for remote in &settings.remotes {
        for commit in missing.clone() {
            if let Err(reason) = fetch(&repository, remote, commit, &DEPTH, settings).await {
                reasons.push(format!("{}: {reason}", remote.host()));
            }
        }
        missing = still_missing(&repository, &missing).await;
        if missing.is_empty() {
            if let Some(checkout) = partial {
                lend(checkout, target)?;
            }
            return Ok(repository);
        }
    }
    let reason = match reasons.pop() {
        Some(reason) => format!("fetching it failed ({reason})"),
        None if settings.remotes.is_empty() => "there is no remote to fetch it from".to_owned(),
        None => "the remote does not have it".to_owned(),
    };
    if let Some(checkout) = partial {
        return Err(GitError::PartialClone {
            root: checkout.root().to_owned(),
            hint: format!(", and {reason}. {WITHOUT_FILTER}"),
        });
    }
    let commit = missing.first().copied().unwrap_or_default();
    Err(GitError::MissingCommit(commit.to_owned(), reason, settings.remedy))
}

/// A new repository at `target` with these commits and those before them, without directories and files; `None` where no remote
/// gives them.
pub async fn with_history(wanted: &[&str], settings: &FetchSettings, target: &Utf8Path) -> Option<Repository> {
    let repository = empty(wanted, target).await.ok()?;
    for remote in &settings.remotes {
        let mut is_whole = true;
        for commit in wanted {
            is_whole &= fetch(&repository, remote, commit, &COMMITS_ALONE, settings)
                .await
                .is_ok();
        }
        if is_whole {
            return Some(repository);
        }
    }
    None
}

async fn still_missing<'w>(repository: &Repository, wanted: &[&'w str]) -> Vec<&'w str> {
    let mut missing = Vec::new();
    for commit in wanted {
        if repository.commit(commit).await.is_err() {
            missing.push(*commit);
        }
    }
    missing
}

/// A bare repository without any configuration of the checkout's.
pub(crate) async fn empty(wanted: &[&str], target: &Utf8Path) -> Result<Repository, GitError> {
    std::fs::create_dir_all(target).map_err(GitError::Pipe)?;
    let format = object_format(wanted.first().copied().unwrap_or_default());
    let arguments = ["init", "--quiet", "--bare", "--template=", format, "."];
    command::run(target, &ObjectStores::default(), &arguments).await?;
    Repository::open(target).await
}

/// Makes the checkout's objects readable in the repository at `target`.
fn lend(checkout: &Repository, target: &Utf8Path) -> Result<(), GitError> {
    let information = target.join("objects/info");
    std::fs::create_dir_all(&information).map_err(GitError::Pipe)?;
    std::fs::write(information.join("alternates"), checkout.alternates()).map_err(GitError::Pipe)
}

/// The same with the checkout's history, so that the server need not send what is here.
pub(crate) async fn borrow(checkout: &Repository, target: &Utf8Path) -> Result<(), GitError> {
    lend(checkout, target)?;
    // Where the checkout's history is cut off, ours is, too.
    let shallow = checkout.text(&["rev-parse", "--git-path", "shallow"]).await?;
    let shallow = checkout.root().join(shallow);
    if shallow.is_file() {
        std::fs::copy(shallow, target.join("shallow")).map_err(GitError::Pipe)?;
    }
    if let Ok(head) = checkout.commit("HEAD").await {
        let arguments = ["update-ref", "refs/conclave/checkout", &head];
        command::run(target, &ObjectStores::default(), &arguments).await?;
    }
    Ok(())
}

/// Fetches a commit, and of its history what the options say.
async fn fetch(
    repository: &Repository,
    remote: &Remote,
    commit: &str,
    history: &[&str],
    settings: &FetchSettings,
) -> Result<(), String> {
    let mut arguments = vec![
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
    ];
    arguments.extend(history);
    arguments.extend(["--end-of-options", &remote.url, commit]);
    let mut command = command::git(repository.root(), &repository.stores, &arguments);
    command
        .env("GIT_ALLOW_PROTOCOL", remote.transport())
        .envs(settings.proxies.iter().map(|(name, value)| (name, value)));
    if let Some(file) = &settings.ca_file {
        command.env("GIT_SSL_CAINFO", file);
    }
    if let Some(credentials) = &remote.credentials {
        // Only for this server.
        let encoded = BASE64_STANDARD.encode(credentials.expose_secret());
        command
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("http.{}.extraHeader", remote.url))
            .env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {encoded}"));
    }
    let output = tokio::time::timeout(settings.max_time, command.output())
        .await
        .map_err(|_| format!("no end after {} s", settings.max_time.as_secs()))?
        .map_err(|error| GitError::Start(error).to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().lines().last().unwrap_or("git says nothing").to_owned())
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
