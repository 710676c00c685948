//! Where the earlier findings are at head, and whether their code has changed.

use std::collections::HashMap;

use super::{
    Lines,
    authority::{author_may_settle, is_heard, is_settled_by_person, is_settled_by_word, may_be_fixed, unanswered},
    inert::{Standing, is_inert},
    removed::{is_about_removed, removed_lines, stand_again},
    unproven::text_identity,
};
use crate::{
    diff::{ChangeKind, FileDiff},
    language::Language,
    repo_config::AuthorSettles,
    review::{
        AnchorState, Before, CONTEXT_FILE, CarryOver, ExistingFinding, FindingRecord, RefutingCode, RuleSince,
        ThreadState,
    },
    rules::RuleBook,
};

/// So many lines of its code are shown with a finding.
const SHOWN_LINES: usize = 12;

/// Among so many new files code is looked for that has left its own.
const MAX_SEARCHED: usize = 100;

/// The words that decide in threads: of which people, and in which language, by the settings of the target branch.
#[derive(Debug, Clone, Copy, Default)]
pub struct WhoseWords {
    /// The worst that the author of the merge request may settle.
    pub author_settles: AuthorSettles,
    /// The language of plain decisions, besides English.
    pub language: Option<Language>,
}

/// Files' texts at head, or at the base for files that the merge request deletes; and what people wrote about the change, without
/// what stands around it in the context file, so that its lines have other numbers.
pub type Texts = HashMap<String, String>;

/// The files whose texts are needed, each with whether it is the one at the base.
pub fn wanted(existing: &[ExistingFinding], carry_over: &CarryOver, files: &[FileDiff]) -> Vec<(String, bool)> {
    let records = existing
        .iter()
        .map(|finding| &finding.record)
        .chain(carry_over.findings.iter().filter_map(|entry| entry.record.as_ref()))
        .chain(carry_over.refuted.iter().map(|refuted| &refuted.record));
    let mut wanted: Vec<(String, bool)> = Vec::new();
    let mut add = |path: &str, at_base: bool| {
        if !wanted.iter().any(|(known, _)| known == path) {
            wanted.push((path.to_owned(), at_base));
        }
    };
    for record in records {
        let at_base = files
            .iter()
            .any(|file| file.path == record.file && file.kind == ChangeKind::Deleted);
        add(&record.file, at_base);
        if at_base || !files.iter().any(|file| file.path == record.file) {
            for file in candidates(&record.file, files) {
                add(&file.path, false);
            }
        }
    }
    for refuted in &carry_over.refuted {
        add(refuted.refuting_path(files), false);
    }
    wanted
}

/// The earlier findings as they are now: those of threads, and those that only the carry-over knows. Each gets its name, its
/// present place, and what has become of its code.
///
/// A severity is the worst that was ever said of it, or that its engineering rule now says: a later review may have raised it, and no
/// review lowers it without the code having changed.
pub fn assess(
    existing: Vec<ExistingFinding>,
    carry_over: &CarryOver,
    files: &[FileDiff],
    texts: &Texts,
    words: WhoseWords,
    rules: &RuleBook,
) -> Vec<ExistingFinding> {
    let lines = lines_of(texts);
    let mut all = existing;
    let mut left: Vec<(String, u32)> = Vec::new();
    for entry in &carry_over.findings {
        let shown = all
            .iter()
            .any(|finding| finding.record.fingerprint == entry.fingerprint);
        if let (false, Some(record)) = (shown, &entry.record) {
            all.push(ExistingFinding::of_record(record.clone(), entry.before));
        }
    }
    let exposed = expose(&mut all, carry_over, files, &lines);
    for (at, finding) in all.iter_mut().enumerate() {
        finding.id = format!("E{}", at + 1);
        if let Some(entry) = carry_over.find(&finding.record.fingerprint) {
            let at_first = (finding.record.severity, finding.record.production_risk);
            finding.record.severity = finding.record.severity.max(entry.severity);
            finding.record.production_risk |= entry.production_risk;
            raise(finding, &exposed);
            finding.raised = at_first != (finding.record.severity, finding.record.production_risk);
            finding.heard.clone_from(&entry.heard);
            finding.stood = matches!(entry.before, Before::Stood | Before::Posted | Before::Reopened);
            finding.before = match (entry.before, finding.state) {
                // Whoever opened it again did not do so by an answer, or we would see it.
                (Before::Resolved | Before::Declined | Before::Reopened, ThreadState::Open)
                    if finding.thread.is_some() =>
                {
                    Before::Reopened
                }
                (before, _) => before,
            };
        }
        raise(finding, &exposed);
        if hold_to(&mut finding.record, rules) {
            finding.rule = RuleSince::Stricter;
            finding.raised = true;
        }
        // By the worst that was ever said of it: nobody gets it lowered first.
        finding.author_may_settle = author_may_settle(&finding.record, words.author_settles);
        finding.language = words.language;
        let entry = carry_over.find(&finding.record.fingerprint);
        let last = entry.and_then(|entry| entry.record.as_ref());
        let (own, line) = place_again(finding, last, files, &lines);
        if stands_inert(finding, &own, files, texts) {
            finding.anchor = AnchorState::Changed;
            finding.code.clear();
            finding.record.move_to(&own, line);
        }
        left.push((own, line));
    }
    give_up_places(&mut all, &left);
    for finding in &mut all {
        finding.text = texts.get(&finding.record.file).and_then(|text| text_identity(text));
    }
    all
}

/// The lines of these texts.
pub(super) fn lines_of(texts: &Texts) -> HashMap<&str, Lines> {
    let texts = texts.iter();
    texts.map(|(path, text)| (path.as_str(), Lines::new(text))).collect()
}

/// Notes what has become of the code that refuted findings, and brings back those that nothing else remembers and whose refutation
/// does not count any more. Returns the records of those whose refutation is gone.
fn expose(
    all: &mut Vec<ExistingFinding>,
    carry_over: &CarryOver,
    files: &[FileDiff],
    texts: &HashMap<&str, Lines>,
) -> Vec<FindingRecord> {
    let mut exposed = Vec::new();
    for refuted in &carry_over.refuted {
        let record = &refuted.record;
        let known = all
            .iter_mut()
            .find(|finding| finding.record.fingerprint == record.fingerprint);
        match known {
            Some(finding) => finding.refuting = refuted.now,
            None if !refuted.counts() && is_there(record, files, texts) => all.push(ExistingFinding {
                refuting: refuted.now,
                ..ExistingFinding::of_record(record.clone(), Before::Stood)
            }),
            None => {}
        }
        if refuted.now == RefutingCode::Gone {
            exposed.push(record.clone());
        }
    }
    exposed
}

/// Raises a finding whose refutation is gone to what it was before.
fn raise(finding: &mut ExistingFinding, exposed: &[FindingRecord]) {
    let own = &mut finding.record;
    if let Some(before) = exposed.iter().find(|record| record.fingerprint == own.fingerprint) {
        own.severity = own.severity.max(before.severity);
        own.production_risk |= before.production_risk;
    }
}

/// Returns whether the code that a record is about stands somewhere in these files.
pub(super) fn is_there(record: &FindingRecord, files: &[FileDiff], texts: &HashMap<&str, Lines>) -> bool {
    file_of(record, files, texts).is_some()
}

/// Returns the one of these files in which the code stands that a record is about.
pub(super) fn file_of(record: &FindingRecord, files: &[FileDiff], texts: &HashMap<&str, Lines>) -> Option<String> {
    let mut finding = ExistingFinding::of_record(record.clone(), Before::Stood);
    place(&mut finding, files, texts);
    if finding.anchor != AnchorState::Changed {
        return Some(finding.record.file);
    }
    file_of_parts(record, files, texts)
}

/// Returns the file, its own or one where it may have gone, in which the code of a serious record stands as parts of other lines.
fn file_of_parts(record: &FindingRecord, files: &[FileDiff], texts: &HashMap<&str, Lines>) -> Option<String> {
    let anchor = record.anchor.as_ref().filter(|_| record.is_serious())?;
    let others = candidates(&record.file, files)
        .into_iter()
        .map(|file| file.path.as_str());
    let mut paths = std::iter::once(record.file.as_str()).chain(others);
    let stands = |path: &&str| {
        let lines = texts.get(path);
        lines.is_some_and(|lines| anchor.find_parts(lines, record.line, &|_| true).is_some())
    };
    paths.find(stands).map(str::to_owned)
}

/// Holds a breach to its rule as it is now, where that has become stricter since. Returns whether this makes the finding more severe.
fn hold_to(record: &mut FindingRecord, rules: &RuleBook) -> bool {
    let before = record.severity;
    let Some(cited) = record.rule.as_mut() else {
        return false;
    };
    let Some(rule) = rules.iter().find(|rule| rule.id == cited.id) else {
        return false;
    };
    if rule.on_breach > cited.on_breach {
        cited.on_breach = rule.on_breach;
        record.severity = record.severity.max(rule.severity(record.severity));
    }
    record.severity > before
}

/// Leaves each place to those findings that have been there: where the code of one of two equal lines is fixed, the other
/// line is not where the first one's problem has gone. `left` has where each was.
fn give_up_places(all: &mut [ExistingFinding], left: &[(String, u32)]) {
    let gone: Vec<usize> = (0..all.len())
        .filter(|&at| {
            let claim = |of: usize| {
                let (record, (file, line)) = (&all[of].record, &left[of]);
                let has_moved = *file != record.file;
                let is_beside = all[of].anchor != AnchorState::Unchanged;
                (has_moved, is_beside, line.abs_diff(record.line), file)
            };
            let is_rival = |other: usize| {
                let (one, two) = (&all[at].record, &all[other].record);
                let code = |record: &FindingRecord| record.anchor.as_ref().map(|anchor| anchor.code.clone());
                let is_found = |of: usize| all[of].anchor.stands();
                // Two problems of one line have been there together. And what people have settled takes no place from what
                // is open.
                is_found(at)
                    && !is_about_removed(one)
                    && is_found(other)
                    && all[other].is_live()
                    && left[at] != left[other]
                    && (&one.category, &one.file, one.line, code(one))
                        == (&two.category, &two.file, two.line, code(two))
            };
            (0..all.len()).any(|other| other != at && is_rival(other) && claim(other) < claim(at))
        })
        .collect();
    for at in gone {
        let finding = &mut all[at];
        finding.anchor = AnchorState::Changed;
        finding.code.clear();
        let (file, line) = &left[at];
        finding.record.move_to(file, *line);
    }
}

/// Returns whether the coordinator has something to decide about earlier findings: one may be fixed, or a member argues or asks, and no
/// coordinator has decided about that.
pub fn needs_judge(existing: &[ExistingFinding]) -> bool {
    existing.iter().any(|finding| {
        let says_more = || unanswered(finding).is_some() && !is_settled_by_word(finding);
        finding.is_live() && (may_be_fixed(finding) || says_more()) && !is_heard(finding)
    })
}

/// Returns whether an earlier finding is still open.
pub fn has_open(existing: &[ExistingFinding]) -> bool {
    let is_over =
        |finding: &ExistingFinding| matches!(finding.before, Before::Fixed | Before::Resolved | Before::Declined);
    existing.iter().any(|finding| finding.is_live() && !is_over(finding)) || needs_judge(existing)
}

/// Finds the code again from where the last review had it, which the thread of one that has moved does not tell; or else from where the
/// thread has it. Returns the former.
fn place_again(
    finding: &mut ExistingFinding,
    last: Option<&FindingRecord>,
    files: &[FileDiff],
    texts: &HashMap<&str, Lines>,
) -> (String, u32) {
    let told = finding.record.clone();
    // What people wrote has lines of no file, and quotes what stands elsewhere.
    if let Some(last) = last.filter(|last| last.file != CONTEXT_FILE) {
        finding.record.move_to(&last.file, last.line);
    }
    let left = (finding.record.file.clone(), finding.record.line);
    place(finding, files, texts);
    if finding.anchor == AnchorState::Changed && told.file != left.0 {
        let last = std::mem::replace(&mut finding.record, told);
        place(finding, files, texts);
        if finding.anchor == AnchorState::Changed {
            finding.record = last;
        }
    }
    left
}

/// Returns whether the code stands where it cannot run, elsewhere or among other lines than in its own file.
fn stands_inert(finding: &ExistingFinding, own: &str, files: &[FileDiff], texts: &Texts) -> bool {
    let record = &finding.record;
    let is_other = finding.anchor == AnchorState::ChangedBeside || finding.anchor.stands() && record.file != own;
    let Some(text) = texts
        .get(&record.file)
        .filter(|_| is_other && removed_lines(record).is_empty())
    else {
        return false;
    };
    let standing = Standing {
        own,
        path: &record.file,
        file: files.iter().find(|file| file.path == record.file),
        text,
    };
    is_inert(record, standing, record.line)
}

/// Finds out where the code is now. Of lines that the change removes the finding is there for as long as they are missing, and of those
/// that stand again it is gone.
fn place(finding: &mut ExistingFinding, files: &[FileDiff], texts: &HashMap<&str, Lines>) {
    find_again(finding, files, texts);
    let removed = removed_lines(&finding.record).into_owned();
    if removed.is_empty() {
        return;
    }
    let own = at_head(&finding.record.file, files, texts);
    if own.is_some_and(|lines| stand_again(&removed, lines)) {
        finding.anchor = AnchorState::Changed;
        finding.code.clear();
    } else if finding.anchor == AnchorState::Changed {
        finding.anchor = AnchorState::ChangedBeside;
        let length = own.and_then(|lines| u32::try_from(lines.loose.len()).ok());
        if let Some(length) = length {
            finding.record.keep_within(length);
        }
    }
}

/// The lines that a file has at head, also under the name that the change gives it.
fn at_head<'t>(path: &str, files: &[FileDiff], texts: &'t HashMap<&str, Lines>) -> Option<&'t Lines> {
    let is_deleted = |file: &FileDiff| file.path == path && file.kind == ChangeKind::Deleted;
    let renamed = || {
        let is_it = |file: &&FileDiff| file.kind == ChangeKind::Renamed && file.old_path == path;
        texts.get(files.iter().find(is_it)?.path.as_str())
    };
    let own = texts.get(path).filter(|_| !files.iter().any(is_deleted));
    own.or_else(renamed)
}

/// Finds the code again, in the file, or where the file was moved to.
fn find_again(finding: &mut ExistingFinding, files: &[FileDiff], texts: &HashMap<&str, Lines>) {
    let is_settled = is_settled_by_person(finding);
    let record = &mut finding.record;
    let Some(anchor) = record.anchor.clone() else { return };
    let own = texts.get(record.file.as_str());
    let here = own.map(|lines| anchor.find(lines, record.line, record.end_line));
    let mut found = here
        .filter(|place| place.line.is_some())
        .map(|place| (record.file.clone(), place));
    let in_diff = |file: &FileDiff| file.path == record.file && file.kind != ChangeKind::Deleted;
    if found.is_none() && !files.iter().any(in_diff) {
        found = candidates(&record.file, files).into_iter().find_map(|file| {
            let place = anchor.find(texts.get(file.path.as_str())?, record.line, record.end_line);
            // Who has accepted it in one file has not seen it beside other code in another.
            let is_its = !is_settled || file.old_path == record.file || place.state == AnchorState::Unchanged;
            place.line.filter(|_| is_its).map(|_| (file.path.clone(), place))
        });
    }
    let Some((file, place)) = found else {
        finding.anchor = AnchorState::Changed;
        return;
    };
    finding.anchor = place.state;
    if let Some(line) = place.line {
        let length = record.end_line.map_or(0, |end| end.saturating_sub(record.line));
        if file != CONTEXT_FILE {
            record.line = line;
            record.end_line = record.end_line.map(|_| line.saturating_add(length));
        }
        let shown = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .min(SHOWN_LINES);
        finding.code = texts
            .get(file.as_str())
            .map(|lines| lines.excerpt(line, shown))
            .unwrap_or_default();
        record.file = file;
    }
}

/// Where a file's code may have gone: the file that it was renamed to comes first, then new ones.
fn candidates<'f>(path: &str, files: &'f [FileDiff]) -> Vec<&'f FileDiff> {
    let renamed = files
        .iter()
        .filter(|file| file.kind == ChangeKind::Renamed && file.old_path == path);
    // A file that the merge request itself has made is new under every name.
    let new = files
        .iter()
        .filter(|file| matches!(file.kind, ChangeKind::Added | ChangeKind::Renamed | ChangeKind::Copied));
    renamed.chain(new).take(MAX_SEARCHED).collect()
}

#[cfg(test)]
#[path = "assess_tests.rs"]
mod tests;
