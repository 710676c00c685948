//! Counts by a name and a label: what the rows and columns of most tables are.

use std::collections::BTreeMap;

/// Counts in a fixed number of columns, by what their rows are about, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cross<K, const N: usize>(BTreeMap<K, [u64; N]>);

impl<K: Ord + Copy, const N: usize> Cross<K, N> {
    /// Adds counts up. Those of a label that has no column are left out; their row is there all the same.
    pub(crate) fn of<'a>(labels: [&str; N], counts: impl IntoIterator<Item = (K, &'a str, u64)>) -> Self {
        let mut rows: BTreeMap<K, [u64; N]> = BTreeMap::new();
        for (key, label, count) in counts {
            let row = rows.entry(key).or_insert([0; N]);
            if let Some((_, sum)) = labels.iter().zip(row).find(|(known, _)| **known == label) {
                *sum += count;
            }
        }
        Self(rows)
    }

    /// The counts of a row; zeros if there is none.
    pub(crate) fn get(&self, key: &K) -> [u64; N] {
        self.0.get(key).copied().unwrap_or([0; N])
    }

    /// The count of a label in a row.
    pub(crate) fn of_label(&self, labels: [&str; N], key: &K, label: &str) -> u64 {
        let mut counts = labels.into_iter().zip(self.get(key));
        counts.find(|(known, _)| *known == label).map_or(0, |(_, count)| count)
    }

    /// The rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (K, [u64; N])> {
        self.0.iter().map(|(key, counts)| (*key, *counts))
    }

    /// The sums of the columns.
    pub(crate) fn sum(&self) -> [u64; N] {
        self.0.values().fold([0; N], |mut sums, counts| {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
            sums
        })
    }

    /// Returns whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Cross;

    #[test]
    fn counts_are_added_up_by_row_and_column() {
        let counts = [("b", "y", 1), ("a", "x", 2), ("b", "y", 3), ("c", "other", 9)];
        let cross = Cross::of(["x", "y"], counts);
        let rows: Vec<_> = cross.rows().collect();
        assert_eq!(rows, [("a", [2, 0]), ("b", [0, 4]), ("c", [0, 0])]);
        assert_eq!(cross.sum(), [2, 4]);
        assert_eq!((cross.get(&"b"), cross.get(&"none")), ([0, 4], [0, 0]));
        assert_eq!(cross.of_label(["x", "y"], &"b", "y"), 4);
        assert!(!cross.is_empty());
    }
}
