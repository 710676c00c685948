//! GitHub's refusals, in words that say what to do.

use std::time::Duration;

use conclave_forge::{ApiError, ApiErrorKind, ForgeWords, asked_wait};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

/// The name in texts.
pub(crate) const GITHUB: &str = "GitHub";
/// Its words in texts.
pub const WORDS: ForgeWords = ForgeWords {
    name: GITHUB,
    noun: "pull request",
    project: "repository",
    decider: "a person with write access",
    whole_history: "Give actions/checkout `fetch-depth: 0`, so that the job has the whole history",
};

/// Time to wait where GitHub says that requests came too fast, and not for how long.
const UNSAID_WAIT: Duration = Duration::from_mins(1);

/// The longest wait that is waited for at a time.
pub(crate) const MAX_WAIT: Duration = Duration::from_mins(10);

/// The header that names the permissions that a request needs.
const ACCEPTED: &str = "x-accepted-github-permissions";

/// An error status; `what` completes "asked to".
pub(crate) fn refusal(what: &str, status: StatusCode, headers: &HeaderMap, body: &str) -> ApiError {
    let (status, words) = (status.as_u16(), message(body));
    let kind = match status {
        _ if is_limit(status, headers, &words) => ApiErrorKind::RateLimited,
        401 => {
            let advice =
                "Set GITHUB_TOKEN to a token that is valid: the job's own ends with the job, an App's after an hour";
            return WORDS.refused_token(what, words, advice);
        }
        403 if words.contains("locked") => {
            let text = format!(
                "the conversation of the pull request is locked ({what}: 403 {words}). Unlock it, and run the job again"
            );
            return ApiError::new(ApiErrorKind::Conflict, text).with_words(words);
        }
        403 => return ApiError::new(ApiErrorKind::Forbidden, forbidden(what, &words, headers)).with_words(words),
        404 => return WORDS.not_found(what, words),
        405 => ApiErrorKind::Conflict,
        _ => ApiErrorKind::of_status(status),
    };
    ApiError::status(kind, GITHUB, what, status, words)
}

/// Returns whether these are the words for a person's token: an App's is an `integration`.
pub(crate) fn is_of_person(words: &str) -> bool {
    words.contains("via a GitHub App") || words.contains("personal access token")
}

/// The refusal for a missing permission, with the line that a workflow needs.
fn forbidden(what: &str, words: &str, headers: &HeaderMap) -> String {
    let accepted = headers.get(ACCEPTED).and_then(|value| value.to_str().ok());
    // Several may do: a pull request is an issue, too.
    let needed = accepted.unwrap_or_default().split([';', ',']).map(str::trim);
    let needed = needed.min_by_key(|needed| !needed.starts_with("pull_requests="));
    let needed = needed.and_then(|needed| needed.split_once('='));
    let is_for_apps =
        words.contains("via a GitHub App") || is_of_person(words) && needed.is_some_and(|(name, _)| name == "checks");
    let advice = match needed {
        _ if is_for_apps => {
            "Only the token of an App can: the job's own GITHUB_TOKEN, or that of a GitHub App; a personal access token cannot, \
             whatever its permissions are"
                .to_owned()
        }
        Some((name, access)) => {
            let name = name.replace('_', "-");
            format!("Add `{name}: {access}` to the `permissions` of the workflow, or to the App or token that is used")
        }
        None => "Give it the permission".to_owned(),
    };
    format!("the token may not {what} (403 {words}). {advice}. `conclave doctor` says what else is missing")
}

/// Returns whether requests came too fast: GitHub says so in several ways, one of which looks like a refusal of the content.
fn is_limit(status: u16, headers: &HeaderMap, words: &str) -> bool {
    match status {
        429 => true,
        403 => says_when(headers) || words.contains("secondary rate limit") || words.contains("abuse detection"),
        422 => words.contains("\"code\":\"abuse\"") || words.contains("was submitted too quickly"),
        _ => false,
    }
}

/// The wait that a failed request asks for. Each answer says when the token's hour ends, which matters only where it is used up.
pub(crate) fn wait(error: &ApiError, headers: &HeaderMap) -> Option<Duration> {
    if error.kind != ApiErrorKind::RateLimited {
        return None;
    }
    let asked = says_when(headers).then(|| asked_wait(headers)).flatten();
    Some(asked.unwrap_or(UNSAID_WAIT))
}

fn says_when(headers: &HeaderMap) -> bool {
    headers.contains_key("retry-after") || headers.get("x-ratelimit-remaining").is_some_and(|value| value == "0")
}

/// GitHub's words: the message, and the errors, which are texts or objects.
pub(crate) fn message(body: &str) -> String {
    ApiError::words_in(body, |value| {
        let message = value["message"].as_str().unwrap_or_default();
        let errors = value["errors"].as_array().into_iter().flatten();
        let errors: Vec<String> = errors
            .map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
            .collect();
        match (message, errors.as_slice()) {
            ("", []) => value.to_string(),
            (message, []) => message.to_owned(),
            (message, errors) => format!("{message}: {}", errors.join("; ")),
        }
    })
}

/// The code for a field or a mutation that an older Enterprise Server lacks.
const UNKNOWN_FIELD: &str = "undefinedField";

/// An error of GraphQL, which comes with status 200.
pub(crate) fn graphql_refusal(what: &str, error: &Value) -> ApiError {
    let words = ApiError::shorten(error["message"].as_str().unwrap_or_default());
    let code = error["type"].as_str().or_else(|| error["extensions"]["code"].as_str());
    let kind = match code {
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES" | UNKNOWN_FIELD) => ApiErrorKind::Forbidden,
        Some("NOT_FOUND") => ApiErrorKind::NotFound,
        Some("RATE_LIMITED" | "RATE_LIMIT") => ApiErrorKind::RateLimited,
        _ => ApiErrorKind::Other,
    };
    let text = match kind {
        _ if code == Some(UNKNOWN_FIELD) => format!("this server cannot {what}: it may be too old ({words})"),
        ApiErrorKind::Forbidden => format!("the token may not {what} ({words})"),
        ApiErrorKind::RateLimited => format!("{GITHUB} limits requests when asked to {what}: {words}"),
        _ => format!("{GITHUB} refused to {what}: {words}"),
    };
    ApiError::new(kind, text).with_words(words)
}

/// The limit in an answer of GraphQL, which comes with status 200: it is waited for like any other. One that lasts too long for that is
/// an error of the query, and REST answers.
pub(crate) fn hidden_limit(what: &str, headers: &HeaderMap, body: &str) -> Option<ApiError> {
    // Most answers are long, and say nothing of the kind.
    if !body.contains("RATE_LIMIT") {
        return None;
    }
    let answer: Value = serde_json::from_str(body).ok()?;
    let errors = answer["errors"].as_array()?.iter();
    let mut errors = errors.map(|error| graphql_refusal(what, error));
    let limit = errors.find(|error| error.kind == ApiErrorKind::RateLimited)?;
    let is_short = wait(&limit, headers).is_none_or(|wait| wait <= MAX_WAIT);
    is_short.then_some(limit)
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
