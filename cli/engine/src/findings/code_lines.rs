//! Lines of a file without their comments: what a machine runs, as opposed to what the file says of itself.

use conclave_shared::comment_marks::CommentMarks;

/// The lines of the file, each without what is a comment.
pub(crate) fn code_lines(path: &str, content: &str) -> Vec<String> {
    let marks = CommentMarks::of(path);
    let mut inside: Option<&str> = None;
    content.lines().map(|line| code_of(line, marks, &mut inside)).collect()
}

/// One line without what is a comment. `inside` is the end of a comment that is still open.
fn code_of(line: &str, marks: &CommentMarks, inside: &mut Option<&'static str>) -> String {
    let mut code = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(end) = *inside {
            let Some(at) = rest.find(end) else {
                return code;
            };
            rest = &rest[at + end.len()..];
            *inside = None;
            continue;
        }
        // Three quotes begin a description only where nothing stands before them; else they hold data.
        let opens = |(open, _): &&(&str, &str)| {
            rest.starts_with(open) && (open.starts_with(['"', '\'']) <= code.trim().is_empty())
        };
        if let Some((open, end)) = marks.block.iter().find(opens) {
            *inside = Some(end);
            rest = &rest[open.len()..];
            continue;
        }
        let mut line_marks = marks.line.iter().chain(marks.perhaps);
        if line_marks.any(|mark| begins_comment(rest, mark, &code)) {
            return code;
        }
        let length = text_length(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    code
}

fn begins_comment(rest: &str, mark: &str, before: &str) -> bool {
    let Some(behind) = rest.strip_prefix(mark) else {
        return false;
    };
    match mark {
        // `$#`, `a#b` and attributes are none.
        "#" => (before.is_empty() || before.ends_with(char::is_whitespace)) && !behind.starts_with('['),
        "--" | ";" | "%" => before.trim().is_empty() || (mark == "--" && before.ends_with(char::is_whitespace)),
        _ => true,
    }
}

/// Returns how long a text in quotes is that begins here and ends on the same line.
pub(crate) fn text_length(rest: &str) -> Option<usize> {
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: &str, content: &str) -> Vec<String> {
        code_lines(path, content)
            .into_iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn comments_are_taken_out_in_the_language_of_the_file() {
        for (path, content, expected) in [
            ("a.py", "# a\nx = 1  # b\ny = \"# c\"", vec!["", "x = 1", "y = \"# c\""]),
            (
                "a.py",
                "\"\"\"The caller\nchecks this.\n\"\"\"\nq = \"\"\"SELECT\n\"\"\"",
                vec!["", "", "", "q = \"\"\"SELECT", ""],
            ),
            ("a.rs", "// a\n/* b\nc */ let x = 1; // d", vec!["", "", " let x = 1;"]),
            (
                "a.rs",
                "#[derive(Debug)]\nlet u = \"http://x\";",
                vec!["#[derive(Debug)]", "let u = \"http://x\";"],
            ),
            ("a.c", "#include <x.h>\n*p = 1;", vec!["#include <x.h>", "*p = 1;"]),
            ("a.sql", "-- a\nSELECT 1 -- b", vec!["", "SELECT 1"]),
            ("a.html", "<p>a</p><!-- b\nc --><p>d</p>", vec!["<p>a</p>", "<p>d</p>"]),
            ("a.sh", "echo $# # count", vec!["echo $#"]),
            ("Dockerfile", "# a\nRUN x", vec!["", "RUN x"]),
            ("a.unknown", "// a\n# b\n-- c\ncode", vec!["", "", "", "code"]),
        ] {
            assert_eq!(code(path, content), expected, "{path}: {content}");
        }
    }
}
