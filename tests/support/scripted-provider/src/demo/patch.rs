//! Patches: the new side of each file, with line numbers, and what was removed.

use super::code::CodeView;
use super::language::{Language, is_test_path};
use super::pattern::{found, group};
use std::collections::HashSet;

/// A line of the new side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its number in the file at head.
    pub(super) number: usize,
    /// Its text.
    pub(super) text: String,
    /// Its text without comments, and with the inside of strings blanked.
    pub(super) code: String,
    /// The change adds it.
    pub(super) added: bool,
    /// The hunk that it is in.
    pub(super) hunk: usize,
}

/// A line that the change removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Removed {
    /// Its text.
    pub(super) text: String,
    /// The index in [`PatchFile::lines`] of the line that now stands there.
    pub(super) before: usize,
}

/// The patch of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct PatchFile {
    /// The path at head, or the old one of a deleted file.
    pub(super) path: String,
    /// The path before a rename.
    pub(super) old_path: Option<String>,
    /// The file is new: its whole text is in the patch.
    pub(super) is_new: bool,
    /// The file is gone.
    pub(super) is_deleted: bool,
    /// The new side.
    pub(super) lines: Vec<Line>,
    /// What is gone.
    pub(super) removed: Vec<Removed>,
    /// The async functions that the patch shows.
    pub(super) async_functions: HashSet<String>,
    /// The path is one of tests.
    pub(super) is_test: bool,
    /// The index of the line from which on there are unit tests (Rust).
    pub(super) tests_from: Option<usize>,
}

impl PatchFile {
    /// The language, told from the name.
    pub(super) fn language(&self) -> Language {
        Language::of(&self.path)
    }

    /// The added lines.
    pub(super) fn added(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.added)
    }
}

/// The files of a patch in git's form. `fallback` is the path to use where the patch tells none.
pub(super) fn parse(patch: &str, fallback: Option<&str>) -> Vec<PatchFile> {
    let mut files: Vec<PatchFile> = Vec::new();
    let mut old_left = 0;
    let mut new_left = 0;
    let mut number = 0;
    let mut hunk = 0;
    for line in patch.lines() {
        if old_left > 0 || new_left > 0 {
            if let Some(file) = files.last_mut() {
                let (old, new) = body_line(file, line, number, hunk);
                old_left -= old.min(old_left);
                new_left -= new.min(new_left);
                number += new;
            }
            continue;
        }
        if line.starts_with("diff --git ") {
            files.push(PatchFile::default());
        } else if let Some((old, start, new)) = hunk_header(line) {
            if files.is_empty() {
                files.push(PatchFile::default());
            }
            (old_left, number, new_left) = (old, start, new);
            hunk += 1;
        } else {
            if files
                .last()
                .is_none_or(|last| line.starts_with("--- ") && !last.lines.is_empty())
            {
                files.push(PatchFile::default());
            }
            if let Some(file) = files.last_mut() {
                header_line(file, line);
            }
        }
    }
    for file in &mut files {
        if file.path.is_empty() {
            fallback.unwrap_or_default().clone_into(&mut file.path);
        }
        let mut view = CodeView::of(file.language());
        for line in &mut file.lines {
            line.code = view.line(line.hunk, &line.text);
        }
        survey(file);
    }
    files.retain(|file| !file.path.is_empty());
    files
}

/// Looks once for what rules would else look for at every line.
fn survey(file: &mut PatchFile) {
    let functions = file
        .lines
        .iter()
        .filter_map(|line| group!(&line.code, r"\basync\s+(?:def\s+|function\s+)?(\w+)\(").map(str::to_owned));
    file.async_functions = functions.collect();
    file.is_test = is_test_path(&file.path);
    if file.language() == Language::Rust {
        file.tests_from = file
            .lines
            .iter()
            .position(|line| found!(&line.text, r"#\[cfg\(test\)\]|#\[(tokio::)?test\]|\bmod tests\b"));
    }
}

fn header_line(file: &mut PatchFile, line: &str) {
    let name = |text: &str| {
        let text = text.split('\t').next().unwrap_or(text).trim_matches('"');
        let bare = text.strip_prefix("a/").or_else(|| text.strip_prefix("b/"));
        bare.unwrap_or(text).to_owned()
    };
    if let Some(path) = line.strip_prefix("+++ ") {
        if path == "/dev/null" {
            file.is_deleted = true;
        } else {
            file.path = name(path);
        }
    } else if let Some(path) = line.strip_prefix("--- ") {
        if path == "/dev/null" {
            file.is_new = true;
        } else if file.path.is_empty() {
            file.path = name(path);
        }
    } else if let Some(path) = line.strip_prefix("rename from ") {
        file.old_path = Some(path.to_owned());
    } else if let Some(path) = line.strip_prefix("rename to ") {
        path.clone_into(&mut file.path);
    } else if line.starts_with("new file mode") {
        file.is_new = true;
    } else if line.starts_with("deleted file mode") {
        file.is_deleted = true;
    }
}

/// Takes a line of a hunk; how many lines of the old and of the new side it is.
fn body_line(file: &mut PatchFile, line: &str, number: usize, hunk: usize) -> (usize, usize) {
    let (mark, text) = match line.chars().next() {
        Some(mark @ ('+' | '-' | ' ')) => (mark, &line[1..]),
        Some('\\') => return (0, 0),
        // An empty context line whose blank was lost on the way.
        _ => (' ', line),
    };
    if mark == '-' {
        file.removed.push(Removed {
            text: text.to_owned(),
            before: file.lines.len(),
        });
        return (1, 0);
    }
    file.lines.push(Line {
        number,
        text: text.to_owned(),
        code: String::new(),
        added: mark == '+',
        hunk,
    });
    (usize::from(mark == ' '), 1)
}

/// Old length, new start and new length of `@@ -1,2 +3,4 @@`.
fn hunk_header(line: &str) -> Option<(usize, usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    let (_, old_length) = range(old)?;
    let (start, length) = range(new)?;
    Some((old_length, start, length))
}
