//! Which files are reviewed, and why the others are not.

use conclave_shared::risk::SecurityPaths;
use globset::GlobSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ChangeKind, Content, Diff, FileDiff, Unread, generated, noise};

/// Why a file is not reviewed by models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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
    /// The project's own rules leave it out.
    ExcludedByProject,
    /// Its patch is larger than any model can read.
    TooLarge,
    /// Its patch does not parse.
    UnreadablePatch,
    /// Its path leaves the repository, or is no path that can be shown.
    UnusablePath,
    /// Git shows it as binary, but at base or at head it is text.
    HiddenText,
    /// An earlier review looked at it, and it is unchanged since.
    ReviewedBefore,
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
            Self::ExcludedByProject => "excluded by the project",
            Self::TooLarge => "too large to be read",
            Self::UnreadablePatch => "its patch cannot be read",
            Self::UnusablePath => "its path cannot be used",
            Self::HiddenText => "shown as binary, but it is or was text",
            Self::ReviewedBefore => "unchanged since it was reviewed",
        }
    }

    /// Whether the file should have been reviewed, and could not be: no rule says that it is noise. Such a review is
    /// never an approval.
    pub const fn is_gap(self) -> bool {
        match self {
            Self::TooLarge | Self::UnreadablePatch | Self::UnusablePath | Self::HiddenText => true,
            Self::LockFile
            | Self::Minified
            | Self::Vendored
            | Self::Binary
            | Self::Generated
            | Self::ExcludedByProject
            | Self::ReviewedBefore => false,
        }
    }
}

impl From<Unread> for FilterReason {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Path => Self::UnusablePath,
            Unread::TooLarge => Self::TooLarge,
            Unread::Patch => Self::UnreadablePatch,
        }
    }
}

/// A file that is not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// What decides besides names.
#[derive(Debug, Clone, Copy)]
pub struct FilterRules<'a> {
    /// Which paths are security-sensitive.
    pub security: &'a SecurityPaths,
    /// What the project leaves out of its reviews.
    pub ignore: &'a GlobSet,
}

/// What the beginning of a file says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peek {
    /// A tool wrote it.
    pub generated: bool,
    /// It is text, and not empty.
    pub text: bool,
}

impl Peek {
    /// How much of a file's beginning has to be known; git, too, tells text from binary by as much.
    pub const BYTES: usize = 8000;
}

/// Looks at the first [`Peek::BYTES`] of a file.
pub fn peek(beginning: &[u8]) -> Peek {
    let beginning = &beginning[..beginning.len().min(Peek::BYTES)];
    Peek {
        generated: generated::is_marked_generated(beginning),
        text: !beginning.is_empty() && memchr::memchr(0, beginning).is_none(),
    }
}

/// Whether [`filter`] will ask for this file's beginning at base, and perhaps at head.
pub fn depends_on_content(file: &FileDiff, rules: FilterRules<'_>) -> bool {
    matches!(decide(file, rules), Decision::ByContent)
}

/// Takes the noise out.
///
/// `beginnings` answers what [`peek`] says of a file at base and at head; `None` where there is no file. It is asked only
/// about files whose name decides nothing. Migrations and security-sensitive files are always reviewed, and a mark of
/// generated code counts only if the base has it too: the author of a merge request cannot hide a file by marking it.
pub fn filter(
    diff: Diff,
    rules: FilterRules<'_>,
    mut beginnings: impl FnMut(&FileDiff) -> (Option<Peek>, Option<Peek>),
) -> FilteredDiff {
    let mut result = FilteredDiff::default();
    for file in diff.files {
        let reason = match decide(&file, rules) {
            Decision::Review => None,
            Decision::Leave(reason) => Some(reason),
            Decision::ByContent => by_content(&file, beginnings(&file)),
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

enum Decision {
    Review,
    Leave(FilterReason),
    ByContent,
}

/// What name and kind of change say.
fn decide(file: &FileDiff, rules: FilterRules<'_>) -> Decision {
    if file.unread == Some(Unread::Path) {
        return Decision::Leave(FilterReason::UnusablePath);
    }
    // Nothing can be read in a binary file, whatever it is called. Whether it is one is not for the author to say.
    if file.content == Content::Binary {
        return match by_name(file, rules).filter(|_| !is_protected(file, rules)) {
            Some(reason) => Decision::Leave(reason),
            None => Decision::ByContent,
        };
    }
    if is_protected(file, rules) {
        return file
            .unread
            .map_or(Decision::Review, |unread| Decision::Leave(unread.into()));
    }
    if let Some(reason) = by_name(file, rules) {
        return Decision::Leave(reason);
    }
    match file.content {
        Content::Text if file.kind != ChangeKind::Added => Decision::ByContent,
        _ => file
            .unread
            .map_or(Decision::Review, |unread| Decision::Leave(unread.into())),
    }
}

fn is_protected(file: &FileDiff, rules: FilterRules<'_>) -> bool {
    [&file.path, &file.old_path]
        .iter()
        .any(|path| noise::is_migration(path) || rules.security.reason(path).is_some())
}

/// A file that was moved into a vendored or excluded directory in this merge request was not left out before.
fn by_name(file: &FileDiff, rules: FilterRules<'_>) -> Option<FilterReason> {
    let of = |path: &str| {
        let excluded = || rules.ignore.is_match(path).then_some(FilterReason::ExcludedByProject);
        noise::reason(path).or_else(excluded)
    };
    let reason = of(&file.path)?;
    (file.old_path == file.path || of(&file.old_path).is_some()).then_some(reason)
}

fn by_content(file: &FileDiff, (base, head): (Option<Peek>, Option<Peek>)) -> Option<FilterReason> {
    if file.content == Content::Binary {
        // Git calls a file binary if one side is, or if attributes say so. Where the other one is text, something that
        // could be read is not shown.
        let text = [base, head].iter().flatten().any(|side| side.text);
        return Some(if text {
            FilterReason::HiddenText
        } else {
            FilterReason::Binary
        });
    }
    let marked = |side: Option<Peek>| side.is_some_and(|side| side.generated);
    if marked(base) && (file.kind == ChangeKind::Deleted || marked(head)) {
        return Some(FilterReason::Generated);
    }
    file.unread.map(FilterReason::from)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
