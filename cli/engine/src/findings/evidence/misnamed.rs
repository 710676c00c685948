//! Findings about another file than the one that they name.

use super::{SourceReader, standing::stands};
use crate::{
    diff::{ChangeKind, FileDiff},
    findings::{RawFinding, written::without_marks},
    review::CONTEXT_FILE,
};

/// Maximum number of files in which a quote is looked for.
const MAX_SEARCHED: usize = 200;

/// The changed files that a finding may be about besides the one at `path`: those of the same name but for blanks, quotation marks and
/// the folder that git writes in front of names in a patch, and all of them where no file is at that path.
pub fn also_meant<'f>(path: &str, is_there: bool, files: impl Iterator<Item = &'f FileDiff>) -> Vec<&'f FileDiff> {
    if path == CONTEXT_FILE {
        return Vec::new();
    }
    let name = without_marks(path);
    let in_patch = ["a/", "b/"].map(|folder| path.strip_prefix(folder));
    let is_same = |other: &str| without_marks(other) == name || in_patch.contains(&Some(other));
    let is_meant = |file: &&FileDiff| file.path != path && (!is_there || is_same(&file.path));
    let mut meant: Vec<&FileDiff> = files.filter(is_meant).collect();
    if meant.len() > MAX_SEARCHED {
        meant.clear();
    }
    meant
}

/// The only one of these files in which the quote of a finding stands.
pub(super) fn only_with_quote<'f>(
    raw: &RawFinding,
    meant: Vec<&'f FileDiff>,
    source: &mut impl SourceReader,
) -> Option<&'f str> {
    let mut found = None;
    for file in meant {
        let content = source.read(&file.path, file.kind == ChangeKind::Deleted);
        if content.is_some_and(|content| stands(raw, &file.path, &content, 1, |_| false).is_some())
            && found.replace(file.path.as_str()).is_some()
        {
            return None;
        }
    }
    found
}

#[cfg(test)]
#[path = "misnamed_tests.rs"]
mod tests;
