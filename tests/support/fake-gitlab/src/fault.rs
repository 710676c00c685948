//! Faults that a test injects.

use crate::reply::{Reply, ReplyBody};
use crate::spec::Template;
use serde_json::json;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// 429 with the text `Retry later`; nothing is stored.
    RateLimited {
        /// The `Retry-After` header, in seconds.
        retry_after: Option<u64>,
    },
    /// 429 of an application limit: a JSON body, `Retry-After: 60`.
    ApplicationLimit,
    /// 409 `Resource lock`; nothing is stored.
    ResourceLock,
    /// 500; nothing is stored.
    ServerError,
    /// 500, although the request took effect.
    ErrorAfterStore,
    /// 502 with a page of HTML, as a proxy sends it; nothing is stored.
    BadGateway,
    /// 503; nothing is stored.
    Unavailable,
    /// No answer until the client gives up or the server stops; nothing is stored.
    Hang,
    /// The request took effect, the connection ends in the middle of the body.
    TruncatedBody,
    /// 401 as for an expired token.
    InvalidToken,
    /// 403 as for a token whose scope is too small.
    InsufficientScope,
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
#[derive(Debug, Clone)]
pub struct Fault {
    method: Option<String>,
    pattern: String,
    kind: FaultKind,
    skip: u64,
    times: u64,
}

impl Fault {
    /// A fault that happens once, on the next request that matches. In the pattern, which is matched against the path
    /// below `/api/v4`, `*` and `{name}` stand for one segment and a last `**` for the rest.
    pub fn once(method: &str, pattern: &str, kind: FaultKind) -> Self {
        Self {
            method: Some(method.to_owned()),
            pattern: pattern.to_owned(),
            kind,
            skip: 0,
            times: 1,
        }
    }

    /// A fault on every request, whatever its method and path, as often as [`Fault::times`] says (once by default).
    pub fn any(kind: FaultKind) -> Self {
        Self {
            method: None,
            pattern: "**".to_owned(),
            kind,
            skip: 0,
            times: 1,
        }
    }

    /// How many matching requests go wrong.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// How many matching requests go well before the first one that does not.
    #[must_use]
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
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

    /// How many faults did not happen yet.
    pub(crate) fn remaining(&self) -> u64 {
        self.waiting.iter().map(|fault| fault.times).sum()
    }

    /// The fault of a request, if it has one.
    pub(crate) fn take(&mut self, method: &str, path: &str) -> Option<FaultKind> {
        let matches = |fault: &Fault| {
            fault.method.as_deref().is_none_or(|own| own == method)
                && Template::parse(&fault.pattern).matches(path).is_some()
        };
        let fault = self
            .waiting
            .iter_mut()
            .find(|fault| fault.times > 0 && matches(fault))?;
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        fault.times -= 1;
        let kind = fault.kind.clone();
        self.waiting.retain(|fault| fault.times > 0);
        Some(kind)
    }
}

impl FaultKind {
    /// The answer that replaces the handler's; nothing for the faults that let the handler run or that never answer.
    pub(crate) fn reply(&self) -> Option<Reply> {
        let reply = match self {
            Self::RateLimited { retry_after } => {
                let reply = Reply::raw(429, "text/plain", b"Retry later\n".to_vec());
                match retry_after {
                    Some(seconds) => reply.header("retry-after", &seconds.to_string()),
                    None => reply,
                }
            }
            Self::ApplicationLimit => {
                let message = "This endpoint has been requested too many times. Try again later.";
                Reply::json(429, json!({ "message": { "error": message } })).header("retry-after", "60")
            }
            Self::ResourceLock => Reply::json(409, json!({ "message": "409 Conflict: Resource lock" })),
            Self::ServerError => server_error(),
            Self::BadGateway => {
                let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n\
                            <center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n";
                Reply::raw(502, "text/html", page.as_bytes().to_vec())
            }
            Self::Unavailable => Reply::raw(503, "text/html", b"GitLab is not responding".to_vec()),
            Self::InvalidToken => {
                invalid_token("Token is expired. You can either do re-authorization or token refresh.")
            }
            Self::InsufficientScope => insufficient_scope(),
            Self::Answer {
                status,
                content_type,
                body,
            } => Reply::raw(*status, content_type, body.clone().into_bytes()),
            Self::ErrorAfterStore | Self::Hang | Self::TruncatedBody => return None,
        };
        Some(reply)
    }
}

/// The answer of a crash.
pub(crate) fn server_error() -> Reply {
    Reply::json(500, json!({ "message": "500 Internal Server Error" }))
}

/// The answer to a token that is no good.
pub(crate) fn invalid_token(description: &str) -> Reply {
    Reply::json(
        401,
        json!({ "error": "invalid_token", "error_description": description }),
    )
}

/// The answer to a token whose scope is too small.
pub(crate) fn insufficient_scope() -> Reply {
    Reply::json(
        403,
        json!({
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the access token.",
            "scope": "api",
        }),
    )
}

/// Half of a body, for a connection that ends too early.
pub(crate) fn truncated(reply: &Reply) -> Vec<u8> {
    let bytes = match &reply.body {
        ReplyBody::Json(value) => value.to_string().into_bytes(),
        ReplyBody::Raw { bytes, .. } => bytes.clone(),
        ReplyBody::List(_) | ReplyBody::Empty => Vec::new(),
    };
    bytes[..bytes.len() / 2].to_vec()
}
