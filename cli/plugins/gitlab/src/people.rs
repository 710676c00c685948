//! Whose word an account's is: asked of GitLab, once for each account.
//!
//! Who opened the merge request or committed to it is its author, also as a maintainer: nobody decides about their own change
//! as another member does. GitLab tells such accounts in three ways: as the author of the merge request, as those who pushed
//! to it (its own notes say so), and by the addresses of its commits, as far as accounts show theirs.

use std::collections::{HashMap, HashSet};

use conclave_engine::review::Voice;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::{
    GitLabError,
    client::Client,
    discussions::{Conversation, User},
};

/// The access level of the role Developer.
const DEVELOPER: u64 = 30;

/// What begins a note of GitLab's own about a push: its author is the account that pushed.
const PUSHED: &str = "added ";

/// Roles of accounts on one merge request.
#[derive(Debug)]
pub(crate) struct People<'c> {
    client: &'c Client,
    bot: u64,
    /// Who opened the merge request; everybody counts as its author if GitLab does not tell.
    author: Option<u64>,
    pushed: HashSet<u64>,
    /// The addresses of its commits, read when they are first needed.
    addresses: Option<Addresses>,
    known: HashMap<u64, Voice>,
}

/// The addresses of the commits of a merge request.
#[derive(Debug)]
enum Addresses {
    Known(HashSet<String>),
    /// GitLab did not answer: nobody can be told from a committer.
    Unknown,
}

#[derive(Debug, Deserialize)]
struct Member {
    #[serde(default)]
    access_level: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    #[serde(default)]
    author_email: Option<String>,
    #[serde(default)]
    committer_email: Option<String>,
}

impl<'c> People<'c> {
    /// The people of this merge request.
    pub(crate) fn new(client: &'c Client, bot: u64, author: Option<u64>, conversation: &Conversation) -> Self {
        let notes = conversation.notes();
        let pushed = notes
            .iter()
            .filter(|note| note.system == Some(true) && is_push(note.text()))
            .filter_map(|note| note.author.as_ref().map(|user| user.id))
            .collect();
        Self {
            client,
            bot,
            author,
            pushed,
            addresses: None,
            known: HashMap::new(),
        }
    }

    /// Whose word this account's is.
    pub(crate) async fn voice(&mut self, user: &User) -> Result<Voice, GitLabError> {
        if user.id == self.bot {
            return Ok(Voice::Us);
        }
        if let Some(voice) = self.known.get(&user.id) {
            return Ok(*voice);
        }
        let voice = self.ask(user).await?;
        self.known.insert(user.id, voice);
        Ok(voice)
    }

    async fn ask(&mut self, user: &User) -> Result<Voice, GitLabError> {
        if is_token_account(user.username.as_deref().unwrap_or_default()) {
            return Ok(Voice::Machine);
        }
        let account: Result<User, _> = self.client.get("read an account", &format!("users/{}", user.id)).await;
        let account = match account {
            Ok(account) => account,
            // Some servers hide accounts; the name has been looked at above.
            Err(GitLabError::NotFound { .. } | GitLabError::Forbidden { .. }) => user.clone(),
            Err(error) => return Err(error),
        };
        if account.bot == Some(true) {
            return Ok(Voice::Outsider);
        }
        if !self.is_developer(user.id).await? {
            return Ok(Voice::Outsider);
        }
        Ok(if self.has_part(&account).await {
            Voice::Author
        } else {
            Voice::Member
        })
    }

    async fn is_developer(&self, user: u64) -> Result<bool, GitLabError> {
        let project = utf8_percent_encode(&self.client.settings().project, NON_ALPHANUMERIC).to_string();
        let path = format!("projects/{project}/members/all/{user}");
        match self.client.get::<Member>("read somebody's role", &path).await {
            Ok(member) => Ok(member.access_level.is_some_and(|level| level >= DEVELOPER)),
            Err(GitLabError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the account opened the merge request or committed to it.
    async fn has_part(&mut self, account: &User) -> bool {
        if self.author.is_none_or(|author| author == account.id) || self.pushed.contains(&account.id) {
            return true;
        }
        if self.addresses.is_none() {
            self.addresses = Some(addresses(self.client).await);
        }
        match &self.addresses {
            Some(Addresses::Known(known)) => known.iter().any(|address| account.has_address(address)),
            Some(Addresses::Unknown) | None => true,
        }
    }
}

impl User {
    /// Whether a commit with this address is the account's: by the address that it shows, or by the one that GitLab gives to
    /// accounts that hide theirs (`7-alice@users.noreply.gitlab.example.com`).
    fn has_address(&self, address: &str) -> bool {
        let shown = self.public_email.as_deref().unwrap_or_default();
        if !shown.is_empty() && shown.eq_ignore_ascii_case(address) {
            return true;
        }
        let Some((local, host)) = address.split_once('@') else {
            return false;
        };
        let id = local.split_once('-').map_or(local, |(id, _)| id);
        host.starts_with("users.noreply.") && id.parse() == Ok(self.id)
    }
}

/// Reads the addresses of the commits.
async fn addresses(client: &Client) -> Addresses {
    let path = client.merge_request_path("/commits");
    let commits: Result<(Vec<Commit>, u64), _> = client.list_from("read its commits", &path, 1).await;
    match commits {
        Ok((commits, _)) => Addresses::Known(
            commits
                .into_iter()
                .flat_map(|commit| [commit.author_email, commit.committer_email])
                .flatten()
                .map(|address| address.to_ascii_lowercase())
                .collect(),
        ),
        // A server that does not have them tells of no committers.
        Err(GitLabError::NotFound { .. } | GitLabError::Forbidden { .. }) => Addresses::Known(HashSet::new()),
        Err(error) => {
            tracing::warn!(%error, "the commits could not be read, so every member counts as an author of the change");
            Addresses::Unknown
        }
    }
}

/// Whether a note of GitLab's own tells of a push: `added 2 commits`.
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
        for (address, is) in [
            ("alice@example.org", true),
            ("7-alice@users.noreply.gitlab.example.org", true),
            ("7@users.noreply.gitlab.example.org", true),
            ("17-alice@users.noreply.gitlab.example.org", false),
            ("7-alice@example.org", false),
            ("bob@example.org", false),
            ("", false),
        ] {
            assert_eq!(user.has_address(address), is, "{address}");
        }
    }
}
