//! Quotes that differ from their file by what models add to code, or leave out.

use super::{MIN_PART, Place, undressed};
use crate::findings::fold::folded;

/// Marks with which a comment begins behind code.
const COMMENTS: [&str; 5] = ["#", "//", "--", "/*", "<!--"];
/// Number of places in a line at which an added comment may begin.
const MAX_COMMENTS: usize = 8;

/// Marks, besides asterisks, of a part of a quote that is left out or must not be written: a gap, or a masked secret.
const MASKS: [&str; 6] = ["...", "…", "[REDACTED]", "[redacted]", "<REDACTED>", "<redacted>"];
/// Number of letters and digits that a line with such a part needs beside it.
const MIN_BESIDE: usize = 3;

/// The one place where a quote stands if semicolons at the ends of lines, comments that only the quote has behind its code,
/// characters written as references (`&lt;`, `&nbsp;`), a part that is left out or masked, and the ends of lines make no difference; and
/// the quote that stands there. With several such places it is unknown which one is meant.
pub(in crate::findings) fn locate_adorned(content: &str, quote: &str) -> Option<(Place, String)> {
    let lines: Vec<String> = content.lines().map(plain).collect();
    let mut forms = std::iter::once(quote.to_owned()).chain(undressed(quote));
    forms.find_map(|form| {
        let written: Vec<Vec<String>> = form.trim().lines().map(readings).collect();
        let place = match only_place(&lines, &written) {
            Some(line) => Place {
                line,
                length: u32::try_from(written.len()).ok()?,
            },
            None => only_joined(&lines, &form)?,
        };
        Some((place, form))
    })
}

/// The one place where this code stands, whatever the ends of its lines are.
fn only_joined(lines: &[String], form: &str) -> Option<Place> {
    let tight = |text: &str| text.split_whitespace().collect::<String>();
    let sought: String = form.lines().map(|line| tight(&plain(line))).collect();
    let letters = sought.chars().filter(|character| character.is_alphanumeric()).count();
    if letters < MIN_BESIDE || sought.chars().count() < MIN_PART {
        return None;
    }
    let lines: Vec<String> = lines.iter().map(|line| tight(line)).collect();
    let length_from = |first: usize| {
        let mut rest = sought.as_str();
        for (at, line) in lines.iter().enumerate().skip(first) {
            rest = rest.strip_prefix(line.as_str())?;
            if rest.is_empty() {
                return Some(at - first + 1);
            }
        }
        None
    };
    let begins = (0..lines.len()).filter(|first| !lines[*first].is_empty());
    let mut found = begins.filter_map(|first| Some((first, length_from(first)?)));
    let (first, length) = found.next()?;
    found.next().is_none().then_some(Place {
        line: u32::try_from(first + 1).ok()?,
        length: u32::try_from(length).ok()?,
    })
}

/// Returns whether a quoted line is this one but for parts that are left out or masked.
fn is_masked(line: &str, quoted: &str) -> bool {
    let mut plain = quoted.to_owned();
    for mask in MASKS {
        plain = plain.replace(mask, "***");
    }
    let parts: Vec<&str> = plain.split("***").map(|part| part.trim_matches('*')).collect();
    let (Some((first, rest)), Some(last)) = (parts.split_first(), parts.last()) else {
        return false;
    };
    let beside = parts.iter().flat_map(|part| part.chars());
    if rest.is_empty() || beside.filter(|character| character.is_alphanumeric()).count() < MIN_BESIDE {
        return false;
    }
    let inside = line.strip_prefix(*first).and_then(|line| line.strip_suffix(*last));
    let Some(mut inside) = inside.filter(|inside| !inside.is_empty()) else {
        return false;
    };
    rest[..rest.len() - 1].iter().all(|part| match inside.find(*part) {
        Some(at) => {
            inside = &inside[at + part.len()..];
            true
        }
        None => false,
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
        window.iter().zip(written).all(|(line, readings)| {
            readings
                .iter()
                .any(|reading| reading == line || is_masked(line, reading))
        })
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
    fn a_part_that_is_left_out_or_masked_stands_for_what_is_there() {
        let file = "KEY = \"AKIAIOSFODNN7EXAMPLE\"\nNAME = \"shop\"\nrows = db.all(\"select * from t where id=\" + id)\nfoo(a,\n    b)\nx = [1]\nx = [2]\n";
        for (quote, place) in [
            ("KEY = \"AKIA****************\"", Some((1, 1))),
            ("KEY = \"[REDACTED]\"", Some((1, 1))),
            ("KEY = \"<redacted>\"\nNAME = \"shop\"", Some((1, 2))),
            ("KEY = \"AKIA…\"", Some((1, 1))),
            ("rows = db.all(\"select ... where id=\" + id)", Some((3, 1))),
            ("rows = db.all(\"select ...\" + id)", Some((3, 1))),
            ("foo(a, b)", Some((4, 2))),
            ("foo(a, b)\nx = [1]", Some((4, 3))),
            (
                "rows = db.all(\n    \"select * from t where id=\" + id\n)",
                Some((3, 1)),
            ),
            ("TOKEN = \"****\"", None),
            ("x = [***]", None),
            ("... = ...", None),
            ("rows = db.all(\"insert ...\" + id)", None),
        ] {
            let found = locate_adorned(file, quote).map(|(place, _)| (place.line, place.length));
            assert_eq!(found, place, "{quote}");
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
