//! GraphQL: for what REST does not have.

use conclave_forge::{ApiError, ApiErrorKind};
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    GitHub,
    error::{GITHUB, wait},
    github::MAX_WAIT,
};

impl GitHub {
    /// Sends a query, and reads the object at `pointer` in its data. The pull request's variables are `owner`, `name` and `number`.
    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &str,
        variables: &Value,
        pointer: &str,
    ) -> Result<T, ApiError> {
        self.graphql(what, query, variables, pointer, false).await
    }

    /// Sends a mutation that may be carried out twice with the same result.
    pub(crate) async fn mutate(&self, what: &str, query: &str, variables: &Value) -> Result<(), ApiError> {
        let _: Value = self.graphql(what, query, variables, "", true).await?;
        Ok(())
    }

    /// The variables that name the pull request.
    pub(crate) fn place(&self) -> Value {
        json!({ "owner": self.owner, "name": self.name, "number": self.number })
    }

    async fn graphql<T: DeserializeOwned>(
        &self,
        what: &str,
        query: &str,
        variables: &Value,
        pointer: &str,
        writes: bool,
    ) -> Result<T, ApiError> {
        let body = json!({ "query": query, "variables": variables });
        let mut answer = self.send_graphql(what, &body, writes).await?;
        if let Some(error) = answer["errors"].get(0) {
            // Data may be partly there, which is worse than none.
            return Err(refused(what, error));
        }
        let found = answer["data"].pointer_mut(pointer).map(Value::take).unwrap_or_default();
        serde_json::from_value(found).map_err(|error| ApiError::garbage(GITHUB, what, &error))
    }
}

/// Returns whether REST may still answer where GraphQL did not: its limit is one of its own.
pub(crate) fn may_ask_rest(error: &ApiError) -> bool {
    !matches!(
        error.kind,
        ApiErrorKind::Unauthorized | ApiErrorKind::NotFound | ApiErrorKind::Unreachable | ApiErrorKind::TimedOut
    )
}

/// The limit in an answer, which comes with status 200: it is waited for like any other. One that lasts too long for that is an error of
/// the query, and REST answers.
pub(crate) fn hidden_limit(what: &str, headers: &HeaderMap, body: &str) -> Option<ApiError> {
    // Most answers are long, and say nothing of the kind.
    if !body.contains("RATE_LIMIT") {
        return None;
    }
    let answer: Value = serde_json::from_str(body).ok()?;
    let mut errors = answer["errors"].as_array()?.iter().map(|error| refused(what, error));
    let limit = errors.find(|error| error.kind == ApiErrorKind::RateLimited)?;
    wait(&limit, headers)
        .is_none_or(|wait| wait <= MAX_WAIT)
        .then_some(limit)
}

/// The code for a field or a mutation that an older Enterprise Server lacks.
const UNKNOWN_FIELD: &str = "undefinedField";

/// An error that came with status 200.
fn refused(what: &str, error: &Value) -> ApiError {
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

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_limit_in_an_answer_is_one_unless_rest_answers_sooner() {
        let limited = r#"{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#;
        let told = r#"{"data":{"body":"errors: [{type: RATE_LIMITED}]"}}"#;
        let forbidden = r#"{"data":null,"errors":[{"type":"FORBIDDEN","message":"RATE_LIMIT may not be read"}]}"#;
        for (body, wait, is_limit) in [
            (limited, None, true),
            (limited, Some("30"), true),
            (limited, Some("3000"), false),
            (told, None, false),
            (forbidden, None, false),
            ("RATE_LIMITED", None, false),
        ] {
            let wait = wait.map(|wait| (reqwest::header::RETRY_AFTER, HeaderValue::from_static(wait)));
            let found = hidden_limit("x", &wait.into_iter().collect(), body);
            assert_eq!(found.is_some(), is_limit, "{body}");
            assert!(found.is_none_or(|limit| limit.kind == ApiErrorKind::RateLimited));
        }
    }
}
