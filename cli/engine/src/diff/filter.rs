//! Which files are reviewed, and why the others are not.

use conclave_shared::risk::SecurityPaths;
use globset::GlobSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ChangeKind, Content, Diff, FileDiff, Peek, Unread, noise,
    runs::{self, Sides},
};

/// Why a file is not reviewed by models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterReason {
    /// Written by a package manager.
    LockFile,
    /// Minified or bundled code, or a source map.
    Minified,
    /// A copy of third-party code.
    Vendored,
    /// No text.
    Binary,
    /// Written by a generator, at base already.
    Generated,
    /// The project's own rules leave it out.
    ExcludedByProject,
    /// Its patch is larger than any model can read.
    TooLarge,
    /// Its patch does not parse.
    UnreadablePatch,
    /// Its path leaves the repository, or cannot be shown.
    UnusablePath,
    /// Git shows it as binary, but at base or at head it is text.
    HiddenText,
    /// It is binary data, but may be code, a script, configuration or a template.
    BinaryCode,
    /// It stands for a content that Git LFS keeps elsewhere, and that content may be code.
    LfsPointer,
    /// A checkout makes something else of it than what is reviewed.
    CheckoutDiffers,
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
            Self::BinaryCode => "binary data that may be code",
            Self::LfsPointer => "a pointer to code that Git LFS keeps elsewhere",
            Self::CheckoutDiffers => "a checkout differs from what is reviewed, by .gitattributes",
            Self::ReviewedBefore => "unchanged since it was reviewed",
        }
    }

    /// Whether the file should have been reviewed, and could not be: no rule says that it is noise. Such a review is
    /// never an approval.
    pub const fn is_gap(self) -> bool {
        match self {
            Self::TooLarge
            | Self::UnreadablePatch
            | Self::UnusablePath
            | Self::HiddenText
            | Self::BinaryCode
            | Self::LfsPointer
            | Self::CheckoutDiffers => true,
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
    /// The files to review.
    pub files: Vec<FileDiff>,
    /// The other files, with the reasons.
    pub filtered: Vec<FilteredFile>,
    /// Of `filtered`, the noise that can run or steer something and that the project does not trust, and submodules,
    /// whose content is in another repository: no reviewer reads them.
    pub read_by_nobody: Vec<String>,
}

/// Rules of the project that decide besides names.
#[derive(Debug, Clone, Copy)]
pub struct FilterRules<'a> {
    /// Which paths are security-sensitive.
    pub security: &'a SecurityPaths,
    /// Paths that the project leaves out of its reviews.
    pub ignore: &'a GlobSet,
    /// Noise that the project trusts without a review.
    pub trusted: &'a GlobSet,
}

impl FilterRules<'_> {
    /// Whether those who merge have decided that this file needs no reader.
    fn trusts(&self, file: &FileDiff) -> bool {
        let is_named = |path: &str| self.trusted.is_match(path) || self.ignore.is_match(path);
        is_named(&file.path) && is_named(&file.old_path)
    }

    /// Whether the file is reviewed whatever it looks like.
    pub(super) fn is_protected(&self, file: &FileDiff) -> bool {
        [&file.path, &file.old_path]
            .iter()
            .any(|path| noise::is_migration(path) || self.security.reason(path).is_some())
    }
}

/// Whether [`filter`] will ask for this file's beginning at base, and perhaps at head.
pub fn depends_on_content(file: &FileDiff, rules: FilterRules<'_>) -> bool {
    match decide(file, rules) {
        Decision::ByContent => true,
        Decision::Leave(reason) => is_noise(reason) && !rules.trusts(file) && runs::by_name(file, reason).is_none(),
        Decision::Review => false,
    }
}

/// Whether a file is noise by its name alone.
pub fn is_left_out_by_name(file: &FileDiff, rules: FilterRules<'_>) -> bool {
    matches!(decide(file, rules), Decision::Leave(reason) if is_noise(reason))
}

/// Takes the noise out.
///
/// `beginnings` answers what [`peek`](super::peek) says of a file at base and at head; `None` where there is no file. It is
/// asked only about files whose name does not decide. Migrations and security-sensitive files are always reviewed, and a mark
/// of generated code counts only if the base has it too: the author of a merge request cannot hide a file by marking it.
pub fn filter(
    diff: Diff,
    rules: FilterRules<'_>,
    mut beginnings: impl FnMut(&FileDiff) -> (Option<Peek>, Option<Peek>),
) -> FilteredDiff {
    let mut result = FilteredDiff::default();
    for file in diff.files {
        let sides = if depends_on_content(&file, rules) {
            Sides::from(beginnings(&file))
        } else {
            Sides::default()
        };
        let reason = match decide(&file, rules) {
            Decision::Review => None,
            Decision::Leave(reason) => Some(reason),
            Decision::ByContent => by_content(&file, rules, sides),
        };
        let is_unread_code = match reason {
            Some(reason) => is_noise(reason) && runs::can_run(&file, reason, sides),
            // The patch shows only the commit's name, not its content.
            None => file.content == Content::Submodule && file.kind != ChangeKind::Deleted,
        };
        if is_unread_code && !rules.trusts(&file) {
            result.read_by_nobody.push(file.path.clone());
        }
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

/// Whether a file with this reason is left out as noise, with no other check in the place of a review.
const fn is_noise(reason: FilterReason) -> bool {
    matches!(
        reason,
        FilterReason::Minified
            | FilterReason::Vendored
            | FilterReason::Binary
            | FilterReason::Generated
            | FilterReason::ExcludedByProject
    )
}

enum Decision {
    Review,
    Leave(FilterReason),
    ByContent,
}

/// Decides by name and kind of change.
fn decide(file: &FileDiff, rules: FilterRules<'_>) -> Decision {
    if file.unread == Some(Unread::Path) {
        return Decision::Leave(FilterReason::UnusablePath);
    }
    let is_protected = rules.is_protected(file);
    if !is_protected && let Some(reason) = by_name(file, rules) {
        return Decision::Leave(reason);
    }
    // Nothing can be read in a binary file, whatever it is called. Whether it is one is not for the author to say. Of a
    // file that was only moved or made executable, the patch does not show the content.
    let by_content = match file.content {
        Content::Binary => true,
        Content::Text => {
            file.maybe_pointer || (!is_protected && (file.kind != ChangeKind::Added || rules.trusts(file)))
        }
        Content::None => runs::changes_kind(file, rules.security),
        Content::Submodule | Content::Symlink => false,
    };
    if by_content {
        return Decision::ByContent;
    }
    file.unread
        .map_or(Decision::Review, |unread| Decision::Leave(unread.into()))
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

fn by_content(file: &FileDiff, rules: FilterRules<'_>, sides: Sides) -> Option<FilterReason> {
    let is_protected = rules.is_protected(file);
    if file.content == Content::Binary {
        // Git calls a file binary if one side is, or if attributes say so. Where the other one is text, something that
        // could be read is not shown.
        if sides.is_text_anywhere() {
            return Some(FilterReason::HiddenText);
        }
        return Some(if runs::may_be_text(file, is_protected, sides) {
            FilterReason::BinaryCode
        } else {
            FilterReason::Binary
        });
    }
    if runs::is_pointer_to_code(file, is_protected, sides) {
        return Some(FilterReason::LfsPointer);
    }
    if file.content == Content::None {
        let binary = sides.is_binary_at_head() && runs::may_be_text(file, is_protected, sides);
        return binary.then_some(FilterReason::BinaryCode);
    }
    if !is_protected && sides.is_generated(file, rules.trusts(file)) {
        return Some(FilterReason::Generated);
    }
    file.unread.map(FilterReason::from)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
