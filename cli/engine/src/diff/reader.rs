//! Reading a diff as git writes it: `git diff --raw --patch -z --no-abbrev --full-index`.
//!
//! The reader is a state machine that is fed with chunks of any size; it does no I/O of its own but for the spool that it
//! writes the patches to. At no time it holds more than one file's patch, and of that not more than [`DiffLimits`] allow:
//! a diff of any size, or a line of any length, costs no more memory.
//!
//! Who may say what is in the diff: paths, modes and objects come from the list between NUL bytes, which no file name can
//! imitate. The patch is cut at its `diff --git` lines, which no content can imitate, because every line of content begins
//! with a space, `+`, `-` or `\`. Every section must name the objects of its record, or nothing is reviewed.

use std::{collections::HashSet, io::Write};

use super::{
    Content, Diff, FileDiff, LineMap, PatchRange, Unread,
    records::{Field, Record, RecordReader},
    section::Section,
};

/// The line that a file's section begins with.
const MARK: &[u8] = b"diff --git ";

/// How much of a diff is taken in. What is beyond is named as not reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLimits {
    /// Files in a diff; more are an error.
    pub files: usize,
    /// Bytes of a file's patch.
    pub patch_bytes: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Lines of a file's patch.
    pub lines: usize,
    /// Runs of added or removed lines in the whole diff; they are kept in memory.
    pub runs: usize,
}

impl Default for DiffLimits {
    /// Far beyond what any model can read of one file.
    fn default() -> Self {
        Self {
            files: 100_000,
            patch_bytes: 8 << 20,
            line_bytes: 1 << 20,
            lines: 250_000,
            runs: 1_000_000,
        }
    }
}

/// A diff that cannot be what git wrote, or that cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum DiffParseError {
    /// A record of the list that is none.
    #[error("failed to read git's list of changed files at record {0}")]
    Record(usize),
    /// List and patch do not agree.
    #[error("git lists {files} changed files, but its patch does not fit them at file {at}; they must be the same")]
    Mismatch {
        /// Records of the list.
        files: usize,
        /// Where they differ, from 1.
        at: usize,
    },
    /// More files than any review can be about.
    #[error(
        "the diff has more than {0} files, which no review can be about. Split the change, or review a part of it with `conclave local BASE..HEAD`"
    )]
    TooManyFiles(usize),
    /// The spool.
    #[error("failed to store the patches in the temporary directory: {0}")]
    Spool(#[from] std::io::Error),
}

/// Takes git's output, in chunks; gives the diff at the end.
#[derive(Debug)]
pub struct DiffReader<W> {
    limits: DiffLimits,
    spool: W,
    spooled: u64,
    list: RecordReader,
    in_patch: bool,
    records: std::collections::VecDeque<Record>,
    listed: usize,
    files: Vec<FileDiff>,
    runs: usize,
    section: Option<Section>,
    line_start: bool,
    /// Bytes at the beginning of a line that agree with [`MARK`] so far.
    held: usize,
}

impl<W: Write> DiffReader<W> {
    /// A reader that writes patches to this spool, one behind the other.
    pub fn new(limits: DiffLimits, spool: W) -> Self {
        Self {
            limits,
            spool,
            spooled: 0,
            list: RecordReader::default(),
            in_patch: false,
            records: std::collections::VecDeque::new(),
            listed: 0,
            files: Vec::new(),
            runs: 0,
            section: None,
            line_start: true,
            held: 0,
        }
    }

    /// Takes the next chunk.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<(), DiffParseError> {
        while !self.in_patch {
            let Some(end) = memchr::memchr(0, chunk) else {
                self.list.push(chunk);
                return Ok(());
            };
            self.list.push(&chunk[..end]);
            chunk = &chunk[end + 1..];
            match self.list.end_field() {
                Field::More => {}
                Field::End => self.in_patch = true,
                Field::Malformed => return Err(DiffParseError::Record(self.listed + 1)),
                Field::Record(record) => {
                    self.listed += 1;
                    if self.listed > self.limits.files {
                        return Err(DiffParseError::TooManyFiles(self.limits.files));
                    }
                    self.records.push_back(record);
                }
            }
        }
        while !chunk.is_empty() {
            chunk = self.patch_bytes(chunk)?;
        }
        Ok(())
    }

    /// Git has ended well. The diff, and the spool, with everything written.
    pub fn finish(mut self) -> Result<(Diff, W), DiffParseError> {
        if !self.in_patch && !self.list.is_between_records() {
            return Err(DiffParseError::Record(self.listed + 1));
        }
        let held = std::mem::take(&mut self.held);
        self.append(&MARK[..held])?;
        self.close_section()?;
        if !self.records.is_empty() {
            return Err(self.mismatch());
        }
        self.spool.flush()?;
        let mut seen = HashSet::new();
        let twice: Vec<usize> = (0..self.files.len())
            .filter(|at| !seen.insert(&self.files[*at].path))
            .collect();
        for at in twice {
            self.files[at].unread = Some(Unread::Path);
        }
        Ok((Diff { files: self.files }, self.spool))
    }

    fn mismatch(&self) -> DiffParseError {
        DiffParseError::Mismatch {
            files: self.listed,
            at: self.files.len() + 1,
        }
    }

    /// Takes bytes of the patch, at most up to the end of a line, and returns the rest.
    fn patch_bytes<'c>(&mut self, chunk: &'c [u8]) -> Result<&'c [u8], DiffParseError> {
        let mut line = chunk;
        if self.line_start {
            let wanted = &MARK[self.held..];
            let common = chunk.len().min(wanted.len());
            let agrees = chunk[..common] == wanted[..common];
            if agrees && common < wanted.len() {
                self.held += common;
                return Ok(&[]);
            }
            self.line_start = false;
            let held = std::mem::take(&mut self.held);
            if agrees {
                self.begin_section()?;
            } else if let Some(section) = &mut self.section {
                section.begin_line(if held > 0 { MARK[0] } else { chunk[0] });
            }
            self.append(&MARK[..held])?;
        }
        let end = memchr::memchr(b'\n', line).map(|at| at + 1);
        line = &line[..end.unwrap_or(line.len())];
        self.append(line)?;
        if end.is_some() {
            self.line_start = true;
            if let Some(section) = &mut self.section {
                section.end_line(self.limits.lines);
            }
        }
        Ok(&chunk[line.len()..])
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), DiffParseError> {
        if bytes.is_empty() {
            return Ok(());
        }
        match &mut self.section {
            Some(section) => section.push(bytes, self.limits.patch_bytes, self.limits.line_bytes),
            None => return Err(self.mismatch()),
        }
        Ok(())
    }

    fn begin_section(&mut self) -> Result<(), DiffParseError> {
        let type_change = self.records.front().is_some_and(|record| record.type_change);
        if !(type_change && self.section.as_ref().is_some_and(|section| section.parts == 1)) {
            self.close_section()?;
        }
        if self.records.is_empty() {
            return Err(self.mismatch());
        }
        self.section.get_or_insert_default().begin_part();
        Ok(())
    }

    /// The section is complete: it becomes a file of the diff.
    fn close_section(&mut self) -> Result<(), DiffParseError> {
        let Some(section) = self.section.take() else {
            return Ok(());
        };
        let mismatch = self.mismatch();
        let record = self
            .records
            .pop_front()
            .filter(|record| section.belongs_to(record))
            .ok_or(mismatch)?;
        let content = section.content(&record);
        let mut lines = LineMap::default();
        let unread = if !record.usable {
            Some(Unread::Path)
        } else if section.too_large {
            Some(Unread::TooLarge)
        } else if content == Content::Binary {
            None
        } else {
            match section.line_map() {
                Some(map) if self.runs + map.runs() > self.limits.runs => Some(Unread::TooLarge),
                Some(map) => {
                    self.runs += map.runs();
                    lines = map;
                    None
                }
                None => Some(Unread::Patch),
            }
        };
        let mut patch = PatchRange::default();
        if unread.is_none() {
            patch = PatchRange {
                offset: self.spooled,
                length: u64::try_from(section.text.len()).unwrap_or(u64::MAX),
            };
            self.spool.write_all(&section.text)?;
            self.spooled += patch.length;
        }
        self.files.push(FileDiff {
            maybe_pointer: section.may_be_pointer(),
            decoded: (None, None),
            kind: record.kind,
            content,
            old_path: record.old_path,
            path: record.path,
            modes: record.modes,
            objects: record.objects,
            added: section.added,
            removed: section.removed,
            patch,
            lines,
            forge_lines: None,
            unread,
        });
        Ok(())
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
