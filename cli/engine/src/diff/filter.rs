//! Which files are reviewed, and why the others are not.

use conclave_shared::risk::SecurityPaths;
use serde::{Deserialize, Serialize};

use super::{ChangeKind, Content, Diff, FileDiff, is_marked_generated, noise};

/// Why a file is not reviewed by models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilterReason {
    /// Written by a package manager.
    LockFile,
    /// Minified or bundled code, or a source map.
    Minified,
    /// Somebody else's code.
    Vendored,
    /// No text.
    Binary,
    /// Marked as generated, at base already.
    Generated,
}

impl FilterReason {
    /// The reason as a person reads it in the plan and in the review.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::LockFile => "lock file",
            Self::Minified => "minified",
            Self::Vendored => "vendored",
            Self::Binary => "binary",
            Self::Generated => "generated",
        }
    }
}

/// A file that is not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilteredFile {
    /// Its path at head.
    pub path: String,
    /// Why.
    pub reason: FilterReason,
}

/// The diff without noise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilteredDiff {
    /// What is reviewed.
    pub files: Vec<FileDiff>,
    /// What is not, with the reasons.
    pub filtered: Vec<FilteredFile>,
}

/// Takes the noise out.
///
/// `contents` answers the content of a file at base and at head. It is asked only about files whose name decides
/// nothing. Migrations and security-sensitive files are always reviewed, and a mark of generated code counts only if
/// the base has it too: the author of a merge request cannot hide a file by marking it.
pub fn filter(
    diff: Diff,
    security: &SecurityPaths,
    mut contents: impl FnMut(&FileDiff) -> (Option<Vec<u8>>, Option<Vec<u8>>),
) -> FilteredDiff {
    let mut result = FilteredDiff::default();
    for file in diff.files {
        let reason = if is_protected(&file, security) {
            None
        } else {
            reason(&file, &mut contents)
        };
        match reason {
            Some(reason) => result.filtered.push(FilteredFile {
                path: file.path,
                reason,
            }),
            None => result.files.push(file),
        }
    }
    result
}

fn is_protected(file: &FileDiff, security: &SecurityPaths) -> bool {
    // Nothing can be read in a binary file, whatever it is called: it is listed as not reviewed.
    file.content != Content::Binary
        && [&file.path, &file.old_path]
            .iter()
            .any(|path| noise::is_migration(path) || security.reason(path).is_some())
}

fn reason(
    file: &FileDiff,
    contents: &mut impl FnMut(&FileDiff) -> (Option<Vec<u8>>, Option<Vec<u8>>),
) -> Option<FilterReason> {
    // A file that was moved into a vendored directory in this merge request was not vendored before.
    let both = |path_reason: fn(&str) -> Option<FilterReason>| {
        let reason = path_reason(&file.path)?;
        (file.old_path == file.path || path_reason(&file.old_path).is_some()).then_some(reason)
    };
    if let Some(reason) = both(noise::reason) {
        return Some(reason);
    }
    match file.content {
        Content::Binary => return Some(FilterReason::Binary),
        Content::Text => {}
        Content::Submodule | Content::Symlink | Content::None => return None,
    }
    if file.kind == ChangeKind::Added {
        return None;
    }
    let (base, head) = contents(file);
    let marked = |content: Option<Vec<u8>>| content.is_some_and(|content| is_marked_generated(&content));
    (marked(base) && (file.kind == ChangeKind::Deleted || marked(head))).then_some(FilterReason::Generated)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
