//! What other runs have posted about the same merge request while a review was at work.

use conclave_shared::verdict::Verdict;

use super::{FindingRecord, RefutationStatus, RefutedFinding, RememberedUnproven, StopCause, Unlisted};

/// What has happened since a review read its merge request, and what counts against an approval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meanwhile {
    /// Findings of other runs that stand on the merge request and that this review does not have.
    pub findings: Vec<FoundMeanwhile>,
    /// The rest of another run's memory that withholds an approval, or may do so later.
    pub held: HeldMeanwhile,
    /// The conclusion of another run about the same commit or a newer one, unless it approves.
    pub other: Option<OtherConclusion>,
    /// Why this run itself has to end, if it has to.
    pub stopped: Option<StopCause>,
}

/// A finding that another run has posted.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundMeanwhile {
    /// The finding as its note or the summary remembers it.
    pub record: FindingRecord,
    /// The thread that shows it; none where only the summary does.
    pub thread: Option<String>,
}

/// Findings of another run that do not stand and still count: the one note remembers them for all runs, so the run that writes it
/// last must not forget them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HeldMeanwhile {
    /// Serious findings that nothing proved.
    pub unproven: Vec<RememberedUnproven>,
    /// Serious findings that a judge took out by code.
    pub refuted: Vec<RefutedFinding>,
    /// Patches with findings for which there was no room.
    pub unlisted: Vec<Unlisted>,
}

impl HeldMeanwhile {
    /// Returns whether an approval is withheld for them. What code outside of the change refutes is only remembered.
    pub fn withholds(&self) -> bool {
        !self.unproven.is_empty() || !self.unlisted.is_empty() || self.of_this_change().next().is_some()
    }

    /// The places that a person has to look at, as far as they are known.
    pub fn places(&self) -> impl Iterator<Item = String> {
        let unproven = self.unproven.iter().map(|entry| entry.finding.place());
        let refuted = self.of_this_change().map(|refuted| &refuted.record);
        let refuted = refuted.map(|record| format!("{}:{}", record.file, record.line));
        unproven.chain(refuted)
    }

    fn of_this_change(&self) -> impl Iterator<Item = &RefutedFinding> {
        let refuted = self.refuted.iter();
        refuted.filter(|refuted| refuted.refutation.status == RefutationStatus::ThisChange)
    }

    /// Adds what was seen later.
    fn add(&mut self, later: Self) {
        self.unproven.extend(later.unproven);
        self.refuted.extend(later.refuted);
        self.unlisted.extend(later.unlisted);
    }
}

/// The conclusion of another run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherConclusion {
    /// The commit that it reviewed.
    pub head: String,
    /// Its verdict.
    pub verdict: Verdict,
}

impl Meanwhile {
    /// Returns whether nothing has happened that counts.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && !self.held.withholds() && self.other.is_none() && self.stopped.is_none()
    }

    /// Adds what was seen later.
    pub fn add(&mut self, later: Self) {
        for found in later.findings {
            if self
                .findings
                .iter()
                .all(|known| known.record.fingerprint != found.record.fingerprint)
            {
                self.findings.push(found);
            }
        }
        self.held.add(later.held);
        self.other = later.other.or(self.other.take());
        self.stopped = self.stopped.or(later.stopped);
    }

    /// What has happened, in sentences.
    pub fn describe(&self) -> String {
        let mut sentences = Vec::new();
        match self.findings.len() {
            0 => {}
            1 => sentences.push(
                "Another run posted a finding while this review was at work, and it stands until a later review looks at it."
                    .to_owned(),
            ),
            count => sentences.push(format!(
                "Another run posted {count} findings while this review was at work, and they stand until a later review looks \
                 at them."
            )),
        }
        if self.held.withholds() {
            sentences.push(
                "Another run left something to a person while this review was at work: problems without code that shows them, \
                 without room on this page, or refuted by the change itself. Run the review again."
                    .to_owned(),
            );
        }
        if let Some(other) = &self.other {
            sentences.push(format!(
                "Another run finished while this review was at work, and it does not approve: its verdict for `{}` is `{}`. Run \
                 the review again.",
                other.head.get(..8).unwrap_or(&other.head),
                other.verdict
            ));
        }
        if let Some(cause) = self.stopped {
            let cause = cause.describe();
            sentences.push(format!("Before this review was posted, {cause}."));
        }
        sentences.join(" ")
    }
}
