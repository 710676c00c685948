//! The typed diff.

use serde::Serialize;

use super::LineMap;

/// All changed files, in git's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// One entry a file.
    pub files: Vec<FileDiff>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file is new.
    Added,
    /// The file is gone.
    Deleted,
    /// The content, the mode or the type changed.
    Modified,
    /// The file has a new path, perhaps also new content.
    Renamed,
    /// The file is a copy of another one.
    Copied,
}

impl ChangeKind {
    /// The word in the index that reviewers read.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
        }
    }
}

/// What kind of content changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text with hunks.
    Text,
    /// Binary: git shows no lines.
    Binary,
    /// A submodule's commit.
    Submodule,
    /// A symbolic link's target.
    Symlink,
    /// No content change: a pure rename, a mode change, or an empty file.
    None,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// What happened.
    pub kind: ChangeKind,
    /// What kind of content changed.
    pub content: Content,
    /// The path at base; for a new file the same as `path`.
    pub old_path: String,
    /// The path at head; for a deleted file the path at base.
    pub path: String,
    /// File modes at base and head, as git writes them (`100644`; `000000` where there is no file).
    pub modes: (String, String),
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    /// The file's part of the diff as git wrote it, headers included.
    pub patch: Vec<u8>,
    /// Which lines the hunks hold.
    pub lines: LineMap,
}

impl FileDiff {
    /// Added plus removed lines.
    pub const fn changed_lines(&self) -> u64 {
        self.added + self.removed
    }

    /// Whether a reviewer has anything to read in the patch.
    pub fn has_content(&self) -> bool {
        self.content != Content::None
    }
}
