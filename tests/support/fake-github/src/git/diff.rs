//! Diffs between two commits, file by file, with GitHub's three lines of context.

use super::{GitRepository, text};

/// The change of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileDiff {
    pub(crate) old_path: String,
    pub(crate) path: String,
    /// `added`, `removed`, `modified`, `renamed` or `copied`.
    pub(crate) status: &'static str,
    /// The id of the file at head, or at base when it was removed.
    pub(crate) object: String,
    /// The hunks; empty for a pure rename, a mode change or a binary file.
    pub(crate) patch: String,
}

impl FileDiff {
    /// The number of added and of removed lines.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let count = |mark: char| self.patch.lines().filter(|line| line.starts_with(mark)).count();
        (count('+'), count('-'))
    }
}

impl GitRepository {
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
        for (status, [old_object, object, old_path, path]) in parse_raw(&text(&raw)) {
            // A change of the type (file to symbolic link) is printed as a deletion and an addition.
            let statuses: &[char] = if status == 'T' { &['D', 'A'] } else { &[status] };
            for status in statuses {
                files.push(FileDiff {
                    status: match status {
                        'A' => "added",
                        'D' => "removed",
                        'R' => "renamed",
                        'C' => "copied",
                        _ => "modified",
                    },
                    object: if *status == 'D' { &old_object } else { &object }.clone(),
                    old_path: old_path.clone(),
                    path: path.clone(),
                    patch: sections
                        .next()
                        .map(hunks_of)
                        .unwrap_or_default()
                        .trim_end_matches('\n')
                        .to_owned(),
                });
            }
        }
        files
    }

    /// The output of `git diff` between two commits.
    pub(crate) fn patch(&self, base: &str, head: &str) -> String {
        let options = [
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--find-renames",
            "--unified=3",
        ];
        let arguments: Vec<&str> = options.into_iter().chain([base, head, "--"]).collect();
        text(&self.run(&arguments))
    }

    /// The patch of one file between two commits, without context.
    pub(crate) fn bare_patch(&self, base: &str, head: &str, path: &str) -> String {
        text(&self.run(&["diff", "--no-color", "--no-ext-diff", "-U0", base, head, "--", path]))
    }
}

fn hunks_of(section: &str) -> &str {
    section.find("\n@@ ").map_or("", |index| &section[index + 1..])
}

/// Each entry is a status letter with the old object, the new object, the old path and the new path.
fn parse_raw(raw: &str) -> Vec<(char, [String; 4])> {
    let mut fields = raw.split('\0');
    let mut entries = Vec::new();
    while let Some(description) = fields.next().and_then(|field| field.strip_prefix(':')) {
        let parts: Vec<&str> = description.split(' ').collect();
        let [_, _, old_object, object, status] = parts[..] else {
            break;
        };
        let status = status.chars().next().unwrap_or('M');
        let old_path = fields.next().unwrap_or_default();
        let path = if matches!(status, 'R' | 'C') {
            fields.next().unwrap_or_default()
        } else {
            old_path
        };
        entries.push((status, [old_object, object, old_path, path].map(str::to_owned)));
    }
    entries
}

fn split_sections(patch: &str) -> Vec<&str> {
    let later = patch.match_indices("\ndiff --git ").map(|(index, _)| index + 1);
    let starts: Vec<usize> = patch
        .starts_with("diff --git ")
        .then_some(0)
        .into_iter()
        .chain(later)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([patch.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| &patch[start..end])
        .collect()
}
