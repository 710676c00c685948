//! Finding quoted code in a file.

mod adorned;
mod marks;

use std::{collections::BTreeSet, ops::RangeInclusive};

use self::marks::unmarked;
pub(super) use self::{
    adorned::locate_adorned,
    marks::{with_or_without_heading, without_heading},
};
use super::fold::{folded, single_blanks, split_lines};
use crate::review::LINE_GOES_ON;

/// A shorter part of a line is no quote: `}` stands everywhere.
const MIN_PART: usize = 6;
/// Lines shown around the one that is most like a quote.
const CONTEXT_LINES: usize = 2;
/// Lines of a quote that are shown at most.
const MAX_SHOWN: usize = 6;

/// Where a quote stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Its first line, from 1.
    pub(super) line: u32,
    /// How many lines it has; at least one.
    pub(super) length: u32,
}

impl Place {
    /// Its lines.
    pub(super) fn lines(self) -> RangeInclusive<u32> {
        self.line..=self.line + self.length.max(1) - 1
    }

    /// The lines as the file has them.
    pub(super) fn code(self, content: &str) -> String {
        let (skip, take) = (self.line.max(1) - 1, self.length.max(1));
        let (skip, take) = (usize::try_from(skip), usize::try_from(take));
        let lines = content
            .lines()
            .skip(skip.unwrap_or(usize::MAX))
            .take(take.unwrap_or(usize::MAX));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Where the quoted lines stand, and the quote as it stands there. Of several places one with a changed line counts more, then the
/// one nearest to `near`.
///
/// Lines are compared without white space at their ends and with runs of it as one. What tools put in front of lines is
/// allowed: the `+` of a patch, the number of a reading tool. A quote that leaves out its middle (`...`) stands where
/// its beginning does, if its end follows. What is not found so is compared once more with invisible characters,
/// look-alikes and odd line separators folded on both sides, and then without what models put around code.
pub(super) fn locate(content: &str, quote: &str, near: u32, changed: impl Fn(u32) -> bool) -> Option<(Place, String)> {
    let standing = |quote: String| locate_as_written(content, &quote, near, &changed).map(|place| (place, quote));
    standing(quote.to_owned())
        .or_else(|| undressed(quote).into_iter().find_map(standing))
        .or_else(|| unmarked(quote).into_iter().find_map(standing))
}

fn locate_as_written(content: &str, quote: &str, near: u32, changed: &dyn Fn(u32) -> bool) -> Option<Place> {
    let exact = Search {
        lines: numbered(content, single_blanks),
        near,
        changed,
    };
    let written = quote.lines().collect::<Vec<_>>();
    if let Some(place) = exact.find_as_written(&written, single_blanks) {
        return Some(place);
    }
    if content.is_ascii() && quote.is_ascii() && !content.contains(['\r', '\u{b}', '\u{c}']) {
        return None;
    }
    let by_git = Search {
        lines: numbered(content, look_alike),
        ..exact
    };
    if let Some(place) = by_git.find_as_written(&written, look_alike) {
        return Some(place);
    }
    let by_separator = Search {
        lines: split_lines(content)
            .map(|(number, line)| (number, look_alike(line)))
            .collect(),
        ..by_git
    };
    let written: Vec<&str> = split_lines(quote).map(|(_, line)| line).collect();
    by_separator.find_as_written(&written, look_alike)
}

/// A line folded, with a long dash as the hyphen that models write for it.
fn look_alike(line: &str) -> String {
    // The letter as which the tables have every long dash.
    folded(line).replace('\u{30fc}', "-")
}

fn numbered(content: &str, fold: fn(&str) -> String) -> Vec<(u32, String)> {
    let lines = (1..).zip(content.lines());
    lines.map(|(number, line)| (number, fold(line))).collect()
}

/// The lines of the file that are most like this quote, with their numbers; those around `near` if none is.
pub(super) fn nearest(content: &str, quote: &str, near: u32) -> Vec<(u32, String)> {
    let words = |text: &str| -> BTreeSet<String> {
        let text = folded(text).to_lowercase();
        let words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let first = quote.lines().find(|line| !words(line).is_empty()).unwrap_or_default();
    let wanted = words(first);
    let lines: Vec<(u32, &str)> = (1..).zip(content.lines()).collect();
    let best = lines.iter().max_by_key(|(number, line)| {
        let shared = words(line).intersection(&wanted).count();
        (shared, std::cmp::Reverse(number.abs_diff(near)))
    });
    let Some(best) = best.and_then(|(number, _)| usize::try_from(number - 1).ok()) else {
        return Vec::new();
    };
    let last = best + quote.lines().count().clamp(1, MAX_SHOWN) + CONTEXT_LINES;
    let shown = lines.iter().take(last).skip(best.saturating_sub(CONTEXT_LINES));
    shown.map(|(number, line)| (*number, (*line).to_owned())).collect()
}

/// The same for a quote that makes a verdict milder: it has to stand in one piece, because what it left out could be
/// anything, and to the character, because a look-alike is another name.
pub(super) fn locate_whole(content: &str, quote: &str, near: u32, changed: impl Fn(u32) -> bool) -> Option<Place> {
    let search = Search {
        lines: numbered(content, single_blanks),
        near,
        changed: &changed,
    };
    let written = quote.lines().collect::<Vec<_>>();
    search
        .find_in_one_piece(&written, single_blanks)
        .map(|span| search.place(span))
}

struct Search<'a> {
    /// Each line with the number that git gives it; a line can be in several parts.
    lines: Vec<(u32, String)>,
    near: u32,
    changed: &'a dyn Fn(u32) -> bool,
}

/// Whether these lines are those that are looked for.
type Matches<'a> = &'a dyn Fn(&[(u32, String)]) -> bool;

/// Lines that follow each other in a [`Search`].
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    count: usize,
}

impl Search<'_> {
    fn find_as_written(&self, quote: &[&str], fold: fn(&str) -> String) -> Option<Place> {
        let written = || quote.iter().map(|line| fold(line)).collect::<Vec<_>>();
        let found = self
            .find_in_one_piece(quote, fold)
            .or_else(|| self.find_around_gap(&written()));
        found.map(|span| self.place(span))
    }

    fn find_in_one_piece(&self, quote: &[&str], fold: fn(&str) -> String) -> Option<Span> {
        let with = |strip: fn(&str) -> &str| quote.iter().map(|line| fold(strip(line))).collect::<Vec<_>>();
        self.find(&with(|line| line))
            .or_else(|| self.find(&with(without_patch_mark)))
            .or_else(|| self.find(&with(without_number)))
    }

    fn place(&self, span: Span) -> Place {
        let line = self.lines[span.first].0;
        let last = self.lines[span.first + span.count - 1].0;
        Place {
            line,
            length: last - line + 1,
        }
    }

    fn find(&self, quote: &[String]) -> Option<Span> {
        let quote = without_blank_ends(quote)?;
        let whole = |window: &[(u32, String)]| window.iter().map(|(_, line)| line).eq(quote);
        // One quoted line may be a part of a line, if it is long enough to mean something.
        let part = |window: &[(u32, String)]| {
            quote.len() == 1 && quote[0].chars().count() >= MIN_PART && window[0].1.contains(&quote[0])
        };
        self.best(quote.len(), &whole).or_else(|| self.best(quote.len(), &part))
    }

    fn best(&self, count: usize, matches: Matches<'_>) -> Option<Span> {
        if count > self.lines.len() {
            return None;
        }
        let windows = self.lines.windows(count).enumerate();
        windows
            .filter(|(_, window)| matches(window))
            .map(|(first, _)| Span { first, count })
            .min_by_key(|span| {
                let place = self.place(*span);
                (!place.lines().any(self.changed), place.line.abs_diff(self.near))
            })
    }

    /// A quote of which the middle is left out.
    fn find_around_gap(&self, quote: &[String]) -> Option<Span> {
        let gap = quote.iter().position(|line| is_gap(line))?;
        let span = self.find(&quote[..gap])?;
        let end = without_blank_ends(quote[gap + 1..].split(|line| is_gap(line)).next_back()?)?;
        let behind = self.lines.get(span.first + span.count..)?;
        let follows = behind
            .windows(end.len())
            .any(|window| window.iter().map(|(_, line)| line).eq(end));
        follows.then_some(span)
    }
}

fn without_blank_ends(quote: &[String]) -> Option<&[String]> {
    let start = quote.iter().position(|line| !line.is_empty())?;
    let end = quote.iter().rposition(|line| !line.is_empty())? + 1;
    Some(&quote[start..end])
}

fn is_gap(line: &str) -> bool {
    let text = line.trim_start_matches(['/', '#', '*', '-', '<', '!', ' ']);
    text.starts_with("...") || text.starts_with('…') || is_only_gap(line)
}

fn without_patch_mark(line: &str) -> &str {
    line.trim_start().strip_prefix(['+', '-']).unwrap_or(line)
}

fn without_number(line: &str) -> &str {
    let text = line.trim_start();
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() == text.len() {
        return line;
    }
    rest.strip_prefix([':', '|', '\t']).unwrap_or(line)
}

/// The forms of a quote without what models put around code: its place in front of each line, Markdown or quotation marks around a
/// line or all of it, a gap (`...`) at an end; and without our own mark where a long line was shown in pieces.
fn undressed(quote: &str) -> Vec<String> {
    let strips: [fn(&str) -> &str; 2] = [without_place, without_dress];
    let mut forms: Vec<String> = Vec::new();
    let joined = in_one_line(quote);
    for text in [joined.as_str(), unwrapped(&joined)] {
        for strip in strips {
            let lines: Vec<&str> = text.lines().map(strip).collect();
            let is_code = |line: &&str| !line.trim().is_empty() && !is_only_gap(line);
            let (Some(first), Some(last)) = (lines.iter().position(is_code), lines.iter().rposition(is_code)) else {
                continue;
            };
            let form = lines.get(first..=last).unwrap_or_default().join("\n");
            // Brackets alone stand everywhere.
            if form.contains(char::is_alphanumeric) && form != quote && !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// The quote with the pieces of a line that was shown in several as one line again.
fn in_one_line(quote: &str) -> String {
    let mut joined = String::with_capacity(quote.len());
    for line in quote.split_inclusive('\n') {
        let piece = line.trim_start().strip_prefix(LINE_GOES_ON);
        if piece.is_some() {
            joined.truncate(joined.trim_end_matches(['\r', '\n']).len());
        }
        joined.push_str(piece.unwrap_or(line));
    }
    joined
}

/// A line without its place, and without marks around what is left or around both.
fn without_dress(line: &str) -> &str {
    let code = without_place(line);
    if code.len() < line.len() {
        return unwrapped(code);
    }
    without_place(unwrapped(line))
}

/// The text without one pair of backticks or quotation marks around it.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    let inside = ["```", "``", "`", "\"", "'"]
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    inside.unwrap_or(text)
}

/// A line without the place that people and tools write in front of it: `61 | `, `> 61: `, `src/a.py:61: `.
fn without_place(line: &str) -> &str {
    let text = line.trim_start();
    let pointed = text.strip_prefix("-->").or_else(|| text.strip_prefix('>'));
    let text = pointed.unwrap_or(text).trim_start();
    behind_place(text).or(pointed).unwrap_or(line)
}

fn behind_place(text: &str) -> Option<&str> {
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '/' | '-' | '+' | '@');
    let is_path = |path: &str| path.contains(['.', '/']) && path.chars().all(is_part);
    let (place, close) = text.strip_prefix('`').map_or((text, ""), |place| (place, "`"));
    let number = match place.split_once(':') {
        Some((path, number)) if is_path(path) => number,
        _ => place.strip_prefix('L').unwrap_or(place),
    };
    let behind = number.trim_start_matches(|character: char| character.is_ascii_digit() || character == '-');
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    behind.strip_prefix(close)?.trim_start().strip_prefix(['|', ':', '→'])
}

/// Returns whether a line says only that lines are left out.
fn is_only_gap(line: &str) -> bool {
    let is_mark = |character: char| matches!(character, '/' | '#' | '*' | '-' | '<' | '!' | '>' | '[' | ']' | ' ');
    matches!(line.trim_matches(is_mark), "..." | "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn one() {\n    let value = load(key);\n    use_it(value);\n}\n\nfn two() {\n    let value = load(key);\n    done(value)\n}\n";

    fn line_of(quote: &str, near: u32, changed: &[u32]) -> Option<u32> {
        locate(FILE, quote, near, |line| changed.contains(&line)).map(|(place, _)| place.line)
    }

    #[test]
    fn a_changed_line_counts_more_than_a_near_one() {
        assert_eq!(line_of("let value = load(key);", 3, &[]), Some(2), "the nearest");
        assert_eq!(line_of("let value = load(key);", 3, &[7]), Some(7));
        assert_eq!(line_of("let value = load(key);", 3, &[2, 7]), Some(2));
    }

    #[test]
    fn what_tools_put_in_front_of_lines_is_no_part_of_a_quote() {
        for quote in [
            "+    let value = load(key);\n+    done(value)",
            "7:     let value = load(key);\n8:     done(value)",
            "7|let value = load(key);\n8|done(value)",
            "\n    let value  =  load(key);\r\n\tdone(value)\n\n",
        ] {
            assert_eq!(line_of(quote, 1, &[]), Some(7), "{quote:?}");
        }
    }

    #[test]
    fn a_middle_that_is_left_out_is_allowed_if_the_end_follows() {
        assert_eq!(line_of("fn two() {\n    ...\n    done(value)", 1, &[]), Some(6));
        assert_eq!(line_of("fn one() {\n    // ...\n}", 9, &[]), Some(1));
        assert_eq!(
            line_of("fn two() {\n    ...\n    use_it(value);", 1, &[]),
            None,
            "that is in the other one"
        );
        assert_eq!(line_of("...", 1, &[]), None);
    }

    #[test]
    fn what_is_put_around_code_is_no_part_of_a_quote() {
        let both = "    let value = load(key);\n    done(value)";
        for (quote, form) in [
            ("`done(value)`", "done(value)"),
            ("``done(value)``", "done(value)"),
            ("```done(value)```", "done(value)"),
            ("\"done(value)\"", "done(value)"),
            ("`8: done(value)`", " done(value)"),
            ("src/a.rs:8: done(value)", " done(value)"),
            ("`src/a.rs:8`: `done(value)`", "done(value)"),
            ("src/a.rs:7-8:done(value)", "done(value)"),
            ("...\n    done(value)", "    done(value)"),
            ("// …\n    done(value)\n...", "    done(value)"),
            ("`    let value = load(key);\n    done(value)`", both),
            (
                "`let value = load(key);`\n`done(value)`",
                "let value = load(key);\ndone(value)",
            ),
            (
                "7 |     let value = load(key);\n8 |     done(value)",
                "     let value = load(key);\n     done(value)",
            ),
            (
                "  7 |     let value = load(key);\n> 8 |     done(value)",
                "     let value = load(key);\n     done(value)",
            ),
            (
                "--> 7 |     let value = load(key);\n    8 |     done(value)",
                "     let value = load(key);\n     done(value)",
            ),
            ("7→    let value = load(key);\n8→    done(value)", both),
            ("\\ the line above goes on: done(value)", "done(value)"),
            (
                "    do\n\\ the line above goes on: ne(val\n\\ the line above goes on: ue)",
                "    done(value)",
            ),
            (
                "+    let value = load(\n\\ the line above goes on: key);\n+    done(value)",
                "+    let value = load(key);\n+    done(value)",
            ),
        ] {
            let (place, stands) = locate(FILE, quote, 9, |_| false).unwrap_or_else(|| panic!("{quote:?}"));
            assert_eq!((*place.lines().end(), stands.as_str()), (8, form), "{quote:?}");
        }
        let short = locate("i = 1\ni += 2\n", "`i += 2`", 1, |_| false);
        assert_eq!(short.map(|(place, _)| place.line), Some(2), "a whole line may be short");
        // What stands as it is written keeps its marks.
        let file = "[\n    \"alpha beta\",\n    \"alpha beta\"\n]\nclass One:\n    ...\n";
        for (quote, line) in [
            ("\"alpha beta\"", 3),
            ("3 | \"alpha beta\"\n4 | ]", 3),
            ("class One:\n    ...", 5),
        ] {
            let found = locate(file, quote, 3, |_| false);
            assert_eq!(found.map(|(place, _)| place.line), Some(line), "{quote:?}");
        }
    }

    #[test]
    fn without_what_is_around_it_a_quote_has_to_stand_all_the_same() {
        for quote in [
            "`done(values)`",
            "\"let value = store(key);\"",
            "src/a.rs:8: done(values)",
            "8 | done(values)",
            "`}`",
            "...\n}",
            "`...`",
            "``",
            "`",
            "> ",
            "`key`",
            "...\n    done(value)\n    gone(value)",
        ] {
            assert_eq!(line_of(quote, 1, &[1, 2, 3]), None, "{quote:?}");
        }
        let strict = |quote: &str| locate_whole(FILE, quote, 8, |_| false).map(|place| place.line);
        assert_eq!(strict("done(value)"), Some(8));
        assert_eq!(
            strict("`done(value)`"),
            None,
            "what makes a verdict milder is quoted to the character"
        );
    }

    #[test]
    fn what_does_not_stand_is_not_found() {
        for quote in [
            "",
            "\n \n",
            "let value = store(key);",
            "}\n}",
            "key",
            "load(key);\nload(key);",
        ] {
            assert_eq!(line_of(quote, 1, &[1, 2, 3]), None, "{quote:?}");
        }
    }

    #[test]
    fn a_character_that_nobody_sees_makes_no_quote_untrue() {
        let file =
            "one\nif is_\u{200b}admin(\u{202e}user): return \u{430}\u{440}i\nfirst\u{2028}grant(user)\u{85}last\nend\n";
        for (quote, line, length) in [
            ("if is_admin(user): return api", 2, 1),
            ("first\ngrant(user)\nlast", 3, 1),
            ("first grant(user) last", 3, 1),
            ("grant(user)", 3, 1),
            ("if is_admin(user): return api\nfirst\ngrant(user)", 2, 2),
            ("last\nend", 3, 2),
            ("e\u{ad}nd\u{feff}\nnot there", 0, 0),
        ] {
            let place = locate(file, quote, 1, |_| false);
            assert_eq!(
                place.map(|(place, _)| (place.line, place.length)),
                (line > 0).then_some((line, length)),
                "{quote:?}"
            );
        }
    }

    #[test]
    fn the_nearest_lines_are_those_that_share_words() {
        let lines = nearest(FILE, "let value = fetch(key)", 9);
        assert!(
            lines.contains(&(7, "    let value = load(key);".to_owned())),
            "{lines:?}"
        );
        assert_eq!(nearest("", "x", 1), []);
    }

    #[test]
    fn the_code_is_that_of_the_file() {
        let (place, _) = locate(FILE, "load(key)", 1, |_| false).expect("it stands");
        assert_eq!(place.code(FILE), "    let value = load(key);");
        assert_eq!(place.lines(), 2..=2);
    }
}
