//! The only surface that a plugin has while it configures.

use conclave_shared::{config::ModelTier, model::ModelId};

use super::{
    AgentSpec, Hint, McpServer, ModelChoice, Owned, Permission, PermissionRule, PluginError, PromptSection,
    ProviderSpec, contributions::Contributions,
};
use crate::untrusted::Untrusted;

/// What a plugin can reach while it configures: it can add, and it can see nothing, neither what others have added nor
/// what becomes of it.
#[derive(Debug)]
pub struct ConfigureContext<'a> {
    plugin: &'static str,
    contributions: &'a mut Contributions,
}

impl<'a> ConfigureContext<'a> {
    pub(crate) fn new(plugin: &'static str, contributions: &'a mut Contributions) -> Self {
        Self { plugin, contributions }
    }

    fn own<T>(&self, value: T) -> Owned<T> {
        Owned {
            plugin: self.plugin,
            value,
        }
    }

    /// Adds an agent. It works only if the plan puts it on the panel.
    pub fn register_agent(&mut self, agent: AgentSpec) {
        let agent = self.own(agent);
        self.contributions.agents.push(agent);
    }

    /// Adds a provider.
    pub fn add_provider(&mut self, provider: ProviderSpec) {
        let provider = self.own(provider);
        self.contributions.providers.push(provider);
    }

    /// Adds an MCP server.
    pub fn add_mcp_server(&mut self, server: McpServer) {
        let server = self.own(server);
        self.contributions.mcp_servers.push(server);
    }

    /// Lets an agent, which may be another plugin's, call one more tool of an MCP server.
    pub fn allow_tool(&mut self, agent: &str, tool: &str) {
        self.change(agent, Permission::Tool(tool.to_owned()), true);
    }

    /// Gives an agent, which may be another plugin's, a permission that it does not have by itself. What could act on
    /// the machine or reach the network cannot be given: that is an error.
    pub fn loosen(&mut self, agent: &str, permission: Permission) -> Result<(), PluginError> {
        if !permission.may_be_given() {
            return Err(PluginError(format!(
                "the agent `{agent}` cannot be given `{permission}`: no agent may run commands, change files, reach the \
                 network, start agents or ask people"
            )));
        }
        self.change(agent, permission, true);
        Ok(())
    }

    /// Takes a permission from an agent, which may be another plugin's.
    pub fn tighten(&mut self, agent: &str, permission: Permission) {
        self.change(agent, permission, false);
    }

    fn change(&mut self, agent: &str, permission: Permission, allow: bool) {
        let rule = self.own(PermissionRule {
            agent: agent.to_owned(),
            permission,
            allow,
        });
        self.contributions.permissions.push(rule);
    }

    /// Adds a section to the prompts.
    pub fn inject_section(&mut self, section: PromptSection) {
        let section = self.own(section);
        self.contributions.sections.push(section);
    }

    /// Tells one agent something that was found out without a model, in one line.
    pub fn add_hint(&mut self, agent: &str, text: Untrusted) {
        let hint = self.own(Hint {
            agent: agent.to_owned(),
            text,
        });
        self.contributions.hints.push(hint);
    }

    /// Sets a variable of the runtime's environment, which is otherwise empty. Never a secret of a provider or a forge.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        let variable = self.own((name.to_owned(), value.to_owned()));
        self.contributions.environment.push(variable);
    }

    /// Says which models a class of reviewers uses, best first.
    pub fn prefer_models(&mut self, tier: ModelTier, models: Vec<ModelId>) {
        self.choose(ModelChoice::Tier(tier, models));
    }

    /// Says which models one reviewer (or the coordinator) uses, best first, whatever its class uses.
    pub fn override_models(&mut self, reviewer: &str, models: Vec<ModelId>) {
        self.choose(ModelChoice::Reviewer(reviewer.to_owned(), models));
    }

    /// Says who stands in for a model; `None` ends the chain.
    pub fn stand_in(&mut self, model: ModelId, next: Option<ModelId>) {
        self.choose(ModelChoice::StandIn(model, next));
    }

    fn choose(&mut self, choice: ModelChoice) {
        let choice = self.own(choice);
        self.contributions.models.push(choice);
    }
}
