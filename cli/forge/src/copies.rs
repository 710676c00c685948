//! Copies, which no forge looks for: to it, a copy is a new file.

use conclave_engine::diff::{ChangeKind, DiffRow, FileDiff, RowKind};

/// The row of the diff that a line is, as a forge shows it.
pub fn forge_row(file: &FileDiff, line: u32) -> Option<DiffRow> {
    let row = file.row(line)?;
    Some(match file.kind {
        ChangeKind::Copied => DiffRow {
            kind: RowKind::Added,
            old: 0,
            new: line,
        },
        _ => row,
    })
}
