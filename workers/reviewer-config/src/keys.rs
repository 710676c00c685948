//! The keys in KV, in one place: operators type them.

/// The whole document, as JSON.
pub(crate) const DOCUMENT: &str = "config/document";

/// The beginning of the keys of provider switches; the provider's name follows.
pub(crate) const PROVIDER_PREFIX: &str = "provider/";

/// The beginning of the keys of past revisions; the number follows. Written for people, never read.
pub(crate) const REVISION_PREFIX: &str = "config/revision/";

/// The most switches that are read. Also what one bulk read of KV can hold.
pub(crate) const MAX_SWITCHES: usize = 100;

/// The key of a provider's switch.
pub(crate) fn switch(provider: &str) -> String {
    format!("{PROVIDER_PREFIX}{provider}")
}
