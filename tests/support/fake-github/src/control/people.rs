//! Accounts, apps and tokens.

use crate::ids::{AppId, Kind, RepositoryId, UserId};
use crate::server::FakeGithub;
use crate::state::ACTIONS_APP;
use crate::state::people::{App, Permissions, Role, Token, TokenKind, User, UserKind};

impl FakeGithub {
    /// Creates a person.
    pub fn create_user(&self, login: &str) -> UserId {
        self.create_account(login, UserKind::Person)
    }

    /// Creates an organization.
    pub fn create_organization(&self, login: &str) -> UserId {
        self.create_account(login, UserKind::Organization)
    }

    /// Creates a team of an organization.
    pub fn create_team(&self, organization: UserId, slug: &str) {
        let mut core = self.server.core();
        core.state.teams.entry(organization).or_default().push(slug.to_owned());
    }

    /// Creates a GitHub App with its bot.
    pub fn create_app(&self, slug: &str) -> AppId {
        let mut core = self.server.core();
        let app = AppId(core.state.next_id(Kind::Bot) + 1_000);
        let bot = UserId(core.state.next_id(Kind::User));
        core.state.users.insert(bot, User::new(slug, UserKind::Bot(app)));
        core.state.apps.insert(app, App::new(slug, bot));
        app
    }

    /// The App behind `GITHUB_TOKEN`.
    pub fn actions_app(&self) -> AppId {
        ACTIONS_APP
    }

    /// The bot of an App.
    pub fn bot(&self, app: AppId) -> UserId {
        self.server.core().state.apps[&app].bot
    }

    /// Deletes an account. What it wrote stays, without an author.
    pub fn delete_user(&self, user: UserId) {
        let mut core = self.server.core();
        core.state.users.get_mut(&user).expect("the user exists").deleted = true;
        core.state.tokens.retain(|_, token| token.user != user);
    }

    /// Gives a person a role in a repository, or takes it away.
    pub fn set_role(&self, repository: RepositoryId, user: UserId, role: Option<Role>) {
        let mut core = self.server.core();
        let collaborators = &mut core.state.repository_mut(repository).collaborators;
        match role {
            Some(role) => collaborators.insert(user, role),
            None => collaborators.remove(&user),
        };
    }

    /// A `GITHUB_TOKEN`, which every workflow of the repository shares.
    pub fn actions_token(&self, repository: RepositoryId, permissions: Permissions) -> String {
        self.app_token(ACTIONS_APP, TokenKind::Actions, repository, permissions)
    }

    /// A token of an App's installation.
    pub fn installation_token(&self, app: AppId, repository: RepositoryId, permissions: Permissions) -> String {
        self.app_token(app, TokenKind::Installation, repository, permissions)
    }

    /// A fine-grained personal access token.
    pub fn personal_token(&self, user: UserId, permissions: Permissions) -> String {
        self.add_token("github_pat_", user, None, (TokenKind::FineGrained, None, permissions))
    }

    /// A classic personal access token, which may do what its user may do.
    pub fn classic_token(&self, user: UserId) -> String {
        self.add_token("ghp_", user, None, (TokenKind::Classic, None, Permissions::none()))
    }

    /// Ends a token, as a job's end does.
    pub fn expire_token(&self, token: &str) {
        let mut core = self.server.core();
        core.state.tokens.get_mut(token).expect("the token exists").expired = true;
    }

    fn create_account(&self, login: &str, kind: UserKind) -> UserId {
        let mut core = self.server.core();
        let id = UserId(core.state.next_id(Kind::User));
        core.state.users.insert(id, User::new(login, kind));
        id
    }

    fn app_token(&self, app: AppId, kind: TokenKind, repository: RepositoryId, permissions: Permissions) -> String {
        let bot = self.bot(app);
        // As long as the real ones, and with dots: nothing may check their length.
        let prefix = format!("ghs_{}_eyJhbGciOiJSUzI1NiJ9.", app.0);
        self.add_token(&prefix, bot, Some(app), (kind, Some(repository), permissions))
    }

    fn add_token(
        &self,
        prefix: &str,
        user: UserId,
        app: Option<AppId>,
        (kind, repository, permissions): (TokenKind, Option<RepositoryId>, Permissions),
    ) -> String {
        let mut core = self.server.core();
        let tokens = &mut core.state.tokens;
        let length = if app.is_some() { 480 } else { 36 };
        let text = format!("{prefix}{:0length$}", tokens.len() + 1);
        let token = Token {
            kind,
            user,
            app,
            repository,
            permissions,
            expired: false,
        };
        tokens.insert(text.clone(), token);
        text
    }
}
