//! GitLab's refusals, in words that say what to do.

use conclave_forge::{ApiError, ApiErrorKind, ForgeWords};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

/// The name in texts.
pub(crate) const GITLAB: &str = "GitLab";
/// Its words in texts.
pub const WORDS: ForgeWords = ForgeWords {
    name: GITLAB,
    noun: "merge request",
    project: "project",
    decider: "a person with the role Developer",
    whole_history: "Set `GIT_DEPTH: 0` for the job, so that it has the whole history, and `GIT_STRATEGY: fetch` or `clone`, so that it has a checkout",
};

/// An error status; `what` completes "asked to".
pub(crate) fn refusal(what: &str, status: StatusCode, _headers: &HeaderMap, body: &str) -> ApiError {
    let (status, words) = (status.as_u16(), message(body));
    let (kind, text) = match status {
        401 => (
            ApiErrorKind::Unauthorized,
            format!(
                "GitLab refused the token ({what}: 401 {words}). Set GITLAB_TOKEN to a project access token with the scope \
                 `api` and the role Developer; it may have expired. `conclave doctor` says more"
            ),
        ),
        403 if is_scope(body) => (
            ApiErrorKind::Scope,
            format!(
                "the token may not {what} (403 {words}). Make one with the scope `api` and set GITLAB_TOKEN to it. \
                 `conclave doctor` says what else is missing"
            ),
        ),
        403 => (
            ApiErrorKind::Forbidden,
            format!(
                "the token's user may not {what} (403 {words}). Give it the role Developer in the project, or a higher one. \
                 `conclave doctor` says which it has"
            ),
        ),
        404 => (
            ApiErrorKind::NotFound,
            format!(
                "GitLab does not find it ({what}: 404 {words}). A private project that the token cannot see looks the same; \
                 `conclave doctor` says what it sees"
            ),
        ),
        status => return ApiError::status(kind(status, &words), GITLAB, what, status, words),
    };
    ApiError::new(kind, text).with_words(words)
}

fn kind(status: u16, words: &str) -> ApiErrorKind {
    match status {
        400 | 413 | 422 if words.contains("Maximum number of comments") => ApiErrorKind::Full,
        400 | 413 | 422 => ApiErrorKind::Refused,
        409 if words.contains("Resource lock") => ApiErrorKind::Locked,
        409 => ApiErrorKind::Conflict,
        429 => ApiErrorKind::RateLimited,
        500.. => ApiErrorKind::Failed(status),
        _ => ApiErrorKind::Other,
    }
}

/// Returns whether the token, and not its user, lacks the right.
fn is_scope(body: &str) -> bool {
    serde_json::from_str::<Value>(body).is_ok_and(|value| value["error"] == "insufficient_scope")
}

/// GitLab's words, in whichever of its shapes they come: a text, an object of lists, `error`, HTML, or nothing.
fn message(body: &str) -> String {
    ApiError::words_in(body, |value| {
        let said = ["message", "error_description", "error"]
            .iter()
            .find_map(|key| value.get(*key));
        match said {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => value.to_string(),
        }
    })
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
