//! Which rules are for which changed files, and what that means for the review.

use std::{collections::BTreeSet, fmt::Write, sync::Arc};

use conclave_engine::{
    diff::FilterReason,
    rules::{AppliedRules, CheckedRule, LeftOutFile, ManualReview, RuleBook, RuleInForce},
    untrusted::Untrusted,
};

use crate::Rule;

/// A changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// Its path at head.
    pub path: String,
    /// Its path at base, where it was another one.
    pub old_path: Option<String>,
    /// Why the panel does not review it, if it does not; rules may demand a person's look at such a file, too.
    pub left_out: Option<FilterReason>,
}

/// The most text of rules that the reviewer is given, in bytes.
const MAX_BYTES: usize = 100_000;
/// The most files that are listed below a rule.
const MAX_FILES: usize = 30;
/// The most files that the account of a rule lists as left out of the review.
const MAX_LEFT_OUT: usize = 20;
/// The most ids that a note lists.
const MAX_IDS: usize = 20;

/// What the rules mean for these files, and the text that the reviewer reads.
pub(crate) fn apply(rules: &[Rule], source: &str, changed: &[ChangedPath]) -> (AppliedRules, Untrusted) {
    let mut applied = AppliedRules::default();
    let mut in_force = Vec::new();
    let mut text = String::new();
    let mut left_out = Vec::new();
    for rule in rules {
        let matching: Vec<&ChangedPath> = changed
            .iter()
            .filter(|file| {
                rule.paths.is_match(&file.path) || file.old_path.as_ref().is_some_and(|old| rule.paths.is_match(old))
            })
            .collect();
        if matching.is_empty() {
            continue;
        }
        if let Some(demand) = &rule.manual_review {
            applied.manual_reviews.push(ManualReview {
                rule: rule.id.clone(),
                link: rule.link.clone(),
                when: rule.when.clone(),
                who: demand.who.clone(),
                files: matching.iter().map(|file| file.path.clone()).collect(),
                breach: false,
                add_as_reviewers: demand.add_as_reviewers,
            });
        }
        let files: BTreeSet<String> = matching
            .iter()
            .filter(|file| file.left_out.is_none())
            .map(|file| file.path.clone())
            .collect();
        // A rule that only asks for a person's look gives the reviewer nothing to check.
        if rule.instead.is_none() {
            continue;
        }
        applied.unread.extend(unread(rule, &matching, &files));
        if files.is_empty() {
            continue;
        }
        let told = told(rule);
        let section = section(&told, &files);
        if text.len() + section.len() > MAX_BYTES {
            left_out.push(rule.id.as_str());
            continue;
        }
        text.push_str(&section);
        in_force.push(RuleInForce {
            id: rule.id.clone(),
            link: rule.link.clone(),
            text: told,
            when: rule.when.clone(),
            level: rule.level,
            on_breach: rule.on_breach,
            approvers: approvers(rule),
            most: rule.severity,
            files,
        });
    }
    let note = note(rules.len(), source, &in_force, &applied);
    applied.notes.push(note);
    if !left_out.is_empty() {
        applied.gaps.push(format!(
            "codex was not given {} of the engineering rules ({}), because all of them together are too long",
            left_out.len(),
            listed(&left_out)
        ));
    }
    applied.book = Arc::new(RuleBook::new(in_force));
    (applied, text.into())
}

/// The account of the files that the rule is for and that no reviewer reads, if there are such.
fn unread(rule: &Rule, matching: &[&ChangedPath], reviewed: &BTreeSet<String>) -> Option<CheckedRule> {
    let mut left_out: Vec<LeftOutFile> = Vec::new();
    let mut more = 0;
    for file in matching.iter().filter(|file| !reviewed.contains(&file.path)) {
        let Some(reason) = file.left_out else { continue };
        if left_out.len() == MAX_LEFT_OUT {
            more += 1;
            continue;
        }
        left_out.push(LeftOutFile {
            path: file.path.clone(),
            reason: reason.describe().to_owned(),
        });
    }
    (!left_out.is_empty()).then(|| CheckedRule {
        rule: rule.id.clone(),
        link: rule.link.clone(),
        level: rule.level,
        on_breach: rule.on_breach,
        files: Vec::new(),
        earlier: Vec::new(),
        not_checked: left_out.iter().map(|file| file.path.clone()).collect(),
        left_out,
        left_out_more: more,
        breaches: 0,
    })
}

fn note(all: usize, source: &str, in_force: &[RuleInForce], applied: &AppliedRules) -> String {
    let rules = if all == 1 {
        "engineering rule"
    } else {
        "engineering rules"
    };
    if in_force.is_empty() {
        let why = if applied.manual_reviews.is_empty() && applied.unread.is_empty() {
            "is for a changed file"
        } else {
            "for the changed files is one that it could check"
        };
        return format!("codex does not sit on the panel: none of the {all} {rules} ({source}) {why}");
    }
    let ids: Vec<&str> = in_force.iter().map(|rule| rule.id.as_str()).collect();
    let verb = if ids.len() == 1 { "is" } else { "are" };
    format!(
        "{} of {all} {rules} ({source}) {verb} for the changed files: {}",
        ids.len(),
        listed(&ids)
    )
}

fn listed(ids: &[&str]) -> String {
    let mut text = ids.iter().take(MAX_IDS).copied().collect::<Vec<_>>().join(", ");
    if ids.len() > MAX_IDS {
        let _ = write!(text, " and {} more", ids.len() - MAX_IDS);
    }
    text
}

/// The people who have to approve a breach: those that the rule names for that, or for a look at its files.
fn approvers(rule: &Rule) -> Vec<String> {
    match (&rule.approvers[..], &rule.manual_review) {
        ([], Some(demand)) => demand.who.clone(),
        (approvers, _) => approvers.to_vec(),
    }
}

/// A rule as the reviewer reads it.
fn told(rule: &Rule) -> String {
    let one_line = |text: &str| Untrusted::from(text).sanitized_line();
    let mut text = format!("## {}\n\nIf you need: {}\n", rule.id, one_line(&rule.when));
    if let Some(instead) = &rule.instead {
        let _ = writeln!(text, "Use: {}", one_line(instead));
    }
    let _ = writeln!(text, "Link: {}", rule.link);
    if let Some(level) = rule.level {
        let _ = writeln!(text, "Level: {level}");
    }
    if let Some(on_breach) = rule.on_breach {
        let _ = writeln!(text, "On a breach: {on_breach} (severity {})", on_breach.severity());
    } else if let Some(severity) = rule.severity {
        let _ = writeln!(text, "Severity: {} at most", severity.as_str());
    }
    if let Some(explanation) = &rule.text {
        let _ = writeln!(text, "\n{}\n", explanation.trim());
    }
    text
}

/// The same with its files. Their names are the author's: each stays in its line.
fn section(told: &str, files: &BTreeSet<String>) -> String {
    let mut text = told.to_owned();
    let _ = writeln!(text, "Changed files that it is for:");
    for file in files.iter().take(MAX_FILES) {
        let _ = writeln!(text, "- {}", Untrusted::from(file.as_str()).sanitized_line());
    }
    if files.len() > MAX_FILES {
        let _ = writeln!(text, "- and {} more", files.len() - MAX_FILES);
    }
    text.push('\n');
    text
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
