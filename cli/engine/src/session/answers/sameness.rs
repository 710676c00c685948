//! The comparison of findings of several answers.
//!
//! What makes a finding good that was not taken ends a hold on the approval, so it has to be the same problem beyond doubt: by its
//! claim, in plain words ([`claims_agree`]), and by its lines or its code. The kind of a problem identifies none, and a finding
//! that only repeats a kept one proves nothing about another. What stays in doubt stays unproven.

use std::collections::BTreeSet;

use conclave_shared::{
    finding::{Finding, RuleCitation},
    severity::Severity,
};

use crate::{
    findings::{Hallucinated, claim_as_written, claims_agree, poor_instructions},
    rules::RuleBook,
};

/// Number of lines by which two tellings of one finding may differ.
const NEAR: u32 = 3;
/// Distance of tellings that quote the same code, or of which one stands where the misquoted code of the other may be.
const SAME_CODE: u32 = NEAR + 1;
/// Distance of tellings that have nothing in common but their file and, to the letter, their claim.
const SAME_CLAIM: u32 = u32::MAX;

/// Takes out of `open` what these findings make good: each finding one at most, the nearest, and none that only repeats one of
/// `kept`. What cites several rules that ask for a person is owed a finding for each.
pub(super) fn make_good(
    open: &mut Vec<Hallucinated>,
    findings: &[Finding],
    kept: &[Finding],
    rules: Option<&RuleBook>,
) {
    let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        if kept.iter().any(|known| repeats_it(finding, known)) {
            continue;
        }
        pairs.extend(
            open.iter()
                .enumerate()
                .filter_map(|(lost_at, lost)| Some((makes_good(finding, lost, kept, rules)?, at, lost_at))),
        );
    }
    pairs.sort_unstable();
    let (mut used, mut good) = (BTreeSet::new(), BTreeSet::new());
    for (_, at, lost_at) in pairs {
        if used.contains(&at) || good.contains(&lost_at) {
            continue;
        }
        let lost = &mut open[lost_at];
        let owes_rules = !lost.serious_rules.is_empty();
        let rule = findings[at].rule.as_ref();
        if owes_rules && !rule.is_some_and(|rule| lost.serious_rules.remove(&rule.id)) {
            continue;
        }
        used.insert(at);
        if lost.serious_rules.is_empty() {
            good.insert(lost_at);
        }
    }
    let mut places = 0..;
    open.retain(|_| places.next().is_none_or(|at| !good.contains(&at)));
}

/// The distance at which a finding that stands is the one that was not taken; `None` if it is not that one, or in doubt. A milder one is
/// not, unless the rule that both cite allows no higher severity; and a breach that blocks or asks for a person is repeated only by
/// one of its own rule.
fn makes_good(finding: &Finding, lost: &Hallucinated, kept: &[Finding], rules: Option<&RuleBook>) -> Option<u32> {
    let severe = Severity::parse_lenient(&lost.severity).is_none_or(|severity| finding.severity >= severity)
        || is_at_its_rules_most(finding, lost, rules);
    let injection = !lost.is_injection() || finding.is_prompt_injection();
    let cites = |rule: &RuleCitation| lost.serious_rules.contains(&rule.id);
    let cites_owed = finding.rule.as_ref().is_some_and(cites);
    let breaks = lost.serious_rules.is_empty() || cites_owed;
    if !(severe && injection && breaks) {
        return None;
    }
    let (told, before) = (Told::from(finding), Told::from(lost));
    // In one place the rule says which problem it is: asked for one finding for each rule, a reviewer words them anew.
    let by_rule = before.place(&told).filter(|_| cites_owed);
    let distance = by_rule.or_else(|| before.distance(&told))?;
    // A claim that a kept finding has as well does not say which of both is meant.
    let is_of_both = |known: &Finding| known.file == lost.file && claim_as_written(&known.claim) == lost.claim;
    (distance < SAME_CLAIM || !kept.iter().any(is_of_both)).then_some(distance)
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

/// Returns whether a finding says of the same line what a known one says, so that both are kept as one.
pub(super) fn says_again(finding: &Finding, known: &Finding) -> bool {
    let is_alike = || {
        finding.claim == known.claim
            || (finding.fingerprint == known.fingerprint && claims_agree(&finding.claim, &known.claim))
    };
    let is_here = finding.file == known.file && finding.line == known.line;
    // One remark on poor instructions is enough for a merge request.
    let is_once = known.fingerprint == finding.fingerprint && finding.fingerprint == poor_instructions();
    is_once || (is_here && can_be_one(finding, known) && is_alike())
}

/// Returns whether a finding may be a repetition of a known one, in other words or under another name: it reports a breach of the same
/// rule, or says nearly the same, of lines that overlap.
pub(super) fn repeats_it(finding: &Finding, known: &Finding) -> bool {
    let (told, before) = (Told::from(finding), Told::from(known));
    let is_here = told.file == before.file && told.apart(&before) == Some(0) && can_be_one(finding, known);
    let is_alike = || finding.rule.is_some() || claims_agree(told.claim, before.claim);
    says_again(finding, known) || (is_here && is_alike())
}

/// The distance at which a finding that is not taken repeats an earlier one that was not taken either; `None` if it is about something
/// else.
pub(super) fn is_same(lost: &Hallucinated, before: &Hallucinated) -> Option<u32> {
    Told::from(before).distance(&Told::from(lost))
}

/// The parts of a finding that identify it, as far as it came.
struct Told<'a> {
    file: &'a str,
    /// Its first and its last line.
    lines: Option<(u32, u32)>,
    category: &'a str,
    claim: &'a str,
    code: &'a str,
    /// The lines that are most like its code, where that does not stand in its file.
    nearest: &'a [(u32, String)],
}

impl<'a> From<&'a Finding> for Told<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            file: &finding.file,
            lines: Some((finding.line, finding.end_line.unwrap_or(finding.line).max(finding.line))),
            category: &finding.category,
            claim: claim_as_written(&finding.claim),
            code: &finding.evidence,
            nearest: &[],
        }
    }
}

impl<'a> From<&'a Hallucinated> for Told<'a> {
    fn from(lost: &'a Hallucinated) -> Self {
        Self {
            file: &lost.file,
            lines: lost.line.map(|line| (line, line)),
            category: &lost.category,
            claim: &lost.claim,
            code: &lost.quote,
            nearest: &lost.nearest,
        }
    }
}

impl Told<'_> {
    /// The distance of a later telling of this; `None` if that is not one, or in doubt.
    fn distance(&self, later: &Told<'_>) -> Option<u32> {
        let is_verbatim = || self.file == later.file && !self.claim.is_empty() && self.claim == later.claim;
        let distance = || self.place(later).or_else(|| is_verbatim().then_some(SAME_CLAIM));
        self.is_claimed_by(later).then(distance).flatten()
    }

    /// Returns whether a later telling claims nearly the same, or goes on where this one broke off: a claim of which only the
    /// beginning came, or nothing, says no more than what kind of problem it is.
    fn is_claimed_by(&self, later: &Told<'_>) -> bool {
        let agrees = !self.claim.is_empty() && claims_agree(self.claim, later.claim);
        let goes_on = || self.category == later.category && later.claim.starts_with(self.claim);
        agrees || (goes_on() && (self.code.trim().is_empty() || self.has_the_code_of(later)))
    }

    /// The distance of a later telling in lines, if that is near, or by the code.
    fn place(&self, later: &Told<'_>) -> Option<u32> {
        let is_file = self.file == later.file;
        let near = self.apart(later).filter(|apart| is_file && *apart <= NEAR);
        let holds = |(first, last): (u32, u32)| {
            let mut shown = self.nearest.iter();
            shown.any(|(number, _)| (first..=last).contains(number))
        };
        let is_shown = || is_file && later.lines.is_some_and(holds);
        near.or_else(|| (self.has_the_code_of(later) || is_shown()).then_some(SAME_CODE))
    }

    /// The number of lines between both, 0 where they overlap.
    fn apart(&self, other: &Told<'_>) -> Option<u32> {
        let ((first, last), (other_first, other_last)) = (self.lines?, other.lines?);
        Some(other_first.saturating_sub(last).max(first.saturating_sub(other_last)))
    }

    fn has_the_code_of(&self, other: &Told<'_>) -> bool {
        !self.code.trim().is_empty() && self.code.split_whitespace().eq(other.code.split_whitespace())
    }
}

#[cfg(test)]
#[path = "sameness_tests.rs"]
mod tests;
