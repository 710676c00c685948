//! What GitLab knows and parsers do not: `>>>` around several quoted lines, and front matter.

use pulldown_cmark::{Event, Parser, Tag};

use super::options;

/// A comment without them.
pub(super) struct Unquoted {
    pub(super) text: String,
    /// True if it is not sure what belongs to a quote. Then all that may belong to one is gone.
    pub(super) doubtful: bool,
}

/// How a line opens or closes a quote: its indentation and the number of its marks.
type Fence = (usize, usize);

/// Takes the quotes out. A quote counts as closed only by a line that is just like the one that opened it; after anything
/// else, such as a mark without a partner, or one that may stand in code, the rest of the comment is quoted.
pub(super) fn without(comment: &str) -> Unquoted {
    let comment = without_front_matter(comment);
    let mut kept = String::new();
    let mut open: Option<Fence> = None;
    let mut quoted = String::new();
    for line in comment.split_inclusive('\n') {
        match (fence(line), open) {
            (None, None) => kept.push_str(line),
            (None, Some(_)) => quoted.push_str(line),
            (Some(found), None) if opens_a_quote(&kept, line) => open = Some(found),
            // A mark in code that was quoted may be no mark.
            (Some(found), Some(opened)) if found == opened && opens_a_quote(&quoted, line) => {
                open = None;
                quoted.clear();
                // What follows is a block of its own.
                kept.push('\n');
            }
            (Some(_), _) => {
                return Unquoted {
                    text: kept,
                    doubtful: true,
                };
            }
        }
    }
    Unquoted {
        text: kept,
        doubtful: open.is_some(),
    }
}

/// The line as one that opens or closes a quote: at most three spaces, three or more `>`, nothing else.
fn fence(line: &str) -> Option<Fence> {
    let text = line.trim_end();
    let marks = text.trim_start_matches(' ');
    let indentation = text.len() - marks.len();
    (indentation <= 3 && marks.len() >= 3 && marks.bytes().all(|byte| byte == b'>'))
        .then_some((indentation, marks.len()))
}

/// Returns whether the line begins a quote behind this text: in a block of code, or in raw HTML, it does not.
fn opens_a_quote(before: &str, line: &str) -> bool {
    let text = format!("{before}{line}");
    let starts = |(event, range): (Event<'_>, std::ops::Range<usize>)| {
        matches!(event, Event::Start(Tag::BlockQuote(_))) && range.start >= before.len()
    };
    Parser::new_ext(&text, options()).into_offset_iter().any(starts)
}

/// The comment without a block of settings at its very beginning, which GitLab shows as code.
fn without_front_matter(comment: &str) -> &str {
    let mut lines = comment.split_inclusive('\n');
    let Some(first) = lines.next() else { return comment };
    let mark = first.trim_end();
    if !["---", "+++", ";;;"].contains(&mark) {
        return comment;
    }
    let mut length = first.len();
    for line in lines {
        length += line.len();
        if line.trim_end() == mark {
            return &comment[length..];
        }
    }
    comment
}
