//! Which files are reviewed, and why the others are not.

use conclave_shared::{
    path_kind::{PathKind, is_unknown_lock_file},
    risk::SecurityPaths,
};
use globset::GlobSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ChangeKind, Content, Diff, FileDiff, FilterReason, Peek, Unread,
    runs::{self, Sides},
};

/// A file that is not reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilteredFile {
    /// Its path at head.
    pub path: String,
    /// Its path at base, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Why.
    pub reason: FilterReason,
}

impl FilteredFile {
    /// A changed file that is left out for this reason.
    pub fn of(file: &FileDiff, reason: FilterReason) -> Self {
        Self {
            path: file.path.clone(),
            old_path: (file.old_path != file.path).then(|| file.old_path.clone()),
            reason,
        }
    }
}

/// The diff without noise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilteredDiff {
    /// The files to review.
    pub files: Vec<FileDiff>,
    /// The other files, with the reasons.
    pub filtered: Vec<FilteredFile>,
    /// Of `filtered`, the lock files, in which rules find something: where on their diff that is said.
    pub lock_files: Vec<FileDiff>,
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
    /// Returns whether those who merge have decided that this file needs no reader.
    fn trusts(&self, file: &FileDiff) -> bool {
        let is_named = |path: &str| self.trusted.is_match(path) || self.ignore.is_match(path);
        is_named(&file.path) && is_named(&file.old_path)
    }

    /// Returns whether the file is reviewed whatever it looks like.
    pub(super) fn is_protected(&self, file: &FileDiff) -> bool {
        self.protects(&file.path) || (file.old_path != file.path && self.protects(&file.old_path))
    }

    fn protects(&self, path: &str) -> bool {
        PathKind::of(path).is_migration || self.security.reason(path).is_some()
    }

    /// Returns why a file with this path is left out, if its path alone is a reason.
    fn noise_at(&self, path: &str) -> Option<FilterReason> {
        let excluded = || self.ignore.is_match(path).then_some(FilterReason::ExcludedByProject);
        PathKind::of(path).noise.map(FilterReason::from).or_else(excluded)
    }
}

/// The decision that a file's name and the kind of its change lead to.
#[derive(Debug, Clone, Copy)]
pub struct ByName {
    decision: Decision,
    is_protected: bool,
}

impl ByName {
    /// Decides about a file.
    pub fn of(file: &FileDiff, rules: FilterRules<'_>) -> Self {
        let is_protected = rules.is_protected(file);
        Self {
            decision: decide(file, is_protected, rules),
            is_protected,
        }
    }

    /// Returns whether [`filter`] will ask for the file's beginning at base, and perhaps at head.
    pub fn depends_on_content(self, file: &FileDiff, rules: FilterRules<'_>) -> bool {
        match self.decision {
            Decision::ByContent => true,
            Decision::Leave(reason) => {
                reason.is_noise() && !rules.trusts(file) && runs::by_name(file, reason).is_none()
            }
            Decision::Review => false,
        }
    }

    /// Returns whether the file is noise by its name alone.
    pub const fn is_left_out(self) -> bool {
        matches!(self.decision, Decision::Leave(reason) if reason.is_noise())
    }
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
        let by_name = ByName::of(&file, rules);
        let sides = if by_name.depends_on_content(&file, rules) {
            Sides::from(beginnings(&file))
        } else {
            Sides::default()
        };
        let reason = match by_name.decision {
            Decision::Review => None,
            Decision::Leave(reason) => Some(reason),
            Decision::ByContent => by_content(&file, by_name.is_protected, rules, sides),
        };
        let is_unread_code = match reason {
            // Rules check it as a list of dependencies, and not as a program.
            Some(FilterReason::LockFile) => file.is_executable(),
            Some(reason) => reason.is_noise() && runs::can_run(&file, reason, sides),
            // The patch shows only the commit's name, not its content.
            None => file.content == Content::Submodule && file.kind != ChangeKind::Deleted,
        };
        if is_unread_code && !rules.trusts(&file) {
            result.read_by_nobody.push(file.path.clone());
        }
        match reason {
            Some(reason) => {
                result.filtered.push(FilteredFile::of(&file, reason));
                if reason == FilterReason::LockFile {
                    result.lock_files.push(file);
                }
            }
            None => result.files.push(file),
        }
    }
    result
}

#[derive(Debug, Clone, Copy)]
enum Decision {
    Review,
    Leave(FilterReason),
    ByContent,
}

/// Decides by name and kind of change.
fn decide(file: &FileDiff, is_protected: bool, rules: FilterRules<'_>) -> Decision {
    if file.unread == Some(Unread::Path) {
        return Decision::Leave(FilterReason::UnusablePath);
    }
    if !is_protected && let Some(reason) = named_noise(file, rules) {
        return Decision::Leave(reason);
    }
    // Nothing can be read in a binary file, whatever it is called. Whether it is one is not for the author to say. Of a
    // file that was only moved or made executable, the patch does not show the content.
    let by_content = match file.content {
        Content::Binary => true,
        Content::Text => {
            // Under its old path a protected file may have been generated, and left out.
            let may_be_generated = !is_protected || file.old_path != file.path;
            file.maybe_pointer || (may_be_generated && (file.kind != ChangeKind::Added || rules.trusts(file)))
        }
        Content::None => runs::changes_kind(file, rules.security) || is_new_to_readers(file, rules, None),
        Content::Symlink => file.maybe_pointer && !file.is_link(),
        Content::Submodule => false,
    };
    if by_content {
        return Decision::ByContent;
    }
    file.unread
        .map_or(Decision::Review, |unread| Decision::Leave(unread.into()))
}

/// A file that was moved into a vendored or excluded directory in this merge request was not left out before.
fn named_noise(file: &FileDiff, rules: FilterRules<'_>) -> Option<FilterReason> {
    let reason = rules.noise_at(&file.path)?;
    (file.old_path == file.path || rules.noise_at(&file.old_path).is_some()).then_some(reason)
}

/// Returns whether no reviewer has read what a file that is reviewed now holds at base, or only as a text: it was left out by its
/// path or by a generator's header, or was not code by its name and becomes some. `base` is what is known of its content there.
pub fn is_new_to_readers(file: &FileDiff, rules: FilterRules<'_>, base: Option<Peek>) -> bool {
    let has_lines = matches!(file.content, Content::Text | Content::None) && file.unread.is_none();
    if !has_lines || matches!(file.kind, ChangeKind::Added | ChangeKind::Deleted) || rules.trusts(file) {
        return false;
    }
    let old = file.old_path.as_str();
    let was_generated = || base.is_some_and(|base| base.is_generated()) && !is_unknown_lock_file(old);
    let was_left_out = !rules.protects(old) && (rules.noise_at(old).is_some() || was_generated());
    let may_run = |path: &str| PathKind::of(path).may_run();
    was_left_out || (old != file.path && !may_run(old) && may_run(&file.path))
}

fn by_content(file: &FileDiff, is_protected: bool, rules: FilterRules<'_>, sides: Sides) -> Option<FilterReason> {
    let is_binary = file.content == Content::Binary;
    // Git calls a file binary if one side is, or if attributes say so. Where the other one is text, something that could be
    // read is not shown.
    if is_binary && sides.is_text_anywhere() {
        return Some(FilterReason::HiddenText);
    }
    // What stands behind a pointer is content that no line of the patch shows, as that of binary data.
    let is_pointer = sides.is_pointer(file);
    if is_binary || is_pointer {
        let may_be_code = runs::may_be_text(file, is_protected, sides);
        return Some(if is_pointer && (may_be_code || sides.was_text()) {
            FilterReason::LfsPointer
        } else if may_be_code {
            FilterReason::BinaryCode
        } else {
            FilterReason::Binary
        });
    }
    if file.content == Content::None {
        let binary = sides.is_binary_at_head() && runs::may_be_text(file, is_protected, sides);
        return binary.then_some(FilterReason::BinaryCode);
    }
    // Of a lock file in a format that no rule reads, the reviewers are the only check.
    let is_read = is_protected || (is_unknown_lock_file(&file.path) && !rules.trusts(file));
    if !is_read && sides.is_generated(file, rules.trusts(file)) {
        return Some(FilterReason::Generated);
    }
    file.unread.map(FilterReason::from)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
