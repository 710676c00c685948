//! What decisions do to the findings, and what they may not do.
//!
//! A finding that weighs ([`weighs`]) becomes milder only by code that refutes it, never by the judge's word.

use std::collections::{HashMap, HashSet};

use conclave_shared::{
    finding::{Finding, RuleCitation},
    path_globs::PathGlobs,
    reviewer::ReviewerName,
    telemetry::FindingFate,
};

use super::{
    Action, Decision, Submission,
    agreement::{may_repeat, merge_identical, merge_undecided},
};
use crate::{
    findings::same_claims,
    judge::quoted_code::{NOTHING_QUOTED, ONLY_A_PERSON},
    review::{JudgedFinding, Overruled, Refutation, RemovedBy, Weight, weighs},
    untrusted::code_span,
};

/// What stands behind the judge's decisions.
#[derive(Debug, Clone, Default)]
pub struct Grounds {
    /// The refutations, checked, by the finding's id.
    pub refutations: HashMap<String, Refutation>,
    /// Files in which words for a model are the product: there a judge may find them harmless.
    pub prompt_paths: PathGlobs,
    /// The worst that the judge itself has said of a finding before it submitted again.
    pub said_before: HashMap<String, Weight>,
    /// Findings that the judge takes for repeats of earlier ones. Whether they are is decided where those are known.
    pub into_earlier: Vec<String>,
}

/// What becomes of one finding.
#[derive(Debug, Clone)]
struct Ruled {
    effect: Effect,
    weight: Weight,
    /// True if the decision needs a refutation.
    needs_refutation: bool,
    overruled: Option<Overruled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Keep,
    /// Kept, with a lower weight on the judge's word alone.
    Lower,
    Drop,
    /// Into the finding at this place, which takes over its weight unless code refutes it.
    Merge {
        target: usize,
        refuted: bool,
    },
}

/// Applies decisions to the findings. A finding without a decision is kept: what a model forgets is not lost.
pub fn apply(findings: Vec<Finding>, submission: &Submission, grounds: &Grounds) -> Vec<JudgedFinding> {
    let decisions: HashMap<&str, &Decision> = submission
        .decisions
        .iter()
        .map(|decision| (decision.id.as_str(), decision))
        .collect();
    let standing = Rules::new(&findings, grounds);
    let mut outcomes: Vec<Ruled> = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| standing.rule(at, decisions.get(finding.id.as_str()).copied()))
        .collect();
    keep_the_highest(&findings, &mut outcomes, grounds);
    let mut found_by: Vec<Vec<ReviewerName>> = findings.iter().map(|finding| finding.found_by.clone()).collect();
    let mut rules: Vec<Option<RuleCitation>> = findings.iter().map(|finding| finding.rule.clone()).collect();
    let reviewers: HashSet<ReviewerName> = found_by.iter().flatten().cloned().collect();
    for (finding, ruled) in findings.iter().zip(&outcomes) {
        if let Effect::Merge { target, refuted } = ruled.effect {
            if !refuted {
                rules[target] = RuleCitation::graver(rules[target].take(), finding.rule.as_ref());
            }
            for reviewer in &finding.found_by {
                if !found_by[target].contains(reviewer) {
                    found_by[target].push(reviewer.clone());
                }
            }
        }
    }
    let mut judged: Vec<JudgedFinding> = findings
        .into_iter()
        .zip(outcomes)
        .zip(found_by.into_iter().zip(rules))
        .map(|((finding, ruled), (found_by, rule))| {
            let decision = decisions.get(finding.id.as_str()).copied();
            let mut entry = JudgedFinding::kept(Finding {
                found_by,
                rule,
                ..finding
            });
            if let Some(decision) = decision {
                record(&mut entry, decision, &reviewers);
                entry.refutation = grounds.refutations.get(&decision.id).cloned();
                if let Some(refutation) = &mut entry.refutation {
                    refutation.needed = ruled.needs_refutation;
                }
            }
            write_outcome(&mut entry, ruled);
            entry
        })
        .collect();
    merge_undecided(&mut judged, |id| decisions.contains_key(id));
    merge_identical(&mut judged);
    sort(&mut judged);
    judged
}

/// Returns whether a section is that of a reviewer: its title stands in the note, and is not the judge's to write.
fn is_section(section: &ReviewerName, reviewers: &HashSet<ReviewerName>) -> bool {
    ReviewerName::STANDING.contains(&section.as_str()) || reviewers.contains(section)
}

/// What the decision says besides what it does.
fn record(entry: &mut JudgedFinding, decision: &Decision, reviewers: &HashSet<ReviewerName>) {
    if let Some(section) = decision
        .section
        .as_ref()
        .filter(|section| is_section(section, reviewers))
    {
        entry.section = section.clone();
    }
    entry.reason_code.clone_from(&decision.reason_code);
    entry.reason.clone_from(&decision.reason);
}

fn write_outcome(entry: &mut JudgedFinding, ruled: Ruled) {
    entry.production_risk = ruled.weight.production_risk;
    match ruled.effect {
        Effect::Keep | Effect::Lower => {
            if entry.finding.severity != ruled.weight.severity {
                entry.reported = Some(entry.finding.severity);
                entry.finding.severity = ruled.weight.severity;
            }
        }
        // What is taken out keeps the severity that it was reported with.
        Effect::Drop => entry.remove(FindingFate::Dropped, RemovedBy::Judge),
        Effect::Merge { .. } => entry.remove(FindingFate::Merged, RemovedBy::Judge),
    }
    if ruled.overruled.is_some() {
        // They explain what was not done.
        entry.reason_code = None;
        entry.reason = None;
    }
    entry.overruled = ruled.overruled;
}

/// Gives each finding that others are merged into the highest weight of all of them.
fn keep_the_highest(findings: &[Finding], ruled: &mut [Ruled], grounds: &Grounds) {
    for at in 0..ruled.len() {
        let Effect::Merge { target, refuted: false } = ruled[at].effect else {
            continue;
        };
        let mut weight = ruled[target].weight.max(ruled[at].weight);
        if ruled[target].effect == Effect::Lower {
            // It is one of those merged: what only the judge's word lowered rises again.
            weight = weight.max(base(&findings[target], grounds));
        }
        ruled[target].weight = weight;
    }
}

/// What the finding weighs before this submission: as it was reported, or as the judge itself has said before.
fn base(finding: &Finding, grounds: &Grounds) -> Weight {
    let reported = Weight {
        severity: finding.severity,
        production_risk: false,
    };
    let before = grounds.said_before.get(&finding.id);
    before.map_or(reported, |before| reported.max(*before))
}

/// The findings with what a decision on one of them has to know of the others.
struct Rules<'a> {
    findings: &'a [Finding],
    grounds: &'a Grounds,
    claims: Vec<Vec<usize>>,
}

impl<'a> Rules<'a> {
    fn new(findings: &'a [Finding], grounds: &'a Grounds) -> Self {
        Self {
            findings,
            grounds,
            claims: same_claims(findings),
        }
    }

    fn rule(&self, at: usize, decision: Option<&Decision>) -> Ruled {
        let finding = &self.findings[at];
        let base = base(finding, self.grounds);
        let Some(decision) = decision else {
            return Ruled {
                effect: Effect::Keep,
                weight: base,
                needs_refutation: false,
                overruled: None,
            };
        };
        let said = decision.weight_of(finding);
        // What the judge itself calls worse is worse, also where it takes it out in the same breath.
        let worst = base.max(said);
        let (effect, fault) = match decision.action {
            Action::Keep => self.keep(finding, base, said),
            Action::Drop => self.drop(finding, worst),
            Action::Merge => self.merge(at, worst, decision),
        };
        let lowered = matches!(effect, Effect::Lower);
        let is_refuted = self.refutation(finding).is_some();
        let effect = if lowered && is_refuted { Effect::Keep } else { effect };
        let is_milder = lowered || decision.action != Action::Keep;
        Ruled {
            needs_refutation: is_milder && weighs(finding, worst),
            effect,
            weight: if lowered { said } else { worst },
            overruled: fault.map(|fault| overruled(decision, fault)),
        }
    }

    fn keep(&self, finding: &Finding, base: Weight, said: Weight) -> (Effect, Option<String>) {
        if said.max(base) == said {
            return (Effect::Keep, None);
        }
        if !weighs(finding, said.max(base)) || self.refutation(finding).is_some() {
            return (Effect::Lower, None);
        }
        (Effect::Keep, Some(self.fault(finding)))
    }

    fn drop(&self, finding: &Finding, worst: Weight) -> (Effect, Option<String>) {
        if !weighs(finding, worst) || self.is_removable(finding) {
            return (Effect::Drop, None);
        }
        if self.grounds.into_earlier.contains(&finding.id) {
            // It goes on as the earlier one, if that is what it is.
            return (Effect::Keep, None);
        }
        (Effect::Keep, Some(self.fault(finding)))
    }

    fn merge(&self, at: usize, worst: Weight, decision: &Decision) -> (Effect, Option<String>) {
        let finding = &self.findings[at];
        let into = decision.merge_into.as_deref().unwrap_or_default();
        let Some(target) = self.findings.iter().position(|other| other.id == into) else {
            return (
                Effect::Keep,
                Some("there is no such finding to merge it into".to_owned()),
            );
        };
        let refuted = self.is_removable(finding);
        if !weighs(finding, worst) || refuted || self.is_repeat(at, target) {
            return (Effect::Merge { target, refuted }, None);
        }
        let fault = match self.grounds.refutations.get(&finding.id) {
            None => {
                let other = &self.findings[target];
                not_repeated(&other.file, other.line, other.category == finding.category)
            }
            Some(_) => self.fault(finding),
        };
        (Effect::Keep, Some(fault))
    }

    /// Returns whether code says that both may be reports of one problem.
    fn is_repeat(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.findings[one], &self.findings[other]);
        let grouped = || {
            self.claims
                .iter()
                .any(|group| group.contains(&one) && group.contains(&other))
        };
        a.is_prompt_injection() == b.is_prompt_injection() && (may_repeat(a, b) || grouped())
    }

    /// The finding's refutation, if it stands.
    fn refutation(&self, finding: &Finding) -> Option<&Refutation> {
        let refutation = self.grounds.refutations.get(&finding.id);
        refutation.filter(|refutation| refutation.is_valid())
    }

    /// Returns whether code refutes the finding so that it may be taken out.
    fn is_removable(&self, finding: &Finding) -> bool {
        self.refutation(finding).is_some()
            && (!finding.is_prompt_injection() || self.grounds.prompt_paths.is_match(&finding.file))
    }

    fn fault(&self, finding: &Finding) -> String {
        match self.grounds.refutations.get(&finding.id) {
            _ if finding.is_prompt_injection() && !self.grounds.prompt_paths.is_match(&finding.file) => {
                ONLY_A_PERSON.to_owned()
            }
            None => NOTHING_QUOTED.to_owned(),
            Some(refutation) => refutation.describe_fault(),
        }
    }
}

/// Why merging into the finding at this place does not count without code: where both are of one kind, their lines differ.
pub(crate) fn not_repeated(file: &str, line: u32, is_of_one_kind: bool) -> String {
    let is = if is_of_one_kind {
        "about other lines"
    } else {
        "of another kind"
    };
    let place = code_span(&format!("{file}:{line}"));
    format!("the finding on {place} is {is}, so merging needs code that refutes it, too")
}

fn overruled(decision: &Decision, fault: String) -> Overruled {
    let action = match decision.action {
        Action::Keep => "lower",
        Action::Drop => "drop",
        Action::Merge => "merge",
    };
    Overruled {
        action: action.to_owned(),
        severity: decision.severity,
        reason_code: decision.reason_code.clone(),
        reason: decision.reason.clone(),
        fault,
    }
}

/// By severity, which is what a reader looks for first; within one severity by agreement, then what needs no second quote
/// before what lacks one, then a verified second quote, then confidence.
pub(super) fn sort(judged: &mut [JudgedFinding]) {
    judged.sort_by(|a, b| {
        let key = |entry: &JudgedFinding| {
            (
                entry.finding.severity,
                entry.finding.found_by.len(),
                !entry.finding.lacks_second_quote(),
                entry.finding.second.is_some(),
            )
        };
        key(b)
            .cmp(&key(a))
            .then(b.finding.confidence.total_cmp(&a.finding.confidence))
    });
}

#[cfg(test)]
#[path = "apply_tests.rs"]
mod tests;
