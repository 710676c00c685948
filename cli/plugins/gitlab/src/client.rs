//! GitLab's REST API: authentication, pages, retries, and errors that say what to do.

use std::time::Duration;

use conclave_resilience::{
    classify::ProviderFault,
    retry::{RetryPolicy, retry_after},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Response, StatusCode, header::HeaderMap};
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::GitLabSettings;

/// Time for one request.
const REQUEST: Duration = Duration::from_secs(30);
/// The most pages of one list. A hundred rows each: far beyond GitLab's own limit of comments.
const MOST_PAGES: usize = 100;

/// GitLab failed, or refused.
#[derive(Debug, thiserror::Error)]
pub enum GitLabError {
    /// No answer.
    #[error("GitLab at {host} cannot be reached ({what}): {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What was asked.
        what: String,
        /// Why.
        cause: String,
    },
    /// The token is not accepted.
    #[error(
        "GitLab refused the token ({what}: 401 {message}). Set GITLAB_TOKEN to a project access token with the scope `api` \
         and the role Developer; it may have expired"
    )]
    Unauthorized {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// The token lacks a right.
    #[error(
        "the token may not {what} (403 {message}). It needs the scope `api`, and its user the role Developer in the \
         project"
    )]
    Forbidden {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// It does not exist, or the token cannot see it.
    #[error(
        "GitLab does not find it ({what}: 404 {message}). A private project that the token cannot see looks the same"
    )]
    NotFound {
        /// What was asked.
        what: String,
        /// GitLab's words.
        message: String,
    },
    /// Any other refusal.
    #[error("GitLab answered {status} when asked to {what}: {message}")]
    Status {
        /// What was asked.
        what: String,
        /// The status.
        status: u16,
        /// GitLab's words.
        message: String,
    },
    /// An answer that is none.
    #[error("GitLab's answer to {what} cannot be read: {cause}. Is there a proxy or a log-in page in between?")]
    Garbage {
        /// What was asked.
        what: String,
        /// Why.
        cause: String,
    },
}

impl GitLabError {
    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Unauthorized { .. } => Some(401),
            Self::Forbidden { .. } => Some(403),
            Self::NotFound { .. } => Some(404),
            Self::Status { status, .. } => Some(*status),
            Self::Unreachable { .. } | Self::Garbage { .. } => None,
        }
    }

    /// Whether the request may have been carried out although it failed.
    pub(crate) fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Garbage { .. })
            || self.status().is_some_and(|status| status >= 500)
    }
}

/// A client of one merge request.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    settings: GitLabSettings,
    retry: RetryPolicy,
}

struct Answer {
    headers: HeaderMap,
    body: String,
}

impl Client {
    pub(crate) fn new(settings: GitLabSettings) -> Result<Self, GitLabError> {
        let http = reqwest::Client::builder()
            .timeout(REQUEST)
            .build()
            .map_err(|error| GitLabError::Unreachable {
                host: settings.api_url.host_str().unwrap_or_default().to_owned(),
                what: "prepare the client".into(),
                cause: error.to_string(),
            })?;
        let retry = RetryPolicy {
            longest_asked: Duration::from_secs(30),
            ..RetryPolicy::default()
        };
        Ok(Self { http, settings, retry })
    }

    pub(crate) fn settings(&self) -> &GitLabSettings {
        &self.settings
    }

    /// The path of this merge request, or of something below it.
    pub(crate) fn merge_request_path(&self, below: &str) -> String {
        format!("{}/merge_requests/{}{below}", self.project_path(), self.settings.iid)
    }

    fn project_path(&self) -> String {
        format!(
            "projects/{}",
            utf8_percent_encode(&self.settings.project, NON_ALPHANUMERIC)
        )
    }

    /// Reads one object.
    pub(crate) async fn get<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<T, GitLabError> {
        let answer = self.send(what, &Method::GET, path, None, true).await?;
        read(what, &answer.body)
    }

    /// Reads all pages of a list, following the links that GitLab gives: a short page is no last page.
    pub(crate) async fn list<T: DeserializeOwned>(&self, what: &str, path: &str) -> Result<Vec<T>, GitLabError> {
        let mut rows = Vec::new();
        let mut page = "1".to_owned();
        for _ in 0..MOST_PAGES {
            let separator = if path.contains('?') { '&' } else { '?' };
            let paged = format!("{path}{separator}per_page=100&page={page}");
            let answer = self.send(what, &Method::GET, &paged, None, true).await?;
            rows.extend(read::<Vec<T>>(what, &answer.body)?);
            match answer.headers.get("x-next-page").and_then(|value| value.to_str().ok()) {
                Some(next) if !next.trim().is_empty() => page = next.trim().to_owned(),
                _ => return Ok(rows),
            }
        }
        Ok(rows)
    }

    /// Writes what may be written twice with the same result.
    pub(crate) async fn put(&self, what: &str, path: &str, body: &Value) -> Result<Value, GitLabError> {
        let answer = self.send(what, &Method::PUT, path, Some(body), true).await?;
        read(what, &answer.body)
    }

    /// Writes what must not be written twice: repeated only when GitLab says that it did nothing.
    pub(crate) async fn post(&self, what: &str, path: &str, body: &Value) -> Result<Value, GitLabError> {
        let answer = self.send(what, &Method::POST, path, Some(body), false).await?;
        if answer.body.trim().is_empty() {
            Ok(Value::Null)
        } else {
            read(what, &answer.body)
        }
    }

    async fn send(
        &self,
        what: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        repeatable: bool,
    ) -> Result<Answer, GitLabError> {
        let mut failed = 0;
        loop {
            let (error, asked) = match self.once(what, method, path, body).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            failed += 1;
            let did_nothing = matches!(error.status(), Some(429)) || is_lock(&error);
            let transient = did_nothing
                || (repeatable
                    && (matches!(error.status(), Some(502..=504)) || matches!(error, GitLabError::Unreachable { .. })));
            let wait = self.retry.next_wait(failed, ProviderFault::RateLimited, asked, 0.5);
            match wait.filter(|_| transient) {
                Some(wait) => {
                    tracing::warn!(%error, ?wait, "asking GitLab again");
                    tokio::time::sleep(wait).await;
                }
                None => return Err(error),
            }
        }
    }

    async fn once(
        &self,
        what: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, (GitLabError, Option<Duration>)> {
        let unreachable = |error: reqwest::Error| {
            let mut cause = error.without_url().to_string();
            if cause.len() > 300 {
                cause.truncate(300);
            }
            let host = self.settings.api_url.host_str().unwrap_or_default().to_owned();
            (
                GitLabError::Unreachable {
                    host,
                    what: what.to_owned(),
                    cause,
                },
                None,
            )
        };
        let url = format!("{}/{path}", self.settings.api_url.as_str().trim_end_matches('/'));
        let mut request = self
            .http
            .request(method.clone(), url)
            .header("PRIVATE-TOKEN", self.settings.token.expose_secret());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response: Response = request.send().await.map_err(unreachable)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.text().await.map_err(unreachable)?;
        if status.is_success() {
            return Ok(Answer { headers, body });
        }
        let asked = retry_after(headers.get("retry-after").and_then(|value| value.to_str().ok()), None);
        Err((refusal(what, status, &body), asked))
    }
}

fn is_lock(error: &GitLabError) -> bool {
    matches!(error, GitLabError::Status { status: 409, message, .. } if message.contains("Resource lock"))
}

fn read<T: DeserializeOwned>(what: &str, body: &str) -> Result<T, GitLabError> {
    serde_json::from_str(body).map_err(|error| GitLabError::Garbage {
        what: what.to_owned(),
        cause: error.to_string(),
    })
}

fn refusal(what: &str, status: StatusCode, body: &str) -> GitLabError {
    let (what, message) = (what.to_owned(), message(body));
    match status.as_u16() {
        401 => GitLabError::Unauthorized { what, message },
        403 => GitLabError::Forbidden { what, message },
        404 => GitLabError::NotFound { what, message },
        status => GitLabError::Status { what, status, message },
    }
}

/// GitLab's words, in whichever of its shapes they come: a text, an object of lists, `error`, HTML, or nothing.
fn message(body: &str) -> String {
    let text = match serde_json::from_str::<Value>(body) {
        Ok(value) => {
            let said = ["message", "error_description", "error"]
                .iter()
                .find_map(|key| value.get(*key));
            match said {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => value.to_string(),
            }
        }
        Err(_) if body.trim_start().starts_with('<') => "an HTML page".to_owned(),
        Err(_) => body.trim().to_owned(),
    };
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gitlabs_words_are_found_in_every_shape() {
        for (body, expected) in [
            (r#"{"message":"404 Not found"}"#, "404 Not found"),
            (r#"{"error":"body is missing"}"#, "body is missing"),
            (r#"{"message":{"note":["is too long"]}}"#, r#"{"note":["is too long"]}"#),
            (r#"{"error":"insufficient_scope","error_description":"more"}"#, "more"),
            ("Retry later", "Retry later"),
            ("<html>502</html>", "an HTML page"),
            ("", ""),
        ] {
            assert_eq!(message(body), expected, "{body}");
        }
    }
}
