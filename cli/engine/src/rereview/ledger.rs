//! What the next review has to know of this one and no thread tells: it goes into our summary, hidden and signed.

use conclave_shared::{finding::Fingerprint, reviewer::ReviewerName, severity::Severity, telemetry::ReviewerOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    PatchId,
    refuted::{MAX_REFUTED, RefutedFinding},
};
use crate::{
    ports::Before,
    report::{FindingRecord, Review},
};

/// The version of the ledger's shape.
const SCHEMA: u32 = 1;

/// The most bytes of a ledger as JSON: a note has to stay far below the forge's limit. Of patches that do not fit
/// nothing is lost but money: they are reviewed again.
pub const MOST_LEDGER_BYTES: usize = 45_000;

/// The most characters of a claim that it keeps.
pub(crate) const MAX_CLAIM: usize = 200;

/// What our last summary remembers. New fields are optional with a default: summaries of older versions stay readable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// The version of its shape.
    #[serde(default)]
    pub schema: u32,
    /// Findings that stood, and what became of others.
    #[serde(default)]
    pub findings: Vec<Remembered>,
    /// Patches that were reviewed, newest review first.
    #[serde(default)]
    pub reviewed: Vec<ReviewedFiles>,
    /// Serious findings that the judge took out by code of the change itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refuted: Vec<RefutedFinding>,
}

/// A finding of an earlier review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// Its identity.
    pub fingerprint: Fingerprint,
    /// How bad it was; it may be worse than its thread says.
    pub severity: Severity,
    /// Whether it endangered production.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub production_risk: bool,
    /// What became of it.
    pub before: Before,
    /// The whole of it: no thread may show it, or somebody may delete the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<FindingRecord>,
}

/// Patches that one review looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedFiles {
    /// The commit that was reviewed.
    pub head_sha: String,
    /// Who looked at them.
    pub panel: Vec<ReviewerName>,
    /// Their identities.
    pub patches: Vec<PatchId>,
}

impl Ledger {
    /// Notes that threads show these findings now.
    pub fn posted<'f>(&mut self, fingerprints: impl IntoIterator<Item = &'f Fingerprint>) {
        for fingerprint in fingerprints {
            for entry in &mut self.findings {
                if entry.fingerprint == *fingerprint && entry.before == Before::Stood {
                    entry.before = Before::Posted;
                }
            }
        }
    }

    /// Notes that the threads of these findings are still open, whatever was meant to become of them.
    pub fn left_open<'f>(&mut self, fingerprints: impl IntoIterator<Item = &'f Fingerprint>) {
        for fingerprint in fingerprints {
            for entry in &mut self.findings {
                if entry.fingerprint == *fingerprint && entry.before == Before::Resolved {
                    entry.before = Before::Posted;
                }
            }
        }
    }

    /// What is remembered of a finding.
    pub fn find(&self, fingerprint: &Fingerprint) -> Option<&Remembered> {
        self.findings.iter().find(|entry| entry.fingerprint == *fingerprint)
    }

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

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
