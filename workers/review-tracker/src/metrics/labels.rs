//! Bounded label values: a client that makes up names must not make up time series.

use std::collections::HashSet;

/// What stands for all names beyond the limit.
pub(crate) const OTHER: &str = "other";

/// The names that keep a series of their own.
///
/// They are the first ones that were ever seen, not the most frequent ones: a name that changed sides would move its
/// count from one counter to another, and counters must not fall.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    names: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    /// The standing names, and the first `limit` of the others.
    pub(crate) fn new(standing: &[&'a str], seen: &'a [String], limit: usize) -> Self {
        let mut names: HashSet<&str> = standing.iter().copied().collect();
        names.extend(
            seen.iter()
                .map(String::as_str)
                .filter(|name| !standing.contains(name))
                .take(limit),
        );
        Self { names }
    }

    /// The label value of a name.
    pub(crate) fn label<'b>(&self, name: &'b str) -> &'b str {
        if self.names.contains(name) { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_names_take_no_place_and_late_names_are_other() {
        let seen: Vec<String> = ["b", "security", "a", "c"].map(str::to_owned).to_vec();
        let known = Known::new(&["security"], &seen, 2);
        assert_eq!(
            ["security", "b", "a", "c", "never"].map(|name| known.label(name)),
            ["security", "b", "a", OTHER, OTHER]
        );
    }
}
