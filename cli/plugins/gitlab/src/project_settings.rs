//! The settings of a project that decide what an approval or a failed job is worth.

use serde::Deserialize;

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

#[derive(Deserialize, Default)]
struct Approvals {
    reset_approvals_on_push: Option<bool>,
    merge_requests_author_approval: Option<bool>,
    merge_requests_disable_committers_approval: Option<bool>,
}

#[derive(Deserialize, Default)]
struct Project {
    default_branch: Option<String>,
    only_allow_merge_if_pipeline_succeeds: Option<bool>,
}

#[derive(Deserialize, Default)]
struct Branch {
    protected: Option<bool>,
}

impl ProjectSettings {
    /// Reads them. `target` is the merge request's target branch, where there is one; else the default branch counts.
    pub(crate) async fn read(gitlab: &GitLab, target: Option<String>) -> Self {
        let (path, approvals) = (gitlab.project_path(""), gitlab.project_path("/approvals"));
        // Free servers do not have the first; a token without the role does not see it either.
        let (approvals, project) = tokio::join!(
            gitlab.get::<Approvals>("read the approval settings", &approvals),
            gitlab.get::<Project>("read the project", &path),
        );
        let (approvals, project) = (approvals.unwrap_or_default(), project.unwrap_or_default());
        let target_branch = target.or(project.default_branch);
        let branch = match &target_branch {
            Some(name) => {
                let path = gitlab.project_path(&format!("/repository/branches/{}", encoded(name)));
                gitlab.get::<Branch>("read the target branch", &path).await.ok()
            }
            None => None,
        };
        Self {
            approvals_reset_on_push: approvals.reset_approvals_on_push,
            author_may_approve: approvals.merge_requests_author_approval,
            committers_may_approve: approvals
                .merge_requests_disable_committers_approval
                .map(|disabled| !disabled),
            pipeline_must_succeed: project.only_allow_merge_if_pipeline_succeeds,
            target_branch,
            target_is_protected: branch.and_then(|branch| branch.protected),
        }
    }
}
