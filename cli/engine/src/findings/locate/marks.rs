//! Marks that tools and models write around the lines of a quote, and that say nothing of the code. They are taken off only where the quote as it
//! is written stands nowhere, and what is left has to stand as any quote has to.

use super::unwrapped;

/// Lines of git in front of the names of a file in a patch.
const GIT_LINES: [&str; 9] = [
    "diff --git ",
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "deleted file mode ",
    "similarity index ",
    "rename from ",
    "rename to ",
];
/// Fewer carets with words behind them may be an operator of code.
const MIN_CARETS: usize = 3;

/// Returns what is found for this quote; or where nothing is, for it without the lines in front that name its file.
pub(in crate::findings) fn with_or_without_heading<T>(
    quote: &str,
    path: &str,
    find: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    find(quote).or_else(|| find(without_heading(quote, path)?))
}

/// The quote without the lines in front that name the file at `path`: a place in it (`app/repo.py:7-9`), or its header in a patch. `None` if
/// there are none, or another file is named.
pub(in crate::findings) fn without_heading<'q>(quote: &'q str, path: &str) -> Option<&'q str> {
    let quote = quote.trim_start_matches(['\r', '\n']);
    let (first, code) = quote.split_once('\n')?;
    if is_place(first, path) {
        return Some(code);
    }
    let mut header = quote;
    while GIT_LINES.iter().any(|mark| header.starts_with(mark)) {
        header = header.split_once('\n')?.1;
    }
    let (old, rest) = header.split_once('\n')?;
    let (new, code) = rest.split_once('\n')?;
    let (old, new) = (
        old.strip_prefix("--- ")?.trim_end(),
        new.strip_prefix("+++ ")?.trim_end(),
    );
    let is_own = [
        old,
        old.strip_prefix("a/").unwrap_or(old),
        new,
        new.strip_prefix("b/").unwrap_or(new),
    ]
    .contains(&path);
    is_own.then_some(code)
}

/// Returns whether a line says only where in this file the next ones are.
fn is_place(line: &str, path: &str) -> bool {
    let text = unwrapped(line).trim_end_matches(':');
    let lines = text.strip_prefix(path).and_then(|behind| behind.strip_prefix(':'));
    lines.is_some_and(|lines| {
        lines.starts_with(|first: char| first.is_ascii_digit())
            && lines
                .chars()
                .all(|sign| sign.is_ascii_digit() || matches!(sign, '-' | '–'))
    })
}

/// The forms of a quote without the header of a hunk in front, a line of carets behind, and the numbers of all of its lines; and without the
/// escapes of a text in JSON.
pub(super) fn unmarked(quote: &str) -> Vec<String> {
    let quote = quote.trim();
    let mut lines: Vec<&str> = quote.lines().collect();
    // What a patch removes does not stand here.
    let is_removal = |line: &&str| line.starts_with('-');
    if lines.first().is_some_and(|line| is_hunk_header(line)) && !lines.iter().any(is_removal) {
        lines.remove(0);
    }
    if lines.len() > 1 && lines.last().is_some_and(|line| is_pointer(line)) {
        lines.pop();
    }
    let form = without_numbers(&lines).unwrap_or(lines).join("\n");
    let unescaped = without_escapes(&form);
    let mut forms: Vec<String> = std::iter::once(form).chain(unescaped).collect();
    // Brackets alone stand everywhere.
    forms.retain(|form| form != quote && form.contains(char::is_alphanumeric));
    forms
}

fn is_hunk_header(line: &str) -> bool {
    let ranges = line
        .strip_prefix("@@ ")
        .and_then(|rest| rest.split_once(" @@"))
        .map(|(ranges, _)| ranges);
    let is_part = |sign: char| sign.is_ascii_digit() || matches!(sign, '-' | '+' | ',' | '.' | '…' | ' ');
    line.trim_end() == "@@" || ranges.is_some_and(|ranges| ranges.chars().all(is_part))
}

/// Returns whether a line only points at the one above it: `    ^^^^ tainted`.
fn is_pointer(line: &str) -> bool {
    let text = line.trim();
    let note = text.trim_start_matches(['^', '~']);
    let is_of_words = |sign: char| sign.is_alphanumeric() || matches!(sign, ' ' | '\'' | ',' | '.' | '-');
    let is_note = note.starts_with(' ') && text.len() - note.len() >= MIN_CARETS && note.chars().all(is_of_words);
    text.starts_with('^') && (note.is_empty() || is_note)
}

/// The lines without their numbers, if each has one and they ascend by one, as no code does by chance.
fn without_numbers<'q>(lines: &[&'q str]) -> Option<Vec<&'q str>> {
    let numbered: Vec<(u32, &'q str)> = lines.iter().copied().map(behind_number).collect::<Option<_>>()?;
    let ascends = numbered
        .windows(2)
        .all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
    (numbered.len() > 1 && ascends).then(|| numbered.into_iter().map(|(_, code)| code).collect())
}

/// The number in front of a line, `[7] ` or `  7  `, and what is behind it.
fn behind_number(line: &str) -> Option<(u32, &str)> {
    let text = line.trim();
    let bracketed = text.strip_prefix('[');
    let number = bracketed.unwrap_or(text);
    let rest = number.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let digits = number.strip_suffix(rest)?;
    let code = match bracketed {
        Some(_) => rest.strip_prefix(']')?,
        None => rest,
    };
    let is_parted = code.is_empty() || code.starts_with(char::is_whitespace);
    Some((digits.parse().ok()?, code)).filter(|_| is_parted)
}

/// The text without the escapes of its quotation marks, if each has one.
fn without_escapes(text: &str) -> Option<String> {
    let escaped = text.matches("\\\"").count();
    (escaped > 0 && escaped == text.matches('"').count()).then(|| text.replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::locate::{locate, locate_whole};

    const FILE: &str = "class Repo:\n    def find(self, name):\n        cur = self.db.cursor()\n\n        # don't use it raw — it’s unsafe\n        sql = \"select * from t where name = '\" + name\n        cur.execute(sql)\n        return [dict(r) for r in cur]\n";

    /// The first and last lines of a quote.
    fn lines_of(file: &str, quote: &str) -> Option<(u32, u32)> {
        let find = |quote: &str| locate(file, quote, 1, |_| false);
        let found = with_or_without_heading(quote, "app/repo.py", find);
        found.map(|(place, _)| (*place.lines().start(), *place.lines().end()))
    }

    #[test]
    fn what_tools_and_models_write_around_lines_is_no_part_of_a_quote() {
        for (quote, lines) in [
            (
                "[2]     def find(self, name):\n[3]         cur = self.db.cursor()\n[4]\n[5]         # don't use it raw — it’s unsafe",
                (2, 5),
            ),
            (
                "     6          sql = \"select * from t where name = '\" + name\n     7          cur.execute(sql)",
                (6, 7),
            ),
            ("9  cur.execute(sql)\n10  return [dict(r) for r in cur]", (7, 8)),
            (
                "--- a/app/repo.py\n+++ b/app/repo.py\n@@ -1,3 +1,8 @@\n     def find(self, name):\n+        cur = self.db.cursor()",
                (2, 3),
            ),
            (
                "--- /dev/null\n+++ b/app/repo.py\n@@ -0,0 +1,8 @@\n+class Repo:\n+    def find(self, name):",
                (1, 2),
            ),
            (
                "diff --git a/app/repo.py b/app/repo.py\nindex 1a2b..3c4d 100644\n--- a/app/repo.py\n+++ b/app/repo.py\n@@ ... @@ class Repo:\n+        cur.execute(sql)",
                (7, 7),
            ),
            (
                "@@ -1,3 +1,8 @@\n+        cur.execute(sql)\n+        return [dict(r) for r in cur]",
                (7, 8),
            ),
            ("def find(self, name):\n[…]\ncur.execute(sql)", (2, 2)),
            ("def find(self, name):\n    [...]\ncur.execute(sql)", (2, 2)),
            ("[...]\ncur.execute(sql)\n[…]", (7, 7)),
            ("app/repo.py:7\n        cur.execute(sql)", (7, 7)),
            (
                "`app/repo.py:7-8`\n        cur.execute(sql)\n        return [dict(r) for r in cur]",
                (7, 8),
            ),
            ("        cur.execute(sql)\n                    ^^^ tainted", (7, 7)),
            ("        cur.execute(sql)\n        ^~~~~~~~~~~", (7, 7)),
            (
                "7  cur.execute(sql)\n8  return [dict(r) for r in cur]\n           ^^^^ the user's rows",
                (7, 8),
            ),
            ("sql = \\\"select * from t where name = '\\\" + name", (6, 6)),
            ("# don't use it raw - it's unsafe", (5, 5)),
        ] {
            assert_eq!(lines_of(FILE, quote), Some(lines), "{quote}");
        }
    }

    #[test]
    fn without_it_a_quote_has_to_stand_all_the_same() {
        for quote in [
            "[6] cur.execute(sql)",
            "6  cur.execute(sql)\n8  return [dict(r) for r in cur]",
            "[6] cur.execute(sql)\n[7] return [dict(r) for r in rows]",
            "6  cur.execute(sql)\nreturn [dict(r) for r in cur]",
            "--- a/app/other.py\n+++ b/app/other.py\n@@ -1,3 +1,8 @@\n+        cur.execute(sql)",
            "--- a/app/repo.py\n+++ b/app/repo.py\n@@ -1,3 +1,8 @@\n-        cur.execute(sql)",
            "--- a/app/repo.py\n+++ b/app/repo.py\n@@ -1,3 +1,8 @@\n+        cur.execute(query)",
            "@@rows = 1\n        cur.execute(sql)",
            "app/other.py:7\n        cur.execute(sql)",
            "app/repo.py:seven\n        cur.execute(sql)",
            "def find(self, name):\n[...names]\ncur.execute(sql)",
            "def find(self, name):\n[...]\ncur.execute(query)",
            "        cur.execute(sql)\n        ^ mask",
            "        cur.execute(sql)\n        ^^^^ = rows()",
            "sql = \\\"select * from t where name = '\" + name",
            "sql = \\\"select * from t where id = '\\\" + name",
            "[1]\n[2]",
        ] {
            assert_eq!(lines_of(FILE, quote), None, "{quote}");
        }
    }

    #[test]
    fn what_the_file_has_as_it_is_written_comes_first() {
        let file = "one two\nthree four\n[1] one two\n[2] three four\napp/repo.py:7\none two\n^^^^ marked\nsay \"yes\"\nsay \\\"yes\\\"\n";
        for (quote, lines) in [
            ("[1] one two\n[2] three four", (3, 4)),
            ("app/repo.py:7\none two", (5, 6)),
            ("one two\n^^^^ marked", (6, 7)),
            ("say \\\"yes\\\"", (9, 9)),
        ] {
            assert_eq!(lines_of(file, quote), Some(lines), "{quote}");
        }
    }

    #[test]
    fn what_makes_a_verdict_milder_is_read_as_it_is_written() {
        for quote in [
            "[7] cur.execute(sql)\n[8] return [dict(r) for r in cur]",
            "@@ -1,3 +1,8 @@\n+        cur.execute(sql)",
            "def find(self, name):\n[...]\ncur.execute(sql)",
            "app/repo.py:7\n        cur.execute(sql)",
            "        cur.execute(sql)\n        ^^^^ tainted",
            "sql = \\\"select * from t where name = '\\\" + name",
            "# don't use it raw - it's unsafe",
        ] {
            assert_eq!(locate_whole(FILE, quote, 7, |_| false), None, "{quote}");
        }
    }
}
