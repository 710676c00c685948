//! What an agent of the runtime may do, by the runtime's own names.

use std::fmt;

/// A permission of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Reading files of the workspace.
    Read,
    /// Searching file contents.
    Grep,
    /// Searching file names.
    Glob,
    /// Keeping a list of what is left to do, in the session's memory.
    TodoWrite,
    /// A tool of an MCP server that a plugin has added, as `<server>_<tool>`.
    Tool(String),
    /// Running commands.
    Bash,
    /// Changing files.
    Edit,
    /// Reaching addresses.
    WebFetch,
    /// Searching the web.
    WebSearch,
    /// Starting other agents.
    Task,
    /// Asking a person; nobody is there to answer.
    Question,
    /// Loading instructions from files of the reviewed source.
    Skill,
    /// Starting language servers, which run the reviewed source's tools.
    LanguageServer,
    /// Reading outside of the workspace.
    ExternalDirectory,
}

impl Permission {
    /// The runtime's name for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Read => "read",
            Self::Grep => "grep",
            Self::Glob => "glob",
            Self::TodoWrite => "todowrite",
            Self::Tool(name) => name,
            Self::Bash => "bash",
            Self::Edit => "edit",
            Self::WebFetch => "webfetch",
            Self::WebSearch => "websearch",
            Self::Task => "task",
            Self::Question => "question",
            Self::Skill => "skill",
            Self::LanguageServer => "lsp",
            Self::ExternalDirectory => "external_directory",
        }
    }

    /// Whether a plugin may give it. An allow-list: what is new here can be taken, but not given, until somebody says so.
    /// That a tool is one of an MCP server is checked when all servers are known.
    pub(super) fn may_be_given(&self) -> bool {
        matches!(
            self,
            Self::Read | Self::Grep | Self::Glob | Self::TodoWrite | Self::Tool(_)
        )
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
