//! The uses of code: what stands in a function decides nothing where a change takes its call away, goes around the call, or has other
//! code called by its name.

use super::{
    Versions,
    assigned::{gives_meaning, is_bound, sets},
    block::Code,
    imported::{imports_all, imports_other, is_import_of_names, module_words},
};
use crate::findings::code_words::{MAX_LINE, has_word, is_of_word, places};
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
    /// Those of them that the accused code uses itself: what the change does to that use is what the finding is about.
    accused: Vec<String>,
    /// Those that it calls without anything before them, as a variable of that name would be.
    called: Vec<String>,
    /// Names that the code and its function use themselves. A type that has them from the one around them can have others by these names.
    inner: Vec<String>,
    /// Of the file, as an import has it.
    file: String,
    /// The words by which an import can name the file.
    modules: Vec<String>,
}

impl UsedAs {
    /// The names of these lines at head, from 1, and what the accused code does with them.
    pub(crate) fn of(file: QuotedFile<'_>, (line, end_line): (u32, u32), accused: &str) -> Self {
        let code = Code::new(file.path, file.head);
        let lines = index(line)..index(end_line).saturating_add(1);
        let (functions, holders) = code.names(lines.clone());
        let owned = |names: &[&str]| -> Vec<String> { names.iter().copied().map(str::to_owned).collect() };
        let all = [functions.as_slice(), holders.as_slice()].concat();
        let is_accused = |name: &&&str| has_word(accused, name);
        let is_called = |name: &&&str| {
            places(accused, name)
                .any(|(before, behind)| behind.starts_with('(') && !before.ends_with(['.', ':', '>', '$']))
        };
        let around = code.around(lines);
        let mut inner: Vec<&str> = around
            .iter()
            .flat_map(|line| line.split(|next| !is_of_word(next)))
            .collect();
        inner.retain(|word| word.chars().nth(1).is_some());
        inner.sort_unstable();
        inner.dedup();
        Self {
            accused: owned(&all.iter().filter(is_accused).copied().collect::<Vec<_>>()),
            called: owned(&all.iter().filter(is_called).copied().collect::<Vec<_>>()),
            inner: owned(&inner),
            functions: owned(&functions),
            holders: owned(&holders),
            file: import_name(file.path).to_owned(),
            modules: module_words(file.path, file.head),
        }
    }

    /// The line at head, from 1, where this change of a file alters how the code is used.
    pub(crate) fn altered_in(&self, file: QuotedFile<'_>) -> Option<u32> {
        let lines = &file.change?.lines;
        let is_mentioned = |text: &str| self.all().any(|name| text.contains(name)) || text.contains(&self.file);
        if !is_mentioned(file.head) && !file.base.is_some_and(is_mentioned) {
            return None;
        }
        let versions = Versions::of(file);
        self.lost_in(&versions, lines).or_else(|| {
            let head = &versions.head.code;
            let derives = |at, code: &str| !is_import_of_names(code) && self.all().any(|name| head.derives(at, name));
            let has_derived = numbered(head).any(|(line, code)| derives(index(line), code));
            let mut added = numbered(head).filter(|(line, _)| lines.is_added(*line));
            // In how many ways a type can do without what it derives no list can say: a new one is a person's to judge.
            let is_taken = |line, code: &str| {
                let at = index(line);
                self.is_taken(head, at, code) || (has_derived && (derives(at, code) || head.overrides(at, &self.inner)))
            };
            added.find_map(|(line, code)| is_taken(line, code).then_some(line))
        })
    }

    /// Returns whether a line, from 0, gives one of the names another meaning.
    fn is_taken(&self, head: &Code, at: usize, code: &str) -> bool {
        let syntax = head.syntax();
        if is_import_of_names(code)
            && (imports_all(code, syntax, &self.modules)
                || self.all().any(|name| imports_other(code, name, &self.modules)))
        {
            return true;
        }
        let is_set = |name: &String| {
            if self.accused.contains(name) {
                self.called.contains(name) && (sets(code, name) || is_bound(code, name, syntax))
            } else {
                gives_meaning(code, name, syntax) || is_bound(code, name, syntax)
            }
        };
        self.all()
            .any(|name| is_set(name) || (!is_import_of_names(code) && head.defines(at, name)))
    }

    /// Where a use goes, or code before a call is other code.
    fn lost_in(&self, Versions { base, head, .. }: &Versions<'_>, lines: &LineMap) -> Option<u32> {
        let is_call = |line, code: &str, name: &String| {
            has_word(code, name) && (code.len() > MAX_LINE || !base.code.defines(index(line), name))
        };
        let functions = || self.functions.iter().filter(move |name| !self.accused.contains(name));
        let mut calls = 0;
        for (line, code) in numbered(&base.code) {
            let is_import = is_import(code.trim_start());
            let is_lost = if lines.is_removed(line) {
                self.names().any(|name| has_word(code, name)) || (is_import && has_word(code, &self.file))
            } else if !is_import && functions().any(|name| is_call(line, code, name)) {
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

    fn all(&self) -> impl Iterator<Item = &String> {
        self.functions.iter().chain(&self.holders)
    }

    /// The names, but for those that the accused code uses itself.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.all().filter(move |name| !self.accused.contains(name))
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

#[cfg(test)]
#[path = "uses_tests.rs"]
mod tests;
