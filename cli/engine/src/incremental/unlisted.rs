//! Findings for which a merge request had no room, neither in threads nor in what the summary remembers: they hold the approval
//! for as long as the patch that they are about is as it was.

use std::collections::BTreeMap;

use conclave_shared::severity::Severity;

use crate::review::{ApprovalHold, Before, CarryOver, HoldCause, PatchId, Remembered, Unlisted};

use super::Identities;

/// Maximum number of patches that are kept apart; findings in more of them are about the whole change.
const MAX_UNLISTED: usize = 50;

/// Those of earlier reviews whose patches are as they were.
pub fn still_unlisted(remembered: &[Unlisted], identities: &Identities) -> Vec<Unlisted> {
    let all = PatchId::of_all(identities.values());
    let holds = |entry: &&Unlisted| entry.patch == all || identities.values().any(|patch| *patch == entry.patch);
    remembered.iter().filter(holds).cloned().collect()
}

/// Why the approval is withheld for them.
pub(crate) fn hold(unlisted: &[Unlisted], identities: &Identities) -> Option<ApprovalHold> {
    let worst = unlisted.iter().map(|entry| entry.severity).max()?;
    let reason = format!(
        "Findings of an earlier review, up to {worst}, had no room on this page, and their code is as it was. They hold until it \
         changes; run with a higher `max_inline` to see all of them as threads."
    );
    let places = identities
        .iter()
        .filter(|(_, patch)| unlisted.iter().any(|entry| entry.patch == **patch))
        .map(|(path, _)| path.clone());
    Some(ApprovalHold::new(HoldCause::Unlisted, reason).at(places))
}

impl CarryOver {
    /// Notes that a finding leaves the carry-over for want of room.
    pub(super) fn note_unlisted(&mut self, dropped: &Remembered, patches: &BTreeMap<String, PatchId>) {
        // What has no record has a thread that shows it.
        let Some(record) = &dropped.record else { return };
        let stands = matches!(dropped.before, Before::Stood | Before::Posted);
        if !stands || (dropped.severity == Severity::Suggestion && !dropped.production_risk) {
            return;
        }
        let is_listed = |patch: &PatchId| self.unlisted.iter().any(|entry| entry.patch == *patch);
        let own = patches.get(&record.file);
        let own = own.filter(|patch| is_listed(patch) || self.unlisted.len() < MAX_UNLISTED);
        let patch = own.cloned().unwrap_or_else(|| PatchId::of_all(patches.values()));
        match self.unlisted.iter_mut().find(|entry| entry.patch == patch) {
            Some(entry) => entry.severity = entry.severity.max(dropped.severity),
            None => self.unlisted.push(Unlisted {
                patch,
                severity: dropped.severity,
            }),
        }
    }
}
