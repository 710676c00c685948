//! Quotes whose lines a fix can take the place of.

use crate::findings::{RawFinding, locate::Place, written::parse_line};

/// Returns whether the finding quotes whole lines as they stand at this place, but for the blanks around them, and means no others: what it writes as
/// its fix is for the lines that it quotes. Other quotes stand somewhere, but not as they were written: a part of a line, one with a
/// gap, in the form of a patch, with numbers, or of code that is gone, which is shown at a line that has nothing to do with it.
pub(super) fn is_quoted_whole(
    written: &RawFinding,
    content: &str,
    place: Place,
    line: u32,
    changed: impl Fn(u32) -> bool,
) -> bool {
    let quote = written.code("evidence").unwrap_or_default();
    let end = written.get("end_line").and_then(|text| parse_line(text).ok());
    let is_of_length = end.is_none_or(|end| end.saturating_sub(line).saturating_add(1) == place.length);
    let code = place.code(content);
    if !is_of_length || !bare(quote).eq(bare(&code)) {
        return false;
    }
    if place.line == line {
        return true;
    }
    // The number is wrong, as numbers of models often are, or is that of a removed line which reads like one that is left.
    let lines: Vec<&str> = bare(content).collect();
    let quoted: Vec<&str> = bare(quote).collect();
    let stands = lines.windows(quoted.len()).filter(|window| **window == quoted[..]);
    place.lines().any(changed) && stands.count() == 1
}

/// The lines without the blanks around them, which models leave out and add.
fn bare(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use conclave_shared::reviewer::ReviewerName;

    use crate::{
        diff::{FileDiff, LineMap},
        findings::{SourceReader, check, scan},
    };

    const PATH: &str = "calc.py";
    /// The change takes line 3 away.
    const BASE: &str = "def total(order):\n    log(1)\n    audit(order.id)\n    return total\n\n\ndef other(order):\n    log(2)\n    return 0";
    /// Lines 2, 4 and 5 are new.
    const HEAD: &str = "def total(order):\n    total = order.total\n    log(1)\n    log(2)\n    db.run(order.id)\n    return total\n\
                        \n\ndef other(order):\n    log(2)\n    return 0";
    const LINE: &str = "    db.run(order.id)";

    struct Sides(String);

    impl SourceReader for Sides {
        fn read(&mut self, _: &str, at_base: bool) -> Option<String> {
            Some(if at_base { BASE.to_owned() } else { self.0.clone() })
        }
    }

    /// The lines that a fix of this finding can take the place of, if it can.
    fn replaceable(head: &str, line: &str, end: Option<&str>, quote: &str, fix: &str) -> Option<(u32, u32)> {
        let mut answer =
            "<findings><finding><severity>critical</severity><category>x</category><claim>It fails.</claim>".to_owned();
        let end = end.map(|end| ("end_line", end));
        let fields = [("file", PATH), ("line", line), ("evidence", quote), ("fix", fix)];
        for (name, text) in fields.into_iter().chain(end) {
            let _ = write!(answer, "<{name}>\n{text}\n</{name}>");
        }
        answer.push_str("</finding></findings>");
        let file = FileDiff {
            old_path: PATH.into(),
            path: PATH.into(),
            lines: LineMap::of_added([2, 4, 5]).with_removed([3]),
            ..FileDiff::default()
        };
        let reviewer = ReviewerName::new("security").expect("a name");
        let mut source = Sides(head.to_owned());
        let checked = check(&reviewer, &scan(&answer, &[]).findings, &[file], None, &mut source);
        let [finding] = &checked.findings[..] else {
            panic!("{quote}: {checked:#?}")
        };
        let lines = finding.lines();
        finding.quoted_whole.then(|| (*lines.start(), *lines.end()))
    }

    #[test]
    fn a_fix_replaces_the_lines_that_are_quoted_to_the_byte() {
        let two = format!("{LINE}\n    return total");
        for (line, end, quote, lines) in [
            ("5", None, LINE, (5, 5)),
            ("5", Some("5"), LINE, (5, 5)),
            ("5", None, LINE.trim(), (5, 5)),
            ("5", Some("6"), &*two, (5, 6)),
            ("5", None, &*two, (5, 6)),
            // A new line that stands once is the one that is meant.
            ("8", None, LINE, (5, 5)),
            ("11", None, "    return 0", (11, 11)),
        ] {
            let found = replaceable(HEAD, line, end, quote, "    pass");
            assert_eq!(found, Some(lines), "{line} {end:?} {quote}");
        }
        assert_eq!(replaceable(HEAD, "5", None, LINE, ""), None, "there is no fix");
    }

    #[test]
    fn a_fix_for_other_lines_than_those_of_the_quote_replaces_nothing() {
        for (case, line, end, quote) in [
            ("removed", "3", None, "    audit(order.id)"),
            (
                "removed, in a patch",
                "3",
                None,
                "-    audit(order.id)\n     return total",
            ),
            (
                "around what is removed",
                "2",
                None,
                "    log(1)\n    audit(order.id)\n    return total",
            ),
            ("a gap", "3", Some("6"), "    log(1)\n    ...\n    return total"),
            ("a gap at the end", "5", None, "    db.run(order.id)\n    ..."),
            ("a patch", "5", None, "+    db.run(order.id)"),
            (
                "both sides of a patch",
                "5",
                None,
                "-    audit(order.id)\n+    db.run(order.id)",
            ),
            ("numbers", "5", None, "5:     db.run(order.id)"),
            ("a masked secret", "5", None, "    db.run(***.id)"),
            ("Markdown", "5", None, "`    db.run(order.id)`"),
            ("escaped", "5", None, "    db.run(order&#46;id)"),
            ("a part of a line", "5", None, "db.run(order"),
            ("the first of the lines", "5", Some("6"), LINE),
            (
                "some of the lines",
                "2",
                Some("9"),
                "    total = order.total\n    log(1)",
            ),
            (
                "more than the lines",
                "4",
                Some("4"),
                "    log(2)\n    db.run(order.id)",
            ),
            ("an old line elsewhere", "8", None, "    return 0"),
            ("a new line that stands twice", "8", None, "    log(2)"),
        ] {
            assert_eq!(replaceable(HEAD, line, end, quote, "    pass"), None, "{case}");
        }
        let look_alike = HEAD.replace("run(", "run\u{200b}(");
        assert_eq!(replaceable(&look_alike, "5", None, LINE, "    pass"), None);
    }
}
