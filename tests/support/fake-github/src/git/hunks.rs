//! The rows of a patch: which lines of a file a comment can stand on, and where they go with the next push.

/// One row of a patch, with the line it has on each side and its number in the patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// `+`, `-` or a space.
    pub(crate) mark: char,
    pub(crate) old: Option<u64>,
    pub(crate) new: Option<u64>,
    /// Which hunk of the patch it is in.
    pub(crate) hunk: usize,
    /// The deprecated `position`: rows after the first header, later headers counted.
    pub(crate) position: u64,
}

/// The line ranges of one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hunk {
    old_start: u64,
    old_length: u64,
    new_start: u64,
    new_length: u64,
}

/// The rows of a patch that starts at its first `@@`.
pub(crate) fn rows(patch: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut old, mut new, mut hunk) = (0, 0, 0);
    for (index, line) in patch.split('\n').enumerate() {
        if let Some(header) = parse_header(line) {
            (old, new) = (header.old_start, header.new_start);
            hunk += 1;
            continue;
        }
        let Some(mark) = line.chars().next().filter(|mark| "+- ".contains(*mark)) else {
            continue;
        };
        let row = Row {
            mark,
            old: (mark != '+').then_some(old),
            new: (mark != '-').then_some(new),
            hunk,
            position: index as u64,
        };
        old += u64::from(row.old.is_some());
        new += u64::from(row.new.is_some());
        rows.push(row);
    }
    rows
}

/// The text from the header of a row's hunk up to the row: the `diff_hunk` of a comment.
pub(crate) fn hunk_until(patch: &str, row: &Row) -> String {
    let end = usize::try_from(row.position).unwrap_or(usize::MAX);
    let lines: Vec<&str> = patch.split('\n').take(end.saturating_add(1)).collect();
    let start = lines.iter().rposition(|line| line.starts_with("@@ ")).unwrap_or(0);
    lines[start..].join("\n")
}

/// The new line of an old line that no hunk of a patch without context touches; nothing for a line that was changed.
pub(crate) fn map_unchanged(patch: &str, old_line: u64) -> Option<u64> {
    let mut mapped = old_line;
    for hunk in patch.split('\n').filter_map(parse_header) {
        // A hunk that only adds or only removes names the line *before* it as its start.
        let first = hunk.old_start + u64::from(hunk.old_length == 0);
        if old_line < first {
            break;
        }
        if old_line < first + hunk.old_length {
            return None;
        }
        let new_first = hunk.new_start + u64::from(hunk.new_length == 0);
        mapped = old_line - (first + hunk.old_length) + new_first + hunk.new_length;
    }
    Some(mapped)
}

fn parse_header(line: &str) -> Option<Hunk> {
    let ranges = line.strip_prefix("@@ -")?;
    let (old, rest) = ranges.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let (old_start, old_length) = parse_range(old)?;
    let (new_start, new_length) = parse_range(new)?;
    Some(Hunk {
        old_start,
        old_length,
        new_start,
        new_length,
    })
}

fn parse_range(range: &str) -> Option<(u64, u64)> {
    match range.split_once(',') {
        Some((start, length)) => Some((start.parse().ok()?, length.parse().ok()?)),
        None => Some((range.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::{hunk_until, map_unchanged, rows};

    const PATCH: &str = "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n@@ -9 +10 @@ fn main\n-nine\n+9\n";

    #[test]
    fn rows_have_the_lines_of_both_sides_and_their_position() {
        let found: Vec<_> = rows(PATCH)
            .into_iter()
            .map(|row| (row.old, row.new, row.hunk, row.position))
            .collect();
        let expected = [
            (Some(1), Some(1), 1, 1),
            (Some(2), None, 1, 2),
            (None, Some(2), 1, 3),
            (None, Some(3), 1, 4),
            (Some(3), Some(4), 1, 5),
            (Some(9), None, 2, 7),
            (None, Some(10), 2, 8),
        ];
        assert_eq!(found, expected);
        assert_eq!(hunk_until(PATCH, &rows(PATCH)[5]), "@@ -9 +10 @@ fn main\n-nine");
    }

    #[test]
    fn unchanged_lines_move_with_the_hunks_before_them() {
        assert_eq!(map_unchanged("@@ -4,0 +5,2 @@\n+a\n+b\n", 4), Some(4));
        assert_eq!(map_unchanged("@@ -4,0 +5,2 @@\n+a\n+b\n", 5), Some(7));
        assert_eq!(map_unchanged("@@ -4,2 +3,0 @@\n-a\n-b\n", 3), Some(3));
        assert_eq!(map_unchanged("@@ -4,2 +3,0 @@\n-a\n-b\n", 4), None);
        assert_eq!(map_unchanged("@@ -4,2 +3,0 @@\n-a\n-b\n", 6), Some(4));
    }
}
