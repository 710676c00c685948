//! The only surface that a plugin has while it configures.

use super::{AgentSpec, McpServer, Owned, PromptSection, ProviderSpec, RuntimeConfig, ToolGrant};

/// What a plugin can reach while it configures: it can add, and it can see nothing, neither what others have added nor
/// what becomes of it.
#[derive(Debug)]
pub struct ConfigureContext<'a> {
    plugin: &'static str,
    contributions: &'a mut RuntimeConfig,
}

impl<'a> ConfigureContext<'a> {
    pub(crate) fn new(plugin: &'static str, contributions: &'a mut RuntimeConfig) -> Self {
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

    /// Lets an agent, which may be another plugin's, call one more tool of an MCP server. Nothing else can be given: no agent
    /// may run commands, change files, reach the network, start agents or ask people.
    pub fn allow_tool(&mut self, agent: &str, tool: &str) {
        let grant = self.own(ToolGrant {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
        });
        self.contributions.tools.push(grant);
    }

    /// Adds a section to the prompts.
    pub fn inject_section(&mut self, section: PromptSection) {
        let section = self.own(section);
        self.contributions.sections.push(section);
    }
}
