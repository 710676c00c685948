//! Making text harmless before it is posted.
//!
//! What a model writes can be steered by the author of the merge request, and what we post is read by a forge that
//! acts on text: quick actions, mentions, images, links, HTML.

use std::fmt::Write;

/// The text as Markdown that shows what it says and does nothing else.
///
/// Outside of code spans every character that Markdown or HTML could act on is escaped; `@` is followed by a word
/// joiner so that nobody is mentioned; a `/` at the beginning of a line is escaped so that nothing is a quick action.
pub fn neutral(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 16);
    for (index, line) in text
        .split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}'])
        .enumerate()
    {
        if index > 0 {
            result.push('\n');
        }
        neutral_line(visible(line).trim_end(), &mut result);
    }
    result
}

/// The line without control characters. They go first: one that goes later was in front of what it no longer hides.
fn visible(line: &str) -> String {
    line.chars()
        .map(|character| if character == '\t' { ' ' } else { character })
        .filter(|character| !character.is_control())
        .collect()
}

fn neutral_line(line: &str, result: &mut String) {
    let mut rest = line;
    let mut at_start = true;
    while let Some(character) = rest.chars().next() {
        if character == '`'
            && let Some(length) = code_span(rest)
        {
            result.push_str(&rest[..length]);
            rest = &rest[length..];
            at_start = false;
            continue;
        }
        match character {
            '@' => result.push_str("@\u{2060}"),
            '/' if at_start => result.push_str("\\/"),
            // References to issues, merge requests, labels, milestones, snippets and epics notify or link.
            '#' | '!' | '~' | '%' | '$' | '&' | '<' | '>' | '[' | ']' | '`' | '*' | '_' | '|' | '\\' => {
                result.push('\\');
                result.push(character);
            }
            // A list or heading marker in front does not take the danger from what follows; a colon makes a table, or an
            // inclusion.
            '-' | '+' | '=' | ':' if at_start => {
                result.push('\\');
                result.push(character);
            }
            // Bare addresses become links.
            ':' if rest.starts_with("://") => result.push_str(":\u{2060}"),
            '.' if is_web_name(line, rest) => result.push_str("\u{2060}."),
            character => result.push(character),
        }
        if !character.is_whitespace() && !matches!(character, '>' | '-' | '+' | '*' | '0'..='9' | '.' | ')') {
            at_start = false;
        }
        rest = &rest[character.len_utf8()..];
    }
}

/// Whether the rest of the line begins with the dot of `www.`, which makes a link without any `http`.
fn is_web_name(line: &str, rest: &str) -> bool {
    let before = &line.as_bytes()[..line.len() - rest.len()];
    before.len() >= 3 && before[before.len() - 3..].eq_ignore_ascii_case(b"www")
}

/// The length of the code span that the text begins with, fence and all. Its content is shown and never acted on.
fn code_span(text: &str) -> Option<usize> {
    let fence = text.len() - text.trim_start_matches('`').len();
    let mut position = fence;
    loop {
        let open = position + text[position..].find('`')?;
        let run = text[open..].len() - text[open..].trim_start_matches('`').len();
        if run == fence {
            return (open > fence).then_some(open + run);
        }
        position = open + run;
    }
}

/// A link to an address that the organisation itself has written down, or only its label if the address is no address.
///
/// Everything that could end the address early, or mean something inside of it, is escaped; what remains is shown by no
/// reader, and followed by none before somebody clicks.
pub(super) fn link(label: &str, address: &str) -> String {
    let label = neutral(label).replace('\n', " ");
    let is_web = ["https://", "http://"].iter().any(|scheme| address.starts_with(scheme));
    if !is_web
        || address
            .chars()
            .any(|character| character.is_whitespace() || character.is_control())
    {
        return label;
    }
    let mut target = String::with_capacity(address.len());
    for character in address.chars() {
        match character {
            'a'..='z'
            | 'A'..='Z'
            | '0'..='9'
            | '-'
            | '.'
            | '/'
            | ':'
            | '?'
            | '#'
            | '&'
            | '='
            | '%'
            | '+'
            | ','
            | ';'
            | '_'
            | '~' => {
                target.push(character);
            }
            character => {
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(target, "%{byte:02X}");
                }
            }
        }
    }
    format!("[{label}]({target})")
}

/// The text in one cell of a table. A bar ends a cell even inside a code span, and half a code span hides nothing.
pub(super) fn cell(text: &str) -> String {
    neutral(&text.replace('`', "'")).replace('\n', " ")
}

/// A fenced code block that its content cannot close.
///
/// GitLab reads a note with a regular expression that takes three back-ticks for the end of any block, however long its
/// fence is. So no line of the code may begin with a quick action either: such code is indented by one space.
pub(super) fn fenced(code: &str, language: &str) -> String {
    let longest = code
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    // A carriage return alone ends a line for some readers, and is nothing for others. GitLab refuses a note with a NUL.
    let mut code = code.replace("\r\n", "\n").replace('\r', "\n");
    code.retain(|character| matches!(character, '\n' | '\t') || !character.is_control());
    let code = code.trim_end_matches('\n');
    let code = if code.split('\n').any(is_quick_action) {
        code.split('\n')
            .map(|line| format!(" {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    } else {
        code.to_owned()
    };
    format!("{fence}{language}\n{code}\n{fence}")
}

fn is_quick_action(line: &str) -> bool {
    line.strip_prefix('/')
        .is_some_and(|name| name.starts_with(|character: char| character.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_one_link_and_nothing_else() {
        for (label, address, expected) in [
            (
                "NET-012",
                "https://rules.example.com/net_012?v=2#use",
                "[NET-012](https://rules.example.com/net_012?v=2#use)",
            ),
            (
                "a](http://evil)\n/approve",
                "https://x.example/a)(b\"@all'<img>`|[x](y)!",
                "[a\\](http:\u{2060}//evil) \\/approve](https://x.example/a%29%28b%22%40all%27%3Cimg%3E%60%7C%5Bx%5D%28y%29%21)",
            ),
            ("@all", "javascript:alert(1)", "@\u{2060}all"),
            ("x", "https://a.example/\n/approve", "x"),
            ("x", "https://a.example/ \"title\"", "x"),
            ("x", "//evil.example", "x"),
            ("é", "https://x.example/é", "[é](https://x.example/%C3%A9)"),
        ] {
            assert_eq!(link(label, address), expected);
        }
    }

    #[test]
    fn nothing_acts() {
        for (text, expected) in [
            ("/approve", "\\/approve"),
            ("  /merge", "  \\/merge"),
            ("> /close", "\\> \\/close"),
            ("- /label ~bug", "\\- \\/label \\~bug"),
            ("ok\r/approve", "ok\n\\/approve"),
            ("ask @root", "ask @\u{2060}root"),
            ("![x](http://evil/?q)", "\\!\\[x\\](http:\u{2060}//evil/?q)"),
            ("<img src=x>", "\\<img src=x\\>"),
            ("a / b", "a / b"),
            ("see `a < b && @x` there", "see `a < b && @x` there"),
            ("\u{0}/approve", "\\/approve"),
            ("\t\u{1b}/approve", " \\/approve"),
            ("http:\u{0}//x ww\u{1}w.x", "http:\u{2060}//x www\u{2060}.x"),
            ("1. /approve", "1. \\/approve"),
            ("> 2) /approve", "\\> 2) \\/approve"),
            ("a\n:-\n`@x | y`", "a\n\\:-\n`@x | y`"),
            ("::include{file=x}", "\\::include{file=x}"),
            (
                "see www.evil.com, WWW.x.org",
                "see www\u{2060}.evil.com, WWW\u{2060}.x.org",
            ),
            ("broken ` tick @x", "broken \\` tick @\u{2060}x"),
        ] {
            assert_eq!(neutral(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fenced("x", "py"), "```py\nx\n```");
        assert_eq!(fenced("a\n````\nb", "p`y"), "`````py\na\n````\nb\n`````");
    }
    #[test]
    fn no_line_of_a_block_begins_with_a_quick_action() {
        let code = "# How to\n```\n/approve\n  /merge\n```";
        assert_eq!(
            fenced(code, "markdown"),
            "````markdown\n # How to\n ```\n /approve\n   /merge\n ```\n````"
        );
        assert_eq!(fenced("x\r/close", ""), "```\n x\n /close\n```");
        assert_eq!(fenced("\ta\n\u{0}/close", ""), "```\n \ta\n /close\n```");
        for code in ["// a comment", "/* one */", "a /b", "x\ny"] {
            assert_eq!(fenced(code, ""), format!("```\n{code}\n```"), "{code:?}");
        }
    }

    #[test]
    fn lines_that_end_like_on_windows_stay_single() {
        assert_eq!(fenced("a\r\nb\r\n", ""), "```\na\nb\n```");
    }

    #[test]
    fn a_cell_holds_no_code_span() {
        assert_eq!(cell("a `@x | y`\nb"), "a '@\u{2060}x \\| y' b");
    }
}
