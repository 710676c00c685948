//! Types: a type that says something else than its values.

use crate::demo::finding::Severity::Warning;
use crate::demo::pattern::group;
use crate::demo::rule::{Rule, Scope};

pub(super) const RULES: &[Rule] = &[Rule {
    category: "silenced-check",
    severity: Warning,
    confidence: 0.9,
    scope: Scope::Code,
    claim: "`{}` silences the type checker instead of checking the value.",
    scenario: "A value of another shape gets through, and fails where it is used.",
    fix: "Validate the value, and drop the suppression.",
    check: |spot| {
        group!(
            spot.text(),
            r"(@ts-ignore|@ts-expect-error|#\s*type:\s*ignore|\bas any\b)"
        )
        .map(str::to_owned)
    },
}];
