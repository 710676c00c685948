//! What other runs have posted about the same merge request while this review was at work.
//!
//! Two runs of one commit know nothing of each other when they begin. Whichever posts last must not make milder what the other
//! one found: what stands by its word becomes a part of this review, and this one approves nothing and lifts nothing.

use std::cmp::Reverse;

use conclave_shared::verdict::Verdict;

use crate::{
    incremental::carried::recorded,
    judge::{RubricInput, verdict},
    repo_config::RubricSettings,
    review::{
        ApprovalHold, Before, CarryOver, FoundMeanwhile, HeldMeanwhile, HoldCause, JudgedFinding, Meanwhile,
        Remembered, Review, StopCause, ThreadChange,
    },
};

/// Maximum number of findings that the reason of a withheld approval names by their places.
const MAX_PLACES: usize = 20;

/// In front of a summary that knows nothing of what another run has found.
const OF_BOTH: &str = "Another run has found what stands here and this one did not report. This one:";

impl Review {
    /// Makes what has happened meanwhile a part of the review: findings of other runs stand in it, its verdict is at least as
    /// bad as theirs, and it neither approves nor lifts a block. What is known already changes nothing.
    pub fn add_meanwhile(&mut self, meanwhile: &Meanwhile) {
        self.carry_over.hold_too(&meanwhile.held);
        if meanwhile.is_empty() {
            return;
        }
        let mut is_new = false;
        for found in &meanwhile.findings {
            is_new |= self.carry(found);
        }
        if is_new && !self.summary.starts_with(OF_BOTH) {
            self.summary = format!("{OF_BOTH} {}", self.summary);
        }
        // What stands comes first, the severe before others, as after every review.
        let rank = |entry: &JudgedFinding| Reverse((entry.stands(), entry.finding.severity));
        self.findings.sort_by_key(rank);
        if let Some(cause) = meanwhile.stopped {
            self.stop(cause);
        }
        if !meanwhile.findings.is_empty() || meanwhile.other.is_some() || meanwhile.held.withholds() {
            self.hold(meanwhile);
        }
        let by_rules = verdict(RubricInput {
            findings: &self.findings,
            gaps: &self.coverage.gaps,
            manual_reviews: &self.manual_reviews,
            settings: RubricSettings::default(),
        });
        self.worsen(by_rules.verdict, &by_rules.reason);
        if let Some(other) = &meanwhile.other {
            self.worsen(other.verdict, "another run of the same change concluded so");
        }
    }

    /// Returns whether something ended the run before its result was posted.
    pub fn was_stopped(&self) -> bool {
        [StopCause::Asked, StopCause::OutOfTime]
            .iter()
            .any(|cause| self.coverage.gaps.iter().any(|gap| gap == cause.describe()))
    }

    /// A stopped run says so, and nothing that it looked at counts as reviewed.
    fn stop(&mut self, cause: StopCause) {
        if self.was_stopped() {
            return;
        }
        self.coverage.gaps.push(cause.describe().to_owned());
        let head = &self.head_sha;
        self.carry_over.reviewed.retain(|files| files.head_sha != *head);
    }

    /// Takes a finding of another run over. Returns whether it was not known yet.
    fn carry(&mut self, found: &FoundMeanwhile) -> bool {
        let record = &found.record;
        let fingerprint = &record.fingerprint;
        if self.surviving().any(|entry| entry.finding.fingerprint == *fingerprint) {
            return false;
        }
        let mut entry = recorded("", record, String::new());
        entry.production_risk = record.production_risk;
        entry.thread.clone_from(&found.thread);
        entry.since = Some(record.head_sha.clone());
        self.findings.push(entry);
        for action in &mut self.threads {
            if action.fingerprint == *fingerprint {
                action.change = ThreadChange::Keep;
            }
        }
        self.settled.retain(|settled| settled.fingerprint != *fingerprint);
        self.carry_over
            .findings
            .retain(|known| known.fingerprint != *fingerprint);
        self.carry_over.findings.push(Remembered {
            fingerprint: fingerprint.clone(),
            severity: record.severity,
            production_risk: record.production_risk,
            before: if found.thread.is_some() {
                Before::Posted
            } else {
                Before::Stood
            },
            record: Some(record.clone()),
            heard: None,
        });
        // In the order that every review keeps them in.
        self.carry_over
            .findings
            .sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
        true
    }

    fn hold(&mut self, meanwhile: &Meanwhile) {
        if self.approval_holds.iter().any(|hold| hold.cause == HoldCause::OtherRun) {
            return;
        }
        let found = meanwhile.findings.iter();
        let found = found.map(|found| format!("{}:{}", found.record.file, found.record.line));
        let places = found.chain(meanwhile.held.places()).take(MAX_PLACES);
        let reason = Meanwhile {
            stopped: None,
            ..meanwhile.clone()
        };
        let hold = ApprovalHold::new(HoldCause::OtherRun, reason.describe()).at(places);
        self.approval_holds.push(hold);
    }

    /// Takes this verdict if it is the worse one.
    fn worsen(&mut self, verdict: Verdict, reason: &str) {
        if badness(verdict) > badness(self.verdict) {
            self.verdict = verdict;
            reason.clone_into(&mut self.verdict_reason);
        }
    }
}

impl CarryOver {
    /// Remembers what another run holds, too. What it remembers itself stays as it is.
    fn hold_too(&mut self, held: &HeldMeanwhile) {
        for entry in &held.unproven {
            if !self.unproven.iter().any(|known| known.is_same(entry)) {
                self.unproven.push(entry.clone());
            }
        }
        for entry in &held.refuted {
            let fingerprint = &entry.record.fingerprint;
            if self
                .refuted
                .iter()
                .all(|known| known.record.fingerprint != *fingerprint)
            {
                self.refuted.push(entry.clone());
            }
        }
        for entry in &held.unlisted {
            match self.unlisted.iter_mut().find(|known| known.patch == entry.patch) {
                Some(known) => known.severity = known.severity.max(entry.severity),
                None => self.unlisted.push(entry.clone()),
            }
        }
    }
}

/// The verdicts in the order of what they let through.
const fn badness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Approved => 0,
        Verdict::ApprovedWithComments => 1,
        Verdict::MinorIssues => 2,
        Verdict::Inconclusive => 3,
        Verdict::SignificantConcerns => 4,
    }
}

#[cfg(test)]
#[path = "meanwhile_tests.rs"]
mod tests;
