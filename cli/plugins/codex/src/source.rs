//! Where rules are: a file, a directory, or an address.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use chrono::{DateTime, Utc};
use conclave_fetch::{Fetcher, MAX_BYTES, TextUrl};
use conclave_git::{Repository, without_dots};
use tokio::io::AsyncReadExt;

use crate::read::read;

/// A place of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// An https address of one file.
    Url(TextUrl),
    /// A file or directory of this machine, outside of the reviewed repository.
    Path(Utf8PathBuf),
    /// A file or directory of the reviewed repository, read from the target branch: the author of a merge request must
    /// not be able to change the rules that it is held against.
    TargetBranch(Utf8PathBuf),
}

/// A setting that names no place of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{place}` is not a place of rules: {reason}")]
pub struct SourceError {
    place: String,
    reason: String,
}

impl SourceError {
    /// What was named, as far as it can be printed.
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl RuleSource {
    /// What an argument or a variable of the job names. A relative path counts from `directory`; one that is inside of the
    /// repository at `root` means that path of the target branch.
    pub fn of_argument(text: &str, directory: &Utf8Path, root: &Utf8Path) -> Result<Self, SourceError> {
        if TextUrl::looks_like_one(text) {
            return address(text);
        }
        let path = without_dots(&directory.join(text.trim()));
        let resolved = path.canonicalize_utf8();
        let within = |path: &Utf8Path, root: &Utf8Path| path.strip_prefix(root).ok().map(Utf8Path::to_owned);
        let inside = within(&path, root)
            .or_else(|| within(&path, &root.canonicalize_utf8().ok()?))
            // A way in through a link is a way in.
            .or_else(|| within(&resolved.ok()?, &root.canonicalize_utf8().ok()?));
        Ok(inside.map_or(Self::Path(path), Self::TargetBranch))
    }

    /// What the repository's own configuration names: an address, or a path of the repository.
    pub fn of_repository(text: &str) -> Result<Self, SourceError> {
        if TextUrl::looks_like_one(text) {
            return address(text);
        }
        let path = Utf8Path::new(text.trim());
        let leaves = path
            .components()
            .any(|part| !matches!(part, Utf8Component::Normal(_) | Utf8Component::CurDir));
        if leaves || text.trim().is_empty() {
            return Err(SourceError {
                place: text.to_owned(),
                reason: "name a file or directory of the repository, or an https:// address".to_owned(),
            });
        }
        Ok(Self::TargetBranch(without_dots(path)))
    }
}

fn address(text: &str) -> Result<RuleSource, SourceError> {
    TextUrl::parse(text).map(RuleSource::Url).map_err(|error| SourceError {
        place: error.place().to_owned(),
        reason: "it has to begin with https:// (http:// is for this machine only)".to_owned(),
    })
}

impl std::fmt::Display for RuleSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Url(url) => write!(formatter, "{url}"),
            Self::Path(path) => write!(formatter, "{path}"),
            Self::TargetBranch(path) => write!(formatter, "{path} of the target branch"),
        }
    }
}

/// The texts of a place.
pub(crate) struct Texts {
    /// Each with its file's name.
    pub(crate) files: Vec<(String, String)>,
    /// What the reader should know.
    pub(crate) warning: Option<String>,
}

/// Reads everything. `commit` is the one of the target branch. An error completes "the rules cannot be read: …".
pub(crate) async fn load(
    source: &RuleSource,
    repository: &Repository,
    commit: &str,
    fetcher: &Fetcher,
    now: DateTime<Utc>,
) -> Result<Texts, String> {
    match source {
        RuleSource::Url(url) => {
            // A page that holds no rule at all must not take the place of the last good copy.
            let check = |text: &str| match read("it", text) {
                (rules, problems) if rules.is_empty() => Err(problems
                    .first()
                    .map_or_else(|| "it has no rule".to_owned(), ToString::to_string)),
                _ => Ok(()),
            };
            let answer = fetcher
                .text(url, now, check)
                .await
                .map_err(|error| format!("{url} {error}"))?;
            Ok(Texts {
                files: vec![(url.to_string(), answer.text)],
                warning: answer.warning,
            })
        }
        RuleSource::Path(path) => on_disk(path).await,
        RuleSource::TargetBranch(path) => on_target_branch(path, repository, commit).await,
    }
}

async fn on_disk(path: &Utf8Path) -> Result<Texts, String> {
    let wrong = |path: &Utf8Path, error: &std::io::Error| format!("{path}: {error}");
    let metadata = tokio::fs::metadata(path).await.map_err(|error| wrong(path, &error))?;
    let mut paths = Vec::new();
    if metadata.is_dir() {
        let mut entries = tokio::fs::read_dir(path).await.map_err(|error| wrong(path, &error))?;
        while let Some(entry) = entries.next_entry().await.map_err(|error| wrong(path, &error))? {
            if let Ok(file) = Utf8PathBuf::from_path_buf(entry.path())
                && file.extension() == Some("toml")
            {
                paths.push(file);
            }
        }
        paths.sort();
    } else {
        paths.push(path.to_owned());
    }
    let mut files = Files::default();
    for path in paths {
        let file = tokio::fs::File::open(&path)
            .await
            .map_err(|error| wrong(&path, &error))?;
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX);
        file.take(most + 1)
            .read_to_end(&mut bytes)
            .await
            .map_err(|error| wrong(&path, &error))?;
        files.add(path.as_str(), bytes)?;
    }
    files.texts(path)
}

async fn on_target_branch(path: &Utf8Path, repository: &Repository, commit: &str) -> Result<Texts, String> {
    let failed = |error: conclave_git::GitError| format!("{path}: {error}");
    let mut files = Files::default();
    if !path.as_str().is_empty()
        && let Some(bytes) = repository.file(commit, path.as_str()).await.map_err(failed)?
    {
        files.add(path.as_str(), bytes)?;
        return files.texts(path);
    }
    let mut names = repository.directory(commit, path.as_str()).await.map_err(failed)?;
    if names.is_empty() {
        return Err(format!("{path}: the target branch has no such file or directory"));
    }
    names.retain(|name| Utf8Path::new(name).extension() == Some("toml"));
    names.sort();
    for name in names {
        if let Some(bytes) = repository.file(commit, &name).await.map_err(failed)? {
            files.add(&name, bytes)?;
        }
    }
    files.texts(path)
}

#[derive(Default)]
struct Files {
    files: Vec<(String, String)>,
    bytes: usize,
}

impl Files {
    fn add(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        self.bytes += bytes.len();
        if self.bytes > MAX_BYTES {
            return Err(format!("{name}: with it the rules are more than {MAX_BYTES} bytes"));
        }
        let text = String::from_utf8(bytes).map_err(|_| format!("{name}: it is not UTF-8 text"))?;
        self.files.push((name.to_owned(), text));
        Ok(())
    }

    fn texts(self, path: &Utf8Path) -> Result<Texts, String> {
        if self.files.is_empty() {
            return Err(format!("{path}: there is no .toml file in it"));
        }
        Ok(Texts {
            files: self.files,
            warning: None,
        })
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
