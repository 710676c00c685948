//! A finding as a note of its own, beside the lines that it is about.

use std::fmt::Write;

use conclave_shared::severity::Severity;

use super::{
    Suggestion,
    markdown::{found_by, in_words, language},
};
use crate::{
    review::JudgedFinding,
    untrusted::{code_span, escape, escape_with_blocks, fenced, link, one_line},
};

/// What a note stands beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InlinePlace {
    /// The lines of the finding: the reader sees the code.
    Lines,
    /// The file as a whole: the note has to say which line, and show it.
    File,
}

/// The header of a code block that a forge offers to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuggestionSyntax {
    /// It names how many lines above and below the note's last line are replaced.
    Offsets,
    /// It names none: exactly the lines that the note stands on are replaced.
    LinesOfNote,
}

impl SuggestionSyntax {
    fn header(self, suggestion: &Suggestion) -> String {
        match self {
            Self::Offsets => format!("suggestion:-{}+0", suggestion.last - suggestion.first),
            Self::LinesOfNote => "suggestion".to_owned(),
        }
    }
}

/// The note, without the hidden record. A suggestion has to be for the lines that the note stands on.
pub fn render_inline(
    entry: &JudgedFinding,
    place: InlinePlace,
    suggestion: Option<(&Suggestion, SuggestionSyntax)>,
) -> String {
    let finding = &entry.finding;
    let mark = match finding.severity {
        Severity::Critical => "🔴 **Critical**",
        Severity::Warning if entry.production_risk => "🟡 **Warning, endangers production**",
        Severity::Warning => "🟡 **Warning**",
        Severity::Suggestion => "🔵 **Suggestion**",
    };
    let mut text = format!("{mark} · {}", escape(finding.claim.trim()));
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
        let _ = write!(text, "\n\n{}", escape_with_blocks(finding.scenario.trim()));
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
        (Some((suggestion, syntax)), _) => {
            // `committable` has made sure that no line of it can end the block or act.
            let header = syntax.header(suggestion);
            let _ = write!(text, "\n\n```{header}\n{}\n```", suggestion.text);
        }
        (None, Some(fix)) => {
            // A sentence is short enough to be seen, and would not wrap in a block of code.
            let _ = match in_words(fix) {
                Some(words) => write!(text, "\n\nPossible fix: {words}"),
                None => write!(
                    text,
                    "\n\n<details><summary>Possible fix</summary>\n\n{}\n\n</details>",
                    fenced(fix, language(&finding.file))
                ),
            };
        }
        (None, None) => {}
    }
    if let Some(rule) = &finding.rule {
        let _ = write!(text, "\n\nRule {}", link(&rule.id, &rule.link));
    }
    if let Some(overruled) = &entry.overruled {
        let _ = write!(text, "\n\n⚖️ {}", one_line(&overruled.describe()));
    }
    let _ = write!(
        text,
        "\n\n<sub>{} · {}</sub>",
        one_line(&finding.category),
        found_by(&finding.found_by)
    );
    text
}

#[cfg(test)]
mod tests {
    use conclave_shared::{finding::Finding, reviewer::ReviewerName};

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
        for (syntax, header) in [
            (SuggestionSyntax::Offsets, "suggestion:-1+0"),
            (SuggestionSyntax::LinesOfNote, "suggestion"),
        ] {
            let text = render_inline(&entry(), InlinePlace::Lines, Some((&suggestion, syntax)));
            assert!(text.contains(&format!("\n\n```{header}\nx = 2\n```\n")), "{text}");
            assert!(!text.contains("x = 1"), "the reader sees the code: {text}");
            assert!(!text.contains("Possible fix"), "{text}");
        }
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
    fn a_fix_in_words_is_seen_and_one_in_code_is_folded() {
        let with = |fix: &str| {
            let mut entry = entry();
            entry.finding.fix = Some(fix.to_owned());
            render_inline(&entry, InlinePlace::Lines, None)
        };
        let words = with("Pass the *value* as a bound parameter.");
        assert!(
            words.contains("\n\nPossible fix: Pass the \\*value\\* as a bound parameter.\n\n"),
            "{words}"
        );
        assert!(!words.contains("<details>"), "{words}");
        let code = with("query(name)");
        assert!(
            code.contains("<summary>Possible fix</summary>\n\n```python\nquery(name)\n```"),
            "{code}"
        );
    }

    #[test]
    fn what_blocks_the_merge_says_why_and_who_agrees_is_counted() {
        let mut entry = entry();
        entry.production_risk = true;
        entry.finding.found_by = ["security", "correctness"]
            .map(|name| ReviewerName::new(name).expect("a name"))
            .to_vec();
        let text = render_inline(&entry, InlinePlace::Lines, None);
        assert!(text.starts_with("🟡 **Warning, endangers production** · "), "{text}");
        assert!(
            text.ends_with("<sub>key-error · **found by 2**: security and correctness</sub>"),
            "{text}"
        );
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
