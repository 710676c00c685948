//! The `agents_md` plugin: the reviewer that checks whether AGENTS.md still tells the truth.

use conclave_engine::plugin::{AgentRole, AgentSpec, ConfigureContext, PluginError, ReviewPlugin};

/// The reviewer's name.
pub const REVIEWER: &str = "agents_md";

/// Registers the reviewer.
#[derive(Debug)]
pub struct AgentsMdPlugin;

impl ReviewPlugin for AgentsMdPlugin {
    fn name(&self) -> &'static str {
        "agents_md"
    }

    fn configure(&self, context: &mut ConfigureContext<'_>) -> Result<(), PluginError> {
        context.register_agent(AgentSpec {
            name: REVIEWER.to_owned(),
            description: "Checks whether AGENTS.md is still true".to_owned(),
            role: AgentRole::Reviewer,
            tools: Vec::new(),
        });
        Ok(())
    }
}
