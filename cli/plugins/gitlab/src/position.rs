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

use conclave_engine::{
    diff::{ChangeKind, DiffRow, FileDiff, RowKind},
    publish::Place,
};
use conclave_forge::{Version, forge_row};
use serde_json::{Value, json};
use sha1::{Digest, Sha1};

/// The position of a place. A line that the diff does not have is the file.
pub(crate) fn of(version: &Version, file: &FileDiff, place: Place) -> Value {
    let (first, last) = match place {
        Place::File => return whole(version, file, "file"),
        Place::Line(line) => (None, line),
        Place::Lines(first, last) => (forge_row(file, first), last),
    };
    let Some(end) = forge_row(file, last) else {
        return whole(version, file, "file");
    };
    let mut position = whole(version, file, "text");
    if end.kind != RowKind::Added {
        position["old_line"] = json!(end.old);
    }
    if end.kind != RowKind::Removed {
        position["new_line"] = json!(end.new);
    }
    if let Some(start) = first {
        position["line_range"] = json!({ "start": range_end(file, start), "end": range_end(file, end) });
    }
    position
}

fn whole(version: &Version, file: &FileDiff, kind: &str) -> Value {
    json!({
        "base_sha": version.base,
        "start_sha": version.start,
        "head_sha": version.head,
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

fn range_end(file: &FileDiff, row: DiffRow) -> Value {
    let path = hex::encode(Sha1::digest(file.path.as_bytes()));
    json!({
        "line_code": format!("{path}_{}_{}", row.old, row.new),
        "type": if row.kind == RowKind::Added { "new" } else { "old" },
    })
}
