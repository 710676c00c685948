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

fn begins_comment(rest: &[char], marks: &CommentMarks) -> bool {
    let begins = |mark: &&str| mark.chars().eq(rest.iter().copied().take(mark.len()));
    marks.line.iter().any(begins)
}
