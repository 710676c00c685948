//! What earlier reviews of a repository have taught: what people turned down twice is not reported a third time, and files
//! in which findings were fixed are pointed out.
//!
//! It arrives while the review is under way, or not at all: a review never waits for it, and goes on without it.

mod claim;
mod hot_spots;
mod texts;

pub use claim::claim_key;
pub use hot_spots::hot_spots;

use std::sync::Arc;

use conclave_shared::{
    finding::Finding,
    memory::{ENOUGH, Known, RepositoryMemory},
    severity::Severity,
    telemetry::FindingFate,
};
use tokio::sync::watch;

use crate::review::{ExistingFinding, JudgedFinding, RemovedBy};

/// The reason code of a finding that people of the repository have turned down before.
pub const SUPPRESSED: &str = "suppressed";

/// What a repository remembers, as far as it has arrived.
#[derive(Debug, Clone)]
pub struct Recall(watch::Receiver<Arc<RepositoryMemory>>);

impl Recall {
    /// Where it arrives.
    pub fn channel() -> (watch::Sender<Arc<RepositoryMemory>>, Self) {
        let (sender, receiver) = watch::channel(Arc::default());
        (sender, Self(receiver))
    }

    /// Nothing, because nobody is asked.
    pub fn nothing() -> Self {
        Self::channel().1
    }

    /// What there is now.
    pub fn now(&self) -> Arc<RepositoryMemory> {
        Arc::clone(&self.0.borrow())
    }

    /// Waits until it is there, or until it is known that it will not be.
    pub async fn arrived(&mut self) {
        // An error says that nobody will send any more.
        let _ = self.0.changed().await;
    }
}

/// What was done on the word of the memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recalled {
    /// Findings that were taken out, each with its reason.
    suppressed: Vec<JudgedFinding>,
    /// How many those were.
    count: usize,
    /// Serious findings that stand although they were turned down before.
    turned_down: Vec<String>,
}

/// Takes out what people of the repository have turned down often enough, before the judge sees it. What is taken out is
/// kept, with its reason, for the records.
///
/// Never taken out: what is critical ([`Recalled::rejoin`] says so), words that try to steer the review, and what breaks a
/// rule of the organisation, which a repository cannot turn down. What may repeat a finding of the same merge request goes
/// its way through the second review.
pub fn suppress(findings: &mut Vec<Finding>, earlier: &[ExistingFinding], memory: &RepositoryMemory) -> Recalled {
    if memory.rejected.is_empty() {
        return Recalled::default();
    }
    let mut suppressed = Vec::new();
    for finding in std::mem::take(findings) {
        let times = times(&finding, memory);
        let in_talk = earlier.iter().any(|earlier| {
            let record = &earlier.record;
            record.fingerprint == finding.fingerprint
                || (record.category == finding.category && record.file == finding.file)
        });
        if times < ENOUGH || finding.severity == Severity::Critical || is_untouchable(&finding) || in_talk {
            findings.push(finding);
            continue;
        }
        let mut entry = JudgedFinding::kept(finding);
        let reason = texts::turned_down(times);
        entry.remove_for(FindingFate::Dropped, RemovedBy::Memory, SUPPRESSED, reason);
        suppressed.push(entry);
    }
    Recalled {
        count: suppressed.len(),
        suppressed,
        turned_down: Vec::new(),
    }
}

impl Recalled {
    /// Joins what was taken out with what was judged, and notes the serious findings that were turned down often enough
    /// before. They stand as they are: only code or a person who decides in this merge request makes them milder, and never
    /// what was learned elsewhere.
    pub fn rejoin(&mut self, judged: &mut Vec<JudgedFinding>, memory: &RepositoryMemory) {
        let known = judged.iter().filter(|entry| {
            let finding = &entry.finding;
            entry.stands() && entry.weighs() && !is_untouchable(finding) && times(finding, memory) >= ENOUGH
        });
        self.turned_down.extend(known.map(|entry| entry.finding.id.clone()));
        judged.append(&mut self.suppressed);
    }

    /// What the review says of it. What joined an earlier finding is not news.
    pub fn notes(&self, findings: &[JudgedFinding]) -> Vec<String> {
        let suppressed = (self.count > 0).then(|| texts::suppressed(self.count));
        let standing = findings
            .iter()
            .filter(|entry| entry.stands() && self.turned_down.contains(&entry.finding.id));
        let place = |entry: &JudgedFinding| format!("{}:{}", entry.finding.file, entry.finding.line);
        suppressed
            .into_iter()
            .chain(standing.map(|entry| texts::stands_at(&place(entry))))
            .collect()
    }
}

/// In how many merge requests people turned the finding down.
fn times(finding: &Finding, memory: &RepositoryMemory) -> usize {
    memory.times_rejected(Known {
        fingerprint: finding.fingerprint.as_str(),
        claim: Some(&claim_key(&finding.category, &finding.claim)),
        category: &finding.category,
    })
}

fn is_untouchable(finding: &Finding) -> bool {
    finding.is_prompt_injection() || finding.rule.is_some()
}

#[cfg(test)]
#[path = "memory/memory_tests.rs"]
mod tests;
