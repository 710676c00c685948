//! Accounts, times and texts in both APIs.

use chrono::DateTime;
use conclave_engine::publish::Account;
use serde::Deserialize;

/// An account as REST has it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            id: user.id,
            is_bot: Some(user.kind.as_deref() == Some("Bot")),
            name: user.login,
            email: None,
        }
    }
}

/// An account as GraphQL has it: a bot's name is another one than in REST.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Actor {
    #[serde(rename = "__typename")]
    kind: String,
    login: String,
    database_id: Option<u64>,
}

/// The fields of an account in a query.
pub(crate) const ACTOR: &str = "__typename login ... on User { databaseId } ... on Bot { databaseId }";

impl Actor {
    /// The account, or `None` for an actor without a number, such as the one that GitHub shows for a deleted account.
    pub(crate) fn account(self) -> Option<Account> {
        Some(Account {
            id: self.database_id?,
            is_bot: Some(self.kind == "Bot"),
            name: self.login,
            email: None,
        })
    }
}

/// A review as REST lists it.
#[derive(Debug, Deserialize)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) user: Option<User>,
    pub(crate) body: Option<String>,
    pub(crate) state: String,
}

/// Notes of three kinds, whose numbers are three namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoteKind {
    /// A comment on the pull request as a whole.
    Issue,
    /// A comment beside the code, or an answer to one.
    Line,
    /// The text of a review.
    Review,
}

/// Numbers of GitHub's own stay below: what is above says the kind. All together stay exact in JSON.
const LINE: u64 = 1 << 51;
const REVIEW: u64 = 1 << 52;

impl NoteKind {
    /// The number of a note among all kinds.
    pub(crate) const fn number(self, id: u64) -> u64 {
        match self {
            Self::Issue => id,
            Self::Line => id | LINE,
            Self::Review => id | REVIEW,
        }
    }

    /// The kind and GitHub's own number.
    pub(crate) const fn of(number: u64) -> (Self, u64) {
        match number & (LINE | REVIEW) {
            0 => (Self::Issue, number),
            REVIEW => (Self::Review, number & !REVIEW),
            _ => (Self::Line, number & !LINE),
        }
    }

    /// The part of an address that precedes the number.
    pub(crate) const fn anchor(self) -> &'static str {
        match self {
            Self::Issue => "#issuecomment-",
            Self::Line => "#discussion_r",
            Self::Review => "#pullrequestreview-",
        }
    }
}

/// The order of notes: by time, within a second by number.
pub(crate) fn order(time: Option<&str>, id: u64) -> u64 {
    const NUMBERS: u64 = 1 << 20;
    let seconds = time.and_then(|time| DateTime::parse_from_rfc3339(time).ok());
    let seconds = seconds.and_then(|time| u64::try_from(time.timestamp()).ok());
    seconds.unwrap_or_default() * NUMBERS + id % NUMBERS
}

/// A text as it was posted: what is edited in the browser comes back with other line ends.
pub(crate) fn text(body: Option<String>) -> String {
    body.unwrap_or_default().replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_kinds_come_back() {
        for kind in [NoteKind::Issue, NoteKind::Line, NoteKind::Review] {
            let number = kind.number(3_000_000_001);
            assert_eq!(NoteKind::of(number), (kind, 3_000_000_001));
            assert!(number < 1 << 53, "exact in JSON");
        }
    }

    #[test]
    fn notes_are_ordered_by_time_and_then_by_number() {
        let (early, late) = (Some("2026-01-01T00:00:01Z"), Some("2026-01-01T00:00:02Z"));
        assert!(order(early, 9) < order(late, 1));
        assert!(order(late, 1) < order(late, 2));
    }
}
