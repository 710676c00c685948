//! The identity of a project, and patterns of projects.

use std::collections::BTreeMap;

use crate::path_globs::{BadGlob, PathGlobs};

/// The one name that a project is known by at the Workers, however its path is spelled: forges take paths in any case, so a job's
/// token, a bound token's event and an address that a person typed may differ in it. Paths of forges are ASCII.
pub fn identity(mut path: String) -> String {
    path.make_ascii_lowercase();
    path
}

/// Splits the name or the pattern of a project into the host before it, which repositories of GitHub have, and its path.
pub fn split_host(name: &str) -> (Option<String>, &str) {
    match name.split_once(':') {
        Some((host, path)) => (Some(host.trim().to_ascii_lowercase()), path.trim()),
        None => (None, name),
    }
}

/// Patterns of projects of all forges: for jobs' tokens, for bound ingest tokens, and for the exceptions of a configuration document.
///
/// A pattern without a host is for projects of GitLab, also `**`; one with a host (`github.com:octo/**`) is for the repositories of
/// exactly that host. The path behind it starts at the root, and case does not count.
#[derive(Debug, Clone, Default)]
pub struct ProjectPatterns {
    hosts: BTreeMap<Option<String>, PathGlobs>,
}

impl ProjectPatterns {
    /// Reads patterns; the error is every one that is none, with its place in the list.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Vec<BadGlob>> {
        let mut of_hosts: BTreeMap<Option<String>, Vec<(usize, &str)>> = BTreeMap::new();
        for (index, pattern) in patterns.iter().map(AsRef::as_ref).enumerate() {
            let (host, path) = split_host(pattern);
            of_hosts.entry(host).or_default().push((index, path));
        }
        let mut hosts = BTreeMap::new();
        let mut bad = Vec::new();
        for (host, entries) in of_hosts {
            let paths: Vec<&str> = entries.iter().map(|(_, path)| *path).collect();
            match PathGlobs::of_projects(&paths) {
                Ok(globs) => {
                    hosts.insert(host, globs);
                }
                Err(faults) => bad.extend(faults.into_iter().map(|fault| {
                    let index = entries.get(fault.index).map_or(0, |(index, _)| *index);
                    let pattern = patterns.get(index).map_or("", AsRef::as_ref).to_owned();
                    BadGlob {
                        index,
                        pattern,
                        reason: fault.reason,
                    }
                })),
            }
        }
        if bad.is_empty() {
            return Ok(Self { hosts });
        }
        bad.sort_by_key(|fault| fault.index);
        Err(bad)
    }

    /// Returns whether any pattern names a project.
    pub fn is_match(&self, project: &str) -> bool {
        let (host, path) = split_host(project);
        self.hosts.get(&host).is_some_and(|globs| globs.is_match(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_without_a_host_is_for_gitlab_and_one_with_a_host_for_that_host() {
        for (pattern, yes, no) in [
            ("**", vec!["octo/shop", "a"], vec!["github.com:octo/shop"]),
            (
                "*/ledger",
                vec!["bank/ledger"],
                vec!["github.com:octo/ledger", "a/b/ledger"],
            ),
            ("octo", vec!["Octo/shop"], vec!["github.com:octo/shop"]),
            (
                "GitHub.com:octo/**",
                vec!["github.com:octo/shop", "github.com:Octo/Shop"],
                vec!["octo/shop", "ghe.example.com:octo/shop", "github.com:mallory/octo/shop"],
            ),
            (
                "github.com:**",
                vec!["github.com:octo/shop"],
                vec!["octo/shop", "ghe.example.com:octo/shop"],
            ),
            ("*:octo/**", vec![], vec!["github.com:octo/shop", "octo/shop"]),
        ] {
            let patterns = ProjectPatterns::new(&[pattern]).expect("a pattern");
            for project in yes {
                assert!(patterns.is_match(project), "{pattern} names {project}");
            }
            for project in no {
                assert!(!patterns.is_match(project), "{pattern} does not name {project}");
            }
        }
        assert!(!ProjectPatterns::default().is_match("octo/shop"));
    }

    #[test]
    fn every_bad_pattern_is_named_with_its_place() {
        let bad = ProjectPatterns::new(&["ok", "github.com:a[", "b{", "github.com:"]).expect_err("bad ones");
        let named: Vec<(usize, &str)> = bad.iter().map(|bad| (bad.index, bad.pattern.as_str())).collect();
        assert_eq!(named, [(1, "github.com:a["), (2, "b{"), (3, "github.com:")]);
    }
}
