//! How much of a large diff fits into a reviewer's context, and which part of it.
//!
//! The index names all files, so that every reviewer knows what changed. What is left is spent on the most-changed files first,
//! each in full; a file that does not fit is set aside and the smaller ones behind it are still tried, so the
//! least-changed are the last to be cut. What then remains goes to the first file that was set aside and of which more than
//! a few lines fit. Of every other only the header is left, which says no more than the index: no reviewer opens it, and it
//! takes no room from what is read.

use std::{cmp::Reverse, io};

/// Bytes of code, patches and prose that make up a token: an estimate on the safe side, as English prose has more.
const BYTES_PER_TOKEN: u64 = 3;
/// The share of a context window that input may fill before an answer suffers from it, as a divisor.
const COMFORTABLE_SHARE: u64 = 2;
/// Room for the line that says how much of a patch is missing.
const NOTICE: u64 = 64;
/// The fewest bytes of hunks for which a patch is cut in its middle: less is hardly more than the header and the notice.
const MIN_PART: u64 = 500;

/// The estimated number of tokens of a text of this many bytes.
pub const fn estimated_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// The bytes of patches that a reviewer can read, if its model has this window (in tokens) and its message and rules take
/// so many bytes: the other half of the window is for the source, its thinking and its answer.
pub const fn patch_budget(window: u64, message: u64) -> u64 {
    (window / COMFORTABLE_SHARE * BYTES_PER_TOKEN).saturating_sub(message)
}

/// What to say if the coordinator's message fills more of its window than is good for its judgement.
pub fn window_warning(model: &str, window: u64, message: u64) -> Option<String> {
    let tokens = estimated_tokens(message);
    (tokens > window / COMFORTABLE_SHARE).then(|| {
        format!(
            "the coordinator's message is about {tokens} tokens, more than half of the context window of {model} \
             ({window}): its judgement may suffer; split the change if you can"
        )
    })
}

/// The size of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchSize {
    /// Added and removed lines.
    pub changed_lines: u64,
    /// All bytes.
    pub bytes: u64,
    /// The bytes before the first hunk.
    pub header: u64,
}

/// How much of a patch is given to reviewers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of it.
    Whole,
    /// The header and at most this many bytes of hunks.
    Cut(u64),
    /// The header, which no reviewer has to open.
    Header,
}

/// Shares `budget` bytes out among patches. No more than that is given.
pub fn share_out(sizes: &[PatchSize], budget: u64) -> Vec<Share> {
    if sizes.iter().map(|size| size.bytes).sum::<u64>() <= budget {
        return vec![Share::Whole; sizes.len()];
    }
    let mut left = budget;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|position| (Reverse(sizes[*position].changed_lines), *position));
    let mut shares = vec![Share::Header; sizes.len()];
    let mut aside = Vec::new();
    for position in order {
        let bytes = sizes[position].bytes;
        // With room for a notice kept back: no patch is cut only to make room for its own.
        if bytes.saturating_add(NOTICE) <= left {
            shares[position] = Share::Whole;
            left -= bytes;
        } else {
            aside.push(position);
        }
    }
    for position in aside {
        let size = &sizes[position];
        let part = left.saturating_sub(size.header.saturating_add(NOTICE));
        if size.bytes <= left {
            shares[position] = Share::Whole;
            left -= size.bytes;
        } else if part >= MIN_PART {
            shares[position] = Share::Cut(part);
            left = 0;
        }
    }
    shares
}

/// The sizes of the patches as they are given; of one whose share is its header, which is not given, the size stays.
pub fn given(sizes: &[PatchSize], shares: &[Share]) -> Vec<PatchSize> {
    let given = |(size, share): (&PatchSize, &Share)| match share {
        Share::Whole | Share::Header => *size,
        Share::Cut(hunks) => PatchSize {
            bytes: size.header.saturating_add(NOTICE).saturating_add(*hunks),
            ..*size
        },
    };
    sizes.iter().zip(shares).map(given).collect()
}

/// The patches of a reviewer's field that fit into `budget` bytes, the most-changed first; the rest is for others.
pub fn fitting(field: &[usize], sizes: &[PatchSize], budget: u64) -> Vec<usize> {
    let of_field: Vec<PatchSize> = field
        .iter()
        .filter_map(|position| sizes.get(*position))
        .map(|size| PatchSize { header: 0, ..*size })
        .collect();
    let shares = share_out(&of_field, budget);
    let whole = field.iter().zip(shares).filter(|(_, share)| *share == Share::Whole);
    whole.map(|(position, _)| *position).collect()
}

/// A patch that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutPatch {
    /// What is left: still a patch in git's form, with a last line that says what is missing.
    pub bytes: Vec<u8>,
    /// Lines of hunks that are missing.
    pub lines_left_out: u64,
    /// Lines of hunks that are there.
    pub lines_kept: u64,
}

impl CutPatch {
    /// Returns whether nothing but the header is left of a patch that has lines.
    pub const fn is_header(&self) -> bool {
        self.lines_left_out > 0 && self.lines_kept == 0
    }
}

/// Cuts a patch to its header and `hunks` bytes of hunks. A hunk that is cut through gets a header that fits.
pub fn cut(patch: impl io::BufRead, hunks: u64) -> io::Result<CutPatch> {
    let mut kept = CutPatch {
        bytes: Vec::new(),
        lines_left_out: 0,
        lines_kept: 0,
    };
    let mut left = hunks;
    let mut hunk: Option<Hunk> = None;
    let mut patch = patch;
    let mut line = Vec::new();
    let mut full = false;
    loop {
        line.clear();
        if patch.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let starts_hunk = hunk.as_ref().is_none_or(Hunk::is_complete) && line.starts_with(b"@@ -");
        if starts_hunk {
            if let Some(done) = hunk.take() {
                done.write(&mut kept.bytes);
            }
            hunk = Hunk::parse(&line);
        }
        let in_hunks = hunk.is_some();
        if !in_hunks {
            kept.bytes.extend_from_slice(&line);
            continue;
        }
        let size = line.len() as u64;
        // Once something is missing everything after it is: a patch with holes in its middle would mislead.
        full |= size > left;
        if let Some(hunk) = &mut hunk {
            if full {
                kept.lines_left_out += u64::from(!starts_hunk);
                hunk.pass(&line, starts_hunk);
            } else {
                left -= size;
                kept.lines_kept += u64::from(!starts_hunk);
                hunk.keep(&line, starts_hunk);
            }
        }
    }
    if let Some(done) = hunk {
        done.write(&mut kept.bytes);
    }
    if kept.lines_left_out > 0 {
        if kept.bytes.last().is_some_and(|byte| *byte != b'\n') {
            kept.bytes.push(b'\n');
        }
        let note = format!("# {} lines left out: the change is too large\n", kept.lines_left_out);
        kept.bytes.extend_from_slice(note.as_bytes());
    }
    Ok(kept)
}

/// A hunk on its way through the cut.
struct Hunk {
    /// First lines on both sides.
    starts: (u64, u64),
    /// What stands behind the second `@@`, with the line's end.
    context: Vec<u8>,
    /// Lines that the header announces and that have not come yet.
    to_come: (u64, u64),
    /// Lines that were kept.
    lengths: (u64, u64),
    lines: Vec<u8>,
}

impl Hunk {
    fn parse(line: &[u8]) -> Option<Self> {
        let text = line.strip_prefix(b"@@ -")?;
        let end = text.windows(3).position(|window| window == b" @@")?;
        let (old, new) = std::str::from_utf8(&text[..end]).ok()?.split_once(" +")?;
        let range = |text: &str| -> Option<(u64, u64)> {
            let (start, length) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, length.parse().ok()?))
        };
        let (old, new) = (range(old)?, range(new)?);
        Some(Self {
            starts: (old.0, new.0),
            context: text[end + 3..].to_vec(),
            to_come: (old.1, new.1),
            lengths: (0, 0),
            lines: Vec::new(),
        })
    }

    fn is_complete(&self) -> bool {
        self.to_come == (0, 0)
    }

    fn count(&mut self, line: &[u8]) -> (u64, u64) {
        let (old, new) = match line.first() {
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            _ => (1, 1),
        };
        self.to_come = (self.to_come.0.saturating_sub(old), self.to_come.1.saturating_sub(new));
        (old, new)
    }

    fn pass(&mut self, line: &[u8], is_header: bool) {
        if !is_header {
            self.count(line);
        }
    }

    fn keep(&mut self, line: &[u8], is_header: bool) {
        if !is_header {
            let (old, new) = self.count(line);
            self.lengths = (self.lengths.0 + old, self.lengths.1 + new);
            self.lines.extend_from_slice(line);
        }
    }

    /// Writes what was kept; a hunk of which nothing was kept is not written.
    fn write(&self, to: &mut Vec<u8>) {
        if self.lines.is_empty() {
            return;
        }
        let header = format!(
            "@@ -{},{} +{},{} @@",
            self.starts.0, self.lengths.0, self.starts.1, self.lengths.1
        );
        to.extend_from_slice(header.as_bytes());
        to.extend_from_slice(&self.context);
        to.extend_from_slice(&self.lines);
    }
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
