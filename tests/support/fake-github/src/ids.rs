//! Names of things: numbers in REST, opaque node ids in GraphQL.

use serde::{Deserialize, Serialize};

/// The id of a user, a bot or an organization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UserId(pub u64);

/// The id of a GitHub App.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AppId(pub u64);

/// The id of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RepositoryId(pub u64);

/// A pull request: its target repository and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PullRef {
    /// The target repository.
    pub repository: RepositoryId,
    /// The number in the repository.
    pub number: u64,
}

/// Kinds of objects that have ids, with the prefix of their node ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    User,
    Bot,
    Repository,
    Pull,
    Review,
    ReviewComment,
    Thread,
    IssueComment,
    CheckRun,
    Status,
    Label,
    Run,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::User => "U",
            Self::Bot => "BOT",
            Self::Repository => "R",
            Self::Pull => "PR",
            Self::Review => "PRR",
            Self::ReviewComment => "PRRC",
            Self::Thread => "PRRT",
            Self::IssueComment => "IC",
            Self::CheckRun => "CR",
            Self::Status => "SC",
            Self::Label => "LA",
            Self::Run => "WFR",
        }
    }

    /// The id before the first of its kind. Comments and reviews are beyond 32 bits, as on github.com; issue comments and
    /// review comments share their numbers, because they are two namespaces.
    pub(crate) fn base(self) -> u64 {
        match self {
            Self::Review | Self::ReviewComment | Self::IssueComment => 3_000_000_000,
            Self::User | Self::Bot => 500,
            Self::Repository => 700_000,
            Self::Run => 9_000_000,
            _ => 40_000,
        }
    }

    /// The node id of an object.
    pub(crate) fn node(self, id: u64) -> String {
        format!("{}_kwDO{id:011}", self.prefix())
    }

    /// The id in a node id of this kind.
    pub(crate) fn parse(self, node: &str) -> Option<u64> {
        node.strip_prefix(self.prefix())?.strip_prefix("_kwDO")?.parse().ok()
    }
}
