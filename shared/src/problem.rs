//! Problem documents (RFC 9457), the one error shape of both Workers.

use serde::{Deserialize, Serialize};

/// The media type of a problem document.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The kind of problem of an administrator's request with a token that only reads.
pub const READERS_TOKEN: &str = "readers-token";

/// The kind of problem of a request about a revision that there is not.
pub const NO_SUCH_REVISION: &str = "no-such-revision";

/// An error answer. `detail` is written for the caller; it never carries a secret, a token or internals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What kind of problem, as a relative reference such as `/problems/unauthorized`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words; the same for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// This occurrence, and what to do about it.
    pub detail: String,
    /// Single faults inside the request, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ProblemItem>,
}

/// One fault inside a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemItem {
    /// A JSON pointer to the faulty value.
    pub pointer: String,
    /// What is wrong with it.
    pub detail: String,
}

impl Problem {
    /// Makes a problem whose kind is `/problems/<slug>`.
    pub fn new(status: u16, slug: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("/problems/{slug}"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            errors: Vec::new(),
        }
    }
}
