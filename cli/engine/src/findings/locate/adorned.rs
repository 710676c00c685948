//! Quotes that differ from their file by what models add to code, or leave out.

use super::{MIN_PART, Place, undressed};
use crate::findings::fold::folded;

/// Marks with which a comment begins behind code.
const COMMENTS: [&str; 5] = ["#", "//", "--", "/*", "<!--"];
/// Number of places in a line at which an added comment may begin.
const MAX_COMMENTS: usize = 8;

/// The one place where a quote stands if semicolons at the ends of lines, comments that only the quote has behind its code, and
/// characters written as references (`&lt;`, `&nbsp;`) make no difference; and the quote that stands there. Where there are several such
/// places, nobody knows which one is meant.
pub(in crate::findings) fn locate_adorned(content: &str, quote: &str) -> Option<(Place, String)> {
    let lines: Vec<String> = content.lines().map(plain).collect();
    let mut forms = std::iter::once(quote.to_owned()).chain(undressed(quote));
    forms.find_map(|form| {
        let written: Vec<Vec<String>> = form.trim().lines().map(readings).collect();
        let line = only_place(&lines, &written)?;
        let length = u32::try_from(written.len()).ok()?;
        Some((Place { line, length }, form))
    })
}

/// The number of the line where these lines stand, if they do so in one place only.
fn only_place(lines: &[String], written: &[Vec<String>]) -> Option<u32> {
    let says_anything = written
        .iter()
        .flatten()
        .any(|line| line.contains(char::is_alphanumeric));
    if written.is_empty() || written.len() > lines.len() || !says_anything {
        return None;
    }
    let is_whole = |window: &[String]| {
        window
            .iter()
            .zip(written)
            .all(|(line, readings)| readings.contains(line))
    };
    // One quoted line may be a part of a line, if it is long enough to mean something.
    let is_part = |window: &[String]| {
        let is_in = |reading: &String| reading.chars().count() >= MIN_PART && window[0].contains(reading);
        written.len() == 1 && written[0].iter().any(is_in)
    };
    let places = |matches: &dyn Fn(&[String]) -> bool| -> Vec<usize> {
        let windows = lines.windows(written.len()).enumerate();
        let places = windows.filter(|(_, window)| matches(window)).map(|(at, _)| at);
        places.take(2).collect()
    };
    let mut found = places(&is_whole);
    if found.is_empty() {
        found = places(&is_part);
    }
    match found[..] {
        [at] => u32::try_from(at + 1).ok(),
        _ => None,
    }
}

/// The forms of a quoted line that may stand in the file: as it is, and without a comment behind its code.
fn readings(line: &str) -> Vec<String> {
    let marks = COMMENTS.iter().flat_map(|mark| line.match_indices(mark));
    let begins = |at: &usize| line[..*at].ends_with(char::is_whitespace) && line[..*at].contains(char::is_alphanumeric);
    let ends = marks.map(|(at, _)| at).filter(begins).take(MAX_COMMENTS);
    std::iter::once(line.len())
        .chain(ends)
        .map(|end| plain(&line[..end]))
        .collect()
}

/// A line in the form in which it is compared here.
fn plain(line: &str) -> String {
    let folded = folded(&htmlize::unescape(line));
    folded.trim_end_matches([';', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "let a = load(key);\nlet b = a < c\nreturn b\nx = 1  # one\n<td>Price&nbsp;list</td>\nreturn a\nreturn a\n};\n";

    #[test]
    fn what_models_add_or_leave_out_makes_no_difference_in_one_place() {
        for (quote, line, length) in [
            ("let b = a < c;", 2, 1),
            ("let a = load(key)\nlet b = a < c;", 1, 2),
            ("let b = a < c  // <- here", 2, 1),
            ("let a = load(key);  # <- unchecked\nlet b = a < c", 1, 2),
            ("x = 1  # one  # <- here", 4, 1),
            ("let b = a &lt; c;", 2, 1),
            ("let&nbsp;b = a &#60; c", 2, 1),
            ("<td>Price list</td>", 5, 1),
            ("2 | let b = a < c; // here", 2, 1),
            ("= load(key)  # here", 1, 1),
            ("\nreturn b;\n", 3, 1),
        ] {
            let found = locate_adorned(FILE, quote).map(|(place, _)| (place.line, place.length));
            assert_eq!(found, Some((line, length)), "{quote}");
        }
    }

    #[test]
    fn in_several_places_or_none_it_stands_nowhere() {
        for quote in [
            "return a;",
            "return a  # here",
            "let b = a > c;",
            "let b = a < d  # here",
            "let b = a < c // here\nreturn a;",
            "}",
            "# only a comment",
            "",
            ";",
        ] {
            assert_eq!(locate_adorned(FILE, quote), None, "{quote}");
        }
    }
}
