//! What a repository has taught its reviews: findings that people turned down, and files in which findings were fixed.
//!
//! Metadata only: hashes, categories, paths and counts. The text of a finding, its code and the people who spoke are not in it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The version of the shape. New fields are optional with a default; unknown ones are ignored.
pub const SCHEMA_VERSION: u32 = 1;

/// In so many merge requests a finding has to be turned down before reviews of the repository leave it out. Merge requests
/// and not answers, so that nobody blinds a repository from within a single one.
pub const ENOUGH: usize = 2;

/// What a repository remembers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryMemory {
    /// See [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The project's path on the forge.
    pub project: String,
    /// Findings that people turned down, the newest first.
    pub rejected: Vec<Rejected>,
    /// Files in which findings were fixed, those with the most first.
    pub hot_spots: Vec<HotSpot>,
}

/// A finding that people turned down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The identity of the problem at its code.
    pub fingerprint: String,
    /// The identity of what was claimed, wherever that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its category.
    pub category: String,
    /// The file.
    pub path: String,
    /// The merge requests in which it was turned down.
    pub merge_requests: Vec<u64>,
    /// When that was last, in milliseconds since 1970.
    pub last_ms: i64,
}

/// A file in which findings were fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HotSpot {
    /// The file.
    pub path: String,
    /// How many findings.
    pub fixed: u64,
    /// Of which categories, in the order of their names.
    #[serde(default)]
    pub categories: Vec<String>,
    /// When that was last, in milliseconds since 1970.
    pub last_ms: i64,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forgotten {
    /// How many findings, turned down or fixed.
    pub findings: u64,
}

/// Something that may be known from before.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Its fingerprint.
    pub fingerprint: &'a str,
    /// The identity of its claim.
    pub claim: Option<&'a str>,
    /// Its category.
    pub category: &'a str,
}

impl RepositoryMemory {
    /// In how many merge requests people turned this down: the same problem at the same code, or the same claim in the same
    /// category elsewhere.
    pub fn times_rejected(&self, finding: Known<'_>) -> usize {
        let same = |rejected: &&Rejected| {
            rejected.fingerprint == finding.fingerprint
                || (finding.claim.is_some()
                    && rejected.claim.as_deref() == finding.claim
                    && rejected.category.eq_ignore_ascii_case(finding.category))
        };
        let merge_requests: BTreeSet<u64> = self
            .rejected
            .iter()
            .filter(same)
            .flat_map(|rejected| rejected.merge_requests.iter().copied())
            .collect();
        merge_requests.len()
    }

    /// Returns whether nothing is remembered.
    pub const fn is_empty(&self) -> bool {
        self.rejected.is_empty() && self.hot_spots.is_empty()
    }
}

impl Rejected {
    /// The finding as something to look for.
    pub fn known(&self) -> Known<'_> {
        Known {
            fingerprint: &self.fingerprint,
            claim: self.claim.as_deref(),
            category: &self.category,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(fingerprint: &str, claim: Option<&str>, category: &str, merge_requests: &[u64]) -> Rejected {
        Rejected {
            fingerprint: fingerprint.to_owned(),
            claim: claim.map(str::to_owned),
            category: category.to_owned(),
            path: "src/a.py".to_owned(),
            merge_requests: merge_requests.to_vec(),
            last_ms: 1,
        }
    }

    fn memory(rejected: Vec<Rejected>) -> RepositoryMemory {
        RepositoryMemory {
            rejected,
            ..RepositoryMemory::default()
        }
    }

    #[test]
    fn merge_requests_are_counted_and_each_once() {
        let memory = memory(vec![
            rejected("f1", Some("c1"), "debug-output", &[1]),
            rejected("f2", Some("c1"), "Debug-Output", &[1, 2]),
            rejected("f3", Some("c1"), "naming", &[3]),
            rejected("f4", None, "debug-output", &[4]),
        ]);
        let times = |fingerprint: &str, claim: Option<&str>, category: &str| {
            memory.times_rejected(Known {
                fingerprint,
                claim,
                category,
            })
        };
        // The same code, and the same claim in the other file.
        assert_eq!(times("f1", Some("c1"), "debug-output"), 2);
        assert_eq!(times("new", Some("c1"), "debug-output"), 2);
        assert_eq!(times("f1", None, "debug-output"), 1);
        // The same claim is another one in another category, and what claims nothing is like nothing.
        assert_eq!(times("new", Some("c1"), "naming"), 1);
        assert_eq!(times("new", None, "debug-output"), 0);
        assert_eq!(times("new", Some("c2"), "debug-output"), 0);
    }

    #[test]
    fn an_older_and_a_newer_tracker_are_understood() {
        let old: RepositoryMemory = serde_json::from_str("{}").expect("all is optional");
        assert!(old.is_empty());
        let new = r#"{"schema":2,"project":"g/p","rejected":[{"fingerprint":"f","category":"c","path":"p",
            "merge_requests":[1],"last_ms":5,"of_tomorrow":1}],"hot_spots":[{"path":"p","fixed":3,"last_ms":5}]}"#;
        let new: RepositoryMemory = serde_json::from_str(new).expect("what is new is ignored");
        assert_eq!(new.rejected[0].claim, None);
        assert!(!new.is_empty());
    }
}
