//! `grep`: lines by a regular expression.

use std::{
    fmt::Write as _,
    io::{self, Read},
    sync::atomic::AtomicBool,
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::{ports::FileRead, review::REVIEW_DIRECTORY};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use serde_json::{Map, Value};

use super::{
    Outcome, Output, optional_text, text,
    walk::Files,
    workspace::{Kind, Place, Workspace},
};

/// Maximum number of lines that are shown.
const MAX_MATCHES: usize = 100;
/// Maximum number of characters that are shown of a line.
const MAX_LINE: usize = 2000;
/// Memory that a pattern may need, in bytes.
const MAX_PATTERN: usize = 10 << 20;
/// Maximum number of bytes that are searched of a line.
const MAX_SEARCHED: usize = 8 << 20;
/// Memory for a line, in bytes: room for what is searched of the longest one.
const MAX_HEAP: usize = 2 * MAX_SEARCHED;
/// Maximum number of files that are named as searched in part.
const MAX_NAMED: usize = 10;

pub(super) fn run(workspace: &Workspace, arguments: &Map<String, Value>, stop: &AtomicBool) -> Outcome {
    let pattern = text(arguments, "pattern")?;
    let include = optional_text(arguments, "include")?;
    let place = workspace.place(optional_text(arguments, "path")?.unwrap_or("."))?;
    let matcher = RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .build(pattern)
        .map_err(|error| format!("`{pattern}` is not a regular expression: {error}"))?;
    let mut search = Search {
        workspace,
        matcher,
        searcher: SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HEAP))
            .line_number(true)
            .build(),
        found: Vec::new(),
        partly: Vec::new(),
    };
    let late = match workspace.kind(&place) {
        Ok(Kind::File) => {
            search.file(&place);
            false
        }
        Ok(Kind::Directory) => {
            let mut files = Files::below(workspace, &place, include, stop)?;
            for path in files.by_ref() {
                if let Ok(place) = workspace.place(path.as_str()) {
                    search.file(&place);
                }
                if search.is_full() {
                    break;
                }
            }
            files.is_late()
        }
        Err(_) => return Err(workspace.missing(&place)),
    };
    let reads = if is_among_patches(&place) {
        search.reads()
    } else {
        Vec::new()
    };
    Ok(Output {
        text: search.output(late),
        reads,
    })
}

/// Returns whether a place is the directory of patches, or one of them. What is found there was read; elsewhere a line has not
/// to be.
fn is_among_patches(place: &Place) -> bool {
    let patches = Utf8Path::new(REVIEW_DIRECTORY).join("patches");
    place.path() == patches || place.path().parent() == Some(&patches)
}

struct Search<'a> {
    workspace: &'a Workspace,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// The file, the number of the line, the line.
    found: Vec<(Utf8PathBuf, u64, String)>,
    /// Files that were not searched whole, and why.
    partly: Vec<(Utf8PathBuf, &'static str)>,
}

impl Search<'_> {
    fn is_full(&self) -> bool {
        self.found.len() > MAX_MATCHES
    }

    fn file(&mut self, place: &Place) {
        let Ok(file) = self.workspace.file(place) else { return };
        let found = &mut self.found;
        let sink = Lossy(|number, line| {
            found.push((place.path().to_owned(), number, shortened(line)));
            Ok(found.len() <= MAX_MATCHES)
        });
        let mut lines = CutLines {
            file,
            length: 0,
            has_cut: false,
        };
        // What was found before an error stands.
        let ended = self.searcher.search_reader(&self.matcher, &mut lines, sink);
        if let Err(error) = &ended {
            tracing::debug!(path = %place.path(), %error, "the search of a file ended early");
        }
        let why = match ended {
            Err(_) => Some("it could not be read to its end"),
            Ok(()) if lines.has_cut => Some("a line was too long, and its rest was not searched"),
            Ok(()) => None,
        };
        self.partly.extend(why.map(|why| (place.path().to_owned(), why)));
    }

    /// The lines that are shown.
    fn reads(&self) -> Vec<FileRead> {
        let shown = self.found.iter().take(MAX_MATCHES);
        shown
            .map(|(path, number, line)| FileRead {
                path: path.to_string(),
                first: *number,
                last: Some(*number),
                cut_lines: line.chars().count() > MAX_LINE,
            })
            .collect()
    }

    fn output(mut self, late: bool) -> String {
        let more = self.is_full() || late;
        self.found.truncate(MAX_MATCHES);
        let mut output = if self.found.is_empty() {
            "No files found".to_owned()
        } else {
            let more = if more { " (more matches available)" } else { "" };
            format!("Found {} matches{more}", self.found.len())
        };
        let mut before = None;
        for (path, number, line) in &self.found {
            if before != Some(path) {
                let gap = if before.is_some() { "\n" } else { "" };
                let _ = write!(output, "{gap}\n{path}:");
                before = Some(path);
            }
            let _ = write!(output, "\n  Line {number}: {line}");
        }
        if more {
            output.push_str("\n\n(Results truncated. Consider using a more specific path or pattern.)");
        }
        if !self.partly.is_empty() {
            output.push_str("\n\n(Searched in part only:");
            for (path, why) in self.partly.iter().take(MAX_NAMED) {
                let _ = write!(output, "\n{path}: {why}");
            }
            if let Some(more) = self.partly.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
                let _ = write!(output, "\nand {more} more files");
            }
            output.push(')');
        }
        output
    }
}

/// A file whose lines are cut at the length that is searched, so that a longer one does not end the search.
struct CutLines<R> {
    file: R,
    /// Length of the line so far, in bytes.
    length: usize,
    has_cut: bool,
}

impl<R: Read> Read for CutLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(buffer)?;
            let kept = self.keep(&mut buffer[..count]);
            // Nothing is the end of the file, and not a piece of a line that is left out.
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}

impl<R> CutLines<R> {
    /// Takes out of the next piece what is too much of its lines, and returns the length of what is left.
    fn keep(&mut self, piece: &mut [u8]) -> usize {
        if self.length.saturating_add(piece.len()) <= MAX_SEARCHED {
            let last_end = piece.iter().rposition(|byte| *byte == b'\n');
            self.length = last_end.map_or(self.length + piece.len(), |at| piece.len() - at - 1);
            return piece.len();
        }
        let (mut kept, mut at) = (0, 0);
        while at < piece.len() {
            let end = piece[at..].iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(piece.len() - at);
            let searched = length.min(MAX_SEARCHED.saturating_sub(self.length));
            self.has_cut |= searched < length;
            self.length = self.length.saturating_add(length);
            piece.copy_within(at..at + searched, kept);
            kept += searched;
            at += length;
            if end.is_some() {
                piece[kept] = b'\n';
                (kept, at, self.length) = (kept + 1, at + 1, 0);
            }
        }
        kept
    }
}

fn shortened(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}
