//! The index of patches: each changed file with what happened to it and where its patch is.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write};

use crate::{
    diff::FileDiff,
    review::{INDEX_FILE, REVIEW_DIRECTORY},
    untrusted::Untrusted,
};

/// Up to this many files the index stands in the context; of more it holds the most-changed.
const MAX_LISTED: usize = 400;
/// Up to this many files that are not reviewed are listed.
const MAX_FILTERED: usize = 100;
/// Up to this many directories sum up the rest.
const MAX_DIRECTORIES: usize = 30;

/// The end of the line of a patch of which no line is given.
const LEFT_OUT: &str = " | left out";
/// The meaning of that.
const ABOUT_LEFT_OUT: &str =
    "A patch that is `left out` has no lines, because the change is too large: do not open it.";

/// One line of the index of patches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchEntry {
    /// The changed file.
    pub path: String,
    /// The patch's path, relative to the workspace.
    pub patch: String,
    /// `modified`, `added`, …
    pub kind: &'static str,
    /// Added lines.
    pub added: u64,
    /// Removed lines.
    pub removed: u64,
    /// The path at base, where it was another one.
    pub old_path: Option<String>,
    /// Lines of the patch that are left out because the merge request is too large.
    pub lines_left_out: u64,
    /// True if no line of the patch is given, and no reviewer has to open it.
    pub is_left_out: bool,
}

impl PatchEntry {
    /// The entry of the file at this position (from 0) of the filtered diff.
    pub fn new(position: usize, file: &FileDiff) -> Self {
        Self {
            path: file.path.clone(),
            patch: format!("{REVIEW_DIRECTORY}/patches/{}", patch_file_name(position, &file.path)),
            kind: file.kind.as_str(),
            added: file.added,
            removed: file.removed,
            old_path: (file.old_path != file.path).then(|| file.old_path.clone()),
            lines_left_out: 0,
            is_left_out: false,
        }
    }

    fn line(&self) -> String {
        let mut path = Untrusted::from(self.path.as_str()).sanitized_line();
        if let Some(old) = &self.old_path {
            let _ = write!(path, " (was {})", Untrusted::from(old.as_str()).sanitized_line());
        }
        let mut line = format!(
            "- {path} | {} | +{} -{} | {}",
            self.kind, self.added, self.removed, self.patch
        );
        if self.is_left_out {
            line.push_str(LEFT_OUT);
        } else if self.lines_left_out > 0 {
            let _ = write!(line, " | cut: {} lines left out", self.lines_left_out);
        }
        line
    }
}

/// The name of a patch's file: a number, and what is left of the path in harmless characters.
pub fn patch_file_name(position: usize, path: &str) -> String {
    let mut slug = String::new();
    for character in path.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            slug.push(character);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    // The end of a path says more than its beginning.
    let slug: String = slug
        .trim_matches('-')
        .chars()
        .rev()
        .take(60)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    format!("{:04}-{}.patch", position + 1, slug.trim_matches('-'))
}

/// The whole index, as [`INDEX_FILE`] holds it.
pub fn render_index(entries: &[PatchEntry]) -> String {
    let mut text: String = entries.iter().map(|entry| entry.line() + "\n").collect();
    if text.is_empty() {
        text.push_str("(none)\n");
    }
    text
}

/// The content of the section `changed_files`: the index, or of a huge one the most-changed files and a summary, and
/// what is not reviewed.
pub(super) fn changed_files(entries: &[PatchEntry], filtered: &[(String, &'static str)]) -> String {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    if entries.len() > MAX_LISTED {
        order.sort_by_key(|position| {
            (
                Reverse(entries[*position].added + entries[*position].removed),
                *position,
            )
        });
    }
    let (listed, rest) = order.split_at(entries.len().min(MAX_LISTED));
    let mut listed = listed.to_vec();
    listed.sort_unstable();
    let mut lines: Vec<String> = listed.iter().map(|position| entries[*position].line()).collect();
    if entries.is_empty() {
        lines.push("(none)".to_owned());
    }
    if !rest.is_empty() {
        lines.push(String::new());
        lines.push(format!(
            "These are the most-changed files; {} more are in `{INDEX_FILE}`, by directory:",
            rest.len()
        ));
        lines.extend(by_directory(
            rest.iter().map(|position| entries[*position].path.as_str()),
        ));
    }
    if entries.iter().any(|entry| entry.is_left_out) {
        lines.push(String::new());
        lines.push(ABOUT_LEFT_OUT.to_owned());
    }
    if !filtered.is_empty() {
        lines.push(String::new());
        lines.push("Not reviewed:".to_owned());
        lines.extend(
            filtered
                .iter()
                .take(MAX_FILTERED)
                .map(|(path, reason)| format!("- {} | {reason}", Untrusted::from(path.as_str()).sanitized_line())),
        );
        if filtered.len() > MAX_FILTERED {
            lines.push(format!("- and {} more", filtered.len() - MAX_FILTERED));
        }
    }
    lines.join("\n")
}

fn by_directory<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut directories: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let end = path
            .match_indices('/')
            .nth(1)
            .or_else(|| path.match_indices('/').next());
        *directories.entry(end.map_or("", |(at, _)| &path[..at])).or_default() += 1;
    }
    let mut directories: Vec<(&str, usize)> = directories.into_iter().collect();
    directories.sort_by_key(|(directory, count)| (Reverse(*count), *directory));
    let more: usize = directories.iter().skip(MAX_DIRECTORIES).map(|(_, count)| count).sum();
    let mut lines: Vec<String> = directories
        .iter()
        .take(MAX_DIRECTORIES)
        .map(|(directory, count)| format!("- {}/ | {count} files", Untrusted::from(*directory).sanitized_line()))
        .collect();
    if more > 0 {
        lines.push(format!("- elsewhere | {more} files"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, added: u64) -> PatchEntry {
        PatchEntry {
            path: path.to_owned(),
            patch: format!(".conclave-review/patches/{}", patch_file_name(0, path)),
            kind: "added",
            added,
            removed: 0,
            old_path: None,
            lines_left_out: 0,
            is_left_out: false,
        }
    }

    #[test]
    fn patch_names_are_harmless_and_unique_by_number() {
        assert_eq!(patch_file_name(0, "src/db.py"), "0001-src-db-py.patch");
        assert_eq!(patch_file_name(41, "../../etc/passwd"), "0042-etc-passwd.patch");
        assert_eq!(patch_file_name(1, "日本語"), "0002-.patch");
        assert!(patch_file_name(9999, &"x/".repeat(500)).len() < 80);
    }

    #[test]
    fn a_line_says_what_happened_and_what_was_cut() {
        let moved = PatchEntry {
            old_path: Some("old.py".into()),
            lines_left_out: 12,
            ..entry("new.py", 3)
        };
        assert_eq!(
            changed_files(&[moved], &[("bun.lock".into(), "lock file")]),
            "- new.py (was old.py) | added | +3 -0 | .conclave-review/patches/0001-new-py.patch | cut: 12 lines left out\n\n\
             Not reviewed:\n- bun.lock | lock file"
        );
    }

    #[test]
    fn a_patch_without_lines_is_marked_and_not_to_be_opened() {
        let left_out = PatchEntry {
            lines_left_out: 12,
            is_left_out: true,
            ..entry("new.py", 3)
        };
        assert_eq!(
            changed_files(&[left_out], &[]),
            format!(
                "- new.py | added | +3 -0 | .conclave-review/patches/0001-new-py.patch | left out\n\n{ABOUT_LEFT_OUT}"
            )
        );
    }

    #[test]
    fn a_huge_index_is_summed_up_and_whole_in_its_file() {
        let entries: Vec<PatchEntry> = (0..5000)
            .map(|at| {
                entry(
                    &format!("dir{}/sub/file{at}.rs", at % 50),
                    if at == 4999 { 900 } else { 1 },
                )
            })
            .collect();
        let filtered: Vec<(String, &str)> = (0..500).map(|at| (format!("vendor/{at}"), "vendored")).collect();
        let text = changed_files(&entries, &filtered);
        assert!(text.len() < 60_000, "{}", text.len());
        assert!(
            text.contains("file4999.rs | added | +900"),
            "the most-changed are listed"
        );
        assert!(
            text.contains("4600 more are in `.conclave-review/patches/INDEX.txt`"),
            "{text}"
        );
        assert!(
            text.contains("- dir0/sub/ | 92 files") && text.contains("- elsewhere | "),
            "{text}"
        );
        assert!(text.contains("- and 400 more"));
        assert_eq!(render_index(&entries).lines().count(), 5000);
    }
}
