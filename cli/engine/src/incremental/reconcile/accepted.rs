//! Serious findings that people have accepted as they are.

use super::decide::Outcome;
use crate::{
    incremental::{ReplyIntent, authority::decision},
    review::{AcceptedFinding, AnchorState, Before, ExistingFinding, ThreadState},
    untrusted::Untrusted,
};

/// The finding, if it weighs, its code is there, and it does not stand because a person says so.
pub(super) fn accepted(finding: &ExistingFinding, outcome: Outcome) -> Option<AcceptedFinding> {
    let record = &finding.record;
    let word = decision(finding).filter(|decision| {
        let intents = [ReplyIntent::Declines, ReplyIntent::Acknowledges, ReplyIntent::Disagrees];
        intents.contains(&decision.intent)
    });
    let by = match (outcome, finding.state) {
        (Outcome::Declined(_), _) | (Outcome::Settled, ThreadState::ResolvedByUs) => word?.author,
        (Outcome::Settled, ThreadState::ResolvedByPerson | ThreadState::ResolvedByAuthor) => &finding.resolved_by,
        _ => return None,
    };
    let is_there = finding.anchor != AnchorState::Changed && finding.before != Before::Fixed;
    (record.is_serious() && is_there).then(|| AcceptedFinding {
        severity: record.severity,
        place: format!("{}:{}", record.file, record.line),
        claim: record.claim.clone(),
        by: account(by),
    })
}

/// The name of an account, if it is one as accounts have them: it goes into a heading.
fn account(name: &Untrusted) -> Option<String> {
    let name = name.sanitized_line();
    let fits = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    (!name.is_empty() && name.len() <= 64 && name.chars().all(fits)).then_some(name)
}
