//! One file's part of the patch: its header lines, and the lines of its hunks.

use diffy::{
    Line,
    patch_set::{ParseOptions, PatchSet},
};

use super::{
    Content, LineMap,
    file_diff::{SUBMODULE, SYMLINK},
    records::Record,
};

/// The longest header line that is looked at; a longer one holds nothing that is needed.
const MAX_HEADER: usize = 4096;

/// The beginnings of a Git LFS pointer's lines.
const POINTER_KEYS: [&[u8]; 4] = [b"version ", b"oid ", b"size ", b"ext-"];

/// What is known of the section that is being read.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// The text so far; given up once it is too large.
    pub(super) text: Vec<u8>,
    /// A limit was passed: the text is gone, and what follows is only counted.
    pub(super) too_large: bool,
    /// Bytes of the line that is being read.
    pub(super) line_length: usize,
    /// Lines below the header.
    pub(super) lines: usize,
    pub(super) added: u64,
    pub(super) removed: u64,
    /// `diff --git` lines: two if the file's type changed.
    pub(super) parts: usize,
    header: Option<Vec<u8>>,
    /// The `index` lines: object names at base and head.
    objects: Vec<(String, String)>,
    binary: bool,
    hunks: bool,
}

impl Section {
    /// A section that is nothing but these hunks.
    pub(super) fn of_hunks(hunks: &[u8], added: u64, removed: u64) -> Self {
        let header = b"diff --git a/file b/file\n--- a/file\n+++ b/file\n";
        Self {
            hunks: !hunks.is_empty(),
            text: [header.as_slice(), hunks].concat(),
            added,
            removed,
            ..Self::default()
        }
    }

    /// A `diff --git` line begins.
    pub(super) fn begin_part(&mut self) {
        self.parts += 1;
        self.header = Some(Vec::new());
    }

    /// Counts a line below the header by its first byte.
    pub(super) fn begin_line(&mut self, first: u8) {
        if self.header.is_some() {
            return;
        }
        self.lines += 1;
        match first {
            b'+' => self.added += 1,
            b'-' => self.removed += 1,
            _ => {}
        }
    }

    /// Takes bytes of a line.
    pub(super) fn push(&mut self, bytes: &[u8], patch_limit: usize, line_limit: usize) {
        self.line_length += bytes.len();
        if let Some(header) = &mut self.header {
            let room = MAX_HEADER.saturating_sub(header.len());
            header.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        if self.line_length > line_limit || self.text.len() + bytes.len() > patch_limit {
            self.give_up();
        }
        if !self.too_large {
            self.text.extend_from_slice(bytes);
        }
    }

    /// The line is complete.
    pub(super) fn end_line(&mut self, lines_limit: usize) {
        self.line_length = 0;
        if self.lines > lines_limit {
            self.give_up();
        }
        let Some(line) = self.header.take() else { return };
        if line.starts_with(b"@@ ") {
            // The hunks begin: every line from here on is content, and none of it is looked at.
            self.hunks = true;
            return;
        }
        self.binary |= line.starts_with(b"Binary files ") || line.starts_with(b"GIT binary patch");
        if let Some(names) = line
            .strip_prefix(b"index ")
            .and_then(|names| std::str::from_utf8(names).ok())
            && let Some((old, new)) = names.split_whitespace().next().and_then(|names| names.split_once(".."))
        {
            self.objects.push((old.to_owned(), new.to_owned()));
        }
        self.header = Some(Vec::new());
    }

    fn give_up(&mut self) {
        self.too_large = true;
        self.text = Vec::new();
    }

    /// Whether this is the record's section: both tell the same objects. A section without an `index` line changes no
    /// content.
    pub(super) fn belongs_to(&self, record: &Record) -> bool {
        let (old, new) = &record.objects;
        match (record.type_change, self.objects.as_slice()) {
            (true, [first, second]) => first.0 == *old && second.1 == *new,
            (false, [(first, second)]) => first == old && second == new,
            (false, []) => old == new,
            _ => false,
        }
    }

    pub(super) fn content(&self, record: &Record) -> Content {
        let is = |mode: &str| record.modes.0 == mode || record.modes.1 == mode;
        if is(SUBMODULE) {
            Content::Submodule
        } else if is(SYMLINK) && (!self.binary || record.modes.1 == SYMLINK) {
            // Binary data in the place of a link is binary data.
            Content::Symlink
        } else if self.binary {
            Content::Binary
        } else if self.hunks {
            Content::Text
        } else {
            Content::None
        }
    }

    /// Returns whether the head could be a Git LFS pointer, as far as the patch shows lines of it: one of a pointer's own, or
    /// in a whole hunk only blank ones, which may stand before and between them.
    pub(super) fn may_be_pointer(&self) -> bool {
        let mut shows_text = true;
        for line in self.text.split(|byte| *byte == b'\n') {
            match line.split_first() {
                // A hunk begins.
                Some((b'@', _)) if !shows_text => return true,
                Some((b'@', _)) => shows_text = false,
                Some((b' ' | b'+', rest)) => {
                    let rest = rest.trim_ascii();
                    if POINTER_KEYS.iter().any(|key| rest.starts_with(key)) {
                        return true;
                    }
                    shows_text |= !rest.is_empty();
                }
                _ => {}
            }
        }
        !shows_text
    }

    /// Reads the hunks. `None` if they do not parse, or do not hold the lines that were counted.
    pub(super) fn line_map(&self) -> Option<LineMap> {
        let mut map = LineMap::default();
        if !self.hunks {
            return Some(map);
        }
        let (mut added, mut removed) = (0, 0);
        for file in PatchSet::parse_bytes(&self.text, ParseOptions::gitdiff()) {
            let file = file.ok()?;
            let Some(patch) = file.patch().as_text() else { continue };
            for hunk in patch.hunks() {
                let mut old = u32::try_from(hunk.old_range().start()).ok()?;
                let mut new = u32::try_from(hunk.new_range().start()).ok()?;
                for line in hunk.lines() {
                    match line {
                        Line::Context(_) => (old, new) = (old.checked_add(1)?, new.checked_add(1)?),
                        Line::Delete(_) => {
                            map.push_removed(old);
                            removed += 1;
                            old = old.checked_add(1)?;
                        }
                        Line::Insert(_) => {
                            map.push_added(new);
                            added += 1;
                            new = new.checked_add(1)?;
                        }
                    }
                }
            }
        }
        ((added, removed) == (self.added, self.removed)).then_some(map)
    }
}
