//! Annotations of a GitHub job: the only commands that are ever printed for its runner to act on.

use std::fmt::Write;

use super::door::one_line;

/// Prints an annotation at lines of a file.
pub(crate) fn workflow_annotation(path: &str, lines: (u32, u32), is_failure: bool, title: &str, message: &str) {
    super::raw_line(&command(path, lines, is_failure, title, message));
}

/// The command. What is foreign in it is one line without anything that a runner acts on, and cannot end the part that it is in.
fn command(path: &str, (first, last): (u32, u32), is_failure: bool, title: &str, message: &str) -> String {
    let level = if is_failure { "error" } else { "warning" };
    let mut text = format!("::{level} file={},line={first}", property(path));
    if last > first {
        let _ = write!(text, ",endLine={last}");
    }
    let _ = write!(text, ",title={}::{}", property(title), data(message));
    text
}

/// The text behind the second pair of colons.
fn data(text: &str) -> String {
    one_line(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A value in front of it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_names_its_lines() {
        assert_eq!(
            command("src/a.py", (3, 5), true, "Critical: injection", "It is built of text."),
            "::error file=src/a.py,line=3,endLine=5,title=Critical%3A injection::It is built of text."
        );
    }

    #[test]
    fn nothing_foreign_is_a_command_of_its_own() {
        let hostile = "x\n::add-mask::y\r\n##[error]z %0A::set-output name=a::b,line=9";
        let text = command(hostile, (1, 1), false, hostile, hostile);
        assert_eq!(text.lines().count(), 1);
        assert!(
            !text.contains("##[") && !text.contains(",line=9,") && text.contains("%250A"),
            "{text}"
        );
        let (properties, _) = text["::warning ".len()..].split_once("::").expect("two parts");
        let names: Vec<&str> = properties
            .split(',')
            .filter_map(|part| part.split('=').next())
            .collect();
        assert_eq!(names, ["file", "line", "title"], "{text}");
    }
}
