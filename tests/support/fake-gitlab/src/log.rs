//! What happened: every request, and everything that broke the contract.

use serde::Serialize;
use serde_json::Value;

/// One request as it arrived, with the status it was answered with.
#[derive(Debug, Clone, Serialize)]
pub struct RequestRecord {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path below `/api/v4`, still percent-encoded: `/projects/7/merge_requests/1/notes`.
    pub path: String,
    /// The decoded query parameters in their order.
    pub query: Vec<(String, String)>,
    /// The body: parsed when it is JSON, a string otherwise, `null` when empty.
    pub body: Value,
    /// The name of the user whose token came with the request.
    pub user: Option<String>,
    /// The answer's status; nothing while the request hangs.
    pub status: Option<u16>,
    /// The fault that was injected.
    pub fault: Option<String>,
}

impl RequestRecord {
    /// Returns whether the request tried to change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// Returns whether method and path match; in the pattern `*` and `{name}` stand for one segment, a last `**` for
    /// the rest.
    pub fn matches(&self, method: &str, pattern: &str) -> bool {
        self.method == method && crate::spec::Template::parse(pattern).matches(&self.path).is_some()
    }
}

/// Who broke the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A request that the contract does not allow.
    Request,
    /// An answer of the fake itself that the contract does not allow: a bug of the fake.
    Response,
    /// A request to a route that does not exist.
    UnknownRoute,
}

/// A break of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Who broke it.
    pub kind: ViolationKind,
    /// The request's method.
    pub method: String,
    /// The request's path below `/api/v4`, or the whole path of an unknown route.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) requests: Vec<RequestRecord>,
    pub(crate) violations: Vec<Violation>,
}

impl Log {
    pub(crate) fn violate(&mut self, kind: ViolationKind, method: &str, path: &str, reason: impl Into<String>) {
        let (method, path, reason) = (method.to_owned(), path.to_owned(), reason.into());
        self.violations.push(Violation {
            kind,
            method,
            path,
            reason,
        });
    }
}
