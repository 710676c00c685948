//! The rule that a finding breaks, and how severe it is by that rule.

use conclave_shared::{engineering_rule::OnBreach, reviewer::ReviewerName, severity::Severity};

use super::Refusal;
use crate::{
    findings::{RawFinding, written::shorten},
    rules::{CODEX, RuleBook, RuleInForce, names_another},
};

/// The rule that the finding cites. One that is for other files is invented like code that does not exist.
fn cited<'r>(raw: &RawFinding, rules: &'r RuleBook, path: &str) -> Result<&'r RuleInForce, Refusal> {
    let written = raw.get("rule").filter(|id| !id.is_empty());
    let written = written.ok_or_else(|| Refusal::Unruled("it cites no rule; give the id of the rule".into()))?;
    let rule = match rules.named(written)[..] {
        [rule] if !names_another(written, rule) => rule,
        [_] => {
            let fault = format!(
                "`{}` names more than one rule; give one finding for each",
                shorten(written)
            );
            return Err(Refusal::Unruled(fault));
        }
        [] => {
            let fault = format!(
                "there is no rule `{}`; give the id of the rule as it is listed",
                shorten(written)
            );
            return Err(Refusal::Unruled(fault));
        }
        _ => {
            let fault = format!("`{}` are several rules; give one finding for each", shorten(written));
            return Err(Refusal::Unruled(fault));
        }
    };
    if rule.files.contains(path) {
        return Ok(rule);
    }
    Err(Refusal::Hallucinated(format!(
        "the rule {} is not for {}",
        rule.id,
        shorten(path)
    )))
}

/// Returns whether what a reviewer finds is breaches of rules and nothing else.
pub(super) fn has_to_cite(reviewer: &ReviewerName) -> bool {
    reviewer.as_str() == CODEX
}

/// The severity of a breach that this reviewer calls so severe. The reviewer of rules reports breaches and nothing else, so that the
/// rule decides, up and down. The finding of another one may be more than the breach that it cites, and that it is one is a model's
/// word, which makes nothing milder: a critical injection would be a suggestion with the id of a rule that asks for a comment.
pub(super) fn severity_by(rule: &RuleInForce, reviewer: &ReviewerName, reported: Severity) -> Severity {
    let severity = rule.severity(reported);
    if has_to_cite(reviewer) {
        severity
    } else {
        severity.max(reported)
    }
}

/// The rule that the finding breaks, if any.
pub(super) fn rule_of<'r>(
    reviewer: &ReviewerName,
    raw: &RawFinding,
    rules: Option<&'r RuleBook>,
    path: &str,
) -> Result<Option<&'r RuleInForce>, Refusal> {
    match rules {
        Some(rules) if has_to_cite(reviewer) => cited(raw, rules, path).map(Some),
        Some(rules) => cited_besides(raw, rules, path),
        None => Ok(None),
    }
}

/// The rule that the finding of a reviewer cites which was given none: one that is for its file. What else it calls a rule is
/// nothing to go by, and no fault.
fn cited_besides<'r>(raw: &RawFinding, rules: &'r RuleBook, path: &str) -> Result<Option<&'r RuleInForce>, Refusal> {
    let Some(written) = raw.get("rule") else {
        return Ok(None);
    };
    let of_file = rules
        .named(written)
        .into_iter()
        .filter(|rule| rule.files.contains(path));
    let is_serious = |rule: &&RuleInForce| rule.on_breach.is_some_and(OnBreach::is_serious);
    let (serious, others): (Vec<_>, Vec<_>) = of_file.partition(is_serious);
    match serious[..] {
        [] => Ok(others.into_iter().max_by_key(|rule| rule.on_breach)),
        [rule] => Ok(Some(rule)),
        _ => {
            let fault = format!("`{}` are several rules; give one finding for each", shorten(written));
            Err(Refusal::Hallucinated(fault))
        }
    }
}
