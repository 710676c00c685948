//! The typed diff.

use serde::Serialize;

use super::{DiffRow, Encoding, LineMap};

/// All changed files, in git's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// One entry a file.
    pub files: Vec<FileDiff>,
}

conclave_shared::named_enum! {
    /// What happened to a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub enum ChangeKind {
        /// The file is new.
        Added = "added",
        /// The file is gone.
        Deleted = "deleted",
        /// The content, the mode or the type changed.
        #[default]
        Modified = "modified",
        /// The file has a new path, perhaps also new content.
        Renamed = "renamed",
        /// The file is a copy of another one.
        Copied = "copied",
    }
}

/// What kind of content changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text with hunks.
    #[default]
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

/// Why a file's change could not be taken in. Such a file is never counted as reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// The path is none that a checkout could have, or occurs twice.
    Path,
    /// The patch, one of its lines, or the number of its lines is beyond the limits.
    TooLarge,
    /// The hunks do not parse.
    Patch,
}

/// Where the spool holds a file's patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatchRange {
    /// The first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff {
    /// What happened.
    pub kind: ChangeKind,
    /// What kind of content changed.
    pub content: Content,
    /// The path at base; for a new file the same as `path`. Bytes that are no UTF-8 are written as `\351`.
    pub old_path: String,
    /// The path at head; for a deleted file the path at base.
    pub path: String,
    /// File modes at base and head, as git writes them (`100644`; `000000` where there is no file).
    pub modes: (String, String),
    /// The names of the objects at base and head; only zeros where there is no file.
    pub objects: (String, String),
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    /// The file's part of the diff, headers included, as git wrote it or as it was made of texts. Empty if `unread` is set.
    pub patch: PatchRange,
    /// Which lines the hunks hold.
    pub lines: LineMap,
    /// Which lines git's own hunks hold, as a forge shows them, where the patch shows the whole file as added.
    pub forge_lines: Option<LineMap>,
    /// Why the patch was not taken in, if it was not.
    pub unread: Option<Unread>,
    /// The encodings that the patch's text was decoded from, at base and at head; of UTF-8 there is none. Git and the forge
    /// show a file with one as binary.
    pub decoded: (Option<Encoding>, Option<Encoding>),
    /// True if the file at head could be a Git LFS pointer.
    pub maybe_pointer: bool,
}

impl FileDiff {
    /// Added plus removed lines.
    pub const fn changed_lines(&self) -> u64 {
        self.added + self.removed
    }

    /// Returns whether a reviewer has anything to read in the patch.
    pub fn has_content(&self) -> bool {
        self.content != Content::None
    }

    /// The row of the diff that a finding's line is: a line at head, or at base for a deleted file. Nothing where the
    /// forge's diff has no lines.
    pub fn row(&self, line: u32) -> Option<DiffRow> {
        if self.unread.is_some() || self.content != Content::Text || self.is_decoded() {
            return None;
        }
        if self.kind == ChangeKind::Deleted {
            // A side without lines is counted from 0.
            return self.lines.row_at_base(line).map(|row| DiffRow { new: 0, ..row });
        }
        let lines = match &self.forge_lines {
            // A forge shows no lines of a file that is only moved.
            Some(_) if self.objects.0 == self.objects.1 => return None,
            Some(lines) => lines,
            None => &self.lines,
        };
        let row = lines.row_at_head(line)?;
        let was_empty = self.kind == ChangeKind::Added || EMPTY_BLOBS.contains(&self.objects.0.as_str());
        Some(if was_empty { DiffRow { old: 0, ..row } } else { row })
    }

    /// Returns whether the patch shows decoded text, and not the bytes of the file.
    pub const fn is_decoded(&self) -> bool {
        self.decoded.0.is_some() || self.decoded.1.is_some()
    }

    /// Returns whether the file is a symbolic link at head.
    pub(super) fn is_link(&self) -> bool {
        self.modes.1 == SYMLINK
    }

    /// Returns whether the file can be executed at head.
    pub fn is_executable(&self) -> bool {
        self.modes.1 == EXECUTABLE
    }

    /// Returns whether this change makes a file executable.
    pub fn becomes_executable(&self) -> bool {
        self.is_executable() && self.modes.0 != EXECUTABLE
    }

    /// The file's object at base, if there is one that holds content.
    pub fn base_object(&self) -> Option<&str> {
        object(&self.objects.0, &self.modes.0)
    }

    /// The file's object at head, if there is one that holds content.
    pub fn head_object(&self) -> Option<&str> {
        object(&self.objects.1, &self.modes.1)
    }
}

/// A submodule's commit is in another repository, so nothing can be read there.
fn object<'a>(name: &'a str, mode: &str) -> Option<&'a str> {
    (mode != SUBMODULE && name.bytes().any(|digit| digit != b'0')).then_some(name)
}

/// The name of an object without content, in both of git's formats.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// The mode of a file that can be executed.
const EXECUTABLE: &str = "100755";
/// The mode of a submodule.
pub(super) const SUBMODULE: &str = "160000";
/// The mode of a symbolic link.
pub(super) const SYMLINK: &str = "120000";
