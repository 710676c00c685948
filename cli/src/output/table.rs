//! Titles and tables.

use std::fmt::Write;

use comfy_table::{ContentArrangement, Table, presets};
use conclave_shared::invisible::ends_line;

use super::paint::Paint;

/// Begins a section with this title.
pub(crate) fn section(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n{}", title.bold());
}

/// A table without lines.
pub(crate) fn table(width: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// Rows of such a table.
pub(crate) fn rows<const COLUMNS: usize>(rows: impl Iterator<Item = [String; COLUMNS]>, width: usize) -> String {
    let mut table = table(width);
    for row in rows {
        // A line break in a cell would begin a line of its own.
        table.add_row(row.map(|cell| cell.replace(ends_line, " ")));
    }
    format!("{}\n", table.trim_fmt())
}
