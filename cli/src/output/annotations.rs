//! Commands to the runner of a GitHub job: annotations and groups are all that it ever gets.
//!
//! Everything else that is printed passes the door, which breaks what a runner acts on. As a second wall the runner is asked to act on
//! nothing until it reads a word that cannot be known beforehand; only for a command of ours it acts in between.

use std::{
    fmt::Write,
    sync::{Mutex, PoisonError},
};

use uuid::Uuid;

use super::door::one_line;

/// The word at which the runner acts on commands again; none while it does.
static STOPPED_UNTIL: Mutex<Option<String>> = Mutex::new(None);

/// Asks the runner to act on nothing from here on.
pub(crate) fn stop_commands() {
    let word = Uuid::new_v4().simple().to_string();
    let mut stopped = STOPPED_UNTIL.lock().unwrap_or_else(PoisonError::into_inner);
    let resumed = stopped.as_ref().map_or_else(String::new, |old| format!("::{old}::\n"));
    super::raw_line(&format!("{resumed}::stop-commands::{word}"));
    *stopped = Some(word);
}

/// Lets the runner act on commands again, if it was asked not to.
pub(crate) fn resume_commands() {
    if let Some(word) = STOPPED_UNTIL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        super::raw_line(&format!("::{word}::"));
    }
}

/// Prints commands of ours, which the runner acts on; the word is another one afterwards.
pub(super) fn print_command(text: &str) {
    let mut stopped = STOPPED_UNTIL.lock().unwrap_or_else(PoisonError::into_inner);
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    match stopped.take() {
        None => super::raw_line(text),
        Some(old) => {
            let word = Uuid::new_v4().simple().to_string();
            super::raw_line(&format!("::{old}::\n{text}\n::stop-commands::{word}"));
            *stopped = Some(word);
        }
    }
}

/// Prints an annotation at lines of a file.
pub(crate) fn workflow_annotation(path: &str, lines: (u32, u32), is_failure: bool, title: &str, message: &str) {
    print_command(&command(path, lines, is_failure, title, message));
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
pub(super) fn data(text: &str) -> String {
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
