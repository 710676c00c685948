//! What shows that a text holds findings, even where they cannot be read: a reviewer that names a problem and, asked once
//! more, has none, has lost it.

use super::unescape;
use crate::findings::tags::{Kind, Name, tags};

/// Words of a severe finding in prose.
const SEVERE: [&str; 4] = ["critical", "blocker", "severity", "vulnerab"];
/// Words that turn such a sentence into its opposite.
const NEGATIONS: [&str; 12] = [
    "no", "not", "none", "nothing", "without", "never", "zero", "0", "neither", "nor", "any", "clean",
];

/// Returns whether a text seems to hold findings in tags or JSON.
pub fn holds_findings(text: &str) -> bool {
    count(text) > 0
}

/// Returns how many findings a text seems to hold, by what each of them has once: its own tag, or its severity.
pub(super) fn count(text: &str) -> usize {
    let of = |text: &str, name: Name| {
        let opened = tags(text).filter(|tag| tag.name == name && tag.kind != Kind::Close);
        opened.count()
    };
    let tagged = |text: &str| of(text, Name::Finding).max(of(text, Name::Field("severity")));
    let escaped = if text.contains("&lt;") {
        tagged(&unescape(text))
    } else {
        0
    };
    let json = text.matches("\"severity\"").count();
    tagged(text).max(escaped).max(json)
}

/// Returns whether prose reports a severe problem at a place, as in "CRITICAL: src/a.rs:10 runs a command".
pub(super) fn is_report(text: &str) -> bool {
    let severe = |line: &str| {
        let line = line.to_lowercase();
        let negated = line
            .split(|character: char| !character.is_alphanumeric())
            .any(|word| NEGATIONS.contains(&word) || word.ends_with("n't"));
        !negated && SEVERE.iter().any(|word| line.contains(word))
    };
    text.split(['\n', '.', ';']).any(severe) && names_line(text)
}

/// Returns whether a text names a line: `src/a.rs:10`, `line 10`.
fn names_line(text: &str) -> bool {
    let begins_with_number = |text: &str| text.starts_with(|character: char| character.is_ascii_digit());
    let behind_path = text.match_indices(':').any(|(at, _)| {
        let path = text[..at].ends_with(|character: char| character.is_alphanumeric() || character == '_');
        path && begins_with_number(&text[at + 1..])
    });
    let lower = text.to_lowercase();
    let behind_word = lower.match_indices("line").any(|(at, _)| {
        let rest = &lower[at + 4..];
        begins_with_number(
            rest.strip_prefix('s')
                .unwrap_or(rest)
                .trim_start_matches([' ', ':', '*', '`', '#']),
        )
    });
    behind_path || behind_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_seen_in_every_form() {
        for (text, expected) in [
            ("<finding><severity>critical</severity>", 1),
            ("&lt;finding&gt;&lt;severity&gt;warning&lt;/severity&gt;", 1),
            ("[{\"severity\": \"critical\"}, {\"severity\": \"warning\"", 2),
            ("<severity>critical</severity> <severity>warning</severity>", 2),
            ("<finding severity=\"critical\" line=\"3\"/>", 1),
            ("<findings></findings>", 0),
            ("Nothing to report.", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
            assert_eq!(holds_findings(text), expected > 0, "{text}");
        }
    }

    #[test]
    fn prose_is_a_report_if_it_names_a_severe_problem_and_its_line() {
        for text in [
            "CRITICAL: src/calc.py:10 executes a command from the caller.",
            "- **Severity**: critical\n- **File**: src/calc.py:10\n- **Claim**: executes a command",
            "There is a critical problem in line 10 of the file.",
            "A vulnerability at lines 3-5",
        ] {
            assert!(is_report(text), "{text}");
        }
        for text in [
            "I read src/calc.py:10 and found no critical problems.",
            "No issues.",
            "This touches critical code.",
            "I looked at line 10 and at line 12. All is well.",
        ] {
            assert!(!is_report(text), "{text}");
        }
    }
}
