//! Lists of path patterns as people know them from `.gitignore`.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns over whole paths.
///
/// A pattern without a slash matches at any depth (`*.pem`), one with a slash from the root (`infra/*.tf`), one with a
/// slash at its end every file below a directory of that name (`generated/`). What names a directory names everything
/// below it. `*` and `?` stop at slashes, `**` does not.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    set: GlobSet,
    /// The pattern behind each glob of the set.
    patterns: Vec<String>,
}

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern of paths: {reason}")]
pub struct BadGlob {
    /// Its place in the list.
    pub index: usize,
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl PathGlobs {
    /// The patterns, or every one that is none.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Vec<BadGlob>> {
        Self::build(patterns, false, false)
    }

    /// The same, where upper and lower case are alike.
    pub fn ignoring_case<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Vec<BadGlob>> {
        Self::build(patterns, true, false)
    }

    /// Patterns over the paths of projects: case does not count, and every pattern starts at the root, also one without a
    /// slash. `platform` is the group of that name with everything in it, and never `somebody/platform`.
    pub(crate) fn of_projects<S: AsRef<str>>(patterns: &[S]) -> Result<Self, Vec<BadGlob>> {
        Self::build(patterns, true, true)
    }

    fn build<S: AsRef<str>>(patterns: &[S], ignore_case: bool, anchored: bool) -> Result<Self, Vec<BadGlob>> {
        let mut builder = GlobSetBuilder::new();
        let mut names = Vec::new();
        let mut bad = Vec::new();
        for (index, pattern) in patterns.iter().map(AsRef::as_ref).enumerate() {
            match globs(pattern, ignore_case, anchored) {
                Ok(globs) => {
                    for glob in globs {
                        builder.add(glob);
                        names.push(pattern.to_owned());
                    }
                }
                Err(reason) => bad.push(BadGlob {
                    index,
                    pattern: pattern.to_owned(),
                    reason,
                }),
            }
        }
        // Each glob is valid by itself; together they can only be too many.
        match builder.build() {
            Ok(set) if bad.is_empty() => Ok(Self { set, patterns: names }),
            Ok(_) => Err(bad),
            Err(error) => {
                bad.push(BadGlob {
                    index: 0,
                    pattern: patterns
                        .first()
                        .map(|first| first.as_ref().to_owned())
                        .unwrap_or_default(),
                    reason: error.to_string(),
                });
                Err(bad)
            }
        }
    }

    /// The first pattern that matches.
    pub fn matched(&self, path: &str) -> Option<&str> {
        let first = self.set.matches(path).into_iter().min()?;
        self.patterns.get(first).map(String::as_str)
    }

    /// The set of globs behind the patterns.
    pub fn as_set(&self) -> &GlobSet {
        &self.set
    }

    /// Returns whether any pattern matches.
    pub fn is_match(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}

/// The globs of one pattern: the path itself, and what is below it.
fn globs(pattern: &str, ignore_case: bool, anchored: bool) -> Result<Vec<Glob>, String> {
    if pattern.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if pattern.starts_with('!') {
        return Err("a pattern cannot be negated with `!`".to_owned());
    }
    let below_only = pattern.ends_with('/');
    let bare = pattern.trim_end_matches('/');
    let anchored = anchored || bare.contains('/');
    let bare = bare.trim_start_matches('/');
    if bare.is_empty() {
        return Err("it names nothing".to_owned());
    }
    let prefix = if anchored || bare.starts_with("**/") { "" } else { "**/" };
    let mut texts = vec![format!("{prefix}{bare}/**")];
    if !below_only {
        texts.insert(0, format!("{prefix}{bare}"));
    }
    texts
        .iter()
        .map(|text| {
            GlobBuilder::new(text)
                .literal_separator(true)
                .case_insensitive(ignore_case)
                .build()
                .map_err(|error| error.kind().to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_gitignore() {
        for (pattern, yes, no) in [
            ("*.pem", vec!["a.pem", "x/y/a.pem"], vec!["a.pem.md", "pem"]),
            (
                "infra/*.tf",
                vec!["infra/main.tf"],
                vec!["x/infra/main.tf", "infra/a/main.tf"],
            ),
            ("infra/**/*.tf", vec!["infra/main.tf", "infra/a/b.tf"], vec!["infra.tf"]),
            (
                "generated/",
                vec!["generated/a", "x/generated/y/z"],
                vec!["generated", "regenerated/a"],
            ),
            ("vendor", vec!["vendor", "vendor/a/b", "x/vendor/a"], vec!["vendored/a"]),
            ("/docs", vec!["docs/a.md", "docs"], vec!["x/docs/a.md"]),
            ("src/gen/", vec!["src/gen/a.rs"], vec!["x/src/gen/a.rs"]),
            ("**/x.rs", vec!["x.rs", "a/b/x.rs"], vec!["ax.rs"]),
            ("{a,b}.rs", vec!["a.rs", "c/b.rs"], vec!["ab.rs"]),
        ] {
            let globs = PathGlobs::new(&[pattern]).expect("a pattern");
            for path in yes {
                assert_eq!(globs.matched(path), Some(pattern), "{pattern} matches {path}");
            }
            for path in no {
                assert!(!globs.is_match(path), "{pattern} does not match {path}");
            }
        }
    }

    #[test]
    fn case_counts_unless_it_is_ignored() {
        assert!(!PathGlobs::new(&["*.PEM"]).expect("valid").is_match("a.pem"));
        assert!(PathGlobs::ignoring_case(&["*.PEM"]).expect("valid").is_match("a.pem"));
    }

    #[test]
    fn patterns_of_projects_start_at_the_root() {
        let globs = PathGlobs::of_projects(&["platform", "*/docs", "**/sandbox"]).expect("valid");
        for path in ["platform", "Platform/a/b", "any/docs", "sandbox", "a/b/sandbox"] {
            assert!(globs.is_match(path), "{path}");
        }
        for path in ["evil/platform", "docs", "a/b/docs", "platform-x"] {
            assert!(!globs.is_match(path), "{path}");
        }
    }

    #[test]
    fn every_bad_pattern_is_named() {
        let bad = PathGlobs::new(&["a[", "ok", "", "!x", "/"]).expect_err("bad ones");
        assert_eq!(bad.iter().map(|bad| bad.index).collect::<Vec<_>>(), [0, 2, 3, 4]);
        assert!(
            bad[0].to_string().starts_with("`a[` is not a pattern of paths: "),
            "{}",
            bad[0]
        );
    }
}
