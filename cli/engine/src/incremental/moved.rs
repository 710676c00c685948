//! Earlier findings whose code has left its lines: it is not gone while it stands in another file of the change, be
//! that one noise to a reviewer, or in other lines of its own.

use super::{
    Lines,
    authority::is_settled_by_person,
    inert::{Standing, is_inert},
    removed::is_about_removed,
    unproven::text_identity,
};
use crate::{
    diff::{ChangeKind, FileDiff, FilteredDiff},
    review::{AnchorState, CONTEXT_FILE, ExistingFinding, PatchId},
};

/// Among so many files code is looked for. With more, what is serious and was not found counts as standing.
const MAX_FILES: usize = 1000;

/// So many lines of its code are shown with a finding.
const SHOWN_LINES: usize = 12;

/// So many places of a file at which its code cannot run are passed over. With more, the code counts as standing.
const MAX_INERT: usize = 20;

/// Looks for code that has left its place, in one file after another.
#[derive(Debug)]
pub struct MovedCode {
    /// The change, if there is anything to look for.
    diff: FilteredDiff,
    sought: Vec<Sought>,
    /// True if a file could not be searched whole.
    is_partial: bool,
}

/// A finding whose code is looked for.
#[derive(Debug)]
struct Sought {
    /// Its place in the list.
    at: usize,
    found: Option<Found>,
    /// The number of lines that its own file has at head, if that is known.
    length: Option<u32>,
}

/// Where code stands now.
#[derive(Debug)]
struct Found {
    file: String,
    line: u32,
    state: AnchorState,
    code: String,
    /// The identity of the text that it stands in.
    text: Option<PatchId>,
}

impl Sought {
    fn new(at: usize) -> Self {
        Self {
            at,
            found: None,
            length: None,
        }
    }
}

impl MovedCode {
    /// A search for the code of those of the findings whose code is gone.
    pub fn new(existing: &[ExistingFinding], diff: &FilteredDiff) -> Self {
        // Removed lines that stand again have not moved.
        let is_gone =
            |finding: &ExistingFinding| finding.anchor == AnchorState::Changed && !is_about_removed(&finding.record);
        let sought = existing.iter().enumerate().filter(|(_, finding)| is_gone(finding));
        let sought: Vec<Sought> = sought.map(|(at, _)| Sought::new(at)).collect();
        Self {
            diff: if sought.is_empty() {
                FilteredDiff::default()
            } else {
                diff.clone()
            },
            sought,
            is_partial: false,
        }
    }

    /// The files to search: the findings' own, and all that the change adds or changes, also those that are left out of the
    /// review.
    pub fn files(&mut self, existing: &[ExistingFinding]) -> Vec<String> {
        if self.sought.is_empty() {
            return Vec::new();
        }
        let own = self.sought.iter().map(|sought| &existing[sought.at].record.file);
        let at_head = self.diff.files.iter().filter(|file| file.kind != ChangeKind::Deleted);
        let changed = at_head.map(|file| &file.path);
        let left_out = self.diff.filtered.iter().map(|file| &file.path);
        let mut paths: Vec<String> = own.chain(changed).chain(left_out).cloned().collect();
        let mut seen = std::collections::HashSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        self.is_partial |= paths.len() > MAX_FILES;
        paths.truncate(MAX_FILES);
        paths
    }

    /// Searches the text of a file at head.
    pub fn search(&mut self, existing: &[ExistingFinding], path: &str, text: &str, is_whole: bool) {
        self.is_partial |= !is_whole;
        let length = u32::try_from(text.lines().count())
            .ok()
            .filter(|_| is_whole && path != CONTEXT_FILE);
        let own = |sought: &&mut Sought| existing[sought.at].record.file == path;
        for sought in self.sought.iter_mut().filter(own) {
            sought.length = length;
        }
        // Who quotes code has not moved it; and who has accepted it in one file has not seen it in another.
        self.search_for(existing, path, text, |finding| {
            path == finding.record.file || (path != CONTEXT_FILE && !is_settled_by_person(finding))
        });
    }

    /// Searches what people wrote about the change for words that steer and have left its files: there they steer as before. Of answers
    /// to findings that text has none, because they quote.
    pub fn search_description(&mut self, existing: &[ExistingFinding], text: &str) {
        self.search_for(existing, CONTEXT_FILE, text, |finding| {
            let record = &finding.record;
            record.file != CONTEXT_FILE && record.is_prompt_injection() && !is_settled_by_person(finding)
        });
    }

    /// Searches the names that the change gives to files for words that steer and have left the files: reviewers read those, too.
    pub fn search_names(&mut self, existing: &[ExistingFinding]) {
        let is_new =
            |file: &&FileDiff| matches!(file.kind, ChangeKind::Added | ChangeKind::Renamed | ChangeKind::Copied);
        let renamed = self.diff.files.iter().filter(is_new).map(|file| &file.path);
        // Whether the name of what is left out is new is unknown.
        let left_out = self.diff.filtered.iter().map(|file| &file.path);
        let candidates: Vec<(&String, Lines)> = renamed.chain(left_out).map(|path| (path, Lines::new(path))).collect();
        for Sought { at, found: best, .. } in &mut self.sought {
            let finding = &existing[*at];
            let is_of_words = finding.record.is_prompt_injection() && !is_settled_by_person(finding);
            let anchor = finding.record.anchor.as_ref().filter(|anchor| anchor.is_of_words());
            let Some(anchor) = anchor.filter(|_| is_of_words && best.is_none()) else {
                continue;
            };
            let holds = |lines: &Lines| anchor.find_parts(lines, 1, &|_| true).is_some();
            let found = candidates.iter().find(|(_, lines)| holds(lines));
            *best = found.map(|(path, _)| Found {
                file: (*path).clone(),
                line: 1,
                state: AnchorState::ChangedBeside,
                code: (*path).clone(),
                text: text_identity(path),
            });
        }
    }

    fn search_for(
        &mut self,
        existing: &[ExistingFinding],
        path: &str,
        text: &str,
        is_sought: impl Fn(&ExistingFinding) -> bool,
    ) {
        let lines = Lines::new(text);
        let file = self.diff.files.iter().find(|file| file.path == path);
        for Sought { at, found: best, .. } in &mut self.sought {
            let finding = &existing[*at];
            if !is_sought(finding) {
                continue;
            }
            let is_better = |found: &Found| {
                let unchanged = |found: &Found| found.state == AnchorState::Unchanged;
                best.as_ref().is_none_or(|best| unchanged(found) && !unchanged(best))
            };
            let mut taken = taken_by_others(existing, *at, path);
            let most = taken.len() + MAX_INERT;
            let standing = Standing {
                own: &finding.record.file,
                path,
                file,
                text,
            };
            let found = loop {
                match find(finding, path, file, &lines, &taken) {
                    Some(found) if taken.len() < most && is_inert(&finding.record, standing, found.line) => {
                        taken.push(found.line);
                    }
                    found => break found,
                }
            };
            if let Some(found) = found.filter(is_better) {
                *best = Some(Found {
                    text: text_identity(text),
                    ..found
                });
            }
        }
    }

    /// Takes the findings to where their code is.
    pub fn settle(self, existing: &mut [ExistingFinding]) {
        for Sought { at, found, length } in self.sought {
            let Some(finding) = existing.get_mut(at) else { continue };
            let Some(found) = found else {
                // It may be where the search did not come.
                if self.is_partial && finding.record.is_serious() {
                    finding.anchor = AnchorState::ChangedBeside;
                }
                if let Some(length) = length {
                    finding.record.keep_within(length);
                }
                continue;
            };
            let record = &mut finding.record;
            if found.file != CONTEXT_FILE {
                // The name of a file is one line.
                let end_line = record.end_line.filter(|_| found.code != found.file);
                let length = end_line.map(|end| end.saturating_sub(record.line));
                record.end_line = length.map(|length| found.line.saturating_add(length));
                record.line = found.line;
            }
            record.file = found.file;
            finding.anchor = found.state;
            finding.code = found.code;
            finding.text = found.text;
        }
    }
}

/// The lines of this file in which the code of others stands that are of the finding's kind: equal code there is their problem.
fn taken_by_others(existing: &[ExistingFinding], at: usize, path: &str) -> Vec<u32> {
    let own = &existing[at].record;
    let others = existing.iter().enumerate().filter(|(other, finding)| {
        let record = &finding.record;
        *other != at && finding.anchor.stands() && record.file == path && record.category == own.category
    });
    others.map(|(_, finding)| finding.record.line).collect()
}

/// The finding's code in this file, in none of the lines that are `taken`.
fn find(finding: &ExistingFinding, path: &str, file: Option<&FileDiff>, lines: &Lines, taken: &[u32]) -> Option<Found> {
    let record = &finding.record;
    let anchor = record.anchor.as_ref()?;
    let length = record.end_line.map_or(1, |end| end.saturating_sub(record.line) + 1);
    let code = |line: u32| lines.excerpt(line, usize::try_from(length).unwrap_or(usize::MAX));
    let is_elsewhere = path != record.file;
    // What stood in another file before the change was not moved there by it.
    let is_older = |line: u32| {
        let was_there =
            |file: &FileDiff| file.kind == ChangeKind::Modified && file.unread.is_none() && !file.lines.is_added(line);
        is_elsewhere && file.is_some_and(was_there)
    };
    let whole = || {
        let place = anchor.find_beside(lines, record.line, record.end_line, taken);
        let (line, state) = match place.line {
            Some(line) => (line, place.state),
            None => (
                anchor.find_squeezed(lines, record.line, taken)?,
                AnchorState::ChangedBeside,
            ),
        };
        let code = code(line);
        let letters = code.chars().filter(|character| !character.is_whitespace());
        let tells = || anchor.tells_at(lines, line, letters.map(char::len_utf8).sum()) && !is_older(line);
        (!is_elsewhere || state == AnchorState::Unchanged || tells()).then_some((line, state))
    };
    let in_parts = || {
        if !record.is_serious() {
            return None;
        }
        // The same words beside another finding steer as before.
        let may_hold = |line: u32| !is_older(line) && (anchor.is_of_words() || !taken.contains(&line));
        let line = anchor.find_parts(lines, record.line, &may_hold)?;
        Some((line, AnchorState::ChangedBeside))
    };
    let (line, state) = whole().or_else(in_parts)?;
    Some(Found {
        file: path.to_owned(),
        line,
        state,
        code: code(line).lines().take(SHOWN_LINES).collect::<Vec<_>>().join("\n"),
        text: None,
    })
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
