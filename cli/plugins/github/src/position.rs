//! Where a comment can stand on the diff: on lines of GitHub's hunks, each side by its own numbers.
//!
//! | line | `side` | number |
//! |---|---|---|
//! | added, or unchanged inside of a hunk | `RIGHT` | at head |
//! | removed | `LEFT` | at base |
//!
//! Several lines have to be in one hunk, and the first precedes the last. A hunk is a change with three lines around it. Our own
//! diff says where they are; where GitHub's differ (another rename, another algorithm), its list of files does.

use conclave_engine::{
    diff::{DiffRow, FileDiff, RowKind},
    publish::Place,
};
use conclave_forge::forge_row;
use serde::Deserialize;
use serde_json::{Value, json};

/// Unchanged lines around a change in a hunk.
const CONTEXT: u32 = 3;

/// A file as GitHub lists it.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedFile {
    pub(crate) filename: String,
    /// None for binary and for very large files.
    patch: Option<String>,
}

/// The fields of a comment's place; none where no line of a hunk is there.
pub(crate) fn of(file: &FileDiff, place: Place) -> Option<Value> {
    let (first, last) = match place {
        Place::File => return Some(json!({ "path": file.path, "subject_type": "file" })),
        Place::Line(line) => (None, line),
        Place::Lines(first, last) => (Some(first), last),
    };
    if !(first.unwrap_or(last)..=last).all(|line| is_in_hunk(file, line)) {
        return None;
    }
    let (side, line) = end(file, last)?;
    let mut position = json!({ "path": file.path, "line": line, "side": side });
    if let Some(first) = first {
        let (side, line) = end(file, first)?;
        position["start_line"] = json!(line);
        position["start_side"] = json!(side);
    }
    Some(position)
}

/// The side and the number of a line.
fn end(file: &FileDiff, line: u32) -> Option<(&'static str, u32)> {
    let row = forge_row(file, line)?;
    Some(match row.kind {
        RowKind::Removed => ("LEFT", row.old),
        _ => ("RIGHT", row.new),
    })
}

/// Returns whether a line is in a hunk of the diff.
fn is_in_hunk(file: &FileDiff, line: u32) -> bool {
    let Some(row) = forge_row(file, line) else {
        return false;
    };
    if row.kind != RowKind::Context {
        return true;
    }
    // Between two unchanged lines something was removed if their numbers at base are further apart than those at head.
    let changes = |other: Option<DiffRow>, distance: u32| {
        other.is_some_and(|other| other.kind == RowKind::Added || other.old.abs_diff(row.old) != distance)
    };
    (1..=CONTEXT).any(|distance| {
        let above = line.checked_sub(distance).is_some_and(|above| match above {
            // Above the first line there is a change if lines were removed there.
            0 => row.old != distance,
            above => changes(file.row(above), distance),
        });
        above || changes(file.row(line + distance), distance)
    })
}

/// Returns whether a comment's place is in the hunks of the file as GitHub lists it.
pub(crate) fn fits(position: &Value, files: &[ListedFile]) -> bool {
    let Some(file) = files.iter().find(|file| position["path"] == file.filename) else {
        return false;
    };
    let hunks = file.patch.as_deref().map(hunks).unwrap_or_default();
    let at = |line: &str, side: &str| {
        let (number, is_left) = (position[line].as_u64()?, position[side] == "LEFT");
        hunks.iter().position(|hunk| {
            let (first, count) = if is_left { hunk.0 } else { hunk.1 };
            (first..first + count).contains(&number)
        })
    };
    let last = at("line", "side");
    last.is_some() && (position["start_line"].is_null() || at("start_line", "start_side") == last)
}

/// The lines of each hunk, at base and at head: the first and how many.
fn hunks(patch: &str) -> Vec<((u64, u64), (u64, u64))> {
    let range = |text: &str| {
        let (first, count) = text.get(1..)?.split_once(',').unwrap_or((text.get(1..)?, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let headers = patch.lines().filter_map(|line| line.strip_prefix("@@ "));
    headers
        .filter_map(|header| {
            let mut parts = header.split(' ');
            Some((range(parts.next()?)?, range(parts.next()?)?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use conclave_engine::diff::{DiffLimits, DiffReader};

    use super::*;

    /// Twenty lines, of which 10 is replaced; before the first one stood another.
    const PATCH: &str = "diff --git a/a.py b/a.py\nindex 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,4 +1,3 @@\n-a0\n a1\n a2\n a3\n@@ -8,7 +7,7 @@ a6\n a7\n a8\n a9\n-a10\n+b10\n a11\n a12\n a13\n";

    fn file() -> FileDiff {
        let raw = ":100644 100644 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222 M\0a.py\0\0";
        let mut reader = DiffReader::new(DiffLimits::default(), Vec::new());
        reader.push(format!("{raw}{PATCH}").as_bytes()).expect("a diff");
        reader.finish().expect("a diff").0.files.remove(0)
    }

    #[test]
    fn lines_of_hunks_have_a_place_and_others_have_none() {
        let file = file();
        let within: Vec<u32> = (1..=20)
            .filter(|line| of(&file, Place::Line(*line)).is_some())
            .collect();
        assert_eq!(within, [1, 2, 3, 7, 8, 9, 10, 11, 12, 13]);
        let several = of(&file, Place::Lines(8, 10)).expect("a place");
        assert_eq!(
            several,
            json!({ "path": "a.py", "line": 10, "side": "RIGHT", "start_line": 8, "start_side": "RIGHT" })
        );
        assert_eq!(of(&file, Place::Lines(3, 8)), None, "two hunks");
    }

    #[test]
    fn githubs_own_hunks_decide_where_they_are_known() {
        let patch = "@@ -1,4 +1,3 @@\n-a0\n a1\n a2\n a3\n@@ -8 +7 @@ a6\n a7";
        let files = [ListedFile {
            filename: "a.py".to_owned(),
            patch: Some(patch.to_owned()),
        }];
        for (position, is) in [
            (json!({ "path": "a.py", "line": 3, "side": "RIGHT" }), true),
            (json!({ "path": "a.py", "line": 4, "side": "RIGHT" }), false),
            (json!({ "path": "a.py", "line": 4, "side": "LEFT" }), true),
            (json!({ "path": "a.py", "line": 7, "side": "RIGHT" }), true),
            (json!({ "path": "b.py", "line": 3, "side": "RIGHT" }), false),
            (
                json!({ "path": "a.py", "line": 7, "side": "RIGHT", "start_line": 3, "start_side": "RIGHT" }),
                false,
            ),
        ] {
            assert_eq!(fits(&position, &files), is, "{position}");
        }
    }
}
