//! What people of the repository have turned down before, on its way around the judge.

use crate::{
    memory::{Recall, Recalled, note_turned_down, suppress},
    review::{ExistingFinding, JudgedFinding},
    session::PanelResult,
};

/// What is known from before.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    earlier: &'a [ExistingFinding],
    recall: &'a Recall,
}

/// What was done on the word of the memory.
pub(super) struct Remembered {
    recall: Recall,
    suppressed: Vec<JudgedFinding>,
    recalled: Recalled,
}

impl<'a> Known<'a> {
    /// The findings of the merge request's earlier reviews, and what the repository remembers.
    pub(super) const fn new(earlier: &'a [ExistingFinding], recall: &'a Recall) -> Self {
        Self { earlier, recall }
    }

    /// What the panel brought, without what people of the repository have turned down before. The judge never sees that, so
    /// nothing of it gets into the summary.
    pub(super) fn recall(self, mut panel: PanelResult) -> (PanelResult, Remembered) {
        let mut recalled = Recalled::default();
        let suppressed = suppress(&mut panel.findings, self.earlier, &self.recall.now(), &mut recalled);
        let memory = Remembered {
            recall: self.recall.clone(),
            suppressed,
            recalled,
        };
        (panel, memory)
    }
}

impl Remembered {
    /// Joins what was taken out with what was judged.
    pub(super) fn join(&mut self, judged: &mut Vec<JudgedFinding>) {
        note_turned_down(judged, &self.recall.now(), &mut self.recalled);
        judged.append(&mut self.suppressed);
    }

    /// What the review says of it.
    pub(super) fn notes(&self, findings: &[JudgedFinding]) -> Vec<String> {
        self.recalled.notes(findings)
    }
}
