//! What may be committed with a click, and what may not.

use conclave_shared::{finding::Quote, severity::Severity};

use super::*;
use crate::judge::test_support::finding;

const FILE: &str = "def load(key):\n    value = os.environ[key]\n    return value\n\ndef crlf():\r\n    pass\r\n";

fn fixed(line: u32, evidence: &str, fix: &str) -> Option<Suggestion> {
    let finding = Finding {
        evidence: evidence.to_owned(),
        fix: Some(fix.to_owned()),
        quoted_whole: true,
        ..finding("F1", Severity::Warning, "key-error", "src/config.py", line)
    };
    committable(&finding, FILE)
}

#[test]
fn code_that_replaces_what_stands_there_can_be_committed() {
    assert_eq!(
        fixed(2, "    value = os.environ[key]", "    value = os.environ.get(key)"),
        Some(Suggestion {
            first: 2,
            last: 2,
            text: "    value = os.environ.get(key)".to_owned()
        })
    );
    assert_eq!(
        fixed(
            2,
            "\n    value = os.environ[key]\n    return value\n",
            "    return os.environ.get(key)\n"
        ),
        Some(Suggestion {
            first: 2,
            last: 3,
            text: "    return os.environ.get(key)".to_owned()
        })
    );
}

#[test]
fn what_does_not_match_byte_for_byte_cannot() {
    let fix = "    value = os.environ.get(key)";
    for (line, evidence) in [
        (2, "value = os.environ[key]"),
        (2, "    value  = os.environ[key]"),
        (2, "    value = os.environ[key] "),
        (2, "+    value = os.environ[key]"),
        (3, "    value = os.environ[key]"),
        (2, "os.environ[key]"),
        (2, "    value = os.environ[key]\n    return other"),
        (6, "    pass"),
        (0, "def load(key):"),
        (70, "def load(key):"),
    ] {
        assert_eq!(fixed(line, evidence, fix), None, "{line} {evidence:?}");
    }
}

#[test]
fn words_are_no_code() {
    for fix in [
        "Use `os.environ.get(key)` and handle None.",
        "Read the key with get and handle the missing value",
        "use the get method of the environment",
        "Do not raise here!",
        "Use Decimal.",
        "Use `ast.literal_eval`.",
        "Use x = ast.literal_eval(a) here",
        "Remove this line.",
        "See above",
        "Delete.",
        "none",
        "N/A",
        "-",
    ] {
        assert_eq!(fixed(2, "    value = os.environ[key]", fix), None, "{fix}");
        assert_eq!(fixed(1, "def load(key):", fix), None, "{fix}");
        assert_eq!(
            fixed(2, "    value = os.environ[key]", &format!("    {fix}")),
            None,
            "{fix}"
        );
    }
    for fix in [
        "import os, sys",
        "value = compute(key)",
        "return value;",
        "if key not in value:",
        "pass",
        "value",
        "Value value = Value.of(key);",
        "use strict;",
    ] {
        let indented = format!("    {fix}");
        assert!(fixed(2, "    value = os.environ[key]", &indented).is_some(), "{fix}");
        assert_eq!(
            fixed(2, "    value = os.environ[key]", fix),
            None,
            "in another column: {fix}"
        );
    }
}

#[test]
fn lines_that_could_act_or_hide_something_are_not_offered() {
    for fix in [
        "    a()\n/approve",
        "    a()\n```\n/merge",
        "    a()\r\n    b()",
        "    a() \u{202e}x",
        "    a(\"[redacted]\")",
        "    a()\u{0}",
    ] {
        assert_eq!(fixed(2, "    value = os.environ[key]", fix), None, "{fix:?}");
    }
    assert!(fixed(2, "    value = os.environ[key]", "    // a comment\n    a()").is_some());
}

#[test]
fn ten_lines_are_the_most() {
    let lines = |count: usize| vec!["    a()"; count].join("\n");
    assert!(fixed(2, "    value = os.environ[key]", &lines(10)).is_some());
    assert_eq!(fixed(2, "    value = os.environ[key]", &lines(11)), None);
    assert_eq!(
        fixed(2, "    value = os.environ[key]", "    value = os.environ[key]"),
        None
    );
}

#[test]
fn what_was_not_quoted_whole_is_not_replaced() {
    let quoted = Finding {
        evidence: "    return value".to_owned(),
        fix: Some("    return str(value)".to_owned()),
        quoted_whole: true,
        ..finding("F1", Severity::Critical, "removed-check", "src/config.py", 3)
    };
    assert!(committable(&quoted, FILE).is_some());
    let beside_what_is_gone = Finding {
        quoted_whole: false,
        ..quoted
    };
    assert_eq!(committable(&beside_what_is_gone, FILE), None);
}

#[test]
fn a_fix_that_is_adorned_or_leaves_something_out_is_not_offered() {
    for fix in [
        "+def load(name):",
        "-def load(key):\n+def load(name):",
        "def load(name):\n-    value = 1",
        "@@ -1 +1 @@\ndef load(name):",
        "1: def load(name):",
        "`def load(name):`",
        "def load(name):\n    # ... as before",
        "def load(name):\n    ...",
        "def load(name='***'):",
        "def load(name='[REDACTED]'):",
    ] {
        assert_eq!(fixed(1, "def load(key):", fix), None, "{fix}");
    }
    for fix in [
        "@cached\ndef load(key):",
        "def load(key, *names):\n    call(*names, {0: 1})",
    ] {
        assert!(fixed(1, "def load(key):", fix).is_some(), "{fix}");
    }
}

#[test]
fn a_fix_for_the_second_place_replaces_nothing_at_the_first() {
    let with_second = |code: &str| {
        let finding = Finding {
            evidence: "    value = os.environ[key]".to_owned(),
            fix: Some("    value = load(key, default)".to_owned()),
            quoted_whole: true,
            second: Some(Quote {
                file: "src/app.py".to_owned(),
                line: 9,
                code: code.to_owned(),
            }),
            ..finding("F1", Severity::Warning, "key-error", "src/config.py", 2)
        };
        committable(&finding, FILE)
    };
    assert_eq!(with_second("    value = load(key)"), None);
    assert!(with_second("    start(settings)").is_some());
}
