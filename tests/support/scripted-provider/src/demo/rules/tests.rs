//! Tests: tests that no longer test.

use crate::demo::finding::Severity::{Suggestion, Warning};
use crate::demo::language::Language;
use crate::demo::pattern::{found, group};
use crate::demo::rule::{Rule, Scope};

pub(super) const RULES: &[Rule] = &[
    Rule {
        category: "focused-test",
        severity: Warning,
        confidence: 0.94,
        scope: Scope::Tests,
        claim: "`{}` makes the runner skip every other test of the file.",
        scenario: "The suite is green whatever the other tests would say.",
        fix: "Remove the focus.",
        check: |spot| group!(spot.code(), r"\b((?:describe|it|test)\.only|fdescribe|fit)\(").map(str::to_owned),
    },
    Rule {
        category: "skipped-test",
        severity: Suggestion,
        confidence: 0.84,
        scope: Scope::Tests,
        claim: "The test is switched off by `{}` without a reason.",
        scenario: "What it guarded can break without anybody noticing.",
        fix: "Give the reason and the issue, or fix the test.",
        check: |spot| {
            group!(
                spot.text(),
                r"^\s*@(pytest\.mark\.skip|unittest\.skip)\s*(?:\(\s*\))?\s*$"
            )
            .or_else(|| group!(spot.text(), r"^\s*#\[(ignore)\]"))
            .or_else(|| group!(spot.code(), r"\b((?:describe|it|test)\.skip|xit|xdescribe)\("))
            .map(str::to_owned)
        },
    },
    Rule {
        category: "assertion-without-effect",
        severity: Warning,
        confidence: 0.9,
        scope: Scope::Tests,
        claim: "The assertion can never fail.",
        scenario: "The test passes whatever the code does.",
        fix: "Assert on a result of the code.",
        check: |spot| {
            found!(
                spot.code(),
                r"^\s*assert\s+True\s*$|\bassert!\(true\)|\bexpect\(true\)\.(toBe\(true\)|toBeTruthy\(\))|\bassertTrue\((True|true)\)|^\s*assert\s*\([^)]+,\s*[^)]*\)\s*$"
            )
            .then(String::new)
        },
    },
    Rule {
        category: "sleep-in-test",
        severity: Suggestion,
        confidence: 0.8,
        scope: Scope::Tests,
        claim: "The test waits for a fixed time instead of for what it needs.",
        scenario: "On a slow machine the time is too short and the test fails; on a fast one it is wasted.",
        fix: "Wait for the condition, with a limit.",
        check: |spot| {
            found!(
                spot.code(),
                r"\b(time\.sleep|Thread\.sleep|thread::sleep|time\.Sleep)\("
            )
            .then(String::new)
        },
    },
    Rule {
        category: "error-not-checked-in-test",
        severity: Suggestion,
        confidence: 0.82,
        scope: Scope::Tests,
        claim: "`pytest.raises(Exception)` accepts any error, a typing mistake included.",
        scenario: "The test passes when the code fails for another reason.",
        fix: "Name the exception, and match its text.",
        check: |spot| {
            (spot.language() == Language::Python && found!(spot.code(), r"\bpytest\.raises\(\s*Exception\s*\)"))
                .then(String::new)
        },
    },
];
