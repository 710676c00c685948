//! The comparison of findings of several answers.

use conclave_shared::{
    finding::{Finding, RuleCitation},
    severity::Severity,
};

use crate::{
    findings::{Hallucinated, claim_words, claims_agree, poor_instructions},
    rules::RuleBook,
};

/// Number of lines by which two tellings of one finding may differ.
const NEAR: u32 = 3;

/// Whether a finding that stands is the one that was not taken. A milder one is not, unless the rule that both cite allows
/// no higher severity; and a breach that blocks or asks for a person is repeated only by one of its own rule.
pub(super) fn makes_good(finding: &Finding, lost: &Hallucinated, rules: Option<&RuleBook>) -> bool {
    let severe = Severity::parse_lenient(&lost.severity).is_none_or(|severity| finding.severity >= severity)
        || is_at_its_rules_most(finding, lost, rules);
    let injection = !lost.is_injection() || finding.is_prompt_injection();
    let cites = |rule: &RuleCitation| lost.serious_rules.contains(&rule.id);
    let breaks = lost.serious_rules.is_empty() || finding.rule.as_ref().is_some_and(cites);
    severe && injection && breaks && is_alike(&finding.claim, &finding.file, &finding.category, lost)
}

/// Returns whether the finding is as severe as its rule says, or allows, and the other one cites no other rule.
fn is_at_its_rules_most(finding: &Finding, lost: &Hallucinated, rules: Option<&RuleBook>) -> bool {
    let (Some(cited), Some(rules)) = (&finding.rule, rules) else {
        return false;
    };
    let is_same_rule = lost.rule.as_ref().is_none_or(|id| *id == cited.id);
    let rule = rules.find(&cited.id).filter(|_| is_same_rule);
    rule.is_some_and(|rule| rule.on_breach.is_some() || rule.most == Some(finding.severity))
}

/// Returns whether both can be one finding: words that steer the review are never hidden behind another problem, and the breach
/// of another rule is another finding.
fn can_be_one(finding: &Finding, other: &Finding) -> bool {
    fn rule(finding: &Finding) -> Option<&str> {
        finding.rule.as_ref().map(|rule| rule.id.as_str())
    }
    finding.is_prompt_injection() == other.is_prompt_injection() && rule(finding) == rule(other)
}

/// Returns whether a finding says of the same line what a known one says.
pub(super) fn says_again(finding: &Finding, known: &Finding) -> bool {
    let is_alike = || {
        finding.claim == known.claim
            || (finding.fingerprint == known.fingerprint && claims_agree(&finding.claim, &known.claim))
    };
    let is_here = finding.file == known.file && finding.line == known.line;
    // One remark on poor instructions is enough for a merge request.
    let is_once = finding.fingerprint == poor_instructions() && known.fingerprint == finding.fingerprint;
    is_once || (is_here && can_be_one(finding, known) && is_alike())
}

/// Returns whether a finding repeats an earlier one, maybe in other words and of a line beside.
pub(super) fn repeats_it(finding: &Finding, before: &Finding) -> bool {
    if finding.file != before.file || !can_be_one(finding, before) {
        return false;
    }
    let (one, other) = (claim_words(&finding.claim), claim_words(&before.claim));
    let is_alike = one.intersection(&other).count() * 2 >= one.len().min(other.len()).max(1);
    let is_near = finding.line.abs_diff(before.line) <= NEAR;
    is_near && (is_alike || (finding.category == before.category && finding.category != "other"))
}

pub(super) fn is_same(one: &Hallucinated, other: &Hallucinated) -> bool {
    is_alike(&one.claim, &one.file, &one.category, other)
}

fn is_alike(claim: &str, file: &str, category: &str, lost: &Hallucinated) -> bool {
    if claim.trim() == lost.claim.trim() && !claim.trim().is_empty() {
        return true;
    }
    let (one, other) = (claim_words(claim), claim_words(&lost.claim));
    let shared = one.intersection(&other).count();
    let alike = shared * 2 >= one.len().min(other.len()).max(1);
    file == lost.file && (alike || (category == lost.category && category != "other"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::test_support::finding, rules::RuleInForce};

    #[test]
    fn words_that_steer_and_the_breach_of_another_rule_are_findings_of_their_own() {
        let known = finding("F1", Severity::Warning, "settings", "a.py", 1);
        let steers = Finding {
            category: Finding::PROMPT_INJECTION.into(),
            ..known.clone()
        };
        let breaks = |id: &str| Finding {
            rule: Some(RuleCitation {
                id: id.into(),
                link: String::new(),
                on_breach: None,
            }),
            ..known.clone()
        };
        for (one, other, is_one) in [
            (known.clone(), known.clone(), true),
            (known.clone(), steers.clone(), false),
            (steers.clone(), steers, true),
            (breaks("CFG-1"), breaks("CFG-1"), true),
            (breaks("CFG-1"), breaks("CFG-2"), false),
        ] {
            assert_eq!(says_again(&one, &other), is_one, "{one:?} {other:?}");
            assert_eq!(repeats_it(&one, &other), is_one, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_finding_that_its_rule_caps_makes_good_what_was_written_as_critical() {
        let rule = |id: &str, most| RuleInForce {
            id: id.into(),
            most,
            files: ["a.py".to_owned()].into_iter().collect(),
            ..RuleInForce::default()
        };
        let rules = RuleBook::new(vec![rule("CFG-1", Some(Severity::Warning)), rule("CFG-2", None)]);
        let cites = |id: &str| Finding {
            rule: Some(RuleCitation {
                id: id.into(),
                link: String::new(),
                on_breach: None,
            }),
            ..finding("F1", Severity::Warning, "settings", "a.py", 1)
        };
        let lost = |rule: Option<&str>| Hallucinated {
            claim: "Claim F1.".into(),
            severity: "critical".into(),
            file: "a.py".into(),
            rule: rule.map(str::to_owned),
            ..Hallucinated::default()
        };
        let good = |finding: &str, before: Option<&str>| makes_good(&cites(finding), &lost(before), Some(&rules));
        assert!(good("CFG-1", Some("CFG-1")));
        assert!(good("CFG-1", None), "it cited no rule before");
        assert!(!good("CFG-1", Some("CFG-2")), "another rule is another finding");
        assert!(!good("CFG-2", Some("CFG-2")), "nothing caps it: it is milder now");

        let mut asks = lost(Some("CFG-1"));
        asks.serious_rules = ["CFG-1".to_owned()].into();
        assert!(makes_good(&cites("CFG-1"), &asks, Some(&rules)));
        asks.severity = "warning".into();
        assert!(
            !makes_good(&cites("CFG-2"), &asks, Some(&rules)),
            "that asks for nobody"
        );
    }
}
