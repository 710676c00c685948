//! The one place where contributions become a configuration.

use super::{AgentSpec, McpServer, Owned, PromptSection, ProviderSpec, context::Contributions};

/// Two plugins that contribute what cannot be both, or something to nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The same name twice.
    #[error("the plugins `{first}` and `{second}` both contribute the {kind} `{name}`")]
    Twice {
        /// What it is: `agent`, `provider`, …
        kind: &'static str,
        /// The name.
        name: String,
        /// Who came first.
        first: &'static str,
        /// Who came second.
        second: &'static str,
    },
    /// A tool for an agent that nobody registered.
    #[error("the plugin `{plugin}` gives a tool to the agent `{agent}`, which nobody registered")]
    NoSuchAgent {
        /// Who.
        plugin: &'static str,
        /// The agent.
        agent: String,
    },
}

/// What the runtime is started with, each part with the plugin that it came from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuntimeConfig {
    /// Agents.
    pub agents: Vec<Owned<AgentSpec>>,
    /// Providers.
    pub providers: Vec<Owned<ProviderSpec>>,
    /// MCP servers.
    pub mcp_servers: Vec<Owned<McpServer>>,
    /// Variables of the runtime's environment.
    pub environment: Vec<Owned<(String, String)>>,
    /// Sections of the prompts, in the order of registration.
    pub sections: Vec<Owned<PromptSection>>,
}

impl RuntimeConfig {
    pub(crate) fn assemble(contributions: Contributions) -> Result<Self, Conflict> {
        let Contributions {
            mut agents,
            providers,
            mcp_servers,
            tools,
            environment,
            sections,
        } = contributions;
        no_repetition("agent", &agents, |agent| &agent.name)?;
        no_repetition("provider", &providers, |provider| &provider.name)?;
        no_repetition("MCP server", &mcp_servers, |server| &server.name)?;
        no_repetition("variable", &environment, |(name, _)| name)?;
        for Owned {
            plugin,
            value: (agent, tool),
        } in tools
        {
            let Some(found) = agents.iter_mut().find(|candidate| candidate.value.name == agent) else {
                return Err(Conflict::NoSuchAgent { plugin, agent });
            };
            found.value.tools.push(tool);
        }
        Ok(Self {
            agents,
            providers,
            mcp_servers,
            environment,
            sections,
        })
    }
}

fn no_repetition<T>(kind: &'static str, items: &[Owned<T>], name: impl Fn(&T) -> &String) -> Result<(), Conflict> {
    for (index, item) in items.iter().enumerate() {
        if let Some(first) = items[..index]
            .iter()
            .find(|other| name(&other.value) == name(&item.value))
        {
            return Err(Conflict::Twice {
                kind,
                name: name(&item.value).clone(),
                first: first.plugin,
                second: item.plugin,
            });
        }
    }
    Ok(())
}
