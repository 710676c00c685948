//! Reading git's machine formats.
//!
//! Paths, modes and counts come from `--raw -z` and `--numstat -z`, where no file name can be mistaken for syntax. The
//! patch text is cut at its `diff --git` lines, which content cannot imitate: every content line of a patch begins with
//! a space, `+`, `-` or `\`. The cut and the list must agree on the number of files, or nothing is reviewed.

use diffy::{
    Line,
    patch_set::{ParseOptions, PatchSet},
};

use super::{ChangeKind, Content, Diff, FileDiff, LineMap};

/// A diff that cannot be what git wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffParseError {
    /// A record of `--raw` or `--numstat` that is none.
    #[error("failed to read git's list of changed files at record {0}")]
    Record(usize),
    /// The three formats do not list the same files.
    #[error("git lists {raw} changed files, {numstat} line counts and {patches} patches; they must be equal")]
    Mismatch {
        /// Records of `--raw`.
        raw: usize,
        /// Records of `--numstat`.
        numstat: usize,
        /// Sections of `--patch`.
        patches: usize,
    },
    /// A path that leaves the repository.
    #[error("the changed path {0:?} leaves the repository")]
    Path(String),
    /// Hunks that do not parse.
    #[error("failed to read the patch of {path}: {message}")]
    Patch {
        /// The file.
        path: String,
        /// What the parser says.
        message: String,
    },
}

struct RawRecord {
    modes: (String, String),
    status: char,
    old_path: String,
    path: String,
}

/// Puts the three formats together.
pub fn parse(raw: &[u8], numstat: &[u8], patch: &[u8]) -> Result<Diff, DiffParseError> {
    let records = raw_records(raw)?;
    let counts = numstat_records(numstat)?;
    // A type change (a file becomes a link) is one record, but two sections of the patch.
    let patches = merge_type_changes(&records, split_patches(patch));
    if records.len() != counts.len() || records.len() != patches.len() {
        return Err(DiffParseError::Mismatch {
            raw: records.len(),
            numstat: counts.len(),
            patches: patches.len(),
        });
    }
    let mut files = Vec::with_capacity(records.len());
    for ((record, count), patch) in records.into_iter().zip(counts).zip(patches) {
        for path in [&record.old_path, &record.path] {
            if escapes(path) {
                return Err(DiffParseError::Path(path.clone()));
            }
        }
        let content = content(&record, count, &patch);
        let lines = if content == Content::None || content == Content::Binary {
            LineMap::default()
        } else {
            line_map(&record.path, &patch)?
        };
        let (added, removed) = count.unwrap_or_default();
        files.push(FileDiff {
            kind: kind(record.status),
            content,
            old_path: record.old_path,
            path: record.path,
            modes: record.modes,
            added,
            removed,
            patch,
            lines,
        });
    }
    Ok(Diff { files })
}

fn kind(status: char) -> ChangeKind {
    match status {
        'A' => ChangeKind::Added,
        'D' => ChangeKind::Deleted,
        'R' => ChangeKind::Renamed,
        'C' => ChangeKind::Copied,
        _ => ChangeKind::Modified,
    }
}

fn content(record: &RawRecord, count: Option<(u64, u64)>, patch: &[u8]) -> Content {
    let is = |mode: &str| record.modes.0 == mode || record.modes.1 == mode;
    if is("160000") {
        Content::Submodule
    } else if is("120000") {
        Content::Symlink
    } else if count.is_none() {
        Content::Binary
    } else if has_hunks(patch) {
        Content::Text
    } else {
        Content::None
    }
}

fn has_hunks(patch: &[u8]) -> bool {
    patch.starts_with(b"@@ ") || patch.windows(4).any(|window| window == b"\n@@ ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn escapes(path: &str) -> bool {
    path.is_empty() || path.starts_with('/') || path.split('/').any(|part| matches!(part, ".." | "" | "."))
}

fn raw_records(raw: &[u8]) -> Result<Vec<RawRecord>, DiffParseError> {
    let mut fields = raw.split(|byte| *byte == 0).peekable();
    let mut records = Vec::new();
    while let Some(head) = fields.next() {
        if head.is_empty() && fields.peek().is_none() {
            break;
        }
        let error = || DiffParseError::Record(records.len() + 1);
        let head = text(head);
        let mut words = head.strip_prefix(':').ok_or_else(error)?.split(' ');
        let modes = (
            words.next().ok_or_else(error)?.to_owned(),
            words.next().ok_or_else(error)?.to_owned(),
        );
        let status = words
            .nth(2)
            .and_then(|status| status.chars().next())
            .ok_or_else(error)?;
        let old_path = text(fields.next().ok_or_else(error)?);
        let path = if matches!(status, 'R' | 'C') {
            text(fields.next().ok_or_else(error)?)
        } else {
            old_path.clone()
        };
        records.push(RawRecord {
            modes,
            status,
            old_path,
            path,
        });
    }
    Ok(records)
}

/// Added and removed lines a file; `None` for a binary file.
fn numstat_records(numstat: &[u8]) -> Result<Vec<Option<(u64, u64)>>, DiffParseError> {
    let mut fields = numstat.split(|byte| *byte == 0).peekable();
    let mut records = Vec::new();
    while let Some(head) = fields.next() {
        if head.is_empty() && fields.peek().is_none() {
            break;
        }
        let error = || DiffParseError::Record(records.len() + 1);
        let head = text(head);
        let mut words = head.splitn(3, '\t');
        let added = words.next().ok_or_else(error)?;
        let removed = words.next().ok_or_else(error)?;
        if words.next().ok_or_else(error)?.is_empty() {
            // A rename has its two paths in fields of their own.
            fields.next().ok_or_else(error)?;
            fields.next().ok_or_else(error)?;
        }
        let count = if added == "-" {
            None
        } else {
            Some((
                added.parse().map_err(|_| error())?,
                removed.parse().map_err(|_| error())?,
            ))
        };
        records.push(count);
    }
    Ok(records)
}

fn split_patches(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut sections: Vec<Vec<u8>> = Vec::new();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            sections.push(Vec::new());
        }
        if let Some(section) = sections.last_mut() {
            section.extend_from_slice(line);
        }
    }
    sections
}

fn merge_type_changes(records: &[RawRecord], sections: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let type_changes = records.iter().filter(|record| record.status == 'T').count();
    if type_changes == 0 || sections.len() != records.len() + type_changes {
        return sections;
    }
    let mut sections = sections.into_iter();
    let mut merged = Vec::with_capacity(records.len());
    for record in records {
        let mut section = sections.next().unwrap_or_default();
        if record.status == 'T' {
            section.extend(sections.next().unwrap_or_default());
        }
        merged.push(section);
    }
    merged
}

fn line_map(name: &str, section: &[u8]) -> Result<LineMap, DiffParseError> {
    let fault = |message: String| DiffParseError::Patch {
        path: name.to_owned(),
        message,
    };
    let mut map = LineMap::default();
    for file in PatchSet::parse_bytes(section, ParseOptions::gitdiff()) {
        let file = file.map_err(|error| fault(error.to_string()))?;
        let Some(patch) = file.patch().as_text() else { continue };
        for hunk in patch.hunks() {
            let start = |line: usize| u32::try_from(line).map_err(|_| fault("a line number is too large".into()));
            let mut old = start(hunk.old_range().start())?;
            let mut new = start(hunk.new_range().start())?;
            for line in hunk.lines() {
                match line {
                    Line::Context(_) => {
                        old += 1;
                        new += 1;
                    }
                    Line::Delete(_) => {
                        map.push_removed(old);
                        old += 1;
                    }
                    Line::Insert(_) => {
                        map.push_added(new);
                        new += 1;
                    }
                }
            }
        }
    }
    Ok(map)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
