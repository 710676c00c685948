//! `read`: a file with numbered lines, or a directory's entries.

use std::{
    fmt::Write,
    io::{self, BufRead, BufReader, Read, Seek},
    sync::atomic::{AtomicBool, Ordering},
};

use camino::Utf8Path;
use conclave_engine::ports::FileRead;
use serde_json::{Map, Value};

use super::{
    Outcome, Output, optional_number, text,
    workspace::{Kind, Place, Workspace},
};

/// Maximum number of lines that are shown at once.
const MAX_LINES: u64 = 2000;
/// Maximum number of characters that are shown of a line.
const MAX_LINE: usize = 2000;
/// Maximum number of bytes of lines that are shown at once.
const MAX_BYTES: usize = 50 << 10;
/// The text in the place of the rest of a line.
const LINE_CUT: &str = "... (line truncated to 2000 chars)";
/// Length of the sample that decides whether a file is text.
const SAMPLE: usize = 4096;

pub(super) fn run(workspace: &Workspace, arguments: &Map<String, Value>, stop: &AtomicBool) -> Outcome {
    let path = text(arguments, "filePath")?;
    let window = Window {
        offset: optional_number(arguments, "offset")?.unwrap_or(1),
        limit: optional_number(arguments, "limit")?.unwrap_or(MAX_LINES).min(MAX_LINES),
    };
    let place = workspace.place(path)?;
    let cannot = |error: io::Error| format!("{} cannot be read: {error}.", place.path());
    match workspace.kind(&place) {
        Ok(Kind::Directory) => directory(workspace, &place, window).map_err(cannot).map(Output::from),
        Ok(Kind::File) => file(workspace, &place, window, stop),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(workspace, &place)),
        Err(error) => Err(cannot(error)),
    }
}

/// The lines that are asked for.
#[derive(Clone, Copy)]
struct Window {
    offset: u64,
    limit: u64,
}

fn directory(workspace: &Workspace, place: &Place, window: Window) -> io::Result<String> {
    let names = workspace.names(place)?;
    let skipped = usize::try_from(window.offset - 1).unwrap_or(usize::MAX);
    let limit = usize::try_from(window.limit).unwrap_or(usize::MAX);
    let shown: Vec<&str> = names.iter().skip(skipped).take(limit).map(String::as_str).collect();
    let rest = if skipped.saturating_add(shown.len()) < names.len() {
        format!(
            "(Showing {} of {} entries. Use 'offset' parameter to read beyond entry {})",
            shown.len(),
            names.len(),
            skipped + shown.len() + 1
        )
    } else {
        format!("({} entries)", names.len())
    };
    Ok(format!(
        "<path>{}</path>\n<type>directory</type>\n<entries>\n{}\n\n{rest}\n</entries>",
        place.path(),
        shown.join("\n")
    ))
}

fn file(workspace: &Workspace, place: &Place, window: Window, stop: &AtomicBool) -> Outcome {
    let path = place.path();
    let cannot = |error: io::Error| format!("{path} cannot be read: {error}.");
    let mut file = workspace.file(place).map_err(cannot)?;
    let mut sample = Vec::new();
    file.by_ref()
        .take(SAMPLE as u64)
        .read_to_end(&mut sample)
        .map_err(cannot)?;
    if is_binary(&sample) {
        return Err(format!("{path} is a binary file and cannot be read."));
    }
    file.rewind().map_err(cannot)?;
    let shown = Shown::of(BufReader::new(file), window, stop).map_err(cannot)?;
    if shown.count < window.offset && !(shown.count == 0 && window.offset == 1) {
        return Err(format!(
            "Offset {} is out of range for this file ({} lines)",
            window.offset, shown.count
        ));
    }
    Ok(shown.output(path, window))
}

/// The part of a file that is shown.
#[derive(Default)]
struct Shown {
    lines: Vec<String>,
    bytes: usize,
    cut_lines: bool,
    /// Lines of the file, as far as it was read.
    count: u64,
    /// There is more, beyond the lines that were asked for.
    more: bool,
    /// There is more, and it would be too many bytes.
    capped: bool,
}

impl Shown {
    fn of(mut reader: impl BufRead, window: Window, stop: &AtomicBool) -> io::Result<Self> {
        let mut shown = Self::default();
        while let Some((line, was_cut)) = next_line(&mut reader)? {
            shown.count += 1;
            if shown.count < window.offset {
                continue;
            }
            if shown.lines.len() as u64 >= window.limit {
                shown.more = true;
                // The rest is only counted.
                if shown.count.is_multiple_of(4096) && stop.load(Ordering::Relaxed) {
                    break;
                }
                continue;
            }
            let length = line.len() + usize::from(!shown.lines.is_empty());
            if shown.bytes + length > MAX_BYTES {
                (shown.more, shown.capped) = (true, true);
                break;
            }
            shown.bytes += length;
            shown.cut_lines |= was_cut;
            shown.lines.push(line);
        }
        Ok(shown)
    }

    fn output(self, path: &Utf8Path, window: Window) -> Output {
        let first = window.offset;
        let last = first + self.lines.len() as u64 - 1;
        let mut text = format!("<path>{path}</path>\n<type>file</type>\n<content>\n");
        for (number, line) in (first..).zip(&self.lines) {
            let _ = writeln!(text, "{number}: {line}");
        }
        let next = last + 1;
        let count = self.count;
        let _ = if self.capped {
            write!(
                text,
                "\n(Output capped at 50 KB. Showing lines {first}-{last}. Use offset={next} to continue.)"
            )
        } else if self.more {
            write!(
                text,
                "\n(Showing lines {first}-{last} of {count}. Use offset={next} to continue.)"
            )
        } else {
            write!(text, "\n(End of file - total {count} lines)")
        };
        text.push_str("\n</content>");
        Output {
            text,
            reads: vec![FileRead {
                path: path.to_string(),
                first,
                last: self.more.then_some(last),
                cut_lines: self.cut_lines,
            }],
        }
    }
}

/// The next line without its end, and whether it was cut. Of a line without an end only what is shown is kept.
fn next_line(reader: &mut impl BufRead) -> io::Result<Option<(String, bool)>> {
    // A character has four bytes at most.
    const KEPT: usize = 4 * (MAX_LINE + 1);
    let mut kept: Vec<u8> = Vec::new();
    let mut length = 0;
    let mut ended = false;
    while !ended {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            if length == 0 {
                return Ok(None);
            }
            break;
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        let room = KEPT.saturating_sub(kept.len()).min(piece.len());
        kept.extend_from_slice(&piece[..room]);
        ended = end.is_some();
        let used = piece.len() + usize::from(ended);
        length += used;
        reader.consume(used);
    }
    if kept.last() == Some(&b'\r') {
        kept.pop();
    }
    let text = String::from_utf8_lossy(&kept);
    Ok(Some(match text.char_indices().nth(MAX_LINE) {
        Some((end, _)) => (format!("{}{LINE_CUT}", &text[..end]), true),
        None => (text.into_owned(), false),
    }))
}

fn is_binary(sample: &[u8]) -> bool {
    let odd = |byte: &&u8| **byte < 9 || (14..32).contains(*byte);
    sample.contains(&0) || sample.iter().filter(odd).count() * 10 > sample.len() * 3
}

/// The error for a file that is not there, with names that are like its own.
fn missing(workspace: &Workspace, place: &Place) -> String {
    let path = place.path();
    let name = path.file_name().unwrap_or_default().to_lowercase();
    let parent = path.parent().unwrap_or(Utf8Path::new(""));
    let names = workspace
        .place(parent.as_str())
        .ok()
        .and_then(|parent| workspace.names(&parent).ok());
    let alike = names.unwrap_or_default().into_iter().filter(|other| {
        let other = other.trim_end_matches('/').to_lowercase();
        other.contains(&name) || name.contains(&other)
    });
    let alike: Vec<String> = alike.take(3).map(|other| parent.join(other).into_string()).collect();
    if alike.is_empty() {
        format!("File not found: {path}")
    } else {
        format!(
            "File not found: {path}\n\nDid you mean one of these?\n{}",
            alike.join("\n")
        )
    }
}
