//! Which lines of both sides the hunks of a file show.

use std::ops::RangeInclusive;

/// What a diff says of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It stands on both sides, whether or not a hunk shows it.
    Context,
}

/// A line of a changed file as both sides count it. Of an added line `old` is where the old side's count stands there, of
/// a removed one `new` where the new side's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DiffRow {
    /// What the diff says of it.
    pub kind: RowKind,
    /// The line at base.
    pub old: u32,
    /// The line at head.
    pub new: u32,
}

/// Line numbers, from 1, of the added and removed lines of a file, as ranges in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineMap {
    added: Vec<RangeInclusive<u32>>,
    removed: Vec<RangeInclusive<u32>>,
}

impl LineMap {
    /// A map with these added lines.
    #[cfg(test)]
    pub(crate) fn of_added(lines: impl IntoIterator<Item = u32>) -> Self {
        let mut map = Self::default();
        lines.into_iter().for_each(|line| map.push_added(line));
        map
    }

    /// The same with these removed lines.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_removed(mut self, lines: impl IntoIterator<Item = u32>) -> Self {
        lines.into_iter().for_each(|line| self.push_removed(line));
        self
    }

    /// Notes that this line at head is added. Lines come in ascending order.
    pub(super) fn push_added(&mut self, line: u32) {
        push(&mut self.added, line);
    }

    /// Notes that this line at base is removed. Lines come in ascending order.
    pub(super) fn push_removed(&mut self, line: u32) {
        push(&mut self.removed, line);
    }

    /// How many runs of lines are kept.
    pub(super) fn runs(&self) -> usize {
        self.added.len() + self.removed.len()
    }

    /// Returns whether the merge request adds this line.
    pub fn is_added(&self, line: u32) -> bool {
        contains(&self.added, line)
    }

    /// Returns whether the merge request removes this line of the base.
    pub fn is_removed(&self, line: u32) -> bool {
        contains(&self.removed, line)
    }

    /// The row of a line at head.
    ///
    /// Git prints the removed lines of a change before the added ones, so the ranges alone say where every line of one
    /// side stands on the other one.
    pub fn row_at_head(&self, new: u32) -> Option<DiffRow> {
        let kept = new.checked_sub(1)?.checked_sub(count_before(&self.added, new))?;
        let kind = if self.is_added(new) {
            RowKind::Added
        } else {
            RowKind::Context
        };
        Some(DiffRow {
            kind,
            old: nth_kept(&self.removed, kept.checked_add(1)?)?,
            new,
        })
    }

    /// The row of a line at base.
    pub fn row_at_base(&self, old: u32) -> Option<DiffRow> {
        let kept = old.checked_sub(1)?.checked_sub(count_before(&self.removed, old))?;
        if !self.is_removed(old) {
            let new = nth_kept(&self.added, kept.checked_add(1)?)?;
            return Some(DiffRow {
                kind: RowKind::Context,
                old,
                new,
            });
        }
        // Behind the last kept line, and before what is added in its place.
        let new = if kept == 0 { 0 } else { nth_kept(&self.added, kept)? };
        Some(DiffRow {
            kind: RowKind::Removed,
            old,
            new: new.checked_add(1)?,
        })
    }

    /// The distance in lines from `line` to the nearest added line; `None` if nothing was added.
    pub fn distance_to_added(&self, line: u32) -> Option<u32> {
        self.added
            .iter()
            .map(|range| {
                if range.contains(&line) {
                    0
                } else {
                    line.abs_diff(*range.start()).min(line.abs_diff(*range.end()))
                }
            })
            .min()
    }
}

fn push(ranges: &mut Vec<RangeInclusive<u32>>, line: u32) {
    match ranges.last_mut() {
        Some(last) if *last.end() + 1 == line => *last = *last.start()..=line,
        _ => ranges.push(line..=line),
    }
}

/// How many lines of these ranges come before `line`.
fn count_before(ranges: &[RangeInclusive<u32>], line: u32) -> u32 {
    ranges
        .iter()
        .take_while(|range| *range.start() < line)
        .map(|range| line.min(range.end().saturating_add(1)) - range.start())
        .sum()
}

/// The number of the `nth` line that is in none of these ranges.
fn nth_kept(ranges: &[RangeInclusive<u32>], nth: u32) -> Option<u32> {
    let mut line = nth;
    for range in ranges {
        if *range.start() > line {
            break;
        }
        line = line.checked_add(range.end() - range.start() + 1)?;
    }
    Some(line)
}

fn contains(ranges: &[RangeInclusive<u32>], line: u32) -> bool {
    let position = ranges.partition_point(|range| *range.end() < line);
    ranges.get(position).is_some_and(|range| range.contains(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the rows of a change down as a patch with all of its context would.
    fn rows(changes: &str) -> (LineMap, Vec<DiffRow>) {
        let (mut map, mut rows, mut old, mut new) = (LineMap::default(), Vec::new(), 1, 1);
        for mark in changes.chars() {
            let kind = match mark {
                '+' => RowKind::Added,
                '-' => RowKind::Removed,
                _ => RowKind::Context,
            };
            rows.push(DiffRow { kind, old, new });
            if kind == RowKind::Added {
                map.push_added(new);
            } else if kind == RowKind::Removed {
                map.push_removed(old);
            }
            old += u32::from(kind != RowKind::Added);
            new += u32::from(kind != RowKind::Removed);
        }
        (map, rows)
    }

    #[test]
    fn every_line_of_either_side_is_found_on_the_other_one() {
        for changes in [
            "...",
            "+++",
            "---",
            ".-++.",
            "++...",
            "...--",
            "--++..-.+..---+...",
            ".+.-.++.--.-+",
        ] {
            let (map, rows) = rows(changes);
            for row in rows {
                let found = match row.kind {
                    RowKind::Removed => map.row_at_base(row.old),
                    RowKind::Added => map.row_at_head(row.new),
                    RowKind::Context => {
                        assert_eq!(map.row_at_base(row.old), map.row_at_head(row.new), "{changes}");
                        map.row_at_head(row.new)
                    }
                };
                assert_eq!(found, Some(row), "{changes}");
            }
            assert_eq!((map.row_at_head(0), map.row_at_base(0)), (None, None));
        }
    }
}
