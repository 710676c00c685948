//! The reviewed source.

use async_trait::async_trait;

/// A file as the target branch has it by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtTarget {
    /// The tip of the target branch is not known, or has the file as the merge base has it.
    AsAtBase,
    /// There is no such text file, or it cannot be read.
    Missing,
    /// Its text.
    Text(String),
}

/// The reviewed source.
#[async_trait]
pub trait SourceTree: Send + Sync {
    /// A file's text at head, or at base; `None` if there is none or it is no text.
    async fn text(&self, path: &str, at_base: bool) -> Option<String>;

    /// A file at the tip of the target branch. Without one it is as at base.
    async fn at_target(&self, _path: &str) -> AtTarget {
        AtTarget::AsAtBase
    }
}
