//! What a plugin can contribute.

use conclave_shared::{config::Capabilities, model::ModelId, pricing::ModelFacts};
use secrecy::SecretString;
use url::Url;

use crate::untrusted::Untrusted;

/// A contribution and the plugin that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// An agent of the runtime. Every agent may read, search and list the workspace; nothing else but the tools of [`ToolGrant`]s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The name, which is the reviewer's.
    pub name: String,
    /// What it does, in a few words.
    pub description: String,
    /// What it is for.
    pub role: AgentRole,
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
    /// Prices, where they are known.
    pub facts: Option<ModelFacts>,
    /// Its capabilities.
    pub capabilities: Capabilities,
}

/// A provider: where Conclave's own gateway sends its calls. The runtime never learns any of it but the name and the
/// wire: its provider of that name points at the gateway, always.
#[derive(Debug, Clone)]
pub struct ProviderSpec {
    /// Its name, the first part of its models' names.
    pub name: String,
    /// How it is spoken to.
    pub wire: ProviderWire,
    /// The address before `/messages` or `/chat/completions`.
    pub base_url: Url,
    /// The key; `None` where somebody in between holds it.
    pub credential: Option<SecretString>,
    /// More headers for every call.
    pub headers: Vec<(String, SecretString)>,
}

/// Where an MCP server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpLocation {
    /// A path of the run's own tool server, whose address is known only once it listens.
    ToolServer(String),
    /// Somewhere else.
    Url(String),
}

/// An MCP server of the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name; a tool `t` of it is called `<name>_t`.
    pub name: String,
    /// Where.
    pub location: McpLocation,
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
    /// The tag, one of [`crate::untrusted::SECTIONS`].
    pub name: &'static str,
    /// Who reads it.
    pub audience: Audience,
    /// What it says. Sealed when it is rendered, wherever it comes from.
    pub text: Untrusted,
}

/// A tool of an MCP server that one agent may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGrant {
    /// The agent.
    pub agent: String,
    /// The tool, as `<server>_<tool>`.
    pub tool: String,
}
