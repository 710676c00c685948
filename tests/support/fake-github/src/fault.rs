//! Faults that a test injects.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::reply::{Refusal, Reply};
use crate::template::Template;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The primary limit: 403 with `x-ratelimit-remaining: 0`; nothing is stored.
    RateLimit {
        /// Seconds until `x-ratelimit-reset`.
        reset: u64,
    },
    /// The secondary limit: 403 that names it; nothing is stored.
    SecondaryLimit {
        /// The `retry-after` header, in seconds.
        retry_after: Option<u64>,
    },
    /// The secondary limit as 429; nothing is stored.
    TooManyRequests {
        /// The `retry-after` header, in seconds.
        retry_after: Option<u64>,
    },
    /// The secondary limit in disguise: 422 with `code: abuse`; nothing is stored.
    Abuse,
    /// 500; nothing is stored.
    ServerError,
    /// 502, although the request took effect.
    ErrorAfterStore,
    /// 502 with a page of HTML, as a proxy sends it; nothing is stored.
    BadGateway,
    /// No answer until the client gives up or the server stops; nothing is stored.
    Hang,
    /// The connection ends without an answer; nothing is stored.
    CutBeforeStore,
    /// The request took effect, and the connection ends without an answer.
    CutAfterStore,
    /// The request took effect, and the connection ends in the middle of the body.
    TruncatedBody,
    /// The request takes this many milliseconds longer.
    Slow(u64),
    /// 401 as for a token that has expired.
    BadCredentials,
    /// 403 as for a token without the permission.
    NotAccessible,
    /// 200 with an error of GraphQL and no data; nothing is stored.
    GraphqlError {
        /// The `type`, as in `RATE_LIMITED`.
        kind: String,
        /// The text.
        message: String,
    },
    /// The primary limit of GraphQL: 200 with `RATE_LIMITED`, and `x-ratelimit-remaining: 0`; nothing is stored.
    GraphqlLimit {
        /// Seconds until `x-ratelimit-reset`.
        reset: u64,
    },
    /// 302 to another place; nothing is stored.
    Redirect {
        /// The `location` header.
        location: String,
    },
    /// Any other answer; nothing is stored.
    Answer {
        /// The status code.
        status: u16,
        /// The content type.
        content_type: String,
        /// The body.
        body: String,
    },
}

/// A fault for requests of one method and path pattern.
#[derive(Debug, Clone, Deserialize)]
pub struct Fault {
    method: String,
    pattern: String,
    #[serde(default)]
    containing: String,
    kind: FaultKind,
    #[serde(default)]
    after: u64,
    #[serde(default = "one")]
    times: u64,
}

fn one() -> u64 {
    1
}

impl Fault {
    /// A fault that happens once, on the next request that matches. In the pattern, which is matched against the path
    /// below the API's address, `*` and `{name}` stand for one segment and a last `**` for the rest. `*` is any method.
    pub fn once(method: &str, pattern: &str, kind: FaultKind) -> Self {
        Self {
            method: method.to_owned(),
            pattern: pattern.to_owned(),
            containing: String::new(),
            kind,
            after: 0,
            times: 1,
        }
    }

    /// Only requests whose body has this text, such as the name of a mutation.
    #[must_use]
    pub fn containing(mut self, text: &str) -> Self {
        text.clone_into(&mut self.containing);
        self
    }

    /// The number of matching requests that go wrong.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// The number of matching requests that go well before the first one that does not.
    #[must_use]
    pub fn after(mut self, count: u64) -> Self {
        self.after = count;
        self
    }
}

/// The faults that are still to happen.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    waiting: Vec<Fault>,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.waiting.push(fault);
    }

    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// The number of faults that did not happen yet.
    pub(crate) fn remaining(&self) -> u64 {
        self.waiting.iter().map(|fault| fault.times).sum()
    }

    /// Takes the fault of a request, if it has one.
    pub(crate) fn take(&mut self, method: &str, path: &str, body: &[u8]) -> Option<FaultKind> {
        let body = String::from_utf8_lossy(body);
        let matches = |fault: &&mut Fault| {
            (fault.method == "*" || fault.method == method)
                && body.contains(&fault.containing)
                && Template::parse(&fault.pattern).matches(path).is_some()
        };
        let fault = self.waiting.iter_mut().find(matches)?;
        if fault.after > 0 {
            fault.after -= 1;
            return None;
        }
        fault.times -= 1;
        let kind = fault.kind.clone();
        self.waiting.retain(|fault| fault.times > 0);
        Some(kind)
    }
}

impl FaultKind {
    /// The answer that replaces the handler's; nothing for faults that let the handler run or that never answer.
    pub(crate) fn reply(&self) -> Option<Reply> {
        let reply = match self {
            Self::RateLimit { reset } => rate_limit(*reset),
            Self::SecondaryLimit { retry_after } => secondary_limit(403, *retry_after),
            Self::TooManyRequests { retry_after } => secondary_limit(429, *retry_after),
            Self::Abuse => Refusal::invalid("IssueComment", "data", "abuse", Some("was submitted too quickly")).reply(),
            Self::ServerError => Refusal::new(500, "Server Error").reply(),
            Self::BadGateway => Reply::raw(502, "text/html", b"<html><body>502 Bad Gateway</body></html>".to_vec()),
            Self::BadCredentials => Refusal::bad_credentials().reply(),
            Self::NotAccessible => Refusal::forbidden("Resource not accessible by integration").reply(),
            Self::GraphqlError { kind, message } => Reply::json(
                200,
                json!({ "data": null, "errors": [{ "type": kind, "message": message }] }),
            ),
            Self::GraphqlLimit { reset } => {
                let error =
                    json!({ "type": "RATE_LIMITED", "message": "API rate limit exceeded for installation ID 1." });
                used_up(Reply::json(200, json!({ "data": null, "errors": [error] })), *reset)
            }
            Self::Redirect { location } => Reply::empty(302).header("location", location),
            Self::Answer {
                status,
                content_type,
                body,
            } => Reply::raw(*status, content_type, body.clone().into_bytes()),
            Self::ErrorAfterStore
            | Self::Hang
            | Self::CutBeforeStore
            | Self::CutAfterStore
            | Self::TruncatedBody
            | Self::Slow(_) => return None,
        };
        Some(reply)
    }

    /// The time that the request takes longer.
    pub(crate) fn delay(&self) -> Duration {
        if let Self::Slow(milliseconds) = self {
            Duration::from_millis(*milliseconds)
        } else {
            Duration::ZERO
        }
    }
}

/// The answer of an exhausted primary limit.
pub(crate) fn rate_limit(reset: u64) -> Reply {
    used_up(
        Refusal::forbidden("API rate limit exceeded for installation ID 1.").reply(),
        reset,
    )
}

/// The headers of a limit that is used up.
fn used_up(reply: Reply, reset: u64) -> Reply {
    let at = chrono::Utc::now().timestamp().unsigned_abs() + reset;
    reply
        .header("x-ratelimit-remaining", "0")
        .header("x-ratelimit-reset", &at.to_string())
}

/// The answer of the secondary limit.
pub(crate) fn secondary_limit(status: u16, retry_after: Option<u64>) -> Reply {
    let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    let reply = Refusal::new(status, message).reply();
    match retry_after {
        Some(seconds) => reply.header("retry-after", &seconds.to_string()),
        None => reply,
    }
}
