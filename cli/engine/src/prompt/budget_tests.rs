//! What is kept of a diff that is too large.

use proptest::prelude::*;

use super::*;

fn size(changed_lines: u64, bytes: u64, header: u64) -> PatchSize {
    PatchSize {
        changed_lines,
        bytes,
        header,
    }
}

#[test]
fn the_most_changed_are_kept_whole_and_the_least_changed_are_cut_last() {
    use Share::{Cut, Whole};
    let cases: [(&str, &[PatchSize], u64, &[Share]); 6] = [
        (
            "all fits",
            &[size(9, 900, 100), size(1, 150, 100)],
            1050,
            &[Whole, Whole],
        ),
        (
            "the most-changed first, whatever the order of the diff",
            &[size(1, 200, 100), size(9, 900, 100), size(5, 600, 100)],
            1250,
            &[Whole, Whole, Cut(50)],
        ),
        (
            "one that does not fit leaves its room to smaller ones",
            &[size(99, 9000, 100), size(9, 900, 100), size(1, 200, 100)],
            1300,
            &[Cut(100), Whole, Whole],
        ),
        (
            "headers alone",
            &[size(9, 900, 100), size(1, 200, 100)],
            0,
            &[Cut(0), Cut(0)],
        ),
        (
            "a tie goes by position",
            &[size(5, 500, 100), size(5, 500, 100)],
            650,
            &[Whole, Cut(50)],
        ),
        (
            "nothing to keep back of a header",
            &[size(0, 100, 100), size(9, 900, 100)],
            500,
            &[Whole, Cut(300)],
        ),
    ];
    for (name, sizes, budget, expected) in cases {
        assert_eq!(share_out(sizes, budget), expected, "{name}");
    }
}

#[test]
fn windows_are_compared_in_tokens() {
    assert_eq!(estimated_tokens(10), 4);
    assert_eq!(patch_budget(200_000, 50_000), 250_000);
    assert_eq!(patch_budget(1_000, 50_000), 0);
    assert_eq!(window_warning("a/m", 1_000, 1_500), None);
    let warning = window_warning("a/m", 1_000, 1_503).expect("more than half");
    assert!(
        warning.contains("about 501 tokens") && warning.contains("a/m (1000)"),
        "{warning}"
    );
}

#[test]
fn a_reviewer_with_a_small_window_is_given_fewer_patches_but_whole_ones() {
    let sizes = [size(1, 100, 50), size(9, 900, 50), size(5, 500, 50), size(2, 200, 50)];
    let shares = share_out(&sizes, 1_250);
    let given = given(&sizes, &shares);
    assert_eq!(given.iter().map(|size| size.bytes).sum::<u64>(), 1_250);
    assert_eq!(given[1], sizes[1], "what is whole stays as it is");
    assert_eq!(fitting(&[0, 2, 3], &sizes, 800), [0, 2, 3]);
    assert_eq!(fitting(&[0, 1, 3], &sizes, 400), [0, 3]);
    assert_eq!(fitting(&[0, 1], &sizes, 0), Vec::<usize>::new());
}

const PATCH: &str = "diff --git a/a.rs b/a.rs
index 1..2 100644
--- a/a.rs
+++ b/a.rs
@@ -1,3 +1,4 @@ fn first()
 one
-two
+zwei
+drei
 four
@@ -10,2 +11,3 @@
 ten
+elf
 twelve
";

fn cut_to(hunks: u64) -> (String, u64) {
    let cut = cut(PATCH.as_bytes(), hunks).expect("no input or output");
    (String::from_utf8(cut.bytes).expect("text"), cut.lines_left_out)
}

#[test]
fn a_cut_patch_is_still_a_patch() {
    let header = header_length(PATCH.as_bytes());
    assert_eq!(&PATCH[usize::try_from(header).expect("small")..][..4], "@@ -");
    assert_eq!(cut_to(u64::MAX), (PATCH.to_owned(), 0));

    let note = |lines: u64| {
        format!("# {lines} lines of this patch are left out: the change is larger than a reviewer can read\n")
    };
    let head = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n";
    assert_eq!(cut_to(0), (format!("{head}{}", note(8)), 8));
    let first = "@@ -1,3 +1,4 @@ fn first()\n one\n-two\n+zwei\n+drei\n four\n";
    assert_eq!(cut_to(first.len() as u64), (format!("{head}{first}{}", note(3)), 3));
    // Cut through a hunk: the numbers of its header fit what is there.
    let through = "@@ -1,2 +1,2 @@ fn first()\n one\n-two\n+zwei\n";
    assert_eq!(
        cut_to(through.len() as u64 + 2),
        (format!("{head}{through}{}", note(5)), 5)
    );
}

#[test]
fn a_line_that_looks_like_a_hunk_is_none() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n one\n+@@ -9,9 +9,9 @@\n";
    assert_eq!(cut(patch.as_bytes(), u64::MAX).expect("fine").bytes, patch.as_bytes());
    let binary = "diff --git a/x b/x\nBinary files a/x and b/x differ\n";
    assert_eq!(header_length(binary.as_bytes()), binary.len() as u64);
    assert_eq!(cut(binary.as_bytes(), 0).expect("fine").bytes, binary.as_bytes());
}

proptest! {
    #[test]
    fn the_budget_holds_but_for_headers(
        sizes in proptest::collection::vec((0u64..500, 0u64..5000, 0u64..200), 0..40),
        budget in 0u64..60_000,
    ) {
        let sizes: Vec<PatchSize> =
            sizes.into_iter().map(|(changed, hunks, header)| size(changed, hunks + header, header)).collect();
        let shares = share_out(&sizes, budget);
        prop_assert_eq!(&shares, &share_out(&sizes, budget), "deterministic");
        let headers: u64 = sizes.iter().map(|size| size.header).sum();
        let hunks: u64 = sizes.iter().zip(&shares).map(|(size, share)| match share {
            Share::Whole => size.bytes - size.header,
            Share::Cut(part) => *part,
        }).sum();
        prop_assert!(headers + hunks <= budget.max(headers));
        // Nothing is cut that would still fit, and what is cut is cut really.
        let left = budget.saturating_sub(headers + hunks);
        for (size, share) in sizes.iter().zip(&shares) {
            if let Share::Cut(part) = share {
                prop_assert!(*part < size.bytes - size.header);
                prop_assert_eq!(left, 0);
            }
        }
    }

    #[test]
    fn a_cut_never_gives_more_than_asked(lines in proptest::collection::vec("[ +-][a-z]{0,30}", 1..60), keep in 0u64..2000) {
        let old = lines.iter().filter(|line| !line.starts_with('+')).count();
        let new = lines.iter().filter(|line| !line.starts_with('-')).count();
        let header = "--- a/x\n+++ b/x\n";
        let patch = format!("{header}@@ -1,{old} +1,{new} @@\n{}\n", lines.join("\n"));
        let cut = cut(patch.as_bytes(), keep).expect("fine");
        let text = String::from_utf8(cut.bytes).expect("text");
        prop_assert!(text.starts_with(header));
        let hunks: String = text[header.len()..].lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        prop_assert!(hunks.len() as u64 <= keep + 1);
        let kept = hunks.lines().filter(|line| !line.starts_with("@@ ")).count() as u64;
        prop_assert_eq!(kept + cut.lines_left_out, lines.len() as u64);
    }
}

/// The length of a patch's header: everything before the first hunk.
fn header_length(patch: &[u8]) -> u64 {
    let mut length = 0;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"@@ -") {
            break;
        }
        length += line.len();
    }
    length as u64
}
