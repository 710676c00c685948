//! Code that stands as the judge saw it, and copies that only look like it.

use super::*;
use crate::diff::{ChangeKind, FileDiff, LineMap};

const PATH: &str = "src/guard.py";
const BASE: &str = "def guard(input):\n    input = safe(input)\n    return input\n\n\ndef other(v):\n    return v\n";
const CODE: &str = "    input = safe(input)";

/// The change of [`BASE`] to a text that has more lines.
fn grown(head: &str) -> FileDiff {
    let mut left = BASE.lines().peekable();
    let mut added = Vec::new();
    for (number, line) in (1..).zip(head.lines()) {
        if left.next_if_eq(&line).is_none() {
            added.push(number);
        }
    }
    assert_eq!(left.next(), None, "{head}");
    FileDiff {
        path: PATH.to_owned(),
        old_path: PATH.to_owned(),
        kind: ChangeKind::Modified,
        modes: ("100644".to_owned(), "100644".to_owned()),
        lines: LineMap::of_added(added),
        ..FileDiff::default()
    }
}

/// The surroundings of [`CODE`] in a file that no change has touched.
fn seen() -> Surroundings {
    let untouched = QuotedFile {
        path: PATH,
        head: BASE,
        base: Some(BASE),
        change: None,
    };
    Surroundings::of(untouched, 2, 2).expect("code")
}

/// Returns whether [`CODE`] is of the change that makes this of [`BASE`]; none where it is gone.
fn is_of_change(known: Option<&Surroundings>, head: &str, base: Option<&str>) -> Option<bool> {
    let change = grown(head);
    let file = QuotedFile {
        path: PATH,
        head,
        base,
        change: Some(&change),
    };
    let code = Squeezed::of(CODE).expect("code");
    standing(&code, known, file).map(|found| found.is_of_this_change)
}

#[test]
fn what_happens_elsewhere_in_its_file_leaves_it_as_it_was() {
    let first = "import re\n\n\ndef first():\n    \"\"\"It is first.\"\"\"\n    return {\"a\": `b`}\n\n\n";
    let copy = "\n\ndef dead(input):\n    input = safe(input)\n    return input\n";
    for head in [
        format!("{first}{BASE}"),
        format!("{BASE}{copy}"),
        format!("{first}{BASE}{copy}"),
        BASE.replace("    return v", "    # see { and `\n    return v"),
        BASE.replace("    return input\n", "    return input\n    # unreachable\n"),
    ] {
        assert_eq!(is_of_change(Some(&seen()), &head, Some(BASE)), Some(false), "{head}");
    }
}

#[test]
fn lines_around_it_that_the_change_brings_make_it_the_changes_own() {
    let header = "def guard(input):\n";
    let below = |more: &str| BASE.replace(header, &format!("{header}{more}"));
    for head in [
        below("    return input\n"),
        below("    return input\n\n\ndef dead(input):\n"),
        below("    if not input:\n        return None\n"),
        below("    return input\n    x = 1\n    y = 2\n    z = 3\n"),
        BASE.replace("    return input\n", "    input = raw\n    return input\n"),
        BASE.replace(
            "    return input\n",
            "    x = 1\n    y = 2\n\n    input = raw\n    return input\n",
        ),
        format!("X = \"\"\"\n{BASE}\"\"\"\n"),
        format!("if (0) {{\n{BASE}}}\n"),
        format!("#if 0\n\n{BASE}#endif\n"),
    ] {
        assert_eq!(is_of_change(Some(&seen()), &head, Some(BASE)), Some(true), "{head}");
    }
    let head = format!("import re\n\n\n{BASE}");
    assert_eq!(is_of_change(Some(&seen()), &head, None), Some(true), "it was not there");
    let elsewhere = head.replace("def guard", "def other_guard");
    let file = QuotedFile {
        path: PATH,
        head: &elsewhere,
        base: None,
        change: None,
    };
    let code = Squeezed::of(CODE).expect("code");
    assert_eq!(standing(&code, Some(&seen()), file), None, "a copy in another function");
}

#[test]
fn code_has_surroundings_only_where_the_change_leaves_them_alone() {
    let of = |head: &str| {
        let change = grown(head);
        let line = head.lines().position(|line| line == CODE).expect("the code") + 1;
        let line = u32::try_from(line).expect("few lines");
        let file = QuotedFile {
            path: PATH,
            head,
            base: Some(BASE),
            change: Some(&change),
        };
        Surroundings::of(file, line, line)
    };
    let elsewhere = BASE.replace("    return v\n", "    v = raw\n    return v\n");
    assert_eq!(of(&format!("LIMIT = 3\n\n\n{elsewhere}")), Some(seen()));
    for (old, new) in [
        ("    input = safe", "    return input\n    input = safe"),
        ("    return input\n", "    input = raw\n    return input\n"),
        (
            "    input = safe",
            "    return input\n\n\ndef dead(input):\n    input = safe",
        ),
    ] {
        assert_eq!(of(&BASE.replace(old, new)), None, "{new}");
    }
}

#[test]
fn of_several_copies_none_may_be_missing() {
    let known = Surroundings { copies: 2, ..seen() };
    let head = format!("import re\n\n\n{BASE}");
    assert_eq!(is_of_change(Some(&known), &head, Some(BASE)), Some(true));
}

#[test]
fn without_known_surroundings_any_place_will_do_that_the_change_leaves_alone() {
    let elsewhere = format!("LIMIT = 3\n\n\n{BASE}");
    assert_eq!(is_of_change(None, &elsewhere, Some(BASE)), Some(false));
    assert_eq!(is_of_change(None, &elsewhere, None), Some(true));
    let head = BASE.replace("def guard(input):\n", "def guard(input):\n    return input\n");
    assert_eq!(is_of_change(None, &head, Some(BASE)), Some(true));
}

#[test]
fn a_comment_that_the_target_branch_puts_beside_it_leaves_it_as_it_was() {
    let code = Squeezed::of(CODE).expect("code");
    let standing = |text: &str| {
        let file = QuotedFile {
            path: PATH,
            head: text,
            base: Some(text),
            change: None,
        };
        standing(&code, Some(&seen()), file).map(|found| found.is_of_this_change)
    };
    let beside = |more: &str| BASE.replace(CODE, more);
    assert_eq!(standing(&beside(&format!("{CODE}  # of the request"))), Some(false));
    // What is a comment itself, or has other code beside it, is not as it was.
    for other in [
        "    # input = safe(input)",
        "    input = safe(input) or input  # of the request",
    ] {
        assert_ne!(standing(&beside(other)), Some(false), "{other}");
    }
}

#[test]
fn equal_lines_of_two_functions_are_under_different_lines() {
    for function in [
        "void NAME()\n{\n    check(x);\n}\n",
        "def NAME(\n    x,\n) -> str:\n    check(x)\n",
        "class NAME:\n    def run(self):\n        check(x)\n",
        "if (NAME) {\n    y();\n} else {\n    check(x);\n}\n",
        "void NAME() {\n#ifdef X\n    check(x);\n#endif\n}\n",
    ] {
        let (one, two) = (function.replace("NAME", "one"), function.replace("NAME", "two"));
        let text = format!("{one}\n{two}");
        let lines = Lines::new(&text);
        let places = Squeezed::of("check(x)").expect("code").places_in(&lines);
        let [first, second] = places.as_slice() else {
            panic!("two places, not {places:?}")
        };
        assert_ne!(under(&lines, first.line), under(&lines, second.line), "{function}");
        let moved = Lines::new(&format!("# more\n\n{text}"));
        assert_eq!(under(&lines, first.line), under(&moved, first.line + 2), "{function}");
    }
}

#[test]
fn the_target_branch_has_it_where_its_function_is_the_same_there() {
    let file = QuotedFile {
        path: PATH,
        head: BASE,
        base: Some(BASE),
        change: None,
    };
    let code = Refuting {
        line: 2,
        end_line: 2,
        code: CODE.to_owned(),
        is_of_this_change: false,
    };
    let other = "\n\ndef more(input):\n    input = safe(input)\n    return input\n";
    for target in [
        BASE.to_owned(),
        format!("LIMIT = 3\n\n\n{BASE}{other}"),
        BASE.replace("    return v", "    return str(v)"),
    ] {
        assert!(is_at_target(&code, file, &target), "{target}");
    }
    for target in [
        String::new(),
        BASE.replace(CODE, "    log(input)"),
        BASE.replace(CODE, "    # input = safe(input)"),
        BASE.replace(CODE, &format!("    return input\n{CODE}")),
        BASE.replace("def guard", "def unused"),
        format!("{}{other}", BASE.replace(CODE, "    log(input)")),
        format!("X = \"\"\"\n{BASE}\"\"\"\n"),
    ] {
        assert!(!is_at_target(&code, file, &target), "{target}");
    }
}
