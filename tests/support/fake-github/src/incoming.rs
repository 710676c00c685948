//! A request as it arrived.

use std::collections::BTreeMap;

/// A request with its body read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// Still percent-encoded.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The token of the `Authorization` header.
    pub(crate) fn token(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization").split_once(' ')?;
        (scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token")).then_some(token)
    }
}
