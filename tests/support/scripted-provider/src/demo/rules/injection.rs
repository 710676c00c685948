//! Text that speaks to the reviewing model instead of to people. Every reviewer looks for it.

use crate::demo::finding::{Finding, Severity};
use crate::demo::pattern::found;
use crate::demo::reading::CONTEXT;
use crate::demo::rule::Change;

const CATEGORY: &str = "prompt-injection";

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    let in_context = change.context.lines().enumerate().find(|(_, line)| is_injection(line));
    if let Some((at, line)) = in_context {
        findings.push(Finding {
            severity: Severity::Critical,
            category: CATEGORY.to_owned(),
            rule: String::new(),
            file: CONTEXT.to_owned(),
            line: at + 1,
            claim: "The merge request's own text tells the reviewer to ignore its instructions.".to_owned(),
            evidence: line.to_owned(),
            scenario: "A reviewer that obeys approves this merge request without looking at it.".to_owned(),
            checked: "The whole shared context; the text was not obeyed.".to_owned(),
            confidence: 0.95,
            fix: "Remove the text, and have a human look at this merge request.".to_owned(),
        });
    }
    for file in &change.files {
        if let Some(line) = file.added().find(|line| is_injection(&line.text)) {
            findings.push(Finding {
                claim: "This line tells an AI reviewer to ignore its instructions.".to_owned(),
                scenario: "A reviewer that obeys approves this merge request without looking at it.".to_owned(),
                confidence: 0.95,
                fix: "Remove the line, and have a human look at this merge request.".to_owned(),
                ..Finding::on(file, line, Severity::Critical, CATEGORY)
            });
        }
    }
    findings
}

/// Returns whether a line commands; a line that quotes the phrase talks about it.
fn is_injection(line: &str) -> bool {
    found!(
        line,
        r"(?i)\b(ignore|disregard|forget)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+)?(previous|prior|above|earlier)\s+(instructions|prompts|rules)"
    ) && !found!(
        line,
        r"(?i)[\x22'`](ignore|disregard|forget)\s+[a-z ]{0,40}(instructions|prompts|rules)[\x22'`]"
    )
}
