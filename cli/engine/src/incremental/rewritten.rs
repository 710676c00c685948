//! Code in another writing: with other quotation marks, a comment inside, or escaped as a text of JSON or HTML.

use crate::findings::decoded;

/// Marks around texts in code.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// The lines with what is escaped as it is meant, without comments inside, and with this mark around their texts.
pub(super) fn rewritten(lines: &[String], quote: &str) -> String {
    let lines = lines.iter().map(|line| {
        let plain = decoded(line)
            .replace("\\\"", "\"")
            .replace("\\'", "'")
            .replace("\\n", " ")
            .replace("\\t", " ");
        without_comments(&plain).replace(QUOTES, quote)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line without the comments that end in it.
fn without_comments(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("/*") {
        let Some((_, after)) = behind.split_once("*/") else {
            break;
        };
        code.push_str(before);
        code.push(' ');
        rest = after;
    }
    code + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_writing_is_the_same_code() {
        let plain = "return find(\"a\" + id)";
        for written in [
            plain,
            "return find('a' + id)",
            "return find(`a` + id)",
            "return find(&quot;a&quot; + id)",
            "return find(\\\"a\\\" + id)",
            "return/* x */find(\"a\" + id)",
        ] {
            assert_eq!(rewritten(&[written.to_owned()], "\""), plain, "{written}");
        }
        let open = ["a /* b".to_owned(), "c */ d".to_owned()];
        assert_eq!(rewritten(&open, "\""), "a /* b\nc */ d");
    }
}
