//! The standing panel, contributed like everything else.

use conclave_shared::reviewer::ReviewerName;

use super::{AgentRole, AgentSpec, ConfigureContext, PluginError, ReviewPlugin};

/// Reviewers that plugins of their own bring along.
const ELSEWHERE: [&str; 2] = ["agents_md", "codex"];

/// Registers the coordinator and the standing reviewers that belong to no other plugin. Who of them sits on a panel, the
/// plan decides.
#[derive(Debug)]
pub struct BuiltInPanel;

impl ReviewPlugin for BuiltInPanel {
    fn name(&self) -> &'static str {
        "panel"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.register_agent(AgentSpec {
            name: ReviewerName::COORDINATOR.to_owned(),
            description: "Judges the findings of the panel".to_owned(),
            role: AgentRole::Coordinator,
        });
        for name in ReviewerName::STANDING.iter().filter(|name| !ELSEWHERE.contains(name)) {
            let Ok(reviewer) = ReviewerName::new(*name) else {
                continue;
            };
            context.register_agent(AgentSpec {
                name: reviewer.to_string(),
                description: format!("Reviews {}", reviewer.display_name()),
                role: AgentRole::Reviewer,
            });
        }
        Ok(())
    }
}
