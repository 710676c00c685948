//! Git's formats, with every kind of change in one diff, and what hostile input does to the reader.

use proptest::prelude::*;

use super::*;
use crate::diff::ChangeKind;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const ZERO: &str = "0000000000000000000000000000000000000000";

fn raw(old_mode: &str, new_mode: &str, old: &str, new: &str, status: &str, paths: &[&str]) -> Vec<u8> {
    let mut record = format!(":{old_mode} {new_mode} {old} {new} {status}\0").into_bytes();
    for path in paths {
        record.extend_from_slice(path.as_bytes());
        record.push(0);
    }
    record
}

fn modified(path: &str) -> Vec<u8> {
    raw("100644", "100644", A, B, "M", &[path])
}

/// The output of git for these records and this patch.
fn output(records: &[Vec<u8>], patch: &str) -> Vec<u8> {
    let mut all = records.concat();
    if !records.is_empty() {
        all.push(0);
    }
    all.extend_from_slice(patch.as_bytes());
    all
}

fn section(path: &str, hunks: &str) -> String {
    format!("diff --git a/{path} b/{path}\nindex {A}..{B} 100644\n--- a/{path}\n+++ b/{path}\n{hunks}")
}

fn read_with(limits: DiffLimits, chunks: &[&[u8]]) -> Result<(Diff, Vec<u8>), DiffParseError> {
    let mut reader = DiffReader::new(limits, Vec::new());
    for chunk in chunks {
        reader.push(chunk)?;
    }
    reader.finish()
}

fn read(output: &[u8]) -> Result<(Diff, Vec<u8>), DiffParseError> {
    read_with(DiffLimits::default(), &[output])
}

fn patch<'s>(file: &FileDiff, spool: &'s [u8]) -> &'s str {
    let start = usize::try_from(file.patch.offset).expect("small");
    let end = start + usize::try_from(file.patch.length).expect("small");
    std::str::from_utf8(&spool[start..end]).expect("text")
}

/// One of everything.
fn everything() -> Vec<u8> {
    let records = [
        modified("src/a.rs"),
        raw("000000", "100644", ZERO, B, "A", &["new file.txt"]),
        raw("100644", "100644", A, A, "R100", &["old/name.rs", "new/name.rs"]),
        raw("100644", "100644", A, B, "C090", &["one.rs", "two.rs"]),
        raw("100644", "100644", A, B, "M", &["logo.png"]),
        raw("100644", "100755", A, A, "M", &["run.sh"]),
        raw("100644", "120000", A, B, "T", &["link"]),
        raw("160000", "160000", A, B, "M", &["library"]),
        raw("000000", "100644", ZERO, B, "A", &["empty"]),
    ];
    let patch = format!(
        "{}diff --git a/new file.txt b/new file.txt
new file mode 100644
index {ZERO}..{B}
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1 @@
+only
\\ No newline at end of file
diff --git a/old/name.rs b/new/name.rs
similarity index 100%
rename from old/name.rs
rename to new/name.rs
diff --git a/one.rs b/two.rs
similarity index 90%
copy from one.rs
copy to two.rs
index {A}..{B} 100644
--- a/one.rs
+++ b/two.rs
@@ -1 +1 @@
-one
+two
diff --git a/logo.png b/logo.png
index {A}..{B} 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/link b/link
deleted file mode 100644
index {A}..{ZERO}
--- a/link
+++ /dev/null
@@ -1 +0,0 @@
-text
diff --git a/link b/link
new file mode 120000
index {ZERO}..{B}
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+target
\\ No newline at end of file
diff --git a/library b/library
index {A}..{B} 160000
--- a/library
+++ b/library
@@ -1 +1 @@
-Subproject commit {A}
+Subproject commit {B}
diff --git a/empty b/empty
new file mode 100644
index {ZERO}..{B}
",
        section(
            "src/a.rs",
            "@@ -3,5 +3,5 @@ fn context() {\n same\n-old\n--- drop table\n+diff --git a/evil b/evil\n+++ b/evil\n same\n same\n"
        )
    );
    output(&records, &patch)
}

#[test]
fn every_kind_of_change_is_read() {
    use ChangeKind::{Added, Copied, Modified, Renamed};
    let (diff, spool) = read(&everything()).expect("readable");
    let seen: Vec<_> = diff
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.kind, file.content, file.added, file.removed))
        .collect();
    assert_eq!(
        seen,
        [
            ("src/a.rs", Modified, Content::Text, 2, 2),
            ("new file.txt", Added, Content::Text, 1, 0),
            ("new/name.rs", Renamed, Content::None, 0, 0),
            ("two.rs", Copied, Content::Text, 1, 1),
            ("logo.png", Modified, Content::Binary, 0, 0),
            ("run.sh", Modified, Content::None, 0, 0),
            ("link", Modified, Content::Symlink, 1, 1),
            ("library", Modified, Content::Submodule, 1, 1),
            ("empty", Added, Content::None, 0, 0),
        ]
    );
    assert!(diff.files.iter().all(|file| file.unread.is_none()));
    let lines = &diff.files[0].lines;
    assert!(lines.is_added(4) && lines.is_added(5) && lines.is_removed(4) && lines.is_removed(5));
    assert!(!lines.is_added(3) && !lines.is_added(6) && !lines.is_removed(6));
    assert_eq!(lines.distance_to_added(9), Some(4));
    assert_eq!(diff.files[2].old_path, "old/name.rs");
    assert!(patch(&diff.files[0], &spool).contains("+diff --git a/evil b/evil\n"));
    assert!(patch(&diff.files[6], &spool).contains("-text\n") && patch(&diff.files[6], &spool).contains("+target\n"));
    assert_eq!(diff.files[7].base_object(), None, "a submodule's commit is elsewhere");
    assert_eq!(
        (diff.files[8].base_object(), diff.files[8].head_object()),
        (None, Some(B))
    );
}

#[test]
fn whatever_the_patch_shows_of_a_pointer_makes_it_a_candidate() {
    let maybe = |hunks: &str| {
        let (diff, _) = read(&output(&[modified("x.dat")], &section("x.dat", hunks))).expect("readable");
        diff.files[0].maybe_pointer
    };
    let gone = "-x = 1\n".repeat(100);
    let replaced = format!("@@ -1,100 +1 @@\n{gone}+version https://git-lfs.github.com/spec/v1\n");
    for (hunks, expected) in [
        ("@@ -1 +1,2 @@\n-x\n+oid sha256:4d7a\n+size 12\n", true),
        (replaced.as_str(), true),
        ("@@ -2 +2 @@\n-ext-0-case sha256:aa\n+ext-0-case sha256:bb\n", true),
        ("@@ -3 +3,2 @@\n size 12\n+\n", true),
        ("@@ -1,4 +1,3 @@\n-# No pointer\n \n \n \n", true),
        ("@@ -1,2 +1,2 @@\n-# No pointer\n \n+x\n", false),
        ("@@ -1 +1 @@\n-oid sha256:4d7a\n+x\n", false),
        ("@@ -1 +1 @@\n-x\n+y\n@@ -9 +9 @@\n-x\n+y\n", false),
    ] {
        assert_eq!(maybe(hunks), expected, "{hunks}");
    }
}

#[test]
fn binary_data_in_the_place_of_a_link_is_binary() {
    let binary = format!(
        "diff --git a/tool b/tool
deleted file mode 120000
index {A}..{ZERO}
--- a/tool
+++ /dev/null
@@ -1 +0,0 @@
-target
\\ No newline at end of file
diff --git a/tool b/tool
new file mode 100644
index {ZERO}..{B}
Binary files /dev/null and b/tool differ
"
    );
    let record = raw("120000", "100644", A, B, "T", &["tool"]);
    let (diff, _) = read(&output(&[record], &binary)).expect("readable");
    assert_eq!(diff.files[0].content, Content::Binary);
}

#[test]
fn a_missing_or_foreign_section_is_an_error_and_not_a_smaller_review() {
    let records = [modified("a"), modified("b")];
    let one = section("a", "@@ -1 +1 @@\n-x\n+y\n");
    let both = format!("{one}{}", section("b", "@@ -1 +1 @@\n-x\n+y\n"));
    assert_eq!(read(&output(&records, &both)).expect("both").0.files.len(), 2);
    let foreign = both.replace(
        &format!("index {A}..{B} 100644\n--- a/b"),
        &format!("index {B}..{A} 100644\n--- a/b"),
    );
    let third = format!("{both}{one}");
    for (patch, at) in [(&one, 2), (&foreign, 2), (&third, 3)] {
        let error = read(&output(&records, patch)).expect_err("no diff");
        assert!(
            matches!(error, DiffParseError::Mismatch { files: 2, at: found } if found == at),
            "{error}"
        );
    }
    let before = format!("warning: something\n{both}");
    assert!(
        read(&output(&records, &before)).is_err(),
        "text before the first section"
    );
}

#[test]
fn a_path_that_no_checkout_can_have_costs_the_one_file_and_not_the_review() {
    let long = "x/".repeat(3000) + "y";
    let (long_name, long_directory) = ("n".repeat(256), format!("{}/a", "é".repeat(128)));
    let longest = format!("a/{}", "n".repeat(255));
    let long_path = "x/".repeat(2047) + "yy";
    let paths = [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "a//b",
        "./a",
        "",
        "a/.GIT/config",
        &long,
        &long_name,
        &long_directory,
        &long_path,
        "fine",
        &longest,
    ];
    let records: Vec<Vec<u8>> = paths.iter().map(|path| modified(path)).collect();
    let patch: String = paths.iter().map(|_| section("x", "@@ -1 +1 @@\n-x\n+y\n")).collect();
    let (diff, spool) = read(&output(&records, &patch)).expect("readable");
    let unread: Vec<_> = diff.files.iter().map(|file| file.unread).collect();
    assert_eq!(unread[..11], [Some(Unread::Path); 11]);
    assert_eq!(unread[11..], [None; 2]);
    assert_eq!(
        spool.len(),
        2 * patch.len() / paths.len(),
        "only the usable ones are kept"
    );
    assert!(diff.files[7].path.len() <= 4096);
}

#[test]
fn paths_that_are_no_utf_8_stay_apart_and_are_not_read_and_a_path_that_comes_twice_is_not_trusted() {
    let mut records = modified("caf?.txt");
    let at = records.iter().position(|byte| *byte == b'?').expect("there");
    records[at] = 0xE9;
    let one = section("x", "@@ -1 +1 @@\n-x\n+y\n");
    let (diff, _) = read(&output(&[records, modified("a"), modified("a")], &one.repeat(3))).expect("readable");
    assert_eq!(diff.files[0].path, "caf\\351.txt");
    let unread: Vec<_> = diff.files.iter().map(|file| file.unread).collect();
    assert_eq!(unread, [Some(Unread::Path), None, Some(Unread::Path)]);
}

#[test]
fn broken_lists_are_errors_with_the_record() {
    for (bytes, record) in [
        (&b"nonsense\0a\0"[..], 1),
        (b":100644 100644 a b\0a\0", 1),
        (b":100644 100644 a b X\0a\0", 1),
        (b":100644 100644 a b M\0a\0:100644", 2),
        (b":100644 100644 a b R100\0only one", 1),
        (b"\xff\xfe\0", 1),
    ] {
        let error = read(bytes).expect_err("no list");
        assert!(
            matches!(error, DiffParseError::Record(at) if at == record),
            "{bytes:?}: {error}"
        );
    }
    assert_eq!(read(b"").expect("an empty diff").0, Diff::default());
}

#[test]
fn a_file_beyond_the_limits_is_named_and_the_others_are_read() {
    let limits = DiffLimits {
        files: 4,
        patch_bytes: 400,
        line_bytes: 200,
        lines: 20,
        runs: 3,
    };
    let hunk = |line: &str, count: usize| format!("@@ -0,0 +1,{count} @@\n{}", format!("+{line}\n").repeat(count));
    let records: Vec<Vec<u8>> = ["long", "big", "many", "fine"]
        .iter()
        .map(|path| modified(path))
        .collect();
    let patch = [
        section("long", &hunk(&"x".repeat(300), 1)),
        section("big", &hunk(&"x".repeat(50), 8)),
        section("many", &hunk("", 21)),
        section("fine", "@@ -1 +1 @@\n-x\n+y\n"),
    ]
    .concat();
    let (diff, spool) = read_with(limits, &[&output(&records, &patch)]).expect("readable");
    let large = Some(Unread::TooLarge);
    let unread: Vec<_> = diff.files.iter().map(|file| file.unread).collect();
    assert_eq!(unread, [large, large, large, None]);
    assert_eq!(diff.files[1].added, 8, "what was not kept was counted");
    assert_eq!(
        patch.len() - spool.len(),
        patch.find("diff --git a/fine").expect("there")
    );

    let scattered = "@@ -1,5 +1,5 @@\n-a\n+a\n b\n-c\n+c\n d\n-e\n+e\n";
    let (diff, _) = read_with(limits, &[&output(&[modified("a")], &section("a", scattered))]).expect("readable");
    assert_eq!(diff.files[0].unread, large, "too many runs of lines to keep");

    let records: Vec<Vec<u8>> = (0..5).map(|at| modified(&at.to_string())).collect();
    let error = read_with(limits, &[&output(&records, "")]).expect_err("too many");
    assert!(error.to_string().contains("more than 4 files"), "{error}");
}

#[test]
fn hunks_that_do_not_hold_what_they_say_cost_the_one_file() {
    let records = [modified("a"), modified("b")];
    let patch = section("a", "@@ -1,9 +1 @@\n-x\n+y\n") + &section("b", "@@ -1 +1 @@\n-x\n+y\n");
    let (diff, _) = read(&output(&records, &patch)).expect("readable");
    assert_eq!(diff.files[0].unread, Some(Unread::Patch));
    assert_eq!(diff.files[1].unread, None);
}

#[test]
fn a_spool_that_is_full_is_said() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut reader = DiffReader::new(DiffLimits::default(), Full);
    let outcome = reader.push(&everything()).expect_err("full").to_string();
    assert!(
        outcome.contains("in the temporary directory: no storage space"),
        "{outcome}"
    );
}

/// Lines that content may have, among them such as look like git's own.
fn content_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("diff --git a/x b/x".to_owned()),
        Just("@@ -1,3 +1,3 @@".to_owned()),
        Just(format!("index {A}..{B}")),
        Just("--- a/x".to_owned()),
        Just("Binary files a/x and b/x differ".to_owned()),
        Just("\u{0}\r".to_owned()),
        "[ -~]{0,30}",
    ]
}

proptest! {
    #[test]
    fn where_the_chunks_end_does_not_matter(cuts in prop::collection::vec(0_usize..2000, 0..40)) {
        let all = everything();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % all.len()).collect();
        cuts.extend([0, all.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &all[pair[0]..pair[1]]).collect();
        let (whole, spool) = read(&all).expect("readable");
        let (pieces, same_spool) = read_with(DiffLimits::default(), &chunks).expect("readable");
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(spool, same_spool);
    }

    #[test]
    fn nothing_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0_usize..2000) {
        let _ = read(&bytes);
        let all = everything();
        let _ = read(&all[..cut % all.len()]);
        let mut spoiled = all[..cut % all.len()].to_vec();
        spoiled.extend_from_slice(&bytes);
        let _ = read(&spoiled);
    }

    #[test]
    fn no_content_can_pose_as_another_file(
        removed in prop::collection::vec(content_line(), 0..8),
        added in prop::collection::vec(content_line(), 1..8),
    ) {
        let mut hunk = format!("@@ -1,{} +1,{} @@\n", removed.len(), added.len());
        if removed.is_empty() {
            hunk = format!("@@ -0,0 +1,{} @@\n", added.len());
        }
        for (sign, lines) in [('-', &removed), ('+', &added)] {
            for line in lines {
                hunk.push(sign);
                hunk.push_str(line);
                hunk.push('\n');
            }
        }
        let text = section("a", &hunk) + &section("b", "@@ -1 +1 @@\n-x\n+y\n");
        let (diff, spool) = read(&output(&[modified("a"), modified("b")], &text)).expect("readable");
        prop_assert_eq!(diff.files.len(), 2);
        prop_assert_eq!(diff.files[0].unread, None);
        prop_assert_eq!((diff.files[0].added, diff.files[0].removed), (added.len() as u64, removed.len() as u64));
        prop_assert_eq!(patch(&diff.files[0], &spool), section("a", &hunk));
    }
}
