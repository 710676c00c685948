//! Findings about lines that the change removes: they are there for as long as those lines are missing at head, whatever becomes of the
//! lines beside the gap, or of the file.

use std::{borrow::Cow, collections::HashMap};

use super::{
    Lines,
    anchors::{MIN_WHOLE, without_space},
    parts::hash_of,
};
use crate::{
    findings::removed_by_claim,
    review::{Anchor, FindingRecord, RemovedLine},
};

/// Maximum number of removed lines that are remembered.
const MAX_LINES: usize = 12;

impl Anchor {
    /// The same for a finding about these lines, which the change removes from a file: as it is at head, or, where it `is_deleted`, as it
    /// was. Equal lines that it has elsewhere do not stand for them.
    #[must_use]
    pub(crate) fn of_removed(self, code: &str, file: &Lines, is_deleted: bool) -> Self {
        let known = counts(file);
        let mut removed: Vec<RemovedLine> = Vec::new();
        for line in telling(code) {
            let hash = hash_of(&line);
            if let Some(twice) = removed.iter_mut().find(|known| known.hash == hash) {
                twice.times += u32::from(!is_deleted);
                continue;
            }
            let elsewhere = known.get(&hash).copied().unwrap_or_default();
            let times = if is_deleted { elsewhere.max(1) } else { elsewhere + 1 };
            removed.push(RemovedLine { hash, times });
        }
        removed.truncate(MAX_LINES);
        Self { removed, ..self }
    }
}

/// The removed lines that a record is about; none if it is about others. Where an older version wrote it, its claim has
/// the first one.
pub(super) fn removed_lines(record: &FindingRecord) -> Cow<'_, [RemovedLine]> {
    let Some(anchor) = record.anchor.as_ref().filter(|anchor| !anchor.is_of_words()) else {
        return Cow::Borrowed(&[]);
    };
    if !anchor.removed.is_empty() {
        return Cow::Borrowed(&anchor.removed);
    }
    let told = removed_by_claim(&record.claim).map(without_space);
    let line = told.filter(|line| !line.is_empty()).map(|line| RemovedLine {
        hash: hash_of(&line),
        times: 1,
    });
    Cow::Owned(line.into_iter().collect())
}

/// Returns whether a record is about lines that the change removes.
pub(super) fn is_about_removed(record: &FindingRecord) -> bool {
    !removed_lines(record).is_empty()
}

/// Returns whether each of these lines stands in a file again, as a whole line. In a comment it does not.
pub(super) fn stand_again(removed: &[RemovedLine], file: &Lines) -> bool {
    let known = counts(file);
    let stands = |line: &RemovedLine| known.get(&line.hash).is_some_and(|times| *times >= line.times);
    removed.iter().all(stands)
}

/// The lines of code by which it is known, without white space: a bracket or an `else` says nothing, except where there is nothing else.
fn telling(code: &str) -> Vec<String> {
    let mut lines: Vec<String> = code.lines().map(without_space).collect();
    lines.retain(|line| !line.is_empty());
    if lines.iter().any(|line| line.len() >= MIN_WHOLE) {
        lines.retain(|line| line.len() >= MIN_WHOLE);
    }
    lines
}

/// The number of times that a file has each of its lines.
fn counts(file: &Lines) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for line in file.exact.iter().map(|line| without_space(line)) {
        *counts.entry(hash_of(&line)).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incremental::test_support::existing;

    const GUARD: &str = "    if not req.user.is_admin:\n        raise Forbidden(req)";
    const CUT: &str = "def check(req):\n    return req\n";
    const WHOLE: &str =
        "def check(req):\n    if not req.user.is_admin:\n        raise Forbidden(req)\n    return req\n";

    fn stands(anchor: &Anchor, text: &str) -> bool {
        stand_again(&anchor.removed, &Lines::new(text))
    }

    #[test]
    fn removed_lines_stand_again_where_each_of_them_does() {
        let (cut, whole) = (Lines::new(CUT), Lines::new(WHOLE));
        let of = |lines: &Lines, is_deleted| {
            let anchor = Anchor::of(lines, 2, None).expect("a line");
            anchor.of_removed(GUARD, lines, is_deleted)
        };
        for anchor in [of(&cut, false), of(&whole, true)] {
            assert_eq!(anchor.removed.len(), 2);
            for text in [
                WHOLE.to_owned(),
                format!("import os\n\n{}", WHOLE.replace("    ", "\t")),
            ] {
                assert!(stands(&anchor, &text), "{text}");
            }
            for text in [
                "",
                "calc.py",
                CUT,
                &WHOLE.replace("raise Forbidden(req)", "pass"),
                &WHOLE.replace("    if", "    # if"),
                &WHOLE.replace("is_admin:", "is_admin and strict:"),
                &WHOLE.replace("        raise", "        log(req); raise"),
            ] {
                assert!(!stands(&anchor, text), "{text}");
            }
        }
    }

    #[test]
    fn equal_lines_elsewhere_do_not_stand_for_removed_ones() {
        let other = "def other(req):\n    check_admin(req)\n";
        let lines = Lines::new(other);
        let anchor = Anchor::of(&lines, 1, None).expect("a line");
        let anchor = anchor.of_removed("    check_admin(req)\n    }", &lines, false);
        assert!(!stands(&anchor, other));
        assert!(stands(
            &anchor,
            &format!("def one(req):\n    check_admin(req)\n{other}")
        ));
    }

    #[test]
    fn a_claim_tells_what_is_gone_where_an_older_version_wrote_it() {
        let mut record = existing("E1", "e").record;
        assert!(!is_about_removed(&record));
        record.claim = "Anyone gets in. (removed: `if not req.user.is_admin:`)".to_owned();
        let told = removed_lines(&record);
        assert!(stand_again(&told, &Lines::new(WHOLE)) && !stand_again(&told, &Lines::new(CUT)));
        record.anchor = None;
        assert!(!is_about_removed(&record), "nobody knows");
    }
}
