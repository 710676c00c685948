//! Codex: the organisation's own rules, as they came with the message.
//!
//! The demo model cannot read. A rule is broken here by an added line that holds what stands in back-ticks in the rule's
//! "If you need", in a file that the rule is for.

use crate::demo::finding::Finding;
use crate::demo::finding::Severity::{Suggestion, Warning};
use crate::demo::rule::Change;

pub(super) fn findings(change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in change
        .codex_rules
        .split("\n## ")
        .map(|text| text.trim_start_matches(['\n', '#', ' ']))
    {
        let Some((id, text)) = rule.split_once('\n') else {
            continue;
        };
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
                .trim()
        };
        let signs: Vec<&str> = field("If you need:").split('`').skip(1).step_by(2).collect();
        let is_for = |path: &str| text.lines().any(|line| line.strip_prefix("- ") == Some(path));
        let broken = change.files.iter().filter(|file| is_for(&file.path)).find_map(|file| {
            let line = file
                .added()
                .find(|line| signs.iter().any(|sign| line.text.contains(sign)))?;
            Some((file, line))
        });
        if let Some((file, line)) = broken {
            let severity = if field("Severity:").starts_with("suggestion") {
                Suggestion
            } else {
                Warning
            };
            findings.push(Finding {
                rule: id.trim().to_owned(),
                claim: format!(
                    "This does what {} is about, and not as it says: {}.",
                    id.trim(),
                    field("Use:")
                ),
                scenario: format!(
                    "{}: \"{}\" -> the rule is broken by this line.",
                    id.trim(),
                    field("If you need:")
                ),
                fix: format!("Use {}.", field("Use:")),
                confidence: 0.95,
                ..Finding::on(file, line, severity, "engineering-rule")
            });
        }
    }
    findings
}
