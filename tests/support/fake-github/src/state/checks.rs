//! What stands at a commit, and the runs of workflows.

use serde_json::Value;

use crate::ids::{AppId, UserId};

/// A check run.
#[derive(Debug, Clone)]
pub(crate) struct CheckRun {
    pub(crate) id: u64,
    pub(crate) app: AppId,
    pub(crate) head: String,
    /// `name`, `status`, `conclusion`, `external_id`, `details_url`, times, and `output` without its annotations.
    pub(crate) fields: Value,
    pub(crate) annotations: Vec<Value>,
}

impl CheckRun {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.fields[name].as_str()
    }
}

/// A commit status.
#[derive(Debug, Clone)]
pub(crate) struct Status {
    pub(crate) id: u64,
    pub(crate) sha: String,
    pub(crate) state: String,
    pub(crate) context: String,
    pub(crate) description: Value,
    pub(crate) target_url: Value,
    pub(crate) creator: UserId,
    pub(crate) created_at: String,
}

/// A run of a workflow, as far as another workflow asks for it.
#[derive(Debug, Clone)]
pub(crate) struct WorkflowRun {
    pub(crate) id: u64,
    /// The event that started it.
    pub(crate) event: String,
    pub(crate) head_branch: String,
    pub(crate) head: String,
    /// A fork's run has no pull requests.
    pub(crate) head_repository: crate::ids::RepositoryId,
    pub(crate) pull: Option<u64>,
    /// Names and zip files.
    pub(crate) artifacts: Vec<(u64, String, Vec<u8>)>,
}
