//! The standing panel, contributed like everything else.

use conclave_shared::reviewer::ReviewerName;

use super::{AgentRole, AgentSpec, ConfigureContext, PluginError, ReviewPlugin};

/// Registers the coordinator and the reviewers of a plan that belong to no other plugin.
#[derive(Debug)]
pub struct StandingPanel {
    reviewers: Vec<ReviewerName>,
}

impl StandingPanel {
    /// The plugin for these reviewers.
    pub fn new(reviewers: Vec<ReviewerName>) -> Self {
        Self { reviewers }
    }
}

impl ReviewPlugin for StandingPanel {
    fn name(&self) -> &'static str {
        "panel"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.register_agent(AgentSpec {
            name: ReviewerName::COORDINATOR.to_owned(),
            description: "Judges the findings of the panel".to_owned(),
            role: AgentRole::Coordinator,
            tools: Vec::new(),
        });
        for reviewer in &self.reviewers {
            context.register_agent(AgentSpec {
                name: reviewer.to_string(),
                description: format!("Reviews {}", reviewer.display_name()),
                role: AgentRole::Reviewer,
                tools: Vec::new(),
            });
        }
        Ok(())
    }
}
