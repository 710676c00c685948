//! Diffs between two commits, file by file.

use super::Repository;
use super::lines::{self, Hunk, Row};

/// The change of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileDiff {
    pub(crate) old_path: String,
    pub(crate) new_path: String,
    pub(crate) old_mode: String,
    pub(crate) new_mode: String,
    pub(crate) new_file: bool,
    pub(crate) deleted_file: bool,
    pub(crate) renamed_file: bool,
    /// Everything before the first hunk, as `git diff` prints it.
    pub(crate) header: String,
    /// The hunks; empty for a pure rename, a mode change or a binary file.
    pub(crate) patch: String,
}

impl FileDiff {
    /// The printed rows of the patch.
    pub(crate) fn rows(&self) -> Vec<Row> {
        lines::rows(&self.patch)
    }

    /// The hunks of the patch.
    pub(crate) fn hunks(&self) -> Vec<Hunk> {
        lines::hunks(&self.patch)
    }
}

impl Repository {
    /// The changes from `base` to `head`, with renames found.
    pub(crate) fn diff(&self, base: &str, head: &str) -> Vec<FileDiff> {
        let raw = self.run(&[
            "diff",
            "--raw",
            "-z",
            "--no-abbrev",
            "--find-renames",
            "--no-ext-diff",
            base,
            head,
            "--",
        ]);
        let patch = self.patch(base, head);
        let mut sections = split_sections(&patch).into_iter();
        let mut files = Vec::new();
        for entry in parse_raw(&String::from_utf8_lossy(&raw)) {
            // A type change (file to symbolic link) is printed as a deletion and an addition.
            if entry.status == 'T' {
                files.push(entry.clone().file('D', sections.next()));
                files.push(entry.file('A', sections.next()));
            } else {
                let status = entry.status;
                files.push(entry.file(status, sections.next()));
            }
        }
        files
    }

    /// The output of `git diff` between two commits.
    pub(crate) fn patch(&self, base: &str, head: &str) -> String {
        let arguments = [
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--find-renames",
            base,
            head,
            "--",
        ];
        String::from_utf8_lossy(&self.run(&arguments)).into_owned()
    }

    /// The hunks of one file between two commits, without context.
    pub(crate) fn changed_hunks(&self, base: &str, head: &str, path: &str) -> Vec<Hunk> {
        let output = self.run(&["diff", "--no-color", "--no-ext-diff", "-U0", base, head, "--", path]);
        lines::hunks(&String::from_utf8_lossy(&output))
    }
}

#[derive(Debug, Clone)]
struct RawEntry {
    old_mode: String,
    new_mode: String,
    status: char,
    old_path: String,
    new_path: String,
}

impl RawEntry {
    fn file(self, status: char, section: Option<&str>) -> FileDiff {
        let section = section.unwrap_or_default();
        let start = if section.starts_with("@@ ") {
            Some(0)
        } else {
            section.find("\n@@ ").map(|index| index + 1)
        };
        let (header, patch) = section.split_at(start.unwrap_or(section.len()));
        FileDiff {
            new_file: status == 'A',
            deleted_file: status == 'D',
            renamed_file: status == 'R',
            old_path: self.old_path,
            new_path: self.new_path,
            old_mode: self.old_mode,
            new_mode: self.new_mode,
            header: header.to_owned(),
            patch: patch.to_owned(),
        }
    }
}

fn parse_raw(raw: &str) -> Vec<RawEntry> {
    let mut fields = raw.split('\0');
    let mut entries = Vec::new();
    while let Some(description) = fields.next().and_then(|field| field.strip_prefix(':')) {
        let mut parts = description.split(' ');
        let old_mode = parts.next().unwrap_or_default().to_owned();
        let new_mode = parts.next().unwrap_or_default().to_owned();
        let status = parts.nth(2).and_then(|status| status.chars().next()).unwrap_or('M');
        let old_path = fields.next().unwrap_or_default().to_owned();
        let new_path = if matches!(status, 'R' | 'C') {
            fields.next().unwrap_or_default().to_owned()
        } else {
            old_path.clone()
        };
        entries.push(RawEntry {
            old_mode,
            new_mode,
            status,
            old_path,
            new_path,
        });
    }
    entries
}

fn split_sections(patch: &str) -> Vec<&str> {
    const MARK: &str = "diff --git ";
    let mut starts: Vec<usize> = patch
        .match_indices("\ndiff --git ")
        .map(|(index, _)| index + 1)
        .collect();
    if patch.starts_with(MARK) {
        starts.insert(0, 0);
    }
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| &patch[start..end])
        .collect()
}
