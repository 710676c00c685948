//! Calls that a change takes away, goes around, or turns to other code.

use super::*;
use crate::diff::{ChangeKind, FileDiff, decoded_patch};

const GUARD: &str = "src/util.py";
const GUARD_TEXT: &str = "import re\n\n\nclass Checks(Base):\n    @cached\n    def guard(self, order):\n        if not order.id.isdigit():\n            \
                          raise ValueError\n\n\ndef other(order):\n    return order\n";
/// The line with the check.
const CHECK: u32 = 7;

const CALLER: &str = "from util import guard\nimport log\n\nLIMIT = 3\n\n\ndef pay(order, db):\n    log.start(order)\n    guard(order)\n    \
                      total = order.total\n    return total\n\n\ndef free(order):\n    return 0\n";
const ACCUSED: &str = "    db.execute(\"DELETE FROM a WHERE id = \" + order.id)";

fn used_as(accused: &str) -> UsedAs {
    let file = QuotedFile {
        path: GUARD,
        head: GUARD_TEXT,
        base: Some(GUARD_TEXT),
        change: None,
    };
    UsedAs::of(file, (CHECK, CHECK + 1), accused)
}

/// The line in which the change of a file alters how the check is used.
fn altered(accused: &str, path: &str, base: Option<&str>, head: &str) -> Option<u32> {
    let kind = if base.is_none() {
        ChangeKind::Added
    } else {
        ChangeKind::Modified
    };
    let mut change = FileDiff {
        path: path.to_owned(),
        old_path: path.to_owned(),
        kind,
        ..FileDiff::default()
    };
    let decoded = decoded_patch(&change, (None, None), base.unwrap_or_default(), head, 1 << 20);
    change.lines = decoded.expect("a patch").lines;
    used_as(accused).altered_in(QuotedFile {
        path,
        head,
        base,
        change: Some(&change),
    })
}

fn replaced(old: &str, new: &str) -> String {
    let head = CALLER.replacen(old, new, 1);
    assert_ne!(head, CALLER, "{old}");
    head
}

#[test]
fn a_call_that_goes_that_is_gone_around_or_that_is_another_one_alters_the_use() {
    for (old, new, line) in [
        ("    guard(order)\n", "", 9),
        ("    guard(order)\n", "    # guard(order)\n", 9),
        ("    guard(order)\n", "    if False:\n        guard(order)\n", 9),
        (
            "    guard(order)\n    total = order.total\n",
            "    total = order.total\n    guard(order)\n",
            10,
        ),
        ("    guard(order)\n", "    guard(other)\n", 9),
        ("    log.start(order)\n", "    log.start(order)\n    return 0\n", 10),
        ("    log.start(order)\n", "    order = copy(order)\n", 9),
        ("from util import guard\n", "from fakes import guard\n", 1),
        ("from util import guard\n", "import util\n", 1),
        ("LIMIT = 3\n", "LIMIT = 3\nguard = print\n", 5),
        ("LIMIT = 3\n", "def guard(order):\n    pass\n", 4),
        ("LIMIT = 3\n", "LIMIT = 3\nutil.guard = print\n", 5),
        ("LIMIT = 3\n", "setattr(util, \"guard\", print)\n", 4),
        ("LIMIT = 3\n", "class Checks:\n    pass\n", 4),
    ] {
        let head = replaced(old, new);
        assert_eq!(
            altered(ACCUSED, "src/calc.py", Some(CALLER), &head),
            Some(line),
            "{head}"
        );
    }
    // The whole file goes.
    assert_eq!(altered(ACCUSED, "src/calc.py", Some(CALLER), ""), Some(1));
    // A type that has it by another name.
    let base = "class Shop(Checks):\n    pass\n";
    assert_eq!(
        altered(ACCUSED, "src/shop.py", Some(base), "class Shop:\n    pass\n"),
        Some(1)
    );
    // Another type has it.
    let evil = "class Shop(Parent):\n    def guard(self, order):\n        pass\n";
    assert_eq!(altered(ACCUSED, "src/shop.py", None, evil), Some(2));
    // The import of a file for what it does.
    let base = "import util\n\nrun()\n";
    assert_eq!(altered(ACCUSED, "src/start.py", Some(base), "run()\n"), Some(1));
}

#[test]
fn more_calls_and_what_is_done_elsewhere_leave_it_as_it_was() {
    for (old, new) in [
        (
            "    total = order.total\n",
            "    db.execute(\"DELETE FROM a WHERE id = \" + order.id)\n",
        ),
        (
            "    return 0\n",
            "    guard(order)\n    db.execute(\"DELETE FROM a WHERE id = \" + order.id)\n",
        ),
        ("    return 0\n", "    if guard(order) == 3:\n        return 0\n"),
        ("import log\n", "import log, re\n"),
        ("LIMIT = 3\n", "LIMIT = 4\n"),
    ] {
        let head = replaced(old, new);
        assert_eq!(altered(ACCUSED, "src/calc.py", Some(CALLER), &head), None, "{head}");
    }
    let added = "from util import guard\n\n\ndef drop(order):\n    guard(order)\n";
    assert_eq!(altered(ACCUSED, "src/drop.py", None, added), None);
}

#[test]
fn what_the_accused_code_calls_itself_is_for_the_finding() {
    let head = replaced("    guard(order)\n", "    guard(order, db)\n");
    assert_eq!(
        altered("    guard(order, db)", "src/calc.py", Some(CALLER), &head),
        None
    );
}

#[test]
fn a_file_is_imported_by_its_name_or_its_directorys() {
    for (path, name) in [
        ("src/util.py", "util"),
        ("util.test.js", "util"),
        ("src/util/index.ts", "util"),
        ("src/util/__init__.py", "util"),
        ("main.go", "main"),
    ] {
        assert_eq!(import_name(path), name, "{path}");
    }
}

#[test]
fn where_there_are_too_many_calls_to_compare_the_use_counts_as_altered() {
    let base = format!(
        "LIMIT = 3\n\n\ndef pay(order):\n{}",
        "    guard(order)\n".repeat(MAX_CALLS + 1)
    );
    let head = base.replace("LIMIT = 3", "LIMIT = 4");
    assert!(altered(ACCUSED, "src/calc.py", Some(&base), &head).is_some());
    let one_less = |text: &str| text.replacen("    guard(order)\n", "", 1);
    assert_eq!(
        altered(ACCUSED, "src/calc.py", Some(&one_less(&base)), &one_less(&head)),
        None
    );
}
