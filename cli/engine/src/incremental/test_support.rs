//! Earlier findings for tests.

use conclave_shared::severity::Severity;

use crate::{
    incremental::Lines,
    judge::test_support::finding,
    review::{Anchor, AnchorState, AuthorRole, Before, ExistingFinding, FindingRecord, JudgedFinding, Reply},
};

pub(crate) const FILE: &str = "src/a.py";

/// A file of ten lines, each its letter.
pub(crate) const TEXT: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";

/// A judged finding whose evidence is a letter of [`TEXT`].
pub(crate) fn fresh(id: &str, severity: Severity, letter: &str) -> JudgedFinding {
    let line = TEXT.lines().position(|line| line == letter).expect("a letter");
    let line = u32::try_from(line + 1).expect("few lines");
    let mut found = finding(id, severity, "sql-injection", FILE, line);
    found.evidence = letter.to_owned();
    found.fingerprint = conclave_shared::finding::fingerprint(FILE, "sql-injection", letter);
    let mut entry = JudgedFinding::kept(found);
    entry.anchor = Anchor::of(&Lines::new(TEXT), line, None);
    entry
}

/// An open thread of a warning on a letter of [`TEXT`], whose code has changed.
pub(crate) fn existing(id: &str, letter: &str) -> ExistingFinding {
    let entry = fresh(id, Severity::Warning, letter);
    ExistingFinding {
        id: id.to_owned(),
        thread: Some(format!("thread {letter}")),
        resolved_by: "somebody".into(),
        body: "What we wrote.".into(),
        anchor: AnchorState::Changed,
        stood: true,
        author_may_settle: true,
        ..ExistingFinding::of_record(FindingRecord::new(&entry, "1111111111"), Before::Posted)
    }
}

/// An answer.
pub(crate) fn said(role: AuthorRole, body: &str) -> Reply {
    Reply {
        author: "somebody".into(),
        body: body.into(),
        role,
        edited: false,
    }
}
