//! Roles of accounts, asked of the forge once for each.

use std::collections::HashMap;

use conclave_engine::{
    publish::{Account, BotIdentity, Conversation},
    review::AuthorRole,
};

use crate::{ApiError, ForgeApi};

/// Roles of accounts on one merge request.
#[derive(Debug)]
pub(crate) struct Roles<'a> {
    api: &'a dyn ForgeApi,
    bot: &'a BotIdentity,
    author: Option<u64>,
    conversation: &'a Conversation,
    known: HashMap<u64, AuthorRole>,
}

impl<'a> Roles<'a> {
    pub(crate) fn new(
        api: &'a dyn ForgeApi,
        bot: &'a BotIdentity,
        author: Option<u64>,
        conversation: &'a Conversation,
    ) -> Self {
        Self {
            api,
            bot,
            author,
            conversation,
            known: HashMap::new(),
        }
    }

    /// The role of this account.
    pub(crate) async fn of(&mut self, user: &Account) -> Result<AuthorRole, ApiError> {
        if user.id == self.bot.account {
            return Ok(AuthorRole::Us);
        }
        if let Some(role) = self.known.get(&user.id) {
            return Ok(*role);
        }
        let role = match self.api.role(user, self.author, self.conversation).await? {
            AuthorRole::Outsider if self.author == Some(user.id) => AuthorRole::Contributor,
            role => role,
        };
        self.known.insert(user.id, role);
        Ok(role)
    }

    /// The same; nothing where the forge does not answer.
    pub(crate) async fn read(&mut self, user: Option<&Account>) -> Option<AuthorRole> {
        let role = self.of(user?).await;
        role.inspect_err(|error| tracing::warn!(%error, "a role could not be read"))
            .ok()
    }

    /// The same; where the forge does not answer, the account's words are read and decide nothing.
    pub(crate) async fn at_least(&mut self, user: Option<&Account>) -> AuthorRole {
        self.read(user).await.unwrap_or(AuthorRole::Outsider)
    }
}
