//! What other runs have posted about the same merge request while a review was at work.

use conclave_shared::verdict::Verdict;

use super::{FindingRecord, StopCause};

/// What has happened since a review read its merge request, and what counts against an approval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meanwhile {
    /// Findings of other runs that stand on the merge request and that this review does not have.
    pub findings: Vec<FoundMeanwhile>,
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

/// The conclusion of another run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherConclusion {
    /// The commit that it reviewed.
    pub head: String,
    /// Its verdict.
    pub verdict: Verdict,
}

impl Meanwhile {
    /// Returns whether nothing has happened.
    pub const fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.other.is_none() && self.stopped.is_none()
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
        if let Some(other) = &self.other {
            sentences.push(format!(
                "Another run finished while this review was at work, and it does not approve: its verdict for {} is `{}`. Run \
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
