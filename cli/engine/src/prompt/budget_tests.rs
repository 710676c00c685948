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
    use Share::{Cut, Header, Whole};
    let cases: [(&str, &[PatchSize], u64, &[Share]); 8] = [
        (
            "all fits",
            &[size(9, 900, 100), size(1, 150, 100)],
            1050,
            &[Whole, Whole],
        ),
        (
            "the most-changed first, whatever the order of the diff",
            &[size(1, 2000, 100), size(9, 900, 100), size(5, 600, 100)],
            2300,
            &[Cut(636), Whole, Whole],
        ),
        (
            "one that does not fit leaves its room to smaller ones",
            &[size(99, 9000, 100), size(9, 900, 100), size(1, 200, 100)],
            2000,
            &[Cut(736), Whole, Whole],
        ),
        (
            "a part that is hardly more than a header is none",
            &[size(9, 900, 100), size(5, 600, 100), size(1, 200, 100)],
            1400,
            &[Whole, Header, Whole],
        ),
        (
            "a header takes no room",
            &[size(9, 900, 800), size(5, 900, 800), size(1, 300, 250)],
            1300,
            &[Whole, Header, Whole],
        ),
        (
            "what only makes room for its own notice is whole",
            &[size(9, 900, 100), size(5, 640, 100), size(1, 600, 100)],
            1550,
            &[Whole, Whole, Header],
        ),
        ("no room", &[size(9, 900, 100), size(1, 200, 100)], 0, &[Header, Header]),
        (
            "a tie goes by position",
            &[size(5, 500, 100), size(5, 500, 100)],
            650,
            &[Whole, Header],
        ),
    ];
    for (name, sizes, budget, expected) in cases {
        assert_eq!(share_out(sizes, budget), expected, "{name}");
    }
}

#[test]
fn of_many_small_patches_as_many_as_fit_are_whole_and_none_is_cut_for_them() {
    // 520 files of two changed lines, in half of a window of 128,000 tokens.
    let sizes = vec![size(2, 390, 250); 520];
    let shares = share_out(&sizes, 140_000);
    let (whole, rest) = shares.split_at(358);
    assert!(whole.iter().all(|share| *share == Share::Whole));
    assert!(rest.iter().all(|share| *share == Share::Header));
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
    assert_eq!(shares, [Share::Whole, Share::Whole, Share::Header, Share::Whole]);
    assert_eq!(given(&sizes, &shares), sizes, "what is whole stays as it is");
    let large = [size(9, 9_000, 50)];
    let cut = given(&large, &share_out(&large, 1_250));
    assert_eq!(
        cut[0].bytes, 1_250,
        "a part fills the room that is left, with its header and notice"
    );
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

    let note = |lines: u64| format!("# {lines} lines left out: the change is too large\n");
    let head = "diff --git a/a.rs b/a.rs\nindex 1..2 100644\n--- a/a.rs\n+++ b/a.rs\n";
    assert!(note(u64::from(u32::MAX)).len() as u64 <= NOTICE);
    assert_eq!(cut_to(0), (format!("{head}{}", note(8)), 8));
    let is_header = |hunks| cut(PATCH.as_bytes(), hunks).expect("no input or output").is_header();
    // The header of a hunk without a line of it is nothing to read.
    assert_eq!([0, 30, 200].map(is_header), [true, true, false]);
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
    let uncut = cut(binary.as_bytes(), 0).expect("fine");
    assert_eq!((uncut.is_header(), uncut.bytes), (false, binary.as_bytes().to_vec()));
}

proptest! {
    #[test]
    fn the_budget_holds_and_is_used(
        sizes in proptest::collection::vec((0u64..500, 0u64..5000, 0u64..200), 0..40),
        budget in 0u64..60_000,
    ) {
        let sizes: Vec<PatchSize> =
            sizes.into_iter().map(|(changed, hunks, header)| size(changed, hunks + header, header)).collect();
        let shares = share_out(&sizes, budget);
        prop_assert_eq!(&shares, &share_out(&sizes, budget), "deterministic");
        let given = given(&sizes, &shares);
        let read = shares.iter().zip(&given).filter(|(share, _)| **share != Share::Header);
        let read: u64 = read.map(|(_, size)| size.bytes).sum();
        prop_assert!(read <= budget);
        for ((size, share), given) in sizes.iter().zip(&shares).zip(&given) {
            match share {
                Share::Whole => {}
                // Nothing is left out that would still fit, and what is cut is clearly shorter than the patch.
                Share::Header => prop_assert!(size.bytes > budget - read),
                Share::Cut(part) => {
                    prop_assert!(*part >= MIN_PART && given.bytes < size.bytes);
                    prop_assert_eq!(read, budget);
                }
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
