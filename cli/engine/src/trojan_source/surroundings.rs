//! Where a place of a line stands: in code, in a string, or in a comment.

use conclave_shared::comment_marks::CommentMarks;

/// What surrounds a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Surroundings {
    Code,
    String,
    /// A comment that goes to the end of the line.
    Comment,
}

/// What surrounds this place of a line.
pub(super) fn surroundings(line: &[char], at: usize, marks: &CommentMarks) -> Surroundings {
    let mut quote = None;
    for index in 0..at {
        let character = line[index];
        match quote {
            Some(open) if character == open => quote = None,
            None if matches!(character, '"' | '\'' | '`') => quote = Some(character),
            None if begins_comment(&line[index..], marks) => return Surroundings::Comment,
            _ => {}
        }
    }
    if quote.is_some() {
        Surroundings::String
    } else {
        Surroundings::Code
    }
}

/// The extensions of files in which text stands between tags.
const PAGES: [&str; 7] = [".html", ".htm", ".xhtml", ".jsx", ".tsx", ".vue", ".svelte"];

/// Returns whether this place stands in the text of a page: behind a tag, and before another one.
pub(super) fn is_text_of_page(line: &[char], at: usize, path: &str) -> bool {
    let begins_tag = |open: usize| {
        let next = line.get(open + 1).copied();
        next.is_some_and(|next| next.is_ascii_alphabetic() || next == '/')
    };
    let last = |mark: char| line[..at].iter().rposition(|character| *character == mark);
    let is_behind = || {
        last('<')
            .zip(last('>'))
            .is_some_and(|(open, close)| open < close && begins_tag(open))
    };
    let next = || line[at..].iter().position(|character| "<>{}".contains(*character));
    let is_before = || next().is_some_and(|next| line[at + next] == '<' && begins_tag(at + next));
    PAGES.iter().any(|page| path.ends_with(page)) && is_behind() && is_before()
}

fn begins_comment(rest: &[char], marks: &CommentMarks) -> bool {
    let begins = |mark: &&str| mark.chars().eq(rest.iter().copied().take(mark.len()));
    marks.line.iter().any(begins)
}
