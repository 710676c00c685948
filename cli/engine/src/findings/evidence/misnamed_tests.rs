//! Names that begin or end with what mostly stands around one, and names that are none.

use conclave_shared::reviewer::ReviewerName;

use super::*;
use crate::findings::{Checked, check, scan};

/// Files at head, each with its text.
struct Files<'t>(&'t [(&'t str, &'t str)]);

impl SourceReader for Files<'_> {
    fn read(&mut self, path: &str, at_base: bool) -> Option<String> {
        let (_, text) = self.0.iter().find(|(name, _)| !at_base && *name == path)?;
        Some((*text).to_owned())
    }
}

const QUOTE: &str = "value = load(key)";
const WITH: &str = "def get(key):\n    value = load(key)\n    return value\n";
const WITHOUT: &str = "def get(key):\n    return None\n";

/// A finding with this file, of a change of the files, but for the one that is called `kept.py`.
fn checked(written: &str, texts: &[(&str, &str)]) -> Checked {
    let answer = format!(
        "<findings><finding><severity>warning</severity><category>c</category><file>{written}</file><line>2</line>\
         <claim>It fails.</claim><evidence>{QUOTE}</evidence></finding></findings>"
    );
    let changed = texts.iter().filter(|(path, _)| *path != "kept.py");
    let files: Vec<FileDiff> = changed
        .map(|(path, _)| FileDiff {
            old_path: (*path).to_owned(),
            path: (*path).to_owned(),
            added: 2,
            ..FileDiff::default()
        })
        .collect();
    let reviewer = ReviewerName::new("correctness").expect("a name");
    check(&reviewer, &scan(&answer, &[]).findings, &files, None, &mut Files(texts))
}

fn file_of(checked: &Checked) -> Option<&str> {
    checked.findings.first().map(|finding| finding.file.as_str())
}

#[test]
fn a_name_counts_as_it_is_written_before_anything_is_taken_off_it() {
    for name in [
        " x.py",
        "x.py ",
        "`x`.py",
        "`x.py`",
        "\"x.py\"",
        "'x'.py",
        " lib /x.py",
        "x.py\u{a0}",
        "\u{3000}x.py",
        "x.py:6",
        "a&b.py",
    ] {
        let texts = [(name, WITH), ("other.py", WITH)];
        let plain: String = name
            .chars()
            .filter(|sign| !" `\"'\u{a0}\u{3000}".contains(*sign))
            .collect();
        let written = [
            name.to_owned(),
            format!("\n{name}\n"),
            format!("`{name}`"),
            plain,
            name.replace('&', "&amp;").replace('"', "&quot;"),
        ];
        for written in written {
            assert_eq!(file_of(&checked(&written, &texts)), Some(name), "{written:?}");
        }
    }
    assert_eq!(
        file_of(&checked("\"other.py\"", &[("other.py", WITH)])),
        Some("other.py")
    );
}

#[test]
fn of_two_names_that_differ_in_a_blank_the_one_with_the_quote_is_meant() {
    for (written, plain, odd, found) in [
        ("x.py", WITH, WITH, "x.py"),
        (" x.py", WITH, WITH, " x.py"),
        ("x.py", WITHOUT, WITH, " x.py"),
        (" x.py", WITH, WITHOUT, "x.py"),
    ] {
        let texts = [("x.py", plain), (" x.py", odd), ("other.py", WITH)];
        assert_eq!(file_of(&checked(written, &texts)), Some(found), "{written:?}");
    }
}

#[test]
fn of_two_names_that_differ_in_the_folder_of_a_patch_the_one_with_the_quote_is_meant() {
    for (written, inner, outer, found) in [
        ("a/x.py", WITH, WITH, Some("a/x.py")),
        ("a/x.py", WITHOUT, WITH, Some("x.py")),
        ("x.py", WITH, WITHOUT, None),
    ] {
        let texts = [("a/x.py", inner), ("x.py", outer)];
        assert_eq!(file_of(&checked(written, &texts)), found, "{written:?}");
    }
}

#[test]
fn a_finding_about_a_file_that_is_not_there_is_about_the_one_with_its_quote() {
    let texts = [("src/a.py", WITHOUT), ("src/b.py", WITH)];
    let found = checked("src/nowhere.py", &texts);
    assert_eq!((file_of(&found), found.findings[0].line), (Some("src/b.py"), 2));

    // Several have it, or what it names is there and not changed.
    for (written, texts) in [
        ("src/nowhere.py", [("src/a.py", WITH), ("src/b.py", WITH)]),
        ("src/nowhere.py", [("src/a.py", WITHOUT), ("src/b.py", WITHOUT)]),
        ("kept.py", [("kept.py", WITH), ("src/b.py", WITH)]),
    ] {
        let lost = checked(written, &texts);
        assert_eq!(file_of(&lost), None);
        assert_eq!(
            lost.hallucinated[0].reason,
            format!("{written} is not part of this change")
        );
    }
    let files = vec![FileDiff::default(); MAX_SEARCHED + 1];
    assert!(also_meant("src/nowhere.py", false, files.iter()).is_empty());
    assert_eq!(
        also_meant("src/nowhere.py", false, files[1..].iter()).len(),
        MAX_SEARCHED
    );
    assert!(also_meant(CONTEXT_FILE, false, files[1..].iter()).is_empty());
}
