//! The role of an account.
//!
//! Who opened the merge request or committed to it is its author, also as a maintainer: nobody decides about their own change
//! as another member does. GitLab tells such accounts in three ways: as the author of the merge request, as those who pushed
//! to it (its own notes say so), and by the addresses of its commits, as far as accounts show theirs.

use std::collections::HashSet;

use conclave_engine::{
    publish::{Account, Conversation, Note},
    review::AuthorRole,
};
use conclave_forge::{ApiError, ApiErrorKind, Committed};
use serde::Deserialize;

use crate::GitLab;

/// The access level of the role Developer.
const DEVELOPER: u64 = 30;

/// The beginning of a note of GitLab's own about a push: its author is the account that pushed.
const PUSHED: &str = "added ";

/// An account.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) username: Option<String>,
    /// Only some answers have it; those with notes do not.
    pub(crate) bot: Option<bool>,
    /// The address that the account shows to everyone.
    pub(crate) public_email: Option<String>,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        let name = user.username.unwrap_or_default();
        Self {
            id: user.id,
            is_bot: user.bot.or_else(|| is_token_account(&name).then_some(true)),
            name,
            email: user.public_email,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Member {
    access_level: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    author_email: Option<String>,
    committer_email: Option<String>,
}

/// Reads the role of an account on a merge request with this author.
pub(crate) async fn role(
    gitlab: &GitLab,
    user: &Account,
    author: Option<u64>,
    written: &Conversation,
) -> Result<AuthorRole, ApiError> {
    if is_token_account(&user.name) {
        return Ok(AuthorRole::Machine);
    }
    let account: Result<User, _> = gitlab.get("read an account", &format!("users/{}", user.id)).await;
    let account = match account {
        Ok(account) => account.into(),
        // Some servers hide accounts; the name has been looked at above.
        Err(error) if matches!(error.kind, ApiErrorKind::NotFound | ApiErrorKind::Forbidden) => user.clone(),
        Err(error) => return Err(error),
    };
    if account.is_bot == Some(true) {
        return Ok(AuthorRole::Machine);
    }
    if !is_developer(gitlab, user.id).await? {
        return Ok(AuthorRole::Outsider);
    }
    let pushed = |note: &&Note| {
        note.by_forge && is_push(&note.text) && note.author.as_ref().is_some_and(|author| author.id == user.id)
    };
    if written.notes().iter().any(pushed) {
        return Ok(AuthorRole::Author);
    }
    let is_own = |address: &String| has_address(&account, address);
    let read = commit_addresses(gitlab);
    Ok(gitlab.committers.role(user.id, author, read, is_own).await)
}

async fn is_developer(gitlab: &GitLab, user: u64) -> Result<bool, ApiError> {
    let path = gitlab.project_path(&format!("/members/all/{user}"));
    let member: Option<Member> = ApiError::found(gitlab.get("read a person's role", &path).await)?;
    let level = member.and_then(|member| member.access_level);
    Ok(level.is_some_and(|level| level >= DEVELOPER))
}

/// Returns whether a commit with this address is the account's: by the address that it shows, or by the one that GitLab gives to
/// accounts that hide theirs (`7-alice@users.noreply.gitlab.example.com`).
fn has_address(account: &Account, address: &str) -> bool {
    let shown = account.email.as_deref().unwrap_or_default();
    if !shown.is_empty() && shown.eq_ignore_ascii_case(address) {
        return true;
    }
    let Some((local, host)) = address.split_once('@') else {
        return false;
    };
    let id = local.split_once('-').map_or(local, |(id, _)| id);
    host.starts_with("users.noreply.") && id.parse() == Ok(account.id)
}

/// Reads the addresses of the commits.
async fn commit_addresses(gitlab: &GitLab) -> Committed<String> {
    let url = gitlab.merge_request("/commits");
    let commits: Result<Vec<Commit>, _> = gitlab.http.list("read its commits", &url).await;
    match commits {
        Ok(commits) => Committed::By(
            commits
                .into_iter()
                .flat_map(|commit| [commit.author_email, commit.committer_email])
                .flatten()
                .map(|address| address.to_ascii_lowercase())
                .collect(),
        ),
        // A server that does not have them tells of no committers.
        Err(error) if matches!(error.kind, ApiErrorKind::NotFound | ApiErrorKind::Forbidden) => {
            Committed::By(HashSet::new())
        }
        Err(error) => {
            tracing::warn!(%error, "the commits could not be read, so every member counts as an author of the change");
            Committed::Unknown
        }
    }
}

/// Returns whether a note of GitLab's own tells of a push: `added 2 commits`.
fn is_push(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PUSHED) else {
        return false;
    };
    let words = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    words.len() < rest.len() && words.starts_with(" commit")
}

/// The accounts of access tokens: `project_7_bot_0f…`, `group_7_bot_0f…`.
pub(crate) fn is_token_account(name: &str) -> bool {
    ["project_", "group_"].iter().any(|start| {
        name.strip_prefix(start).is_some_and(|rest| {
            let digits = rest.trim_start_matches(|character: char| character.is_ascii_digit());
            digits.len() < rest.len() && digits.starts_with("_bot")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_tokens_are_known_by_their_names() {
        for (name, is) in [
            ("project_7_bot_0f3a", true),
            ("group_12_bot", true),
            ("project_7_robot", false),
            ("project_bot", false),
            ("project_x_bot", false),
            ("alice", false),
            ("my_project_7_bot", false),
        ] {
            assert_eq!(is_token_account(name), is, "{name}");
        }
    }

    #[test]
    fn a_push_is_known_by_the_words_of_gitlab() {
        for (text, is) in [
            ("added 1 commit\n\n<ul><li>0f3a</li></ul>", true),
            ("added 12 commits", true),
            ("added ~bug label", false),
            ("added commits", false),
            ("approved this merge request", false),
        ] {
            assert_eq!(is_push(text), is, "{text}");
        }
    }

    #[test]
    fn a_commit_is_known_by_its_address() {
        let user: User = serde_json::from_str(r#"{"id": 7, "username": "alice", "public_email": "Alice@example.org"}"#)
            .expect("an account");
        let account = Account::from(user);
        for (address, is) in [
            ("alice@example.org", true),
            ("7-alice@users.noreply.gitlab.example.org", true),
            ("7@users.noreply.gitlab.example.org", true),
            ("17-alice@users.noreply.gitlab.example.org", false),
            ("7-alice@example.org", false),
            ("bob@example.org", false),
            ("", false),
        ] {
            assert_eq!(has_address(&account, address), is, "{address}");
        }
    }
}
