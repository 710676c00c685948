//! What earlier reviews have to do with a review, and what it leaves for the next one.

use std::collections::HashMap;

use crate::{
    diff::{ChangeKind, FileDiff, FilterReason},
    incremental::{Identities, Lines, remember_unproven, text_identity, written_texts},
    ports::SourceTree,
    review::{
        Anchor, CONTEXT_FILE, CarryOver, Coverage, EarlierFiles, JudgedFinding, PatchId, ReviewSubject, UnprovenFinding,
    },
};

/// What earlier reviews of the same merge request have to do with this one.
#[derive(Debug, Clone, Default)]
pub struct Prior {
    /// The identities of the patches that are given to the panel.
    pub patches: Vec<PatchId>,
    /// The target branch, and what it and the organization say to all reviewers.
    pub under: Option<PatchId>,
    /// Files of the merge request that were reviewed before, as they are.
    pub unchanged: Vec<FileDiff>,
    /// Where they were reviewed.
    pub earlier: Vec<EarlierFiles>,
    /// Serious findings of earlier reviews that nothing proved, on patches that are as they were.
    pub unproven: Vec<UnprovenFinding>,
    /// Findings that earlier reviews removed because of code of the change itself, where both codes are as they were.
    pub refuted: Vec<JudgedFinding>,
    /// What the next review has to know as well: all that earlier ones removed because of code, and all that nothing proved, also of
    /// patches that are others now, as those may come back; and the patches and objects of the whole change, also of files that this
    /// review leaves out.
    pub kept: CarryOver,
}

impl Prior {
    /// Keeps the serious findings without proof that the next review has to know of.
    pub(super) fn keep_unproven(&mut self, found: &[UnprovenFinding], texts: &Identities, subject: &ReviewSubject) {
        let before = std::mem::take(&mut self.kept.unproven);
        let (patches, objects) = (&self.kept.patches, &self.kept.objects);
        self.kept.unproven = remember_unproven(found, before, patches, objects, texts, &written_texts(subject));
    }
}

/// The identities of the texts of the changed files that these findings are about.
pub(super) async fn texts_of(found: &[UnprovenFinding], prior: &Prior, source: &dyn SourceTree) -> Identities {
    let mut texts = Identities::new();
    for finding in found
        .iter()
        .filter(|finding| prior.kept.patches.contains_key(&finding.file))
    {
        let text = source.text(&finding.file, false).await;
        if let Some(text) = text.and_then(|text| text_identity(&text)) {
            texts.insert(finding.file.clone(), text);
        }
    }
    texts
}

/// Says which files were reviewed before; they were not left out by a rule.
pub(super) fn name_earlier(coverage: &mut Coverage, earlier: Vec<EarlierFiles>) {
    coverage
        .filtered
        .retain(|file| file.reason != FilterReason::ReviewedBefore);
    coverage.notes.extend(earlier.iter().map(EarlierFiles::describe));
    coverage.earlier = earlier;
}

/// Notes the code that each finding stands on, for the next review of the merge request.
pub(super) async fn remember_anchors(
    subject: &ReviewSubject,
    findings: &mut [JudgedFinding],
    files: &[FileDiff],
    source: &dyn SourceTree,
) {
    if subject.merge_request.is_none() {
        return;
    }
    let mut texts: HashMap<String, Option<Lines>> = HashMap::new();
    for entry in findings
        .iter_mut()
        .filter(|entry| entry.stands() || entry.refuted_by_code().is_some())
    {
        let finding = &entry.finding;
        let deleted = |file: &FileDiff| file.path == finding.file && file.kind == ChangeKind::Deleted;
        let is_deleted = files.iter().any(deleted);
        if !texts.contains_key(&finding.file) {
            let text = source.text(&finding.file, is_deleted).await;
            texts.insert(finding.file.clone(), text.map(|text| Lines::new(&text)));
        }
        let lines = texts.get(&finding.file).and_then(Option::as_ref);
        let is_about_words = finding.is_prompt_injection() || finding.file == CONTEXT_FILE;
        entry.anchor = lines.and_then(|lines| {
            let anchor = Anchor::of(lines, finding.line, finding.end_line)?;
            // All that is quoted of a deleted file is removed.
            let quoted = is_deleted.then_some(&finding.evidence);
            Some(match finding.removed.as_ref().or(quoted) {
                _ if is_about_words => anchor.of_words(lines, finding.line, finding.end_line, &finding.evidence),
                Some(code) => anchor.of_removed(code, lines, is_deleted),
                None => anchor,
            })
        });
    }
}
