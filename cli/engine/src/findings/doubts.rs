//! Facts that a judge should know before taking a claim on one quote.
//!
//! The words of a claim say little about whether it is true. Two kinds of claims come at least twice as often with rejected
//! comments as with accepted ones, in repositories that they were not chosen on (`scripts/evidence`). Praise, wording, breaking
//! changes, requests for tests and claims about prose did not, and are the judge's to weigh. A doubt takes nothing out. That the code does
//! not build holds in each repository that has enough such claims; it asks for a second quoted place, and puts what has none
//! behind what needs none ([`Doubt::asks_for_second_quote`]). A request to verify does not, and of the signs in the code nothing is known:
//! the judge sees them, and that is all. A claim that names what triggers it, and what then happens, is left alone: such claims
//! were accepted more often than others.

use std::sync::LazyLock;

use conclave_shared::finding::{Doubt, Finding};
use regex::{Regex, RegexSet};

/// What gives a kind of claim away, in the text without its case.
const KINDS: [(Doubt, &[&str]); 2] = [
    (
        Doubt::BuildClaim,
        &[
            r"\bcompil\w*\b.{0,30}\b(?:errors?|fail\w*|breaks?)\b",
            r"\b(?:not|n't|never|fails? to|failed to) (?:compile|build)\b",
            r"\b(?:syntax|build|import) (?:error|failure)|#include\b",
            r"\bundefined (?:function|variable|symbol|method|reference|identifier|name|type)\b",
            r"\b(?:not|never|without being) (?:defined|declared|imported|included)\b",
            r"\bmissing .{0,25}\b(?:imports?|includes?|headers?|brace|bracket|parenthesis)\b",
        ],
    ),
    (
        Doubt::VerifyRequest,
        &[
            r"\b(?:please|kindly) (?:\w+ )?(?:confirm|verify|ensure|make sure|check|double[- ]?check|clarify|explain)\b",
            r"^\W*(?:confirm|verify|ensure|make sure|check|double[- ]?check)\b",
            r"\b(?:is|if) (?:this|that|it)(?: is)? (?:intentional|intended|deliberate|by design)\b",
            r"\bneeds? (?:verification|confirmation|to be (?:verified|confirmed))\b",
        ],
    ),
];

/// A trigger and what comes of it.
const TRIGGER: &str =
    r"(?is)\b(?:when|if|because|since|otherwise)\b.{3,160}?\b(?:will|would|throws?|returns?|raises?|crash\w*|fails?)\b";

struct Patterns {
    kinds: Vec<(Doubt, RegexSet)>,
    trigger: Option<Regex>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    kinds: KINDS
        .into_iter()
        .filter_map(|(doubt, patterns)| {
            let patterns = patterns.iter().map(|pattern| format!("(?i){pattern}"));
            Some((doubt, RegexSet::new(patterns).ok()?))
        })
        .collect(),
    trigger: Regex::new(TRIGGER).ok(),
});

/// The doubts about a finding that its words and its place give reason for.
///
/// A cited rule of the organisation takes the doubts away: those findings were nearly always agreed with. Words that try
/// to steer the review are what they are.
pub(super) fn of(finding: &Finding) -> Vec<Doubt> {
    if finding.rule.is_some() || finding.is_prompt_injection() {
        return Vec::new();
    }
    let mut doubts = doubts_of_text(&format!("{}\n{}", finding.claim, finding.scenario));
    if finding
        .fix
        .as_deref()
        .is_some_and(|fix| words(fix) == words(&finding.evidence))
    {
        doubts.push(Doubt::FixIsTheCode);
    }
    doubts
}

/// The doubts that a claim's words give reason for.
pub fn doubts_of_text(text: &str) -> Vec<Doubt> {
    let text = text.trim();
    if PATTERNS.trigger.as_ref().is_some_and(|trigger| trigger.is_match(text)) {
        return Vec::new();
    }
    let kinds = PATTERNS.kinds.iter().filter(|(_, patterns)| patterns.is_match(text));
    kinds.map(|(doubt, _)| *doubt).collect()
}

/// Returns whether the claim says that a name is missing which the file imports, includes or defines.
pub(super) fn refuted_by_name(finding: &Finding, content: &str) -> bool {
    const INTRODUCED_BY: [&str; 16] = [
        "import", "from", "use", "using", "require", "#include", "include", "def", "fn", "func", "function", "class",
        "struct", "const", "let", "var",
    ];
    let quoted = finding.claim.split('`').skip(1).step_by(2);
    let names = quoted.filter(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|character| character.is_alphanumeric() || character == '_')
    });
    let introduces = |line: &str, name: &str| {
        let mut words = line.split(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '#')));
        words.clone().any(|word| INTRODUCED_BY.contains(&word)) && words.any(|word| word == name)
    };
    let evidence: Vec<&str> = finding.evidence.lines().map(str::trim).collect();
    let mut names = names;
    names.any(|name| {
        let mut lines = content.lines().filter(|line| !evidence.contains(&line.trim()));
        lines.any(|line| introduces(line, name))
    })
}

fn words(code: &str) -> Vec<&str> {
    code.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(PATTERNS.kinds.len(), KINDS.len());
        assert!(PATTERNS.trigger.is_some());
    }

    #[test]
    fn each_kind_of_claim_is_known_and_a_proved_one_is_left_alone() {
        for (text, expected) in [
            ("`Cache` is not imported.", &[Doubt::BuildClaim][..]),
            ("This will not compile on Windows.", &[Doubt::BuildClaim]),
            ("The change leads to compilation errors.", &[Doubt::BuildClaim]),
            ("The helper is called but not defined.", &[Doubt::BuildClaim]),
            ("Missing `<mutex>` header.", &[Doubt::BuildClaim]),
            ("The new default needs verification.", &[Doubt::VerifyRequest]),
            ("Please confirm the default.", &[Doubt::VerifyRequest]),
            ("Ensure that the list is sorted.", &[Doubt::VerifyRequest]),
            ("Is this intentional?", &[Doubt::VerifyRequest]),
            ("The query runs once for each user.", &[]),
            (
                "If the key is absent, `load` returns null and the import fails to compile the report.",
                &[],
            ),
            ("Please verify this: when the list is empty, `first` throws.", &[]),
            // What did not hold on other repositories than those that it was chosen on.
            ("A solid improvement of the parser: no issues.", &[]),
            ("Renaming the field is a breaking change.", &[]),
            ("Unit test coverage is missing.", &[]),
            ("The MR description names another file.", &[]),
            ("The wording of the message is off.", &[]),
        ] {
            assert_eq!(doubts_of_text(text), expected, "{text}");
        }
    }
}
