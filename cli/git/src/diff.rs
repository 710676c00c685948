//! The diff of two commits as git tells it.

use crate::{command::GitError, repository::Repository};

/// A diff in git's own machine formats; the engine reads them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawDiff {
    /// `--raw -z`: modes, status and paths of each file, safe for every file name.
    pub raw: Vec<u8>,
    /// `--numstat -z`: added and removed lines of each file, `-` for binary files.
    pub numstat: Vec<u8>,
    /// `--patch`: the text of the changes, in the same order.
    pub patch: Vec<u8>,
}

/// Options that make the output the same whatever any configuration says. None of them may imply a format: `--unified`
/// would add a patch to the others.
const OPTIONS: [&str; 11] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "-M",
    "--full-index",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
];

impl Repository {
    /// What changed from `base` to `head`, both commits.
    pub async fn diff(&self, base: &str, head: &str) -> Result<RawDiff, GitError> {
        Ok(RawDiff {
            raw: self.diff_as(&["--raw", "-z", "--no-abbrev"], base, head).await?,
            numstat: self.diff_as(&["--numstat", "-z"], base, head).await?,
            patch: self.diff_as(&["--patch", "--unified=3"], base, head).await?,
        })
    }

    async fn diff_as(&self, format: &[&str], base: &str, head: &str) -> Result<Vec<u8>, GitError> {
        let mut arguments = vec!["diff"];
        arguments.extend(OPTIONS);
        arguments.extend(format);
        arguments.extend(["--end-of-options", base, head]);
        self.bytes(&arguments).await
    }
}
