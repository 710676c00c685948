//! Accounts, apps and tokens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{AppId, RepositoryId, UserId};

/// What an account is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserKind {
    Person,
    Organization,
    Bot(AppId),
}

/// An account.
#[derive(Debug, Clone)]
pub(crate) struct User {
    /// As in GraphQL: the bare slug of a bot.
    pub(crate) login: String,
    pub(crate) kind: UserKind,
    /// Texts of a deleted account have no author any more.
    pub(crate) deleted: bool,
}

impl User {
    pub(crate) fn new(login: &str, kind: UserKind) -> Self {
        Self {
            login: login.to_owned(),
            kind,
            deleted: false,
        }
    }

    /// As in REST: `slug[bot]` for a bot.
    pub(crate) fn rest_login(&self) -> String {
        if matches!(self.kind, UserKind::Bot(_)) {
            format!("{}[bot]", self.login)
        } else {
            self.login.clone()
        }
    }

    /// The `type` of REST, which is also the `__typename` of GraphQL.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.kind {
            UserKind::Person => "User",
            UserKind::Organization => "Organization",
            UserKind::Bot(_) => "Bot",
        }
    }
}

/// A GitHub App.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) slug: String,
    pub(crate) bot: UserId,
}

impl App {
    pub(crate) fn new(slug: &str, bot: UserId) -> Self {
        Self {
            slug: slug.to_owned(),
            bot,
        }
    }
}

/// The role of a person in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May read and comment.
    Read,
    /// May also manage issues.
    Triage,
    /// May also push.
    Write,
    /// May also manage the repository in part.
    Maintain,
    /// May do everything.
    Admin,
}

impl Role {
    /// As in `role_name`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// As in `permission`, which knows four values only.
    pub(crate) fn permission(self) -> &'static str {
        match self {
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// Whether a permission of a token is to read or to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// To read only.
    Read,
    /// To read and write.
    Write,
}

/// The permissions of a token by their names in the API: `pull_requests`, `checks`, `contents`, ...
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions(pub(crate) BTreeMap<String, Access>);

impl Permissions {
    /// No permission but `metadata`.
    pub fn none() -> Self {
        Self::default()
    }

    /// What the recommended workflow gives: contents to read; pull requests and checks to write.
    pub fn review() -> Self {
        Self::none().read("contents").write("pull_requests").write("checks")
    }

    /// What a job has whose pull request comes from a fork: everything to read.
    pub fn read_only() -> Self {
        let names = [
            "actions",
            "checks",
            "contents",
            "issues",
            "pull_requests",
            "security_events",
            "statuses",
        ];
        names.into_iter().fold(Self::none(), Self::read)
    }

    /// Adds a permission to read.
    #[must_use]
    pub fn read(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), Access::Read);
        self
    }

    /// Adds a permission to write.
    #[must_use]
    pub fn write(mut self, name: &str) -> Self {
        self.0.insert(name.to_owned(), Access::Write);
        self
    }

    pub(crate) fn allows(&self, name: &str, access: Access) -> bool {
        name == "metadata" && access == Access::Read || self.0.get(name).is_some_and(|own| *own >= access)
    }
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// `GITHUB_TOKEN` of a job.
    Actions,
    /// A token of an App's installation.
    Installation,
    /// A fine-grained personal access token.
    FineGrained,
    /// A classic personal access token, which may do what its user may do.
    Classic,
}

impl TokenKind {
    /// Whether the token acts for an App and not for a person.
    pub(crate) fn is_app(self) -> bool {
        matches!(self, Self::Actions | Self::Installation)
    }
}

/// A token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) user: UserId,
    pub(crate) app: Option<AppId>,
    /// The only repository it is for.
    pub(crate) repository: Option<RepositoryId>,
    pub(crate) permissions: Permissions,
    pub(crate) expired: bool,
}
