//! The merge request as GitLab sends it.

use async_trait::async_trait;
use chrono::{DateTime, FixedOffset};
use conclave_engine::{
    publish::{Account, Conversation, NoteForm},
    report::SuggestionSyntax,
    review::{AuthorRole, ReviewSubject},
};
use conclave_forge::{
    ApiError, ApiErrorKind, ChangeApi, ForgeTraits, HttpClient, Lifecycle, LoadedChange, MergeRequestState, Target,
    Version,
};
use serde::Deserialize;

use crate::{
    GitLab,
    error::WORDS,
    people::{self, User},
    reviewers, target,
};

#[derive(Debug, Deserialize)]
struct MergeRequest {
    project_id: u64,
    title: Option<String>,
    description: Option<String>,
    draft: Option<bool>,
    source_branch: Option<String>,
    source_project_id: Option<u64>,
    target_project_id: Option<u64>,
    web_url: Option<String>,
    author: Option<User>,
    #[serde(flatten)]
    now: Now,
}

/// The facts that may have changed since it was loaded.
#[derive(Debug, Deserialize)]
pub(crate) struct Now {
    state: Option<String>,
    sha: Option<String>,
    detailed_merge_status: Option<String>,
    references: Option<References>,
    target_branch: Option<String>,
}

#[derive(Debug, Deserialize)]
struct References {
    full: Option<String>,
}

impl Now {
    pub(crate) async fn read(gitlab: &GitLab) -> Result<Self, ApiError> {
        gitlab.read("read the merge request", "").await
    }

    /// The first of GitLab's checks that fails.
    pub(crate) fn status(&self) -> &str {
        self.detailed_merge_status.as_deref().unwrap_or("unchecked")
    }

    /// The path of its project, out of `group/project!7`.
    pub(crate) fn project_path(&self) -> Option<&str> {
        let (path, _) = self.references.as_ref()?.full.as_deref()?.rsplit_once('!')?;
        Some(path)
    }
}

impl From<Now> for MergeRequestState {
    fn from(now: Now) -> Self {
        Self {
            shows_request: now.status() == REQUESTED,
            lifecycle: match now.state.as_deref() {
                None | Some("opened") => Lifecycle::Open,
                Some("closed") => Lifecycle::Closed,
                Some(word) => Lifecycle::Over(word.to_owned()),
            },
            head: now.sha,
            target_branch: now.target_branch,
        }
    }
}

/// The merge status of a request for changes.
pub(crate) const REQUESTED: &str = "requested_changes";

#[derive(Debug, Deserialize)]
struct VersionRow {
    head_commit_sha: Option<String>,
    base_commit_sha: Option<String>,
    start_commit_sha: Option<String>,
    created_at: Option<String>,
}

/// A time as GitLab writes it.
pub(crate) fn time_of(text: &str) -> Option<DateTime<FixedOffset>> {
    DateTime::parse_from_rfc3339(text).ok()
}

async fn versions(gitlab: &GitLab) -> Result<Vec<VersionRow>, ApiError> {
    gitlab.read("read the versions of its diff", "/versions").await
}

#[async_trait]
impl ChangeApi for GitLab {
    fn traits(&self) -> ForgeTraits {
        ForgeTraits {
            words: WORDS,
            // GitLab takes more, which is not read.
            form: NoteForm {
                max_summary: 60_000,
                max_inline: 20_000,
                // What is remembered is not read; a note takes a million characters.
                max_carry_over: 800_000,
                suggestion: SuggestionSyntax::Offsets,
            },
            // GitLab locks a merge request for a moment with each note, so more gain nothing.
            threads_at_once: 8,
        }
    }

    fn http(&self) -> &HttpClient {
        &self.http
    }

    async fn load(&self) -> Result<LoadedChange, ApiError> {
        self.committers.forget().await;
        let bot: User = self.get("read whose token it is", "user").await?;
        let MergeRequest {
            project_id,
            title,
            description,
            draft,
            source_branch,
            source_project_id,
            target_project_id,
            web_url,
            author,
            now,
        } = self.read("read the merge request", "").await?;
        let project = now.project_path().unwrap_or(&self.project).to_owned();
        let state = MergeRequestState::from(now);
        state.lifecycle.require_open(WORDS.noun)?;
        let version = self.newest_version().await?;
        let branch = state.target_branch.unwrap_or_default();
        let tip = target::tip(self, &branch, &version.base).await?;
        let subject = ReviewSubject {
            forge: "gitlab",
            project,
            merge_request: Some(self.iid),
            web_url,
            base_sha: version.base.clone(),
            head_sha: version.head.clone(),
            // The newest that GitLab names; where it names none, the bot does not approve.
            settings_sha: Some(tip.clone().unwrap_or_else(|| version.start.clone())),
            title: title.unwrap_or_default().into(),
            description: description.unwrap_or_default().into(),
            source_branch: source_branch.unwrap_or_default().into(),
            target_branch: branch.clone().into(),
            draft: draft.unwrap_or(false),
            // An unknown source is treated as a foreign one.
            from_fork: source_project_id.is_none() || source_project_id != target_project_id,
            ..ReviewSubject::default()
        };
        Ok(LoadedChange {
            bot: bot.id,
            marker_scope: format!("{project_id}\0{}", self.iid),
            subject,
            version,
            target: Target { branch, tip },
            author: author.map(|author| author.id),
        })
    }

    async fn state(&self) -> Result<MergeRequestState, ApiError> {
        Ok(Now::read(self).await?.into())
    }

    async fn newest_version(&self) -> Result<Version, ApiError> {
        let newest = versions(self).await?.into_iter().next().and_then(|row| {
            let base = row.base_commit_sha?;
            Some(Version {
                head: row.head_commit_sha?,
                start: row.start_commit_sha.unwrap_or_else(|| base.clone()),
                base,
                created_at: row.created_at.as_deref().and_then(time_of),
            })
        });
        newest.ok_or_else(|| {
            let text = "GitLab has not prepared the merge request's diff yet: run the job again";
            ApiError::new(ApiErrorKind::NotPrepared, text)
        })
    }

    async fn heads(&self) -> Result<Vec<String>, ApiError> {
        let versions = versions(self).await?.into_iter();
        Ok(versions.filter_map(|version| version.head_commit_sha).collect())
    }

    async fn branch_tip(&self, branch: &str, base: &str) -> Result<Option<String>, ApiError> {
        target::tip(self, branch, base).await
    }

    async fn role(&self, user: &Account, author: Option<u64>, written: &Conversation) -> Result<AuthorRole, ApiError> {
        people::role(self, user, author, written).await
    }

    async fn add_reviewers(&self, names: &[&str]) -> Result<Vec<String>, ApiError> {
        reviewers::add(self, names).await
    }
}
