//! Quotes that refute, and quotes that only look like it.

use conclave_shared::severity::Severity;

use super::*;
use crate::{diff::LineMap, judge::test_support::finding as sample};

const HEAD: &str = "import db\n\n# the caller checks the name\ndef find(name):\n    if not NAME.fullmatch(name):\n        return None\n    return db.query(name)\n\n\ndef other():\n    pass\n";

fn finding() -> Finding {
    Finding {
        evidence: "    return db.query(name)".to_owned(),
        ..sample("F1", Severity::Critical, "sql-injection", "src/a.py", 7)
    }
}

/// The file, of which the change adds these lines.
fn modified(added: &[u32]) -> FileDiff {
    FileDiff {
        path: "src/a.py".to_owned(),
        old_path: "src/a.py".to_owned(),
        kind: ChangeKind::Modified,
        modes: ("100644".to_owned(), "100644".to_owned()),
        lines: LineMap::of_added(added.iter().copied()),
        ..FileDiff::default()
    }
}

/// The text without these lines.
fn without(added: &[u32]) -> String {
    let lines = HEAD.lines().enumerate();
    let kept = lines.filter(|(at, _)| !added.contains(&(u32::try_from(at + 1).expect("few lines"))));
    kept.fold(String::new(), |text, (_, line)| text + line + "\n")
}

fn check(added: &[u32], line: u32, quote: &str) -> Result<Refuting, String> {
    let (base, change) = (without(added), modified(added));
    let file = QuotedFile {
        path: "src/a.py",
        head: HEAD,
        base: Some(&base),
        change: Some(&change),
    };
    check_refutation(None, &finding(), &[], file, line, quote).map_err(|fault| fault.to_string())
}

#[test]
fn what_a_fix_adds_to_the_quoted_line_refutes_and_a_comment_behind_it_does_not() {
    let check = |line: &str, quote: &str| {
        let head = HEAD.replace("    return db.query(name)", line);
        let change = modified(&[7]);
        let file = QuotedFile {
            path: "src/a.py",
            head: &head,
            base: Some(HEAD),
            change: Some(&change),
        };
        check_refutation(None, &finding(), &[], file, 7, quote)
    };
    let fixed = "    return db.query(name) if known(name) else None";
    let found = check(fixed, fixed).expect("it is another line now");
    assert!(found.is_of_this_change, "for a person to look at");
    let _ = check(fixed, "return db.query(name)").expect_err("that part is what the finding quotes");
    let commented = "    return db.query(name)  # known(name) is true";
    let _ = check(commented, commented).expect_err("a comment fixes nothing");
}

#[test]
fn a_quote_of_unchanged_code_counts_in_full_and_one_of_the_change_does_not() {
    let guard = "    if not NAME.fullmatch(name):\n        return None";
    let found = check(&[7], 5, guard).expect("it stands");
    assert_eq!((found.line, found.end_line, found.is_of_this_change), (5, 6, false));
    assert!(check(&[5, 6, 7], 5, guard).expect("it stands").is_of_this_change);
    assert!(
        check(&[6], 5, guard).expect("it stands").is_of_this_change,
        "a part is enough"
    );
    let moved = check(&[7], 90, guard).expect("the line is corrected");
    assert_eq!(moved.line, 5);
}

#[test]
fn lines_between_which_something_was_taken_out_are_altered() {
    let change = modified(&[7]);
    let base = without(&[7]).replace("        return None\n", "        log(name)\n        return None\n");
    let file = QuotedFile {
        path: "src/a.py",
        head: HEAD,
        base: Some(&base),
        change: Some(&change),
    };
    let guard = "    if not NAME.fullmatch(name):\n        return None";
    let found = check_refutation(None, &finding(), &[], file, 5, guard).expect("it stands");
    assert!(found.is_of_this_change, "the map of lines does not agree with the base");
}

#[test]
fn a_file_that_the_change_brings_renames_or_makes_another_is_of_the_change() {
    let quote = "    if not NAME.fullmatch(name):";
    let of = |base: Option<&str>, change: Option<&FileDiff>| {
        let file = QuotedFile {
            path: "src/b.py",
            head: HEAD,
            base,
            change,
        };
        check_refutation(None, &finding(), &[], file, 5, quote)
            .expect("it stands")
            .is_of_this_change
    };
    assert!(!of(Some(HEAD), None), "nothing has touched it");
    assert!(of(None, None), "it was not there");
    assert!(of(Some("x"), None), "left out of the review, and changed");
    let with = |kind, modes: (&str, &str)| FileDiff {
        kind,
        modes: (modes.0.to_owned(), modes.1.to_owned()),
        ..modified(&[])
    };
    let same = ("100644", "100644");
    assert!(of(Some(HEAD), Some(&with(ChangeKind::Renamed, same))));
    assert!(of(Some(HEAD), Some(&with(ChangeKind::Modified, ("100644", "100755")))));
}

#[test]
fn a_quote_that_says_nothing_refutes_nothing() {
    for quote in [
        "",
        "   \n\n",
        "    pass",
        "        return None",
        "# the caller checks the name",
        "the caller checks",
        "    return db.query(name)",
        "return db.query(name)",
        "db.query(name)",
        // A part of a line, which leaves out what happens.
        "fullmatch(name)",
        "def find",
        "+    return db.query(name)",
        "def find(name):\n...\n    return db.query(name)",
        "there is no such line",
        // Code that has nothing to do with the finding.
        "    return db.query(name)\n\n\ndef other():",
        "def other():\n    pass",
    ] {
        assert!(check(&[7], 3, quote).is_err(), "{quote:?}");
    }
    for quote in [
        "not NAME.fullmatch(name)",
        "5:     if not NAME.fullmatch(name):",
        "import db\n\n# the caller checks the name\ndef find(name):",
    ] {
        assert!(check(&[7], 3, quote).is_ok(), "{quote:?}");
    }
}

#[test]
fn prose_does_not_refute_code() {
    let file = |path| QuotedFile {
        path,
        head: "Names are always checked by the caller.\n",
        base: Some("Names are always checked by the caller.\n"),
        change: None,
    };
    let quote = "Names are always checked by the caller.";
    assert!(check_refutation(None, &finding(), &[], file("docs/names.md"), 1, quote).is_err());
    let about_prose = Finding {
        file: "README.md".to_owned(),
        ..finding()
    };
    assert!(check_refutation(None, &about_prose, &[], file("docs/names.md"), 1, quote).is_ok());
}

#[test]
fn a_long_quote_refutes_nothing() {
    let head = HEAD.to_owned() + &"filler = name\n".repeat(80);
    let file = QuotedFile {
        path: "src/a.py",
        head: &head,
        base: Some(&head),
        change: None,
    };
    let fault = check_refutation(None, &finding(), &[], file, 1, &head).expect_err("too long");
    assert!(fault.to_string().contains("more than 60 lines"), "{fault}");
}

#[test]
fn code_that_another_finding_accuses_refutes_nothing() {
    const HEAD: &str = "def wipe(order, db):\n    total = order.total\n    db.run(\"DELETE FROM a WHERE id = \" + order.id)\n    db.run(\"DELETE FROM b WHERE id = \" + order.name)\n    check(order.id)\n";
    let line = |number: usize| HEAD.lines().nth(number - 1).expect("a line").to_owned();
    let about = |id: &str, number: u32| Finding {
        evidence: line(usize::try_from(number).expect("small")),
        ..sample(id, Severity::Critical, "sql-injection", "calc.py", number)
    };
    let (one, two) = (about("F1", 3), about("F2", 4));
    let accusing = [one.clone(), two.clone()];
    let file = QuotedFile {
        path: "calc.py",
        head: HEAD,
        base: Some(HEAD),
        change: None,
    };
    let both = [line(3), line(4)].join("\n");
    let with_neighbor = [line(2), line(3)].join("\n");
    for finding in [&one, &two] {
        for (first, quote) in [
            (3, &both),
            (3, &line(3)),
            (4, &line(4)),
            (2, &with_neighbor),
            (2, &line(2)),
        ] {
            let refuted = check_refutation(None, finding, &accusing, file, first, quote);
            assert!(refuted.is_err(), "{}: {quote}", finding.id);
        }
        for (first, quote) in [(5, line(5)), (4, [line(4), line(5)].join("\n"))] {
            let refuted = check_refutation(None, finding, &accusing, file, first, &quote);
            assert!(refuted.is_ok(), "{}: what is left says enough: {quote}", finding.id);
        }
    }
    // Where the lines that it quotes are gone, other code stands at its place.
    let removed = Finding {
        evidence: "    old(order)".to_owned(),
        ..about("F2", 5)
    };
    assert!(check_refutation(None, &one, &[removed], file, 5, &line(5)).is_ok());
}

#[test]
fn another_block_of_a_configuration_has_to_do_with_the_resource_that_it_names() {
    let line = "  bucket = aws_s3_bucket.assets.id";
    let block = |resource: &str| {
        format!(
            "resource \"aws_s3_bucket_public_access_block\" \"it\" {{\n{resource}\n  block_public_acls = true\n}}\n"
        )
    };
    let finding = Finding {
        evidence: line.to_owned(),
        ..sample("F1", Severity::Critical, "exposure", "policy.tf", 2)
    };
    for (resource, is_related) in [(line, true), ("  arn = aws_s3_bucket.logs.arn", false)] {
        let head = block(resource);
        let file = QuotedFile {
            path: "s3.tf",
            head: &head,
            base: Some(&head),
            change: None,
        };
        let quote = format!("{resource}\n  block_public_acls = true");
        let checked = check_refutation(None, &finding, &[], file, 2, &quote);
        assert_eq!(checked.is_ok(), is_related, "{quote}: {checked:?}");
    }
}

#[test]
fn a_guard_of_a_base_class_and_a_table_of_routes_have_to_do_with_what_stands_in_a_type() {
    let ruby = "class Users < Admin\n  def destroy\n    remove\n  end\nend\n";
    let php = "<?php\nclass Users extends Base {\n    public function destroy(int $id) {\n    }\n}\n";
    let base = "class Admin < Base\n  before_action :require_admin\n\n  def other\n  end\nend\n";
    let routes = "<?php\nRoute::middleware('can:admin')->group(function () {\n    Route::delete('/users', [Users::class, 'destroy']);\n    Route::get('/users', [Others::class, 'destroy']);\n});\n";
    for (accused, evidence, (path, head), quote, is_related) in [
        (
            ruby,
            "  def destroy",
            ("admin.rb", base),
            "class Admin < Base\n  before_action :require_admin",
            true,
        ),
        (
            ruby,
            "  def destroy",
            ("admin.rb", base),
            "  before_action :require_admin",
            false,
        ),
        (
            "def destroy\n",
            "def destroy",
            ("admin.rb", base),
            "class Admin < Base\n  before_action :require_admin",
            false,
        ),
        (
            php,
            "    public function destroy(int $id) {",
            ("web.php", routes),
            "    Route::delete('/users', [Users::class, 'destroy']);",
            true,
        ),
        (
            php,
            "    public function destroy(int $id) {",
            ("web.php", routes),
            "    Route::get('/users', [Others::class, 'destroy']);",
            false,
        ),
    ] {
        let line = accused
            .lines()
            .position(|line| line == evidence)
            .expect("the accused line")
            + 1;
        let finding = Finding {
            evidence: evidence.to_owned(),
            ..sample(
                "F1",
                Severity::Critical,
                "missing-authorization",
                "src/users.rb",
                u32::try_from(line).expect("few lines"),
            )
        };
        let file = QuotedFile {
            path,
            head,
            base: Some(head),
            change: None,
        };
        let checked = check_refutation(Some(accused), &finding, &[], file, 1, quote);
        assert_eq!(checked.is_ok(), is_related, "{quote}: {checked:?}");
    }
}
