//! `grep`: lines by a regular expression.

use std::{fmt::Write, sync::atomic::AtomicBool};

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
/// Memory for a line, in bytes. A file with a longer one is searched up to there.
const MAX_HEAP: usize = 16 << 20;

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
        Err(_) => false,
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
        // What was found before an error stands.
        if let Err(error) = self.searcher.search_reader(&self.matcher, file, sink) {
            tracing::debug!(path = %place.path(), %error, "the search of a file ended early");
        }
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
        output
    }
}

fn shortened(line: &str) -> String {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}
