//! The rights of a token, found out without writing anything.

use chrono::{DateTime, Utc};
use conclave_forge::{ApiError, ClientTimeouts};
use serde::Deserialize;

use crate::{GitLabSettings, ProjectSettings, gitlab::GitLab};

/// The least role that the bot needs in a project: Developer, as GitLab numbers it.
pub const MIN_ROLE: u8 = 30;

/// The owner of the token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The name that it logs in with.
    pub username: String,
    id: u64,
}

/// The token as GitLab describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TokenFacts {
    /// Its scopes, as in `api`.
    pub scopes: Vec<String>,
    /// The day on which it ends, as in `2026-03-01`.
    pub expires_at: Option<String>,
}

/// The project as the token sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFacts {
    /// Its path.
    pub path: String,
    /// The account's role in it as GitLab numbers them; `None` for no member.
    pub role: Option<u8>,
}

/// The merge request as the token sees it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MergeRequestFacts {
    /// `opened`, `closed`, `merged` or `locked`.
    pub state: String,
    /// The branch that it is to be merged into.
    pub target_branch: Option<String>,
}

/// The rights of a token.
#[derive(Debug)]
pub struct Examination {
    /// Its owner.
    pub account: Account,
    /// The time on the server.
    pub date: Option<DateTime<Utc>>,
    /// The token as the server describes it; older ones do not know how to say it.
    pub token: Result<TokenFacts, ApiError>,
    /// The project, and the role there.
    pub project: Result<ProjectFacts, ApiError>,
    /// The merge request, if there is one.
    pub merge_request: Option<Result<MergeRequestFacts, ApiError>>,
    /// The project's settings, as far as the token sees them.
    pub settings: ProjectSettings,
}

#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
}

#[derive(Deserialize)]
struct Member {
    access_level: u8,
}

/// Asks GitLab about a token; nothing is repeated and nothing is written. `with_merge_request` is false where the settings
/// name only a project. An error means that the token is not accepted, or that GitLab cannot be reached.
pub async fn examine(
    settings: &GitLabSettings,
    with_merge_request: bool,
    limit: std::time::Duration,
) -> Result<Examination, ApiError> {
    let gitlab = GitLab::new(settings, ClientTimeouts::once(limit))?;
    let user = gitlab.url("user");
    let (account, date) = gitlab.http.get_dated::<Account>("say whose token it is", &user).await?;
    let merge_request = async {
        if with_merge_request {
            Some(gitlab.read::<MergeRequestFacts>("read the merge request", "").await)
        } else {
            None
        }
    };
    let (token, project, merge_request) = tokio::join!(
        gitlab.get("describe the token", "personal_access_tokens/self"),
        project(&gitlab, account.id),
        merge_request,
    );
    let target = merge_request.as_ref().and_then(|facts| facts.as_ref().ok());
    let target = target.and_then(|facts| facts.target_branch.clone());
    let settings = match &project {
        Ok(_) => ProjectSettings::read(&gitlab, target).await,
        Err(_) => ProjectSettings::default(),
    };
    Ok(Examination {
        account,
        date,
        token,
        project,
        merge_request,
        settings,
    })
}

async fn project(gitlab: &GitLab, account: u64) -> Result<ProjectFacts, ApiError> {
    let project: Project = gitlab.get("read the project", &gitlab.project_path("")).await?;
    // Inherited roles count as well, hence not the `permissions` of the project, which know only some of them.
    let path = gitlab.project_path(&format!("/members/all/{account}"));
    let member: Option<Member> = ApiError::found(gitlab.get("read the role", &path).await)?;
    Ok(ProjectFacts {
        path: project.path_with_namespace,
        role: member.map(|member| member.access_level),
    })
}
