//! The log: every request, and everything that broke the contract.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::template::Template;

/// One request as it arrived, with the status it was answered with.
#[derive(Debug, Clone, Serialize)]
pub struct RequestRecord {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path below the API's address, still percent-encoded; `/repositories/{id}` is written as `/repos/{owner}/{repo}`.
    pub path: String,
    /// The decoded query parameters in their order.
    pub query: Vec<(String, String)>,
    /// The body: parsed when it is JSON, a string otherwise, `null` when empty.
    pub body: Value,
    /// The login of the account whose token came with the request.
    pub user: Option<String>,
    /// The answer's status; nothing while the request hangs or when the connection was cut.
    pub status: Option<u16>,
    /// The fault that was injected.
    pub fault: Option<String>,
    /// The time since the server's start.
    pub at: Duration,
}

impl RequestRecord {
    /// Whether the request tried to change something: a GraphQL query is a read.
    pub fn is_write(&self) -> bool {
        if matches!(self.method.as_str(), "GET" | "HEAD") || self.path.ends_with("/git-upload-pack") {
            return false;
        }
        let document = self.body["query"].as_str().unwrap_or("mutation");
        !self.path.ends_with("/graphql") || document.contains("mutation")
    }

    /// Whether method and path match; in the pattern `*` and `{name}` stand for one segment, a last `**` for the rest.
    pub fn matches(&self, method: &str, pattern: &str) -> bool {
        self.method == method && Template::parse(pattern).matches(&self.path).is_some()
    }
}

/// Who broke the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// A request that the contract does not allow.
    Request,
    /// An answer of the stand-in itself that the contract does not allow: a bug of the stand-in.
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
    /// The request's path.
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
        self.violations.push(Violation {
            kind,
            method: method.to_owned(),
            path: path.to_owned(),
            reason: reason.into(),
        });
    }
}
