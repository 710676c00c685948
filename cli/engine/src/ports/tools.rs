//! The two tools that the coordinator calls.

use async_trait::async_trait;
use serde_json::Value;

/// A tool call that cannot be answered; the text is what the model reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

/// What the coordinator can ask for. Both calls are idempotent: the runtime may repeat a call after a retry.
#[async_trait]
pub trait CoordinatorTools: Send + Sync {
    /// Waits for the reviewers and returns their findings.
    async fn spawn_reviewers(&self) -> Result<Value, ToolError>;
    /// Takes the coordinator's decisions; a second call replaces the first. A valid one is answered when the coordinator's
    /// session has ended, which it is the end of.
    async fn submit_review(&self, arguments: Value) -> Result<Value, ToolError>;
}
