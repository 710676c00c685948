//! Where a note can stand on the diff, by GitLab's rules for `position`.
//!
//! | line | `old_line` | `new_line` |
//! |---|---|---|
//! | added | omitted | n |
//! | removed | n | omitted |
//! | unchanged | its number at base | its number at head |
//!
//! All three SHAs are those of one version, both paths are given, and they differ for a renamed file. Several lines are the
//! position of the last one, with a `line_range` beside it.

use conclave_engine::diff::{ChangeKind, DiffRow, FileDiff, RowKind};
use serde_json::{Value, json};
use sha1::{Digest, Sha1};

/// The three commits of a version of the merge request's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffRefs {
    pub(crate) base: String,
    pub(crate) start: String,
    pub(crate) head: String,
}

/// The position of the lines from `first` to `last`, and whether they are on the new side, which suggestions need. With
/// `ranged` it is all of them, else the last one. Nothing where the diff has no such line.
pub(crate) fn on_lines(refs: &DiffRefs, file: &FileDiff, (first, last): (u32, u32), ranged: bool) -> Option<Value> {
    let end = row(file, last)?;
    let mut position = whole(refs, file, "text");
    if end.kind != RowKind::Added {
        position["old_line"] = json!(end.old);
    }
    if end.kind != RowKind::Removed {
        position["new_line"] = json!(end.new);
    }
    if ranged && first < last {
        let start = row(file, first)?;
        position["line_range"] = json!({ "start": range_end(file, start), "end": range_end(file, end) });
    }
    Some(position)
}

/// The position of the file as a whole.
pub(crate) fn on_file(refs: &DiffRefs, file: &FileDiff) -> Value {
    whole(refs, file, "file")
}

/// Whether these lines exist at head, so that a suggestion can replace them.
pub(crate) fn is_on_new_side(file: &FileDiff, line: u32) -> bool {
    row(file, line).is_some_and(|row| row.kind != RowKind::Removed)
}

fn whole(refs: &DiffRefs, file: &FileDiff, kind: &str) -> Value {
    json!({
        "base_sha": refs.base,
        "start_sha": refs.start,
        "head_sha": refs.head,
        "position_type": kind,
        "old_path": old_path(file),
        "new_path": file.path,
    })
}

/// GitLab does not look for copies: to it, a copy is a new file.
fn old_path(file: &FileDiff) -> &str {
    match file.kind {
        ChangeKind::Copied => &file.path,
        _ => &file.old_path,
    }
}

fn row(file: &FileDiff, line: u32) -> Option<DiffRow> {
    let row = file.row(line)?;
    Some(match file.kind {
        ChangeKind::Copied => DiffRow {
            kind: RowKind::Added,
            old: 0,
            new: line,
        },
        _ => row,
    })
}

fn range_end(file: &FileDiff, row: DiffRow) -> Value {
    let path = hex::encode(Sha1::digest(file.path.as_bytes()));
    json!({
        "line_code": format!("{path}_{}_{}", row.old, row.new),
        "type": if row.kind == RowKind::Added { "new" } else { "old" },
    })
}
