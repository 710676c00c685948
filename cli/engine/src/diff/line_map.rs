//! Which lines of both sides the hunks of a file show.

use std::ops::RangeInclusive;

/// Line numbers, from 1, of the added and removed lines of a file, as ranges in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineMap {
    added: Vec<RangeInclusive<u32>>,
    removed: Vec<RangeInclusive<u32>>,
}

impl LineMap {
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

    /// Whether the merge request adds this line.
    pub fn is_added(&self, line: u32) -> bool {
        contains(&self.added, line)
    }

    /// Whether the merge request removes this line of the base.
    pub fn is_removed(&self, line: u32) -> bool {
        contains(&self.removed, line)
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

fn contains(ranges: &[RangeInclusive<u32>], line: u32) -> bool {
    let position = ranges.partition_point(|range| *range.end() < line);
    ranges.get(position).is_some_and(|range| range.contains(&line))
}
