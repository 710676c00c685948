//! Which of the changed files have to be reviewed again.

use std::collections::HashMap;

use conclave_shared::reviewer::ReviewerName;

use crate::{
    diff::FileDiff,
    review::{CarryOver, EarlierFiles, PatchId, ReviewedFiles},
};

/// The files, parted into what is reviewed and what was.
#[derive(Debug, Clone, Default)]
pub struct Narrowed {
    /// Files that have to be reviewed.
    pub files: Vec<FileDiff>,
    /// The identities of their patches, in the same order.
    pub patches: Vec<PatchId>,
    /// Files that were reviewed as they are.
    pub unchanged: Vec<FileDiff>,
    /// Where those were reviewed, newest review first.
    pub earlier: Vec<EarlierFiles>,
    /// The same for the next ledger.
    pub reviewed: Vec<ReviewedFiles>,
}

/// Takes out the files whose patches were reviewed before, by everybody who is on the panel now: a larger panel than then
/// has seen nothing of them.
pub fn narrow(files: Vec<FileDiff>, patches: Vec<PatchId>, panel: &[ReviewerName], ledger: &CarryOver) -> Narrowed {
    let mut known: HashMap<&PatchId, usize> = HashMap::new();
    for (at, review) in ledger.reviewed.iter().enumerate() {
        if panel.iter().all(|name| review.panel.contains(name)) {
            for patch in &review.patches {
                known.entry(patch).or_insert(at);
            }
        }
    }
    let mut narrowed = Narrowed::default();
    let mut kept: Vec<(Vec<String>, Vec<PatchId>)> = vec![Default::default(); ledger.reviewed.len()];
    for (file, patch) in files.into_iter().zip(patches) {
        if let Some(at) = known.get(&patch) {
            kept[*at].0.push(file.path.clone());
            kept[*at].1.push(patch);
            narrowed.unchanged.push(file);
        } else {
            narrowed.files.push(file);
            narrowed.patches.push(patch);
        }
    }
    for (review, (files, patches)) in ledger.reviewed.iter().zip(kept) {
        if files.is_empty() {
            continue;
        }
        narrowed.earlier.push(EarlierFiles {
            head_sha: review.head_sha.clone(),
            files,
        });
        narrowed.reviewed.push(ReviewedFiles {
            patches,
            ..review.clone()
        });
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> FileDiff {
        FileDiff {
            path: path.to_owned(),
            ..FileDiff::default()
        }
    }

    fn patch(text: &str) -> PatchId {
        PatchId::new(&file("x"), format!("@@ -1 +1 @@\n+{text}\n").as_bytes())
    }

    fn panel(names: &[&str]) -> Vec<ReviewerName> {
        names
            .iter()
            .map(|name| ReviewerName::new(*name).expect("a name"))
            .collect()
    }

    /// Two reviews: of `a` by security and correctness, of `b` by security alone.
    fn ledger() -> CarryOver {
        let review = |head: &str, names: &[&str], patches: Vec<PatchId>| ReviewedFiles {
            head_sha: head.repeat(40),
            panel: panel(names),
            patches,
        };
        CarryOver {
            reviewed: vec![
                review("2", &["correctness", "security"], vec![patch("a"), patch("gone")]),
                review("1", &["security"], vec![patch("b")]),
            ],
            ..CarryOver::default()
        }
    }

    fn narrowed(panel_now: &[&str]) -> Narrowed {
        let files = ["a.py", "b.py", "c.py"].map(file).to_vec();
        narrow(
            files,
            vec![patch("a"), patch("b"), patch("c")],
            &panel(panel_now),
            &ledger(),
        )
    }

    fn paths(files: &[FileDiff]) -> Vec<&str> {
        files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn only_what_changed_is_reviewed_and_the_review_says_where_the_rest_was() {
        let narrowed = narrowed(&["security"]);
        assert_eq!(paths(&narrowed.files), ["c.py"]);
        assert_eq!(narrowed.patches, [patch("c")]);
        assert_eq!(paths(&narrowed.unchanged), ["a.py", "b.py"]);
        let described: Vec<String> = narrowed.earlier.iter().map(EarlierFiles::describe).collect();
        assert_eq!(
            described,
            [
                "unchanged since the review of 22222222, and not reviewed again: a.py",
                "unchanged since the review of 11111111, and not reviewed again: b.py"
            ]
        );
        // What left the merge request is forgotten; what stays keeps its review.
        let patches: Vec<&[PatchId]> = narrowed.reviewed.iter().map(|review| &review.patches[..]).collect();
        assert_eq!(patches, [[patch("a")], [patch("b")]]);
    }

    #[test]
    fn a_larger_panel_reviews_everything_that_it_has_not_seen() {
        assert_eq!(paths(&narrowed(&["security", "correctness"]).files), ["b.py", "c.py"]);
        assert_eq!(paths(&narrowed(&["security", "codex"]).files), ["a.py", "b.py", "c.py"]);
    }

    #[test]
    fn many_files_are_counted() {
        let earlier = EarlierFiles {
            head_sha: "1".repeat(40),
            files: (0..12).map(|number| format!("f{number}")).collect(),
        };
        assert!(earlier.describe().ends_with("f8, f9, 2 more"), "{}", earlier.describe());
    }
}
