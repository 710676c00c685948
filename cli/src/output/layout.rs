//! The width that text is set to, and how it is cleaned, wrapped and cut for it.

use textwrap::core::display_width;

use crate::output::{
    door::{self, Keep},
    links::Links,
};

/// Maximum width of text, in columns.
const MAX_COLUMNS: usize = 100;
/// Minimum width of text, in columns.
const MIN_COLUMNS: usize = 40;

/// What text is set on.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// How wide.
    pub(crate) width: usize,
    /// The width of lines of code; what is longer is cut.
    pub(crate) code_width: usize,
    /// How places are opened.
    pub(crate) links: Links,
}

impl Page {
    /// The terminal at standard output, or what stands in for one.
    pub(crate) fn terminal(links: Links) -> Self {
        Self {
            width: columns(),
            code_width: columns(),
            links,
        }
    }

    /// A page of this width, without links.
    #[cfg(test)]
    pub(crate) fn plain(width: usize) -> Self {
        let width = width.clamp(MIN_COLUMNS, MAX_COLUMNS);
        Self {
            width,
            code_width: width,
            links: Links::none(),
        }
    }

    /// A page for a program: prose in lines, code as it is.
    pub(crate) fn for_program() -> Self {
        Self {
            width: MAX_COLUMNS,
            code_width: usize::MAX,
            links: Links::none(),
        }
    }
}

/// The width that text is set to.
pub(crate) fn columns() -> usize {
    textwrap::termwidth().clamp(MIN_COLUMNS, MAX_COLUMNS)
}

/// A value in a line of ours: without anything that a terminal acts on, and without line breaks.
pub(crate) fn clean(text: &str) -> String {
    door::one_line(text)
}

/// Text that has lines of its own, without anything that a terminal acts on. What shows it indents every line.
pub(crate) fn prose(text: &str) -> String {
    door::clean(text, Keep::Text)
}

/// Text that begins behind an indentation of this width; its further lines begin there too.
pub(crate) fn hang(text: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(columns())
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    textwrap::fill(text, &options).trim_start().to_owned()
}

/// A space at which [`wrap`] breaks no line.
const NO_BREAK: &str = "\u{a0}";

/// The text as a piece that [`wrap`] leaves whole: a number with its unit.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(' ', NO_BREAK)
}

/// The text in lines of this width; every space is an ordinary one then.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(indent);
    text.lines()
        .map(|line| textwrap::fill(line, &options))
        .collect::<Vec<_>>()
        .join("\n")
        .replace(NO_BREAK, " ")
}

/// As much of a line as fits, and a sign where something is missing. Some characters take two columns.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        let mut buffer = [0; 4];
        used += display_width(character.encode_utf8(&mut buffer));
        if used > width {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    kept
}
