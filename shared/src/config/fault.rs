//! A fault of a document, and its place.

use serde::Serialize;

/// One fault of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigFault {
    /// A JSON pointer to the faulty value.
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// A key as a JSON pointer's token (RFC 6901).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
