//! The rows of a patch: which lines of a file a comment can stand on.

/// What a row of a patch says about its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Added,
    Removed,
    Context,
}

/// One row of a patch. An added row carries the running old-side counter, a removed one the running new-side counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    pub(crate) old: u64,
    pub(crate) new: u64,
}

/// The line ranges of one hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) old_start: u64,
    pub(crate) old_length: u64,
    pub(crate) new_start: u64,
    pub(crate) new_length: u64,
}

/// The printed rows of a patch that starts at its first `@@`.
pub(crate) fn rows(patch: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut old, mut new) = (0, 0);
    for line in patch.split('\n') {
        if let Some(hunk) = parse_header(line) {
            (old, new) = (hunk.old_start, hunk.new_start);
            continue;
        }
        match line.as_bytes().first() {
            Some(b'+') => {
                rows.push(Row {
                    kind: RowKind::Added,
                    old,
                    new,
                });
                new += 1;
            }
            Some(b'-') => {
                rows.push(Row {
                    kind: RowKind::Removed,
                    old,
                    new,
                });
                old += 1;
            }
            Some(b' ') => {
                rows.push(Row {
                    kind: RowKind::Context,
                    old,
                    new,
                });
                old += 1;
                new += 1;
            }
            _ => {}
        }
    }
    rows
}

/// The hunks of a patch.
pub(crate) fn hunks(patch: &str) -> Vec<Hunk> {
    patch.split('\n').filter_map(parse_header).collect()
}

/// The new-side line of an old-side line that no hunk touches; nothing for a line inside a hunk.
pub(crate) fn map_unchanged(hunks: &[Hunk], old_line: u64) -> Option<u64> {
    let mut mapped = old_line;
    for hunk in hunks {
        // A hunk that only adds names the line *before* the addition as its start.
        let (first, length) = if hunk.old_length == 0 {
            (hunk.old_start + 1, 0)
        } else {
            (hunk.old_start, hunk.old_length)
        };
        if old_line < first {
            break;
        }
        if old_line < first + length {
            return None;
        }
        let new_first = if hunk.new_length == 0 {
            hunk.new_start + 1
        } else {
            hunk.new_start
        };
        mapped = old_line - (first + length) + new_first + hunk.new_length;
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
    use super::{Row, RowKind, hunks, map_unchanged, rows};

    const PATCH: &str = "@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";

    #[test]
    fn rows_carry_both_counters() {
        let expected = [
            (RowKind::Context, 1, 1),
            (RowKind::Removed, 2, 2),
            (RowKind::Added, 3, 2),
            (RowKind::Added, 3, 3),
            (RowKind::Context, 3, 4),
        ];
        let expected: Vec<Row> = expected
            .into_iter()
            .map(|(kind, old, new)| Row { kind, old, new })
            .collect();
        assert_eq!(rows(PATCH), expected);
    }

    #[test]
    fn unchanged_lines_move_with_the_hunks_before_them() {
        let hunks = hunks(PATCH);
        assert_eq!(map_unchanged(&hunks, 2), None);
        assert_eq!(map_unchanged(&hunks, 9), Some(10));
        let added_only = super::hunks("@@ -4,0 +5,2 @@\n+a\n+b\n");
        assert_eq!(map_unchanged(&added_only, 4), Some(4));
        assert_eq!(map_unchanged(&added_only, 5), Some(7));
        let removed_only = super::hunks("@@ -4,2 +3,0 @@\n-a\n-b\n");
        assert_eq!(map_unchanged(&removed_only, 3), Some(3));
        assert_eq!(map_unchanged(&removed_only, 6), Some(4));
    }
}
