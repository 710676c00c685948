//! Findings, and the block in which a reviewer reports them.

use super::patch::{Line, PatchFile};
use std::fmt::Write;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Critical,
    Warning,
    Suggestion,
}

impl Severity {
    const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Suggestion => "suggestion",
        }
    }
}

/// A problem.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) category: String,
    /// The rule of the organisation, for `codex` only.
    pub(super) rule: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) claim: String,
    pub(super) evidence: String,
    pub(super) scenario: String,
    pub(super) checked: String,
    pub(super) confidence: f64,
    pub(super) fix: String,
}

impl Finding {
    /// A finding on a line, without its texts.
    pub(super) fn on(file: &PatchFile, line: &Line, severity: Severity, category: &str) -> Self {
        Self {
            severity,
            category: category.to_owned(),
            rule: String::new(),
            file: file.path.clone(),
            line: line.number,
            claim: String::new(),
            evidence: line.text.clone(),
            scenario: String::new(),
            checked: format!("The hunk around line {} of {} in the patch.", line.number, file.path),
            confidence: 0.9,
            fix: String::new(),
        }
    }
}

/// The block in which a reviewer reports, one tag a line.
pub(super) fn block(findings: &[Finding]) -> String {
    let mut text = String::from("<findings>\n");
    for finding in findings {
        text.push_str("<finding>\n");
        let line = finding.line.to_string();
        let confidence = format!("{:.2}", finding.confidence);
        for (tag, value) in [
            ("severity", finding.severity.name()),
            ("category", &finding.category),
            ("rule", &finding.rule),
            ("file", &finding.file),
            ("line", &line),
            ("claim", &finding.claim),
            ("evidence", &finding.evidence),
            ("scenario", &finding.scenario),
            ("checked", &finding.checked),
            ("needs_context", "no"),
            ("confidence", &confidence),
            ("fix", &finding.fix),
        ] {
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "<{tag}>{}</{tag}>", up_to_tag(value, tag));
            }
        }
        text.push_str("</finding>\n");
    }
    text.push_str("</findings>");
    text
}

/// The text as it stands, up to what would end its element.
fn up_to_tag<'a>(value: &'a str, tag: &str) -> &'a str {
    let ends = [format!("</{tag}>"), "</finding".to_owned(), "<finding".to_owned()];
    let end = ends.iter().filter_map(|end| value.find(end.as_str())).min();
    &value[..end.unwrap_or(value.len())]
}
