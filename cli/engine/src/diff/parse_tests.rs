//! Git's formats, with every kind of change in one diff.

use super::*;

const RAW: &str = ":100644 100644 aaa bbb M\0src/a.rs\0:000000 100644 000 ccc A\0new file.txt\0\
:100644 100644 ddd ddd R100\0old/name.rs\0new/name.rs\0:100644 100644 eee fff M\0logo.png\0\
:100644 100755 ggg ggg M\0run.sh\0";
const NUMSTAT: &str = "2\t1\tsrc/a.rs\0\x31\t0\tnew file.txt\0\x30\t0\t\0old/name.rs\0new/name.rs\0-\t-\tlogo.png\0\
0\t0\trun.sh\0";
const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs
index aaa..bbb 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -3,3 +3,4 @@ fn context() {
 same
-old
+diff --git a/evil b/evil
+new
 same
diff --git a/new file.txt b/new file.txt
new file mode 100644
index 000..ccc
--- /dev/null
+++ b/new file.txt
@@ -0,0 +1 @@
+only
\\ No newline at end of file
diff --git a/old/name.rs b/new/name.rs
similarity index 100%
rename from old/name.rs
rename to new/name.rs
diff --git a/logo.png b/logo.png
index eee..fff 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
";

#[test]
fn every_kind_of_change_is_read() {
    let diff = parse(RAW.as_bytes(), NUMSTAT.as_bytes(), PATCH.as_bytes()).expect("readable");
    let seen: Vec<_> = diff
        .files
        .iter()
        .map(|file| {
            (
                file.path.as_str(),
                file.kind.as_str(),
                file.content,
                file.added,
                file.removed,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("src/a.rs", "modified", Content::Text, 2, 1),
            ("new file.txt", "added", Content::Text, 1, 0),
            ("new/name.rs", "renamed", Content::None, 0, 0),
            ("logo.png", "modified", Content::Binary, 0, 0),
            ("run.sh", "modified", Content::None, 0, 0),
        ]
    );
    let lines = &diff.files[0].lines;
    assert!(lines.is_added(4) && lines.is_added(5) && lines.is_removed(4));
    assert!(!lines.is_added(3) && !lines.is_added(6) && !lines.is_removed(5));
    assert_eq!(lines.distance_to_added(9), Some(4));
    assert_eq!(diff.files[2].old_path, "old/name.rs");
}

#[test]
fn a_missing_patch_is_an_error_and_not_a_smaller_review() {
    let cut = &PATCH[..PATCH.find("diff --git a/run.sh").expect("there")];
    assert_eq!(
        parse(RAW.as_bytes(), NUMSTAT.as_bytes(), cut.as_bytes()),
        Err(DiffParseError::Mismatch {
            raw: 5,
            numstat: 5,
            patches: 4
        })
    );
}

#[test]
fn paths_that_leave_the_repository_are_refused() {
    for path in ["../x", "/etc/passwd", "a/../../x", "a//b"] {
        let raw = format!(":000000 100644 0 1 A\0{path}\0");
        let numstat = format!("1\t0\t{path}\0");
        let patch = "diff --git a/x b/x\n";
        assert_eq!(
            parse(raw.as_bytes(), numstat.as_bytes(), patch.as_bytes()),
            Err(DiffParseError::Path(path.to_owned()))
        );
    }
}

#[test]
fn an_empty_diff_has_no_files() {
    assert_eq!(parse(b"", b"", b""), Ok(Diff::default()));
}
