//! Which of the changed files have to be reviewed again.

use std::collections::{BTreeSet, HashMap};

use conclave_shared::reviewer::ReviewerName;

use crate::{
    diff::{ChangeKind, FileDiff, FilteredDiff},
    review::{CarryOver, EarlierFiles, PatchId, PathId, ReviewedFiles},
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
    /// The same for the next carry-over.
    pub reviewed: Vec<ReviewedFiles>,
}

/// Takes out the files whose patches were reviewed before, by everybody who is on the panel now: a larger panel than then
/// has seen nothing of them.
///
/// A patch was reviewed as a part of its change. Where a file has left the change since, be it deleted or put back as it was
/// at base, the others may rest on what is no longer there, and nothing counts as reviewed. Nor does it where the target branch,
/// or what is shown to all reviewers, is another now.
pub fn narrow(
    files: Vec<FileDiff>,
    patches: Vec<PatchId>,
    touched: &BTreeSet<PathId>,
    (panel, under): (&[ReviewerName], Option<&PatchId>),
    carry_over: &CarryOver,
) -> Narrowed {
    let is_same_change = !carry_over.touched.is_empty() && carry_over.touched.iter().all(|path| touched.contains(path));
    let reviewed = if is_same_change { &carry_over.reviewed[..] } else { &[] };
    let mut known: HashMap<&PatchId, usize> = HashMap::new();
    for (at, review) in reviewed.iter().enumerate() {
        if review.under.as_ref() == under && panel.iter().all(|name| review.panel.contains(name)) {
            for patch in &review.patches {
                known.entry(patch).or_insert(at);
            }
        }
    }
    let mut narrowed = Narrowed::default();
    let mut kept: Vec<(Vec<String>, Vec<PatchId>)> = vec![Default::default(); reviewed.len()];
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
    for (review, (files, patches)) in reviewed.iter().zip(kept) {
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

/// The paths that a change touches, also those of files that are left out of the review.
pub fn touched(diff: &FilteredDiff) -> BTreeSet<PathId> {
    let moved = diff.files.iter().filter(|file| file.kind == ChangeKind::Renamed);
    let paths = diff.files.iter().map(|file| &file.path);
    let left_out = diff
        .filtered
        .iter()
        .flat_map(|file| std::iter::once(&file.path).chain(&file.old_path));
    paths
        .chain(left_out)
        .chain(moved.map(|file| &file.old_path))
        .map(|path| PathId::new(path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{FilterReason, FilteredFile};

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
    fn carry_over() -> CarryOver {
        let review = |head: &str, names: &[&str], patches: Vec<PatchId>| ReviewedFiles {
            head_sha: head.repeat(40),
            panel: panel(names),
            patches,
            under: Some(patch("main")),
        };
        CarryOver {
            reviewed: vec![
                review("2", &["correctness", "security"], vec![patch("a"), patch("gone")]),
                review("1", &["security"], vec![patch("b")]),
            ],
            touched: ["a.py", "b.py"].map(PathId::new).to_vec(),
            ..CarryOver::default()
        }
    }

    fn narrowed(panel_now: &[&str]) -> Narrowed {
        narrowed_by(panel_now, &carry_over())
    }

    fn narrowed_by(panel_now: &[&str], carry_over: &CarryOver) -> Narrowed {
        narrowed_under("main", panel_now, carry_over)
    }

    fn narrowed_under(under: &str, panel_now: &[&str], carry_over: &CarryOver) -> Narrowed {
        let diff = FilteredDiff {
            files: ["a.py", "b.py", "c.py"].map(file).to_vec(),
            ..FilteredDiff::default()
        };
        let touched = touched(&diff);
        let patches = vec![patch("a"), patch("b"), patch("c")];
        let (panel, under) = (panel(panel_now), patch(under));
        narrow(diff.files, patches, &touched, (&panel, Some(&under)), carry_over)
    }

    #[test]
    fn what_was_reviewed_for_another_target_or_under_other_conventions_is_reviewed_again() {
        let all = ["a.py", "b.py", "c.py"];
        let narrowed = narrowed_under("playground", &["security"], &carry_over());
        assert_eq!(paths(&narrowed.files), all);
        assert_eq!((narrowed.earlier, narrowed.reviewed), (vec![], vec![]));
        // Summaries of older versions do not say under which.
        let mut older = carry_over();
        for review in &mut older.reviewed {
            review.under = None;
        }
        assert_eq!(paths(&narrowed_by(&["security"], &older).files), all);
    }

    #[test]
    fn what_was_reviewed_beside_a_file_that_has_left_the_change_is_reviewed_again() {
        let all = ["a.py", "b.py", "c.py"];
        let mut carry_over = carry_over();
        carry_over.touched.push(PathId::new("guard.py"));
        let narrowed = narrowed_by(&["security"], &carry_over);
        assert_eq!(paths(&narrowed.files), all);
        assert_eq!(
            (narrowed.earlier, narrowed.reviewed, narrowed.unchanged),
            (vec![], vec![], vec![])
        );
        // A summary of an older version does not say what its change touched.
        carry_over.touched.clear();
        assert_eq!(paths(&narrowed_by(&["security"], &carry_over).files), all);
    }

    #[test]
    fn a_renamed_file_and_one_that_is_left_out_are_still_part_of_the_change() {
        let renamed = FileDiff {
            old_path: "old.py".into(),
            kind: ChangeKind::Renamed,
            ..file("new.py")
        };
        let copied = FileDiff {
            old_path: "source.py".into(),
            kind: ChangeKind::Copied,
            ..file("copy.py")
        };
        let diff = FilteredDiff {
            files: vec![renamed, copied],
            filtered: vec![FilteredFile {
                path: "vendor/x.go".into(),
                old_path: Some("vendor/y.go".into()),
                reason: FilterReason::Vendored,
            }],
            ..FilteredDiff::default()
        };
        let expected = ["copy.py", "new.py", "old.py", "vendor/x.go", "vendor/y.go"].map(PathId::new);
        assert_eq!(touched(&diff), BTreeSet::from(expected));
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
                "unchanged since the review of `22222222`, and not reviewed again: a.py",
                "unchanged since the review of `11111111`, and not reviewed again: b.py"
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
