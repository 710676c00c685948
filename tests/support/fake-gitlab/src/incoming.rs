//! A request as the server has read it.

use crate::auth::Credentials;
use crate::spec::IncomingBody;

/// A request with its body read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// Still percent-encoded.
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) credentials: Credentials,
    pub(crate) body: IncomingBody,
}
