//! What the next review has to know of this one and no thread tells: it goes into our summary, hidden and signed.

use conclave_shared::{finding::Fingerprint, severity::Severity};

use super::{refuted::MAX_REFUTED, unlisted::OfChange};
use crate::review::{
    Before, CarryOver, Coverage, FindingRecord, JudgedFinding, MAX_CLAIM, PatchId, RefutedFinding, Remembered,
    ReviewedFiles, ReviewerReport,
};

/// The version of the carry-over's shape.
const SCHEMA: u32 = 1;

/// The most bytes of a carry-over as JSON: a note has to stay far below the forge's limit. Of patches that do not fit
/// nothing is lost but money: they are reviewed again.
pub const MAX_CARRY_OVER_BYTES: usize = 45_000;

/// What a review has done, as far as the next one may rely on it.
#[derive(Debug)]
pub struct Done<'a> {
    /// The reviewed commit.
    pub head_sha: &'a str,
    /// All findings, also those that do not stand.
    pub findings: &'a [JudgedFinding],
    /// How each reviewer did.
    pub reviewers: &'a [ReviewerReport],
    /// What was looked at.
    pub coverage: &'a Coverage,
    /// Whether the budget cut the review short, it had no judge, or it reported a critical problem that nothing
    /// proves: that is looked for again.
    pub is_cut: bool,
    /// What became of findings that do not stand any more and whose threads may come back to us.
    pub settled: Vec<Remembered>,
    /// The memory, which stays as it is, of findings that stand only because the forge does not show their threads.
    pub unseen: Vec<(Fingerprint, Before)>,
    /// The patches that were given to the panel.
    pub patches: Vec<PatchId>,
    /// The target branch, and what it and the organization say to all reviewers.
    pub under: Option<PatchId>,
    /// All that is remembered whatever the findings are, with what nothing proves. The findings are put in place of those here, and what this review
    /// has reviewed and refuted in front of what earlier ones have.
    pub kept: CarryOver,
    /// The marks of members' words in threads that a judge has read, by their findings.
    pub heard_words: Vec<(Fingerprint, String)>,
}

/// What the next review has to know. Patches count as reviewed only if nothing is missing from the review: one with a gap, one
/// that the budget cut short, one without a judge, and one that was stopped did not look at everything, and nobody can
/// say at which patch it did not.
pub fn remember(done: Done<'_>) -> CarryOver {
    let mut findings: Vec<Remembered> = done
        .findings
        .iter()
        .filter(|entry| entry.stands())
        .map(|entry| {
            let mut record = FindingRecord::new(entry, done.head_sha);
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
                heard: None,
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
    for (fingerprint, before) in done.unseen {
        if let Some(known) = findings.iter_mut().find(|known| known.fingerprint == fingerprint) {
            known.before = before;
        }
    }
    for (fingerprint, mark) in done.heard_words {
        if let Some(known) = findings.iter_mut().find(|known| known.fingerprint == fingerprint) {
            known.heard = Some(mark);
        }
    }
    let mut refuted = RefutedFinding::all_of(done.findings, done.head_sha);
    refuted.sort_by(|a, b| a.record.fingerprint.cmp(&b.record.fingerprint));
    let mut reviewed = Vec::new();
    let whole = done.coverage.gaps.is_empty() && !done.is_cut && refuted.len() <= MAX_REFUTED;
    refuted.truncate(MAX_REFUTED);
    if whole && !done.patches.is_empty() {
        reviewed.push(ReviewedFiles {
            head_sha: done.head_sha.to_owned(),
            panel: done
                .reviewers
                .iter()
                .filter(|report| report.is_whole())
                .map(|report| report.name.clone())
                .collect(),
            patches: done.patches,
            under: done.under,
        });
    }
    let mut kept = done.kept;
    let is_over = |before: &RefutedFinding| {
        let own = &before.record;
        refuted.iter().any(|known| known.record.fingerprint == own.fingerprint)
            || findings
                .iter()
                .any(|known| known.fingerprint == own.fingerprint && known.severity >= own.severity && stood(known))
    };
    kept.refuted.retain(|before| !is_over(before));
    // Their files may not have been reviewed again.
    refuted.append(&mut kept.refuted);
    reviewed.append(&mut kept.reviewed);
    // In one order whatever the judge's is, so that a second review that finds the same changes nothing.
    findings.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    CarryOver {
        schema: SCHEMA,
        findings,
        reviewed,
        refuted,
        ..kept
    }
    .within(MAX_CARRY_OVER_BYTES)
}

/// Returns whether the finding is one that stands.
const fn stood(entry: &Remembered) -> bool {
    matches!(entry.before, Before::Stood | Before::Posted | Before::Reopened)
}

impl CarryOver {
    /// The carry-over within a number of bytes as JSON. Patches go first, the oldest review's before others; then what threads
    /// tell as well; then what no longer stands; then the least severe, of which only the patch is kept, and the critical after
    /// what does not stand and still counts.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        if self.reviewed.is_empty() {
            self.touched.clear();
        }
        let change = OfChange {
            patches: std::mem::take(&mut self.patches),
            objects: std::mem::take(&mut self.objects),
        };
        let size = |carry_over: &Self| serde_json::to_string(carry_over).map_or(usize::MAX, |text| text.len());
        while size(&self) > most {
            if let Some(last) = self.reviewed.last_mut() {
                let kept = last.patches.len() / 2;
                last.patches.truncate(kept);
                if kept == 0 {
                    self.reviewed.pop();
                }
                continue;
            }
            // A part of them would let the rest leave the change unnoticed.
            self.touched.clear();
            let told = |entry: &&mut Remembered| entry.before != Before::Stood && entry.record.is_some();
            if let Some(entry) = self.findings.iter_mut().rfind(told) {
                entry.record = None;
                continue;
            }
            let standing = |entry: &Remembered| matches!(entry.before, Before::Stood | Before::Posted);
            let least =
                (0..self.findings.len()).min_by_key(|at| (standing(&self.findings[*at]), self.findings[*at].severity));
            let blocks = |at: usize| standing(&self.findings[at]) && self.findings[at].severity == Severity::Critical;
            if least.is_none_or(blocks) && self.shorten(&change) {
                continue;
            }
            match least {
                Some(at) => {
                    let dropped = self.findings.remove(at);
                    self.note_unlisted(&dropped, &change);
                }
                None => break,
            }
        }
        OfChange {
            patches: self.patches,
            objects: self.objects,
        } = change;
        self
    }
}

#[cfg(test)]
#[path = "carry_over_tests.rs"]
mod tests;
