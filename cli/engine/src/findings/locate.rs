//! Finding quoted code in a file.

use std::ops::RangeInclusive;

/// A shorter part of a line is no quote: `}` stands everywhere.
const LEAST_PART: usize = 6;

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

/// Where the quoted lines stand. Of several places one with a changed line counts more, then the one nearest to `near`.
///
/// Lines are compared without white space at their ends and with runs of it as one. What tools put in front of lines is
/// allowed: the `+` of a patch, the number of a reading tool. A quote that leaves out its middle (`...`) stands where
/// its beginning does, if its end follows.
pub(super) fn locate(content: &str, quote: &str, near: u32, changed: impl Fn(u32) -> bool) -> Option<Place> {
    let lines: Vec<String> = content.lines().map(normalise).collect();
    let search = Search {
        lines: &lines,
        near,
        changed: &changed,
    };
    let written: Vec<String> = quote.lines().map(normalise).collect();
    let bare = |strip: fn(&str) -> &str| quote.lines().map(|line| normalise(strip(line))).collect::<Vec<_>>();
    search
        .find(&written)
        .or_else(|| search.find(&bare(without_patch_mark)))
        .or_else(|| search.find(&bare(without_number)))
        .or_else(|| search.find_around_gap(&written))
}

/// The same for a quote that has to stand in one piece: what it left out could be anything.
pub(super) fn locate_whole(content: &str, quote: &str, near: u32, changed: impl Fn(u32) -> bool) -> Option<Place> {
    let lines: Vec<String> = content.lines().map(normalise).collect();
    let search = Search {
        lines: &lines,
        near,
        changed: &changed,
    };
    let bare = |strip: fn(&str) -> &str| quote.lines().map(|line| normalise(strip(line))).collect::<Vec<_>>();
    search
        .find(&bare(|line| line))
        .or_else(|| search.find(&bare(without_patch_mark)))
        .or_else(|| search.find(&bare(without_number)))
}

struct Search<'a> {
    lines: &'a [String],
    near: u32,
    changed: &'a dyn Fn(u32) -> bool,
}

impl Search<'_> {
    fn find(&self, quote: &[String]) -> Option<Place> {
        let quote = without_blank_ends(quote)?;
        let whole = |window: &[String]| window == quote;
        // One quoted line may be a part of a line, if it is long enough to mean something.
        let part = |window: &[String]| {
            quote.len() == 1 && quote[0].chars().count() >= LEAST_PART && window[0].contains(&quote[0])
        };
        self.best(quote.len(), &whole).or_else(|| self.best(quote.len(), &part))
    }

    fn best(&self, length: usize, matches: &dyn Fn(&[String]) -> bool) -> Option<Place> {
        if length > self.lines.len() {
            return None;
        }
        let length_of_place = u32::try_from(length).unwrap_or(u32::MAX);
        self.lines
            .windows(length)
            .enumerate()
            .filter(|(_, window)| matches(window))
            .filter_map(|(index, _)| u32::try_from(index + 1).ok())
            .map(|line| Place {
                line,
                length: length_of_place,
            })
            .min_by_key(|place| (!place.lines().any(self.changed), place.line.abs_diff(self.near)))
    }

    /// A quote of which the middle is left out.
    fn find_around_gap(&self, quote: &[String]) -> Option<Place> {
        let gap = quote.iter().position(|line| is_gap(line))?;
        let place = self.find(&quote[..gap])?;
        let end = without_blank_ends(quote[gap + 1..].split(|line| is_gap(line)).next_back()?)?;
        let behind = usize::try_from(place.line + place.length - 1).ok()?;
        let follows = self.lines.get(behind..)?.windows(end.len()).any(|window| window == end);
        follows.then_some(place)
    }
}

fn without_blank_ends(quote: &[String]) -> Option<&[String]> {
    let start = quote.iter().position(|line| !line.is_empty())?;
    let end = quote.iter().rposition(|line| !line.is_empty())? + 1;
    Some(&quote[start..end])
}

fn is_gap(line: &str) -> bool {
    let text = line.trim_start_matches(['/', '#', '*', '-', '<', '!', ' ']);
    text.starts_with("...") || text.starts_with('…')
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

fn normalise(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn one() {\n    let value = load(key);\n    use_it(value);\n}\n\nfn two() {\n    let value = load(key);\n    done(value)\n}\n";

    fn line_of(quote: &str, near: u32, changed: &[u32]) -> Option<u32> {
        locate(FILE, quote, near, |line| changed.contains(&line)).map(|place| place.line)
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
    fn the_code_is_that_of_the_file() {
        let place = locate(FILE, "load(key)", 1, |_| false).expect("it stands");
        assert_eq!(place.code(FILE), "    let value = load(key);");
        assert_eq!(place.lines(), 2..=2);
    }
}
