//! What people of the repository have turned down before, on its way around the judge.

use crate::{
    judge::JudgedFinding,
    memory::{Recall, Recalled, lower, suppress},
    ports::ExistingFinding,
    scheduler::PanelResult,
};

/// What the panel brought, without what people of the repository have turned down before.
pub(super) struct Remembering {
    pub(super) result: PanelResult,
    pub(super) memory: Remembered,
}

/// What was done on the word of the memory.
pub(super) struct Remembered {
    recall: Recall,
    suppressed: Vec<JudgedFinding>,
    recalled: Recalled,
}

impl Remembering {
    /// Takes it out. The judge never sees it, so that nothing of it gets into the summary.
    pub(super) fn new(mut result: PanelResult, earlier: &[ExistingFinding], recall: &Recall) -> Self {
        let mut recalled = Recalled::default();
        let suppressed = suppress(&mut result.findings, earlier, &recall.now(), &mut recalled);
        Self {
            result,
            memory: Remembered {
                recall: recall.clone(),
                suppressed,
                recalled,
            },
        }
    }
}

impl Remembered {
    /// Joins what was taken out with what was judged, and lowers what had to be shown to the judge. Before the second review
    /// of the merge request settles anything: there a finding counts as what it is shown as.
    pub(super) fn join(&mut self, judged: &mut Vec<JudgedFinding>) {
        lower(judged, &self.recall.now(), &mut self.recalled);
        judged.append(&mut self.suppressed);
    }

    /// What the review says of it.
    pub(super) fn notes(&self, findings: &[JudgedFinding]) -> Vec<String> {
        self.recalled.notes(findings)
    }
}
