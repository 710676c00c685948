//! The settings of a project that decide what an approval or a failed job is worth.

use serde_json::Value;

use crate::{GitLab, gitlab::encoded};

/// The settings of a project; `None` where GitLab does not tell, or does not have the setting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectSettings {
    /// Whether a push removes all approvals.
    pub approvals_reset_on_push: Option<bool>,
    /// Whether the author of a merge request may approve it.
    pub author_may_approve: Option<bool>,
    /// Whether those who wrote its commits may approve it.
    pub committers_may_approve: Option<bool>,
    /// Whether a merge needs a pipeline that succeeded.
    pub pipeline_must_succeed: Option<bool>,
    /// The target branch.
    pub target_branch: Option<String>,
    /// Whether it is protected.
    pub target_is_protected: Option<bool>,
}

impl ProjectSettings {
    /// Reads them. `target` is the merge request's target branch, where there is one; else the default branch counts.
    pub(crate) async fn read(gitlab: &GitLab, target: Option<String>) -> Self {
        let (path, approvals) = (gitlab.project_path(""), gitlab.project_path("/approvals"));
        // Free servers do not have the first; a token without the role does not see it either.
        let (approvals, project) = tokio::join!(
            gitlab.get::<Value>("read the approval settings", &approvals),
            gitlab.get::<Value>("read the project", &path),
        );
        let (approvals, project) = (approvals.unwrap_or_default(), project.unwrap_or_default());
        let target_branch = target.or_else(|| project["default_branch"].as_str().map(str::to_owned));
        let branch: Value = match &target_branch {
            Some(name) => {
                let path = gitlab.project_path(&format!("/repository/branches/{}", encoded(name)));
                gitlab.get("read the target branch", &path).await.unwrap_or_default()
            }
            None => Value::Null,
        };
        let forbids_committers = approvals["merge_requests_disable_committers_approval"].as_bool();
        Self {
            approvals_reset_on_push: approvals["reset_approvals_on_push"].as_bool(),
            author_may_approve: approvals["merge_requests_author_approval"].as_bool(),
            committers_may_approve: forbids_committers.map(|forbids| !forbids),
            pipeline_must_succeed: project["only_allow_merge_if_pipeline_succeeds"].as_bool(),
            target_branch,
            target_is_protected: branch["protected"].as_bool(),
        }
    }
}
