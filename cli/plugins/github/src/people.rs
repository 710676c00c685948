//! The role of an account.
//!
//! Write access is asked of the API for each account. `author_association` says something else: a member of the
//! organization need not have write access, and a collaborator may have been given the right to read only.

use conclave_engine::{publish::Account, review::AuthorRole};
use conclave_forge::{ApiError, Committed};
use serde::Deserialize;

use crate::{GitHub, github::encoded, wire::User};

/// The most commits that GitHub lists of a pull request.
const MAX_COMMITS: usize = 250;

#[derive(Debug, Deserialize)]
struct Permission {
    permission: String,
    user: Option<User>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    author: Option<Person>,
    committer: Option<Person>,
}

/// The account behind a commit's address; an empty object where there is none.
#[derive(Debug, Deserialize)]
struct Person {
    id: Option<u64>,
}

/// Reads the role of an account on a pull request with this author.
pub(crate) async fn role(github: &GitHub, user: &Account, author: Option<u64>) -> Result<AuthorRole, ApiError> {
    if user.is_bot == Some(true) || user.name.ends_with("[bot]") {
        return Ok(AuthorRole::Machine);
    }
    if !may_write(github, user).await? {
        return Ok(AuthorRole::Outsider);
    }
    let is_own = |id: &u64| *id == user.id;
    Ok(github.committers.role(user.id, author, committed(github), is_own).await)
}

/// Returns whether an account may write. The name is what is asked for, the number says that it is still the same account.
async fn may_write(github: &GitHub, user: &Account) -> Result<bool, ApiError> {
    let url = github.repository(&format!("/collaborators/{}/permission", encoded(&user.name)));
    let found: Option<Permission> = ApiError::found(github.http.get("read a person's permission", &url).await)?;
    Ok(found.is_some_and(|found| {
        let is_same = found.user.is_some_and(|account| account.id == user.id);
        is_same && matches!(found.permission.as_str(), "admin" | "write" | "maintain")
    }))
}

async fn committed(github: &GitHub) -> Committed<u64> {
    let commits: Result<Vec<Commit>, _> = github.http.list("read its commits", &github.pull("/commits")).await;
    match commits {
        Ok(commits) if commits.len() < MAX_COMMITS => {
            let people = commits.into_iter().flat_map(|commit| [commit.author, commit.committer]);
            Committed::By(people.flatten().filter_map(|person| person.id).collect())
        }
        Ok(_) => Committed::Unknown,
        Err(error) => {
            tracing::warn!(%error, "who committed cannot be read");
            Committed::Unknown
        }
    }
}
