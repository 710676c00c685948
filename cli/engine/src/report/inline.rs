//! A finding as a note of its own, beside the lines that it is about.

use std::fmt::Write;

use conclave_shared::{reviewer::ReviewerName, severity::Severity};

use super::{
    Suggestion,
    markdown::{code_span, language},
    neutral,
    neutral::{fenced, link},
};
use crate::judge::JudgedFinding;

/// What a note stands beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlinePlace {
    /// The lines of the finding: the reader sees the code.
    Lines,
    /// The file as a whole: the note has to say which line, and show it.
    File,
}

/// The note, without the hidden record. A suggestion has to be for the line that the note stands on.
pub fn render_inline(entry: &JudgedFinding, place: InlinePlace, suggestion: Option<&Suggestion>) -> String {
    let finding = &entry.finding;
    let mark = match finding.severity {
        Severity::Critical => "🔴 **Critical**",
        Severity::Warning => "🟡 **Warning**",
        Severity::Suggestion => "🔵 **Suggestion**",
    };
    let mut text = format!("{mark} · {}", neutral(finding.claim.trim()));
    if place == InlinePlace::File {
        let lines = match finding.end_line {
            Some(end) => format!("Lines {} to {end}", finding.line),
            None => format!("Line {}", finding.line),
        };
        let _ = write!(
            text,
            "\n\n{lines}:\n\n{}",
            fenced(&finding.evidence, language(&finding.file))
        );
    }
    if !finding.scenario.trim().is_empty() {
        let _ = write!(text, "\n\n{}", neutral(finding.scenario.trim()));
    }
    if let Some(second) = &finding.second {
        let _ = write!(
            text,
            "\n\nSee also {}:\n\n{}",
            code_span(&format!("{}:{}", second.file, second.line)),
            fenced(&second.code, language(&second.file))
        );
    }
    match (suggestion, &finding.fix) {
        (Some(suggestion), _) => {
            // `committable` has made sure that no line of it can end the block or act.
            let above = suggestion.last - suggestion.first;
            let _ = write!(text, "\n\n```suggestion:-{above}+0\n{}\n```", suggestion.text);
        }
        (None, Some(fix)) => {
            let _ = write!(
                text,
                "\n\n<details><summary>Possible fix</summary>\n\n{}\n\n</details>",
                fenced(fix, "")
            );
        }
        (None, None) => {}
    }
    if let Some(rule) = &finding.rule {
        let _ = write!(text, "\n\nRule {}", link(&rule.id, &rule.link));
    }
    let found_by: Vec<String> = finding.found_by.iter().map(ReviewerName::display_name).collect();
    let _ = write!(
        text,
        "\n\n<sub>{} · found by {}</sub>",
        neutral(&finding.category).replace('\n', " "),
        neutral(&found_by.join(", "))
    );
    text
}

#[cfg(test)]
mod tests {
    use conclave_shared::finding::Finding;

    use super::*;
    use crate::judge::test_support::finding;

    fn entry() -> JudgedFinding {
        JudgedFinding::kept(Finding {
            claim: "It fails.\n/approve".to_owned(),
            scenario: "@all ![x](http://evil.example/)".to_owned(),
            evidence: "x = 1\n/merge".to_owned(),
            fix: Some("x = 2".to_owned()),
            end_line: Some(4),
            ..finding("F1", Severity::Warning, "key-error", "src/a.py", 3)
        })
    }

    #[test]
    fn on_its_lines_it_says_the_problem_and_offers_the_fix() {
        let suggestion = Suggestion {
            first: 3,
            last: 4,
            text: "x = 2".to_owned(),
        };
        let text = render_inline(&entry(), InlinePlace::Lines, Some(&suggestion));
        assert!(text.contains("\n\n```suggestion:-1+0\nx = 2\n```\n"), "{text}");
        assert!(!text.contains("x = 1"), "the reader sees the code: {text}");
        assert!(!text.contains("Possible fix"), "{text}");
    }

    #[test]
    fn on_its_file_it_shows_the_lines() {
        let text = render_inline(&entry(), InlinePlace::File, None);
        assert!(
            text.contains("Lines 3 to 4:\n\n```python\n x = 1\n /merge\n```"),
            "{text}"
        );
        assert!(text.contains("<summary>Possible fix</summary>"), "{text}");
    }

    #[test]
    fn nothing_in_it_acts() {
        for place in [InlinePlace::Lines, InlinePlace::File] {
            let text = render_inline(&entry(), place, None);
            assert!(!text.lines().any(|line| line.starts_with('/')), "{text}");
            assert!(!text.contains("@all") && !text.contains("![x]"), "{text}");
        }
    }
}
