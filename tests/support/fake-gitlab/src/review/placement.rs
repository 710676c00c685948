//! Where a note may stand: the validator of `position` and of line codes.
//!
//! | line | `old_line` | `new_line` |
//! |---|---|---|
//! | added | omitted | n |
//! | removed | n | omitted |
//! | unchanged | old n | new m |

use crate::git::Repository;
use crate::git::diff::FileDiff;
use crate::git::lines::{self, Row, RowKind};
use crate::state::merge_request::{MergeRequest, Version};
use crate::state::position::{LineRange, Position, PositionType, RangeEnd, line_code};

/// GitLab's words for a position that is not on the diff.
pub(crate) const NOT_A_LINE: &str = r#":line_code=>["can't be blank", "must be a valid line code"]"#;
const INCOMPLETE: &str = r#":position=>["is incomplete"]"#;

/// Why a position is refused, as the inside of `Note {...}`.
pub(crate) type Refusal = String;

/// Checks a position and completes it the way GitLab stores it.
pub(crate) fn validate(
    merge_request: &MergeRequest,
    repository: &Repository,
    unfold: bool,
    position: &Position,
) -> Result<(), Refusal> {
    let (Some(old_path), Some(new_path)) = (&position.old_path, &position.new_path) else {
        return Err(format!("{NOT_A_LINE}, {INCOMPLETE}"));
    };
    let version = version_of(merge_request, position).ok_or(NOT_A_LINE)?;
    let file = find_file(version, old_path, new_path).ok_or(NOT_A_LINE)?;
    match position.kind {
        PositionType::File if position.old_line.is_some() || position.new_line.is_some() => Err(NOT_A_LINE.to_owned()),
        PositionType::Image if position.image.contains(&None) => Err(INCOMPLETE.to_owned()),
        PositionType::File | PositionType::Image => Ok(()),
        PositionType::Text => {
            if position.old_line.is_none() && position.new_line.is_none() {
                return Err(format!("{NOT_A_LINE}, {INCOMPLETE}"));
            }
            let row = find_row(repository, version, file, unfold, position).ok_or(NOT_A_LINE)?;
            match &position.line_range {
                None => Ok(()),
                Some(range) => check_range(repository, version, file, unfold, row, range),
            }
        }
    }
}

/// The version whose three SHAs the position names.
pub(crate) fn version_of<'a>(merge_request: &'a MergeRequest, position: &Position) -> Option<&'a Version> {
    merge_request.versions.iter().rev().find(|version| {
        version.base == position.base_sha && version.start == position.start_sha && version.head == position.head_sha
    })
}

/// The changed file with both paths.
pub(crate) fn find_file<'a>(version: &'a Version, old_path: &str, new_path: &str) -> Option<&'a FileDiff> {
    version
        .diffs
        .iter()
        .find(|file| file.old_path == old_path && file.new_path == new_path)
}

/// The row that the lines of a position name exactly: no more and no fewer sides than the row has.
pub(crate) fn find_row(
    repository: &Repository,
    version: &Version,
    file: &FileDiff,
    unfold: bool,
    position: &Position,
) -> Option<Row> {
    let rows = file.rows();
    match (position.old_line, position.new_line) {
        (None, Some(new)) => rows
            .into_iter()
            .find(|row| row.kind == RowKind::Added && row.new == new),
        (Some(old), None) => rows
            .into_iter()
            .find(|row| row.kind == RowKind::Removed && row.old == old),
        (Some(old), Some(new)) => {
            let printed = rows
                .into_iter()
                .find(|row| row.kind == RowKind::Context && row.old == old && row.new == new);
            printed.or_else(|| unfolded_row(repository, version, file, old, new).filter(|_| unfold))
        }
        (None, None) => None,
    }
}

/// The line code of a position that passed the check.
pub(crate) fn code_of(
    merge_request: &MergeRequest,
    repository: &Repository,
    unfold: bool,
    position: &Position,
) -> Option<String> {
    let version = version_of(merge_request, position)?;
    let file = find_file(version, position.old_path.as_deref()?, position.new_path.as_deref()?)?;
    let row = find_row(repository, version, file, unfold, position)?;
    Some(code(file, row))
}

fn code(file: &FileDiff, row: Row) -> String {
    line_code(&file.new_path, row.old, row.new)
}

/// An unchanged line of a changed file outside the printed hunks.
fn unfolded_row(repository: &Repository, version: &Version, file: &FileDiff, old: u64, new: u64) -> Option<Row> {
    if file.new_file || file.deleted_file || old == 0 || new == 0 || file.patch.is_empty() {
        return None;
    }
    let mapped = lines::map_unchanged(&file.hunks(), old)?;
    let exists = mapped == new
        && old <= repository.line_count(&version.base, &file.old_path)
        && new <= repository.line_count(&version.head, &file.new_path);
    exists.then_some(Row {
        kind: RowKind::Context,
        old,
        new,
    })
}

/// A range ends on the position's own row and starts on a row before it.
fn check_range(
    repository: &Repository,
    version: &Version,
    file: &FileDiff,
    unfold: bool,
    row: Row,
    range: &LineRange,
) -> Result<(), Refusal> {
    let find = |end: &RangeEnd| {
        let wanted = end.line_code.as_deref()?;
        let printed = file.rows().into_iter().find(|row| code(file, *row) == wanted);
        printed.or_else(|| {
            let mut numbers = wanted.rsplit('_').map(|number| number.parse().ok());
            let (new, old) = (numbers.next()??, numbers.next()??);
            let row = unfolded_row(repository, version, file, old, new).filter(|_| unfold)?;
            (code(file, row) == wanted).then_some(row)
        })
    };
    let (Some(start), Some(end)) = (find(&range.start), find(&range.end)) else {
        return Err(NOT_A_LINE.to_owned());
    };
    let in_order = (start.old, start.new) <= (end.old, end.new);
    if end == row && in_order && end_fits(&range.start, start) && end_fits(&range.end, end) {
        Ok(())
    } else {
        Err(NOT_A_LINE.to_owned())
    }
}

/// Returns whether type and line numbers of one end of a range agree with its row. Type and numbers are optional.
fn end_fits(end: &RangeEnd, row: Row) -> bool {
    let kind_fits = match end.kind.as_deref() {
        None => true,
        Some("new") => row.kind == RowKind::Added,
        Some("old") => row.kind != RowKind::Added,
        Some(_) => false,
    };
    let old_fits = end
        .old_line
        .is_none_or(|old| old == row.old && row.kind != RowKind::Added);
    let new_fits = end
        .new_line
        .is_none_or(|new| new == row.new && row.kind != RowKind::Removed);
    kind_fits && old_fits && new_fits
}
