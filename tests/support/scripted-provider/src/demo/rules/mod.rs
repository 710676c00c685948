//! The rules of each reviewer.

mod agents_md;
mod code_quality;
mod codex;
mod correctness;
mod documentation;
mod injection;
mod performance;
mod release;
mod security;
mod tests;
mod types;

use super::finding::Finding;
use super::rule::{Change, run};

/// What a reviewer finds in a change.
pub(super) fn findings(reviewer: &str, change: &Change) -> Vec<Finding> {
    let mut findings = injection::findings(change);
    findings.extend(match reviewer {
        "security" => run(security::RULES, change),
        "performance" => run(performance::RULES, change),
        "code_quality" => code_quality::findings(change),
        "correctness" => {
            let mut findings = run(correctness::RULES, change);
            findings.extend(run(security::ALSO_BUGS, change));
            findings
        }
        "documentation" => documentation::findings(change),
        "release" => release::findings(change),
        "agents_md" => agents_md::findings(change),
        "codex" => codex::findings(change),
        "tests" => run(tests::RULES, change),
        "types" => run(types::RULES, change),
        "generalist" => {
            let mut findings = run(security::RULES, change);
            findings.extend(run(correctness::RULES, change));
            findings
        }
        _ => Vec::new(),
    });
    findings
}
