//! The reviewed source.

use async_trait::async_trait;

/// The reviewed source.
#[async_trait]
pub trait SourceTree: Send + Sync {
    /// A file's text at head, or at base; `None` if there is none or it is no text.
    async fn text(&self, path: &str, at_base: bool) -> Option<String>;
}
