//! What `conclave local RANGE` may name.

/// A range of a repository's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Range {
    /// `base..head`, `base...head`, or `base` alone (then up to `HEAD`): what `head` adds since it left `base`.
    Commits {
        /// Where the work is to be merged.
        base: String,
        /// The work.
        head: String,
    },
    /// Everything that the working tree adds to the default branch, committed or not.
    WorkingTree,
    /// What is staged: what the next commit would add to `HEAD`.
    Staged,
}

/// A text that is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a range: write `base..head`, as in `main..HEAD`, or a single branch to compare with, as in `main`"
)]
pub struct RangeError(String);

impl Range {
    /// Reads a range of commits; `None` means the working tree.
    pub fn parse(text: Option<&str>) -> Result<Self, RangeError> {
        let Some(text) = text else { return Ok(Self::WorkingTree) };
        let fault = || RangeError(text.to_owned());
        // The same commits either way: a merge request adds what its branch adds since it left the target.
        let (base, head) = match text.split_once("...").or_else(|| text.split_once("..")) {
            Some((base, head)) => (base, if head.is_empty() { "HEAD" } else { head }),
            None => (text, "HEAD"),
        };
        let acceptable = |revision: &str| {
            !revision.is_empty()
                && !revision.starts_with('-')
                && !revision.contains("..")
                && !revision.contains(char::is_whitespace)
        };
        if acceptable(base) && acceptable(head) {
            Ok(Self::Commits {
                base: base.to_owned(),
                head: head.to_owned(),
            })
        } else {
            Err(fault())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let commits = |base: &str, head: &str| {
            Ok(Range::Commits {
                base: base.into(),
                head: head.into(),
            })
        };
        assert_eq!(Range::parse(None), Ok(Range::WorkingTree));
        assert_eq!(Range::parse(Some("main..feature/x")), commits("main", "feature/x"));
        assert_eq!(Range::parse(Some("main...feature")), commits("main", "feature"));
        assert_eq!(Range::parse(Some("HEAD~3")), commits("HEAD~3", "HEAD"));
        assert_eq!(Range::parse(Some("v1.0..")), commits("v1.0", "HEAD"));
        for text in ["", "..", "..x", "--output=/etc/passwd", "a..--x", "a b", "a..b..c"] {
            assert!(Range::parse(Some(text)).is_err(), "{text:?}");
        }
    }
}
