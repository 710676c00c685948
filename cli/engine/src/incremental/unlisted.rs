//! Findings for which a merge request had no room, neither in threads nor in what the summary remembers: they hold the approval
//! for as long as the patch that they are about is as it was, under whatever name.

use conclave_shared::severity::Severity;

use crate::{
    diff::FileDiff,
    review::{
        ApprovalHold, Before, CarryOver, HoldCause, PatchId, RefutationStatus, Remembered, RememberedUnproven, Unlisted,
    },
};

use super::{Identities, Objects};

/// Maximum number of patches that are kept apart; findings in more of them are about the whole change.
const MAX_UNLISTED: usize = 50;

/// Those of earlier reviews whose patches are as they were, or whose files have only got another name since: then with the patch
/// that they have now. `files` are all files of the change.
pub fn still_unlisted(remembered: &[Unlisted], identities: &Identities, files: &[FileDiff]) -> Vec<Unlisted> {
    let all = PatchId::of_all(identities.values());
    let held = |entry: &Unlisted| {
        if entry.patch == all || identities.values().any(|patch| *patch == entry.patch) {
            return Some(entry.clone());
        }
        let object = entry.object.as_deref()?;
        let renamed = files.iter().find(|file| file.head_object() == Some(object))?;
        Some(Unlisted {
            patch: identities.get(&renamed.path)?.clone(),
            ..entry.clone()
        })
    };
    remembered.iter().filter_map(held).collect()
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

/// The patches of a change and the objects of its files at head, by their paths.
#[derive(Debug)]
pub(super) struct OfChange {
    pub(super) patches: Identities,
    pub(super) objects: Objects,
}

impl OfChange {
    /// A finding of this severity in this file, of which only the patch is kept.
    fn unlisted(&self, file: &str, severity: Severity) -> Unlisted {
        Unlisted {
            patch: self.patches.get(file).cloned().unwrap_or_else(|| self.whole()),
            severity,
            object: self.objects.get(file).cloned(),
        }
    }

    fn whole(&self) -> PatchId {
        PatchId::of_all(self.patches.values())
    }
}

impl CarryOver {
    /// Notes that a finding leaves the carry-over for want of room.
    pub(super) fn note_unlisted(&mut self, dropped: &Remembered, change: &OfChange) {
        // What has no record has a thread that shows it.
        let Some(record) = &dropped.record else { return };
        let stands = matches!(dropped.before, Before::Stood | Before::Posted);
        if !stands || (dropped.severity == Severity::Suggestion && !dropped.production_risk) {
            return;
        }
        self.add_unlisted(change.unlisted(&record.file, dropped.severity), change);
    }

    /// Lets one of the findings go that do not stand and still count, in favor of its patch. Returns false if there is none.
    pub(super) fn shorten(&mut self, change: &OfChange) -> bool {
        // Those that no edit of another file ends go last: of them the whole change is all that can be kept.
        let inside = self.unproven.iter().rposition(|entry| !entry.outside);
        let last = inside.or(self.unproven.len().checked_sub(1));
        if let Some(RememberedUnproven {
            patch,
            parts,
            object,
            outside,
            ..
        }) = last.map(|at| self.unproven.remove(at))
        {
            let patches = if outside {
                vec![change.whole()]
            } else if parts.is_empty() {
                vec![patch]
            } else {
                // It holds while one of them is as it was.
                parts
            };
            for patch in patches {
                let unlisted = Unlisted {
                    patch,
                    severity: Severity::Critical,
                    object: object.clone(),
                };
                self.add_unlisted(unlisted, change);
            }
            return true;
        }
        let Some(refuted) = self.refuted.pop() else {
            return false;
        };
        if refuted.refutation.status == RefutationStatus::ThisChange {
            let record = &refuted.record;
            self.add_unlisted(change.unlisted(&record.file, record.severity), change);
        }
        true
    }

    fn add_unlisted(&mut self, mut unlisted: Unlisted, change: &OfChange) {
        let is_listed = self.unlisted.iter().any(|entry| entry.patch == unlisted.patch);
        if !is_listed && self.unlisted.len() >= MAX_UNLISTED {
            unlisted.patch = change.whole();
            unlisted.object = None;
        }
        match self.unlisted.iter_mut().find(|entry| entry.patch == unlisted.patch) {
            Some(entry) => entry.severity = entry.severity.max(unlisted.severity),
            None => self.unlisted.push(unlisted),
        }
    }
}
