//! The list of changed files: `git diff --raw -z --no-abbrev`, field by field.
//!
//! Between NUL bytes no file name can be mistaken for syntax.

use std::fmt::Write;

use super::ChangeKind;

/// The longest path that is kept. What is longer fits into no file system; only its beginning is shown.
const MAX_PATH: usize = 4095;
/// The longest name of a file or a directory that file systems take, in bytes.
const MAX_NAME: usize = 255;

/// One record of the list.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) modes: (String, String),
    pub(super) objects: (String, String),
    pub(super) kind: ChangeKind,
    /// A file became a link, a link a submodule, and so on: one record, but two sections of the patch.
    pub(super) type_change: bool,
    pub(super) old_path: String,
    pub(super) path: String,
    /// Whether both paths stay in the repository and can be shown in full.
    pub(super) usable: bool,
}

/// Reads fields into records.
#[derive(Debug, Default)]
pub(super) struct RecordReader {
    field: Vec<u8>,
    /// The field is longer than anything valid; the rest of it is skipped.
    cut: bool,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    record: Record,
    paths_left: u8,
}

/// What the end of a field meant.
#[derive(Debug)]
pub(super) enum Field {
    /// More fields belong to this record.
    More,
    /// The record is complete.
    Record(Record),
    /// The list is complete; the patch follows.
    End,
    /// No record of git's.
    Malformed,
}

impl RecordReader {
    /// Takes bytes of the current field.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = (MAX_PATH + 1).saturating_sub(self.field.len());
        self.cut |= bytes.len() > room;
        self.field.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns whether nothing of a further record has come.
    pub(super) fn is_between_records(&self) -> bool {
        self.open.is_none() && self.field.is_empty()
    }

    /// The field has ended.
    pub(super) fn end_field(&mut self) -> Field {
        let field = std::mem::take(&mut self.field);
        let cut = std::mem::take(&mut self.cut);
        let Some(mut open) = self.open.take() else {
            if field.is_empty() {
                return Field::End;
            }
            self.open = head(&field);
            return if self.open.is_some() && !cut {
                Field::More
            } else {
                Field::Malformed
            };
        };
        let path = display(&field[..field.len().min(MAX_PATH)]);
        // A file whose name is not text cannot be opened by it, and nothing that is said of it can be checked.
        let is_text = open.paths_left == 2 || std::str::from_utf8(&field).is_ok();
        open.record.usable &= !cut && stays_inside(&field) && is_text;
        if open.paths_left == 2 {
            open.record.old_path = path;
            open.paths_left = 1;
            self.open = Some(open);
            return Field::More;
        }
        if open.record.old_path.is_empty() {
            open.record.old_path.clone_from(&path);
        }
        open.record.path = path;
        Field::Record(open.record)
    }
}

/// `:100644 100644 OBJECT OBJECT M`
fn head(field: &[u8]) -> Option<Open> {
    let text = std::str::from_utf8(field).ok()?;
    let mut words = text.strip_prefix(':')?.split(' ');
    let mut next = || words.next().filter(|word| !word.is_empty()).map(str::to_owned);
    let (modes, objects) = ((next()?, next()?), (next()?, next()?));
    let status = next()?;
    let kind = match status.chars().next()? {
        'A' => ChangeKind::Added,
        'D' => ChangeKind::Deleted,
        'R' => ChangeKind::Renamed,
        'C' => ChangeKind::Copied,
        'M' | 'T' => ChangeKind::Modified,
        _ => return None,
    };
    Some(Open {
        paths_left: if matches!(kind, ChangeKind::Renamed | ChangeKind::Copied) {
            2
        } else {
            1
        },
        record: Record {
            modes,
            objects,
            kind,
            type_change: status.starts_with('T'),
            old_path: String::new(),
            path: String::new(),
            usable: true,
        },
    })
}

/// Returns whether a path is one that a checkout can have: relative, below the repository's root, and no longer than file systems take.
fn stays_inside(path: &[u8]) -> bool {
    !path.is_empty()
        && path.len() <= MAX_PATH
        && path.split(|byte| *byte == b'/').all(|part| {
            !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git") && part.len() <= MAX_NAME
        })
}

/// A path as text. What is no UTF-8 is written as git writes it, so that two paths stay two.
fn display(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\{byte:03o}");
        }
    }
    text
}
