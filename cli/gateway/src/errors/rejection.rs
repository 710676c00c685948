//! Final errors: `OpenCode` must not ask again.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};

use crate::wire::Wire;

/// The cause of a final refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The caller does not have the run's key.
    WrongRunKey,
    /// There is no such provider, or it does not speak this format.
    UnknownRoute,
    /// The session was never assigned.
    UnknownSession,
    /// The body is not a request of the format.
    Malformed,
    /// The session asked the same thing over and over.
    RequestLoop,
    /// The run's budget is spent.
    BudgetSpent,
    /// An operator has switched the provider off.
    SwitchedOff,
    /// Neither the model nor a fallback model answers.
    NoHealthyModel,
    /// The provider refused the credentials.
    CredentialsRejected,
    /// The prompt does not fit into the model's context window.
    PromptTooLong,
    /// The provider refused the request itself.
    RequestRejected,
    /// The run is a replay, and this call was not recorded.
    NotRecorded,
    /// The gateway is shutting down.
    ShuttingDown,
}

impl Rejection {
    /// The text that `OpenCode` hands on verbatim, to be searched for in the session's error.
    ///
    /// No digits and none of the words (`rate limit`, `overloaded`, `terminated`, `try again later`, …) that make
    /// `OpenCode` ask again. `prompt is too long` is the one that it turns into a `ContextOverflowError`, as wanted.
    pub const fn marker(self) -> &'static str {
        match self {
            Self::WrongRunKey => "conclave: wrong run key",
            Self::UnknownRoute => "conclave: unknown provider or route",
            Self::UnknownSession => "conclave: unknown session",
            Self::Malformed => "conclave: malformed request",
            Self::RequestLoop => "conclave: request loop",
            Self::BudgetSpent => "conclave: run budget spent",
            Self::SwitchedOff => "conclave: provider switched off",
            Self::NoHealthyModel => "conclave: no healthy model",
            Self::CredentialsRejected => "conclave: provider rejected credentials",
            Self::PromptTooLong => "conclave: prompt is too long",
            Self::RequestRejected => "conclave: provider rejected the request",
            Self::NotRecorded => "conclave: not in the recording",
            Self::ShuttingDown => "conclave: run is over",
        }
    }

    /// The status: one of those that are final in every format.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::WrongRunKey | Self::CredentialsRejected => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The whole answer.
    pub(crate) fn response(self, wire: Wire) -> Response<Body> {
        let mut response = Response::new(Body::from(wire.error_body(self.marker())));
        *response.status_mut() = self.status();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that make `OpenCode` ask again, as far as they were found in it.
    const RETRIED: [&str; 14] = [
        "rate limit",
        "rate_limit",
        "too many requests",
        "overloaded",
        "server error",
        "server_error",
        "terminated",
        "upstream connect",
        "timeout",
        "timed out",
        "try again later",
        "fetch failed",
        "econn",
        "unavailable",
    ];

    const ALL: [Rejection; 13] = [
        Rejection::WrongRunKey,
        Rejection::UnknownRoute,
        Rejection::UnknownSession,
        Rejection::Malformed,
        Rejection::RequestLoop,
        Rejection::BudgetSpent,
        Rejection::SwitchedOff,
        Rejection::NoHealthyModel,
        Rejection::CredentialsRejected,
        Rejection::PromptTooLong,
        Rejection::RequestRejected,
        Rejection::NotRecorded,
        Rejection::ShuttingDown,
    ];

    #[test]
    fn finals_are_not_asked_again() {
        for rejection in ALL {
            for wire in Wire::ALL {
                for text in [
                    wire.error_body(rejection.marker()),
                    wire.error_frame(rejection.marker()),
                ] {
                    // No status has a digit alone.
                    let text = text.replace("\"sequence_number\":0", "");
                    assert!(!text.contains(|c: char| c.is_ascii_digit()), "{text}");
                    let lower = text.to_lowercase();
                    assert!(!RETRIED.iter().any(|word| lower.contains(word)), "{text}");
                }
            }
            let marker = rejection.marker();
            assert!(
                marker
                    .strip_prefix("conclave: ")
                    .is_some_and(|rest| rest.chars().all(|c| c.is_ascii_lowercase() || c == ' '))
            );
        }
    }
}
