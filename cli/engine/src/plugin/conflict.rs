//! Contributions that cannot be merged.

use super::Owned;

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
    /// Something for an agent that no plugin registered.
    #[error("the plugin `{plugin}` has {what} for the agent `{agent}`, which no plugin registered")]
    NoSuchAgent {
        /// Who.
        plugin: &'static str,
        /// What it has for it.
        what: &'static str,
        /// The agent.
        agent: String,
    },
    /// A tool of no server.
    #[error(
        "the plugin `{plugin}` gives the agent `{agent}` the tool `{tool}`, but no plugin added an MCP server that it \
         could be of"
    )]
    NoSuchTool {
        /// Who.
        plugin: &'static str,
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
    },
    /// A section whose tag nothing protects.
    #[error("the plugin `{plugin}` adds the prompt section `{name}`, which is none of the known sections")]
    UnknownSection {
        /// Who.
        plugin: &'static str,
        /// The tag.
        name: &'static str,
    },
}

pub(super) fn no_repetition<T>(
    kind: &'static str,
    items: &[Owned<T>],
    name: impl Fn(&T) -> String,
) -> Result<(), Conflict> {
    for (index, item) in items.iter().enumerate() {
        let second = name(&item.value);
        if let Some(first) = items[..index].iter().find(|other| name(&other.value) == second) {
            return Err(Conflict::Twice {
                kind,
                name: second,
                first: first.plugin,
                second: item.plugin,
            });
        }
    }
    Ok(())
}
