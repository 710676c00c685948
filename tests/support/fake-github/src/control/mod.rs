//! The test's hand: people, repositories, pull requests, and what people do with them. Nothing here is logged.

mod conversation;
mod people;
mod pulls;
mod repositories;

use crate::ids::UserId;
use crate::state::State;
use crate::state::people::{Access, Permissions, Token, TokenKind, UserKind};

pub use pulls::NewPull;

/// A token with which an account may do all that it may do in the browser.
fn token_of(state: &State, user: UserId) -> Token {
    let app = if let UserKind::Bot(app) = state.user(user).kind {
        Some(app)
    } else {
        None
    };
    let names = ["pull_requests", "issues", "checks", "statuses"];
    let all = names.iter().map(|name| ((*name).to_owned(), Access::Write)).collect();
    Token {
        kind: if app.is_some() {
            TokenKind::Installation
        } else {
            TokenKind::Classic
        },
        user,
        app,
        repository: None,
        permissions: Permissions(all),
        expired: false,
    }
}
