//! Making text harmless before it is posted.
//!
//! What a model writes can be steered by the author of the merge request, and what we post is read by a forge that
//! acts on text: quick actions, mentions, images, links, HTML.

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
        neutral_line(line.trim_end(), &mut result);
    }
    result
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
            // A list or heading marker in front does not take the danger from what follows.
            '-' | '+' | '=' if at_start => {
                result.push('\\');
                result.push(character);
            }
            // Bare addresses become links.
            ':' if rest.starts_with("://") => result.push_str(":\u{2060}"),
            character if character.is_control() => {}
            character => result.push(character),
        }
        if !character.is_whitespace() && !matches!(character, '>' | '-' | '+' | '*') {
            at_start = false;
        }
        rest = &rest[character.len_utf8()..];
    }
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

/// A fenced code block that its content cannot close.
pub(super) fn fenced(code: &str, language: &str) -> String {
    let longest = code
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    // A carriage return alone ends a line for some readers, and a quick action may begin one.
    let code: String = code
        .chars()
        .map(|character| if character == '\r' { '\n' } else { character })
        .collect();
    format!("{fence}{language}\n{}\n{fence}", code.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
