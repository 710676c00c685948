//! The newest commit of a branch, asked in each of the ways that servers and tokens differ in.

use conclave_forge::{ApiError, ApiErrorKind};
use serde::Deserialize;

use crate::{GitLab, gitlab::encoded};

const WHAT: &str = "read the tip of the target branch";

#[derive(Debug, Deserialize)]
struct Branch {
    commit: Option<Commit>,
}

#[derive(Debug, Deserialize)]
struct Commit {
    id: String,
}

#[derive(Debug, Deserialize)]
struct Comparison {
    #[serde(default)]
    commits: Vec<Commit>,
    compare_same_ref: Option<bool>,
}

/// Reads it; none where GitLab does not say. A server that fails is an error. `base` is a commit that the branch has.
pub(crate) async fn tip(gitlab: &GitLab, branch: &str, base: &str) -> Result<Option<String>, ApiError> {
    let name = encoded(branch);
    let path = gitlab.project_path(&format!("/repository/branches/{name}"));
    if let Some(Branch { commit: Some(commit) }) = answered(gitlab.get(WHAT, &path).await)? {
        return Ok(Some(commit.id));
    }
    let path = gitlab.project_path(&format!("/repository/commits/{name}"));
    if let Some(Commit { id }) = answered(gitlab.get(WHAT, &path).await)? {
        return Ok(Some(id));
    }
    let path = gitlab.project_path(&format!("/repository/compare?from={base}&to={name}"));
    let comparison: Option<Comparison> = answered(gitlab.get(WHAT, &path).await)?;
    Ok(
        comparison.and_then(|comparison| match comparison.commits.into_iter().next_back() {
            Some(newest) => Some(newest.id),
            None => (comparison.compare_same_ref == Some(true)).then(|| base.to_owned()),
        }),
    )
}

/// The answer; none where this server or this token does not have the operation.
fn answered<T>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    use ApiErrorKind::{Failed, RateLimited, TimedOut, Unauthorized, Unreachable};
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error.kind {
            Unreachable | TimedOut | Unauthorized | RateLimited | Failed(_) => Err(error),
            _ => Ok(None),
        },
    }
}
