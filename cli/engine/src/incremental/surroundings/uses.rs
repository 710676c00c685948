//! The uses of code: what stands in a function decides nothing where a change takes its call away, goes around the call, or has other
//! code called by its name.

use super::{
    Versions,
    block::{Code, is_of_word},
};
use crate::{
    diff::LineMap,
    findings::{QuotedFile, is_import},
    incremental::anchors::index,
};

/// Files with these names are imported by the name of their directory.
const UNNAMED: [&str; 5] = ["__init__", "index", "lib", "main", "mod"];
/// In one file so many calls are looked at. Where there are more, it counts as altered: comparing takes time.
const MAX_CALLS: usize = 200;

/// The names by which other code uses some lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedAs {
    /// Of their function.
    functions: Vec<String>,
    /// Of the types and modules around it.
    holders: Vec<String>,
    /// Of the file, as an import has it.
    file: String,
}

impl UsedAs {
    /// The names of these lines at head, from 1, but for those that the accused code uses itself: what the change does to that is what the
    /// finding is about.
    pub(crate) fn of(file: QuotedFile<'_>, (line, end_line): (u32, u32), accused: &str) -> Self {
        let code = Code::new(file.path, file.head);
        let (functions, holders) = code.names(index(line)..index(end_line).saturating_add(1));
        let others = |names: Vec<&str>| -> Vec<String> {
            let others = names.into_iter().filter(|name| !has_word(accused, name));
            others.map(str::to_owned).collect()
        };
        Self {
            functions: others(functions),
            holders: others(holders),
            file: import_name(file.path).to_owned(),
        }
    }

    /// The line at head, from 1, where this change of a file alters how the code is used.
    pub(crate) fn altered_in(&self, file: QuotedFile<'_>) -> Option<u32> {
        let lines = &file.change?.lines;
        let is_mentioned = |text: &str| self.names().any(|name| text.contains(name)) || text.contains(&self.file);
        if !is_mentioned(file.head) && !file.base.is_some_and(is_mentioned) {
            return None;
        }
        let versions = Versions::of(file);
        self.lost_in(&versions, lines).or_else(|| {
            let mut added = numbered(&versions.head.code).filter(|(line, _)| lines.is_added(*line));
            let head = &versions.head.code;
            let is_taken = |line, code: &str| {
                self.names()
                    .any(|name| gives_meaning(code, name) || head.defines(index(line), name))
            };
            added.find_map(|(line, code)| is_taken(line, code).then_some(line))
        })
    }

    /// Where a use goes, or code before a call is other code.
    fn lost_in(&self, Versions { base, head, .. }: &Versions<'_>, lines: &LineMap) -> Option<u32> {
        let is_call = |line, code: &str, name: &String| has_word(code, name) && !base.code.defines(index(line), name);
        let mut calls = 0;
        for (line, code) in numbered(&base.code) {
            let is_import = is_import(code.trim_start());
            let is_lost = if lines.is_removed(line) {
                self.names().any(|name| has_word(code, name)) || (is_import && has_word(code, &self.file))
            } else if !is_import && self.functions.iter().any(|name| is_call(line, code, name)) {
                calls += 1;
                let new = lines.row_at_base(line)?.new;
                calls > MAX_CALLS || base.code.until(index(line)) != head.code.until(index(new))
            } else {
                false
            };
            if is_lost {
                return Some(lines.row_at_base(line)?.new);
            }
        }
        None
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        self.functions.iter().chain(&self.holders)
    }
}

/// The lines of code, counted from 1.
fn numbered(code: &Code) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(code.lines())
}

/// The name of a file without its extension, or that of its directory.
fn import_name(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let stem = parts.next().and_then(|name| name.split('.').next()).unwrap_or(path);
    let mut directory = || parts.next().unwrap_or(stem);
    if UNNAMED.contains(&stem) { directory() } else { stem }
}

fn has_word(code: &str, name: &str) -> bool {
    code.contains(name) && code.split(|character| !is_of_word(character)).any(|word| word == name)
}

/// Returns whether code may give a name another meaning: it sets it, or has it in a text, as for a patch at run time.
fn gives_meaning(code: &str, name: &str) -> bool {
    if !has_word(code, name) {
        return false;
    }
    let in_quotes = ["\"", "'"]
        .iter()
        .any(|quote| code.contains(&format!("{quote}{name}{quote}")));
    let mut behind = code
        .match_indices(name)
        .map(|(at, _)| code[at + name.len()..].trim_start());
    let is_set = |rest: &str| rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>");
    in_quotes || behind.any(is_set)
}

#[cfg(test)]
#[path = "uses_tests.rs"]
mod tests;
