//! Where a change and its target branch parted, and what merging them brings.
//!
//! A diff begins at one merge base. Where branches were merged into each other crosswise there are several, and a merge goes by all
//! of them: it may change what the diff from any one of them does not show.

use camino::Utf8Path;

use crate::{
    command::{self, GitError, names},
    fetch::{borrow, empty},
    repository::Repository,
};

/// The number of commits at which a change and its target branch parted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// The merge base that is reviewed, and no other commit.
    Once,
    /// Several commits, or another one than the reviewed merge base.
    Several {
        /// The tip of the target branch.
        target: String,
    },
    /// Several, of which the history that is here does not have all: what a merge makes of them cannot be worked out.
    SeveralFarBack,
    /// The history that is here does not say.
    Unknown,
}

/// A file that a merge changes on the target branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedFile {
    /// Its path.
    pub path: String,
    /// Its mode after the merge, as git writes it; `000000` where the merge removes it.
    pub mode: String,
    /// The name of its content after the merge; only zeros where the merge removes it.
    pub object: String,
}

impl Repository {
    /// Returns whether `base` is the only commit at which `target` and `head` parted.
    pub async fn parting(&self, base: &str, target: &str, head: &str) -> Result<Parting, GitError> {
        if target == base {
            return Ok(Parting::Once);
        }
        if self.is_cut_off() {
            if self.is_straight(base, head).await? {
                return Ok(Parting::Once);
            }
            // A commit without a parent may have some that are not here.
            let without = format!("^{base}");
            let first = ["rev-list", "--max-parents=0", "--max-count=1", "--end-of-options"];
            let range = [target, head, &without];
            if !self.text(&[&first[..], &range[..]].concat()).await?.is_empty() {
                return Ok(Parting::Unknown);
            }
        }
        let bases = self
            .text(&["merge-base", "--all", "--end-of-options", target, head])
            .await?;
        if bases == base {
            return Ok(Parting::Once);
        }
        let target = target.to_owned();
        Ok(Parting::Several { target })
    }

    /// Returns whether the parents of some commits are not here.
    fn is_cut_off(&self) -> bool {
        self.own_objects().with_file_name("shallow").is_file()
    }

    /// Returns whether each commit from `base` to `head` has one parent: two merge bases can only be reached through a merge.
    async fn is_straight(&self, base: &str, head: &str) -> Result<bool, GitError> {
        let range = format!("{base}..{head}");
        let commits = self
            .text(&["rev-list", "--parents", "--end-of-options", &range])
            .await?;
        Ok(commits.lines().all(|commit| commit.split(' ').count() == 2))
    }

    /// The files that merging `head` into `target` changes on the target branch. What git writes for it stands below `scratch`.
    pub async fn merged_files(
        &self,
        target: &str,
        head: &str,
        scratch: &Utf8Path,
    ) -> Result<Vec<MergedFile>, GitError> {
        // The configuration of the repository itself may name programs that merge files.
        let place = scratch.join("merge.git");
        let merging = empty(&[head], &place).await?;
        borrow(self, &place).await?;
        let arguments = [
            "merge-tree",
            "--write-tree",
            "--no-messages",
            "--end-of-options",
            target,
            head,
        ];
        let output = command::git(merging.root(), &merging.stores, &arguments).output().await;
        let output = output.map_err(GitError::Start)?;
        let tree = String::from_utf8_lossy(&output.stdout);
        let tree = tree.lines().next().unwrap_or_default();
        // With 1 there are conflicts, whose files hold both sides, or git does not know a commit.
        if tree.is_empty() || !matches!(output.status.code(), Some(0 | 1)) {
            return Err(command::failure(&arguments, &output.stderr, output.status));
        }
        let differing = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--raw",
            target,
            tree,
        ];
        Ok(parse(&merging.run(&differing).await?))
    }
}

/// `:MODE MODE OBJECT OBJECT STATUS NUL PATH NUL`, before and after.
fn parse(listing: &[u8]) -> Vec<MergedFile> {
    let fields = names(listing);
    let (records, _) = fields.as_chunks::<2>();
    let file = |[facts, path]: &[String; 2]| {
        let mut facts = facts.split(' ').skip(1);
        Some(MergedFile {
            mode: facts.next()?.to_owned(),
            object: facts.nth(1)?.to_owned(),
            path: path.clone(),
        })
    };
    records.iter().filter_map(file).collect()
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
