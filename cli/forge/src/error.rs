//! Failures of a forge's API, in words that say what to do.

use conclave_resilience::classify::ProviderFault;
use conclave_shared::error_chain::with_sources;
use serde_json::Value;

/// Maximum characters of foreign text in an error.
const MAX_WORDS: usize = 300;

/// A forge failed, or refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct ApiError {
    /// The kind of failure: all that is acted upon.
    pub kind: ApiErrorKind,
    /// The forge's own words, or the cause.
    pub words: String,
    text: String,
}

/// Kinds of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// The settings are wrong, and nothing was asked.
    Settings,
    /// The token cannot be sent.
    UnusableToken,
    /// The token is not accepted.
    Unauthorized,
    /// The token's scope is too small.
    Scope,
    /// The token's user lacks a right.
    Forbidden,
    /// It does not exist, or the token cannot see it.
    NotFound,
    /// It is elsewhere. Nothing is sent there: the token is for this address only.
    Moved,
    /// No answer, or not the whole of one.
    Unreachable,
    /// The request took too long.
    TimedOut,
    /// An answer that cannot be read.
    Garbage,
    /// Requests came too fast; nothing was done.
    RateLimited,
    /// Another request held the merge request at the same time; nothing was done.
    Locked,
    /// The merge request is in another state than the request expects.
    Conflict,
    /// A note was refused for its text or its place; nothing was done.
    Refused,
    /// The merge request holds as many notes as it can.
    Full,
    /// The server failed, with this status.
    Failed(u16),
    /// The merge request is `closed`, `merged` or `locked`: there is nothing to review any more.
    NotOpen(String),
    /// The diff is not computed yet.
    NotPrepared,
    /// Any other refusal.
    Other,
}

impl ApiErrorKind {
    /// The kind of a refusal with this status, where nothing else tells more.
    pub const fn of_status(status: u16) -> Self {
        match status {
            400 | 413 | 422 => Self::Refused,
            409 => Self::Conflict,
            429 => Self::RateLimited,
            500.. => Self::Failed(status),
            _ => Self::Other,
        }
    }
}

impl ApiError {
    /// An error with the text that a user reads.
    pub fn new(kind: ApiErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            words: String::new(),
            text: text.into(),
        }
    }

    /// The same with the forge's own words, which the text has shortened: see [`ApiError::shorten`].
    #[must_use]
    pub fn with_words(mut self, words: impl Into<String>) -> Self {
        self.words = words.into();
        self
    }

    /// The same with one more clause.
    pub(crate) fn adding(mut self, clause: &str) -> Self {
        self.text = format!("{}; {clause}", self.text);
        self
    }

    /// The forge's words in the body of an error: `read` finds them in JSON; anything else is a proxy's page, or a text.
    pub fn words_in(body: &str, read: impl FnOnce(&Value) -> String) -> String {
        let text = match serde_json::from_str(body) {
            Ok(value) => read(&value),
            Err(_) if body.trim_start().starts_with('<') => "an HTML page".to_owned(),
            Err(_) => body.trim().to_owned(),
        };
        Self::shorten(&text)
    }

    /// Foreign text at a length for an error.
    pub fn shorten(text: &str) -> String {
        text.chars().take(MAX_WORDS).collect()
    }

    /// Any status that has no better text.
    pub fn status(kind: ApiErrorKind, forge: &str, what: &str, status: u16, words: String) -> Self {
        Self::new(kind, format!("{forge} answered {status} when asked to {what}: {words}")).with_words(words)
    }

    /// A request without an answer.
    pub fn unreachable(forge: &str, host: &str, what: &str, error: reqwest::Error) -> Self {
        let kind = if error.is_timeout() {
            ApiErrorKind::TimedOut
        } else {
            ApiErrorKind::Unreachable
        };
        let cause = Self::shorten(&with_sources(&error.without_url()));
        let text = format!("the connection to {forge} at {host} failed ({what}): {cause}");
        Self::new(kind, text).with_words(cause)
    }

    /// An answer that cannot be read.
    pub fn garbage(forge: &str, what: &str, error: &serde_json::Error) -> Self {
        let text = format!(
            "{forge}'s answer to {what} cannot be read: {error}. Is there a proxy or a log-in page in between?"
        );
        Self::new(ApiErrorKind::Garbage, text)
    }

    /// The answer to a request; none where the forge does not find it, or the token cannot see it.
    pub fn found<T>(answer: Result<T, Self>) -> Result<Option<T>, Self> {
        match answer {
            Err(error) if error.kind == ApiErrorKind::NotFound => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Returns whether the request may have been carried out although it failed.
    pub const fn may_have_happened(&self) -> bool {
        matches!(
            self.kind,
            ApiErrorKind::Unreachable | ApiErrorKind::TimedOut | ApiErrorKind::Garbage | ApiErrorKind::Failed(_)
        )
    }

    /// The fault, if another attempt may get over it. After a rate limit or a lock it is certain that nothing was done.
    pub(crate) const fn fault(&self) -> Option<ProviderFault> {
        match self.kind {
            ApiErrorKind::RateLimited => Some(ProviderFault::RateLimited),
            ApiErrorKind::Locked => Some(ProviderFault::Overloaded),
            ApiErrorKind::Failed(500 | 502..=504) => Some(ProviderFault::ServerError),
            ApiErrorKind::Unreachable => Some(ProviderFault::Network),
            ApiErrorKind::TimedOut => Some(ProviderFault::Timeout),
            _ => None,
        }
    }
}
