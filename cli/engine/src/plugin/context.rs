//! What a plugin can contribute, and the only surface to do it.

use conclave_shared::{model::ModelId, pricing::ModelFacts};

use crate::prompt::Untrusted;

/// A contribution and the plugin that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Owned<T> {
    /// The plugin.
    pub plugin: &'static str,
    /// What it contributed.
    pub value: T,
}

/// What an agent is for; decides how its session is started and which prompt it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentRole {
    /// The judge.
    Coordinator,
    /// A specialist.
    Reviewer,
}

/// An agent of the runtime. Every agent may read, search and list the workspace; nothing else unless listed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The name, which is the reviewer's.
    pub name: String,
    /// What it does, in a few words.
    pub description: String,
    /// What it is for.
    pub role: AgentRole,
    /// Tools of MCP servers that it may call.
    pub tools: Vec<String>,
}

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderWire {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, which many other providers speak too.
    OpenAiChat,
    /// `OpenAI` Responses, which the newer models of `OpenAI` itself want.
    OpenAiResponses,
}

/// A model as the runtime has to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderModel {
    /// The model.
    pub id: ModelId,
    /// Limits and prices, where they are known.
    pub facts: Option<ModelFacts>,
}

/// A provider of the runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderSpec {
    /// Its name in the runtime's configuration.
    pub name: String,
    /// How it is spoken to.
    pub wire: ProviderWire,
    /// Where: an address of our gateway.
    pub base_url: String,
    /// The variable of the runtime's environment that holds the run's key.
    pub key_variable: &'static str,
    /// Its models.
    pub models: Vec<ProviderModel>,
}

/// An MCP server of the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name; a tool `t` of it is called `<name>_t`.
    pub name: String,
    /// Where.
    pub url: String,
    /// The variable of the runtime's environment that holds the bearer token.
    pub token_variable: &'static str,
}

/// Who reads a section of the prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// All reviewers, in the shared context file, and the coordinator.
    Everyone,
    /// One agent.
    Agent(String),
}

/// A section that a plugin adds to the prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptSection {
    /// The tag, one of [`crate::prompt::SECTIONS`].
    pub name: &'static str,
    /// Who reads it.
    pub audience: Audience,
    /// What it says. Sealed when it is rendered, wherever it comes from.
    pub text: Untrusted,
}

#[derive(Debug, Default)]
pub(crate) struct Contributions {
    pub(crate) sections: Vec<Owned<PromptSection>>,
    pub(crate) agents: Vec<Owned<AgentSpec>>,
    pub(crate) providers: Vec<Owned<ProviderSpec>>,
    pub(crate) mcp_servers: Vec<Owned<McpServer>>,
    pub(crate) tools: Vec<Owned<(String, String)>>,
    pub(crate) environment: Vec<Owned<(String, String)>>,
}

/// What a plugin can reach while it configures.
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

    /// Adds an agent.
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

    /// Lets an agent, which may be another plugin's, call one more tool.
    pub fn allow_tool(&mut self, agent: &str, tool: &str) {
        let tool = self.own((agent.to_owned(), tool.to_owned()));
        self.contributions.tools.push(tool);
    }

    /// Adds a section to the prompts.
    pub fn inject_section(&mut self, section: PromptSection) {
        let section = self.own(section);
        self.contributions.sections.push(section);
    }

    /// Sets a variable of the runtime's environment, which is otherwise empty. Never a secret of a provider or a forge.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        let variable = self.own((name.to_owned(), value.to_owned()));
        self.contributions.environment.push(variable);
    }
}
