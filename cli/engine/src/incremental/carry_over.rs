//! What the next review has to know of this one and no thread tells: it goes into our summary, hidden and signed.

use conclave_shared::telemetry::ReviewerOutcome;

use super::refuted::MAX_REFUTED;
use crate::review::{
    Before, FindingRecord, Ledger, MAX_CLAIM, PatchId, RefutedFinding, Remembered, Review, ReviewedFiles,
};

/// The version of the ledger's shape.
const SCHEMA: u32 = 1;

/// The most bytes of a ledger as JSON: a note has to stay far below the forge's limit. Of patches that do not fit
/// nothing is lost but money: they are reviewed again.
pub const MOST_LEDGER_BYTES: usize = 45_000;

/// What a review has done, as far as the next one may rely on it.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// What became of findings that do not stand any more and whose threads may come back to us.
    pub settled: Vec<Remembered>,
    /// The patches that were given to the panel.
    pub patches: Vec<PatchId>,
    /// What earlier reviews looked at and is still as it was.
    pub earlier: Vec<ReviewedFiles>,
}

impl Done {
    /// All of it.
    pub fn new(settled: Vec<Remembered>, patches: Vec<PatchId>, earlier: Vec<ReviewedFiles>) -> Self {
        Self {
            settled,
            patches,
            earlier,
        }
    }
}

/// The ledger after a review. Its patches count as reviewed only if nothing is missing from it: a review with a gap, one
/// that the budget cut short, one without a judge, and one that was stopped did not look at everything, and nobody can
/// say at which patch it did not.
pub fn remember(review: &Review, done: Done) -> Ledger {
    let mut findings: Vec<Remembered> = review
        .standing()
        .map(|entry| {
            let mut record = FindingRecord::new(entry, &review.head_sha);
            record.claim = record.claim.chars().take(MAX_CLAIM).collect();
            Remembered {
                fingerprint: entry.finding.fingerprint.clone(),
                severity: entry.finding.severity,
                production_risk: entry.production_risk,
                before: match entry.thread {
                    Some(_) => Before::Posted,
                    None => Before::Stood,
                },
                record: Some(record),
            }
        })
        .collect();
    for entry in done.settled {
        match findings.iter_mut().find(|known| known.fingerprint == entry.fingerprint) {
            Some(known) if entry.before == Before::Reopened => known.before = Before::Reopened,
            Some(_) => {}
            None => findings.push(entry),
        }
    }
    let mut refuted = RefutedFinding::all_of(review);
    refuted.sort_by(|a, b| a.record.fingerprint.cmp(&b.record.fingerprint));
    let mut reviewed = Vec::new();
    // A critical that nobody could prove is looked for again.
    let whole = review.coverage.gaps.is_empty()
        && review.coverage.unproven.is_empty()
        && review.partial.is_none()
        && review.degraded.is_none()
        && refuted.len() <= MAX_REFUTED;
    refuted.truncate(MAX_REFUTED);
    if whole && !done.patches.is_empty() {
        reviewed.push(ReviewedFiles {
            head_sha: review.head_sha.clone(),
            panel: review
                .reviewers
                .iter()
                .filter(|report| report.outcome == ReviewerOutcome::Ok && report.reason.is_none())
                .map(|report| report.name.clone())
                .collect(),
            patches: done.patches,
        });
    }
    reviewed.extend(done.earlier);
    // In one order whatever the judge's is, so that a second review that finds the same changes nothing.
    findings.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    Ledger {
        schema: SCHEMA,
        findings,
        reviewed,
        refuted,
    }
    .within(MOST_LEDGER_BYTES)
}

impl Ledger {
    /// The ledger within a number of bytes as JSON. Patches go first, the oldest review's before others; then what threads
    /// tell as well; then what no longer stands; then the least severe.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        let size = |ledger: &Self| serde_json::to_string(ledger).map_or(usize::MAX, |text| text.len());
        while size(&self) > most {
            if let Some(last) = self.reviewed.last_mut() {
                let kept = last.patches.len() / 2;
                last.patches.truncate(kept);
                if kept == 0 {
                    self.reviewed.pop();
                }
                continue;
            }
            let told = |entry: &&mut Remembered| entry.before == Before::Posted && entry.record.is_some();
            if let Some(entry) = self.findings.iter_mut().rfind(told) {
                entry.record = None;
                continue;
            }
            let standing = |entry: &Remembered| matches!(entry.before, Before::Stood | Before::Posted);
            let least =
                (0..self.findings.len()).min_by_key(|at| (standing(&self.findings[*at]), self.findings[*at].severity));
            match least {
                Some(at) => drop(self.findings.remove(at)),
                None => break,
            }
        }
        self
    }
}

#[cfg(test)]
#[path = "carry_over_tests.rs"]
mod tests;
