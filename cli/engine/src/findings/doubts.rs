//! Which claims are not taken on one quote alone.
//!
//! The kinds are those that people turned down far more often than they agreed with them in 2,145 labelled review comments.
//! The words of a claim say little about whether it is true, so a doubt takes nothing out: it asks for a second quoted
//! place, and puts what has none behind what needs none. A claim that names what triggers it, and what then happens, is
//! left alone: such claims were accepted more often than others.

use std::sync::LazyLock;

use conclave_shared::{
    finding::{Doubt, Finding},
    path_kind::{PathKind, language},
};
use regex::{Regex, RegexSet};

/// What gives a kind of claim away, in the text without its case.
const KINDS: [(Doubt, &[&str]); 7] = [
    (
        Doubt::BuildClaim,
        &[
            r"\bcompil(?:e|es|ation|er|ing)\b.{0,30}\b(?:errors?|fail\w*|breaks?|risks?|issues?|problems?)\b",
            r"\b(?:won't|will not|does not|doesn't|cannot|can't|not|fail(?:s|ed)? to) (?:even )?(?:compile|build)\b",
            r"\b(?:build|syntax|import|name) ?(?:error|fail(?:s|ure|ures))\b",
            r"\bundefined (?:function|variable|symbol|method|reference|identifier|name|type)\b",
            r"\b(?:is|are) (?:not|never) implemented\b|\b(?:not|never) (?:defined|declared|imported)\b",
            r"\b(?:is|are) (?:undefined|undeclared)\b.{0,20}\b(?:here|in this file|anywhere)\b",
            r"\bmissing .{0,25}\b(?:imports?|includes?|headers?)\b",
            r"#include\b|\btransitive(?:ly)? includ|\b(?:not|never|without) (?:\w+ )?(?:import|includ)(?:ed|ing)\b",
            r"\bmissing (?:a |the )?(?:closing|opening) (?:\w+ )?(?:brace|bracket|parenthes\w+|quote)",
        ],
    ),
    (
        Doubt::VerifyRequest,
        &[
            r"\b(?:please|kindly) (?:also )?(?:confirm|verify|ensure|check|make sure|double[- ]?check|clarify|explain)\b",
            r"^\W*(?:ensure|verify|confirm|make sure|double[- ]?check|check) (?:that|whether|if|the|this)\b",
            r"\b(?:verify|confirm|double[- ]?check|clarify) (?:that|whether|if) (?:this|it|these|the)\b",
            r"\bis (?:this|that|it) (?:intentional|intended|deliberate|by design)\b",
            r"\b(?:needs?|requires?) (?:to be )?(?:verif|confirm)",
        ],
    ),
    (
        Doubt::Praise,
        &[
            r"^\W*(?:good|nice|great|excellent|well done|clean)\b",
            r"^\W*this (?:change )?(?:improves|simplifies|is (?:a )?(?:good|great|nice|solid|correct|positive))\b",
            r"\b(?:is|are|looks) (?:a )?(?:good|great|nice|excellent)\b",
            r"\b(?:good|nice|great|excellent|solid) (?:\w+ )?(?:job|work|practice|improvement|change|addition|catch|use|fix|application)\b",
            r"\bno (?:issues?|problems?|concerns?|changes?)(?: here| found| needed| required|[.!]|$)",
            r"\b(?:this|the) (?:change|refactor\w*|update) (?:\w+ )?(?:improves|simplifies|enhances)\b",
        ],
    ),
    (
        Doubt::BreakingChange,
        &[
            r"\bbreaking (?:\w+ )?changes?\b|\bapi[- ]breaking\b",
            r"\bbackwards?[- ]?(?:in)?compatib|\b(?:may|might|could|can) break\b",
            r"\b(?:external|downstream)(?:/\w+)? (?:consumers?|clients?|users|integrations)\b",
        ],
    ),
    (
        Doubt::TestRequest,
        &[
            r"\b(?:add|adding|need|needs|missing|lacks?|lacking|no|include|insufficient) (?:\w+ ){0,3}(?:tests|test cases?|(?:unit|integration|regression|corresponding) tests?)\b",
            r"\b(?:test|tests|unit) (?:\w+ )?coverage\b|\blacks? coverage\b",
            r"\bflak(?:y|iness)\b|\bbrittle\b",
        ],
    ),
    (
        Doubt::Description,
        &[
            r"\b(?:pr|mr|pull request|merge request)(?:'s)? (?:description|title)\b|\bdescription (?:in|of) the (?:pr|mr)\b",
        ],
    ),
    (
        Doubt::Wording,
        &[r"\b(?:grammar|grammatical(?:ly)?|wording|phrasing|punctuation|rephras\w+|reword\w*)\b"],
    ),
];

/// A trigger and what comes of it.
const TRIGGER: &str = r"(?is)\b(?:when|if|because|since|otherwise|once|as)\b.{3,160}?\b(?:will|would|throws?|returns?|raises?|crash\w*|fails?|panics?|leaks?|overflow\w*|deadlock\w*)\b";

/// The extension of forms that are drawn with a tool.
const DRAWN: &str = "ui";

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
    let mut doubts = doubts_of_text(&format!("{}\n{}", finding.claim, finding.scenario), &finding.file);
    if finding
        .fix
        .as_deref()
        .is_some_and(|fix| words(fix) == words(&finding.evidence))
    {
        doubts.push(Doubt::FixIsTheCode);
    }
    doubts
}

/// The doubts that a claim about this file gives reason for.
pub fn doubts_of_text(text: &str, path: &str) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let text = text.trim();
    if !PATTERNS.trigger.as_ref().is_some_and(|trigger| trigger.is_match(text)) {
        let kinds = PATTERNS.kinds.iter().filter(|(_, patterns)| patterns.is_match(text));
        doubts.extend(kinds.map(|(doubt, _)| *doubt));
    }
    // Claims about other data (queries, schemas, build files) were accepted nearly as often as those about programs.
    if PathKind::of(path).is_prose() || language(path) == DRAWN {
        doubts.push(Doubt::ProseOrData);
    }
    doubts
}

/// Returns whether the claim says that a name is missing which the file imports, includes or defines.
pub(super) fn refuted_by_name(finding: &Finding, content: &str) -> bool {
    const INTRODUCED_BY: [&str; 16] = [
        "import", "from", "use", "using", "require", "#include", "include", "def", "fn", "func", "function", "class",
        "struct", "const", "let", "var",
    ];
    if !finding.doubts.contains(&Doubt::BuildClaim) {
        return false;
    }
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
            ("The helper is called but not defined.", &[Doubt::BuildClaim]),
            ("Missing `<mutex>` header.", &[Doubt::BuildClaim]),
            ("The new default needs verification.", &[Doubt::VerifyRequest]),
            ("A solid improvement of the parser.", &[Doubt::Praise]),
            ("The new name might break scripts.", &[Doubt::BreakingChange]),
            ("This locator is brittle.", &[Doubt::TestRequest]),
            ("The label is not capitalized.", &[]),
            ("Please confirm the default.", &[Doubt::VerifyRequest]),
            ("Ensure that the list is sorted.", &[Doubt::VerifyRequest]),
            ("Is this intentional?", &[Doubt::VerifyRequest]),
            ("Good use of a context manager.", &[Doubt::Praise]),
            ("The change looks good: no issues.", &[Doubt::Praise]),
            ("Renaming the field is a breaking change.", &[Doubt::BreakingChange]),
            ("Unit test coverage is missing.", &[Doubt::TestRequest]),
            ("The MR description names another file.", &[Doubt::Description]),
            ("The wording of the message is off.", &[Doubt::Wording]),
            ("The query runs once for each user.", &[]),
            (
                "If the key is absent, `load` returns null and the import fails to compile the report.",
                &[],
            ),
            ("Please verify this: when the list is empty, `first` throws.", &[]),
        ] {
            assert_eq!(doubts_of_text(text, "src/a.rs"), expected, "{text}");
        }
        for (path, expected) in [
            ("docs/Guide.MD", &[Doubt::ProseOrData][..]),
            ("src/dialog.ui", &[Doubt::ProseOrData]),
            ("Makefile", &[]),
            ("queries/person.sql", &[]),
            ("src/readme_parser.rs", &[]),
            ("README", &[Doubt::ProseOrData]),
        ] {
            assert_eq!(doubts_of_text("It is wrong.", path), expected, "{path}");
        }
    }
}
