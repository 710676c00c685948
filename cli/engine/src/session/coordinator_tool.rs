//! The coordinator's two tools as a model is offered them, over MCP or directly.

use serde_json::{Value, json};

use crate::{
    incremental::add_to_schema,
    judge::submission_schema,
    ports::{CoordinatorTools, ToolError},
};

/// The name of the tool that joins the reviewers.
pub const TOOL_SPAWN_REVIEWERS: &str = "spawn_reviewers";
/// The name of the tool that takes the decisions.
pub const TOOL_SUBMIT_REVIEW: &str = "submit_review";

/// A tool of the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinatorTool {
    /// Joins the reviewers.
    SpawnReviewers,
    /// Takes the decisions.
    SubmitReview,
}

impl CoordinatorTool {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::SpawnReviewers, Self::SubmitReview];

    /// The name that a model calls it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpawnReviewers => TOOL_SPAWN_REVIEWERS,
            Self::SubmitReview => TOOL_SUBMIT_REVIEW,
        }
    }

    /// The description that a model reads.
    pub const fn description(self) -> &'static str {
        match self {
            Self::SpawnReviewers => {
                "Waits until all reviewers of this change are done and returns their findings as JSON. Takes no \
                 arguments. Calling it again returns the same findings."
            }
            Self::SubmitReview => "Submits the judged review. Call it once, at the end: with it the work is over.",
        }
    }

    /// The JSON Schema of its arguments.
    pub fn schema(self) -> Value {
        match self {
            Self::SpawnReviewers => json!({"type": "object", "properties": {}}),
            Self::SubmitReview => {
                let mut schema = submission_schema();
                add_to_schema(&mut schema);
                schema
            }
        }
    }

    /// Calls it.
    pub async fn call(self, tools: &dyn CoordinatorTools, arguments: Value) -> Result<Value, ToolError> {
        match self {
            Self::SpawnReviewers => tools.spawn_reviewers().await,
            Self::SubmitReview => tools.submit_review(arguments).await,
        }
    }
}
