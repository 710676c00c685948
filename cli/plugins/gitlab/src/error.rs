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
    let (status, said) = (status.as_u16(), message(body));
    // Often its words begin with the status, which each text names.
    let words = said.strip_prefix(&format!("{status} ")).unwrap_or(&said).to_owned();
    let kind = match status {
        401 => {
            let advice = "Set GITLAB_TOKEN to a project access token with the scope `api` and the role Developer; it may have expired";
            return WORDS.refused_token(what, words, advice);
        }
        403 if is_scope(body) => {
            let text = format!(
                "the token may not {what} (403 {words}). Make one with the scope `api` and set GITLAB_TOKEN to it. \
                 `conclave doctor` says what else is missing"
            );
            return ApiError::new(ApiErrorKind::Scope, text).with_words(words);
        }
        403 => {
            let text = format!(
                "the token's user may not {what} (403 {words}). Give it the role Developer in the project, or a higher one. \
                 `conclave doctor` says which it has"
            );
            return ApiError::new(ApiErrorKind::Forbidden, text).with_words(words);
        }
        404 => return WORDS.not_found(what, words),
        400 | 413 | 422 if words.contains("Maximum number of comments") => ApiErrorKind::Full,
        409 if words.contains("Resource lock") => ApiErrorKind::Locked,
        _ => ApiErrorKind::of_status(status),
    };
    ApiError::status(kind, GITLAB, what, status, words)
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
