//! `events.jsonl`: everything that the runtime says, one self-contained object a line.
//!
//! Lines are written out after 100 of them or 50 ms, whichever comes first, so that a killed job leaves a record that
//! can be read up to its last moments. Memory and disk are bounded, whatever the runtime says: first the deltas are left
//! out (their text comes again, whole), then everything but the sessions' own events; what is left out is counted, and
//! the record says so itself.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use camino::Utf8Path;
use conclave_shared::redact::Redactor;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

/// Maximum number of lines that wait.
const MAX_LINES: usize = 100;
/// Maximum time that a line waits.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// The bounds of the record.
#[derive(Debug, Clone, Copy)]
struct JournalLimits {
    /// Bytes that may wait for the disk.
    queue: usize,
    /// Bytes of one line.
    line: usize,
    /// Bytes of the file, with deltas.
    deltas: u64,
    /// Bytes of the file, without. The sessions' own events may come on top, up to half of this.
    file: u64,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self {
            queue: 16 << 20,
            line: 2 << 20,
            deltas: 64 << 20,
            file: 256 << 20,
        }
    }
}

/// The writing end. Cheap to clone; never blocks the writer.
#[derive(Debug, Clone)]
pub struct Journal {
    lines: mpsc::UnboundedSender<Line>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    limits: JournalLimits,
}

#[derive(Debug)]
struct Line {
    event: Value,
    /// The size of the event as it came.
    size: usize,
}

/// Waits until everything is on disk.
#[derive(Debug)]
pub struct JournalHandle {
    task: tokio::task::JoinHandle<Result<(), std::io::Error>>,
    dropped: Arc<AtomicU64>,
}

impl JournalHandle {
    /// Returns once all journals are dropped and everything is written, with what is missing in the record.
    pub async fn finished(self) -> Option<String> {
        match self.task.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Some(format!("the record of the run's events is incomplete: {error}")),
            Err(error) => {
                tracing::error!(%error, "the journal's task broke");
                return Some("the record of the run's events is incomplete".to_owned());
            }
        }
        let dropped = self.dropped.load(Ordering::SeqCst);
        (dropped > 0).then(|| format!("{dropped} events were too many or too large for the run's record"))
    }
}

impl Journal {
    /// Creates the file and starts writing. Without the file nothing is recorded, and the end says why: a review does not
    /// depend on its record.
    pub fn create(path: &Utf8Path, redactor: Redactor) -> (Self, JournalHandle) {
        // Nothing may stand there: the run's directory was emptied, and a link is not followed.
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        Self::on(file, redactor, JournalLimits::default())
    }

    /// Starts writing to this file, with these limits.
    fn on(file: std::io::Result<File>, redactor: Redactor, limits: JournalLimits) -> (Self, JournalHandle) {
        let (lines, waiting) = mpsc::unbounded_channel();
        let journal = Self {
            lines,
            queued: Arc::default(),
            dropped: Arc::default(),
            limits,
        };
        let dropped = Arc::clone(&journal.dropped);
        let record = file.map(|file| Record {
            file,
            size: 0,
            said: 0,
            limits,
            redactor,
            dropped,
        });
        let queued = Arc::clone(&journal.queued);
        let task = tokio::spawn(async move { write_all(record?, waiting, queued).await });
        let handle = JournalHandle {
            task,
            dropped: Arc::clone(&journal.dropped),
        };
        (journal, handle)
    }

    /// Appends one object that was this long when it came.
    pub fn append(&self, event: Value, size: usize) {
        // What waits for a slow disk waits in memory.
        if self.queued.fetch_add(size, Ordering::SeqCst) + size > self.limits.queue {
            self.queued.fetch_sub(size, Ordering::SeqCst);
            self.dropped.fetch_add(1, Ordering::SeqCst);
            return;
        }
        // A closed channel means that the file could not be written, which is reported at the end.
        let _ = self.lines.send(Line { event, size });
    }
}

async fn write_all(
    mut record: Record,
    mut waiting: mpsc::UnboundedReceiver<Line>,
    queued: Arc<AtomicUsize>,
) -> Result<(), std::io::Error> {
    let mut buffer = String::new();
    while let Some(first) = waiting.recv().await {
        let until = Instant::now() + MAX_WAIT;
        let mut size = record.add(&mut buffer, first);
        for _ in 1..MAX_LINES {
            match timeout_at(until, waiting.recv()).await {
                Ok(Some(line)) => size += record.add(&mut buffer, line),
                Ok(None) | Err(_) => break,
            }
        }
        queued.fetch_sub(size, Ordering::SeqCst);
        record.note_dropped(&mut buffer);
        record.write(&buffer)?;
        buffer.clear();
    }
    record.note_dropped(&mut buffer);
    record.write(&buffer)
}

/// The file and what it holds so far.
struct Record {
    file: File,
    size: u64,
    /// Dropped events that the record already mentions.
    said: u64,
    limits: JournalLimits,
    redactor: Redactor,
    dropped: Arc<AtomicU64>,
}

impl Record {
    /// Adds the event, or what fits of it; returns its size in the queue.
    fn add(&mut self, buffer: &mut String, line: Line) -> usize {
        let Line { mut event, size } = line;
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let written = self.size + buffer.len() as u64;
        let most = match kind {
            "message.part.delta" => self.limits.deltas,
            kind if kind.starts_with("session.") => self.limits.file + self.limits.file / 2,
            _ => self.limits.file,
        };
        if written >= most {
            self.dropped.fetch_add(1, Ordering::SeqCst);
            return size;
        }
        if size > self.limits.line {
            self.dropped.fetch_add(1, Ordering::SeqCst);
            let properties = event.get("properties");
            let session = properties.and_then(|properties| properties.get("sessionID"));
            event = json!({"type": kind, "properties": {"sessionID": session}, "conclave": {"left_out_bytes": size}});
        }
        self.redactor.redact_json(&mut event);
        buffer.push_str(&event.to_string());
        buffer.push('\n');
        size
    }

    /// Says in the record itself what is not in it.
    fn note_dropped(&mut self, buffer: &mut String) {
        let dropped = self.dropped.load(Ordering::SeqCst);
        // Each time that it doubles: a note for every dropped event would be as large as the event.
        if dropped >= (self.said * 2).max(1) && dropped > self.said {
            self.said = dropped;
            let note = json!({"type": "conclave.record.incomplete", "properties": {"events": dropped}});
            buffer.push_str(&note.to_string());
            buffer.push('\n');
        }
    }

    fn write(&mut self, buffer: &str) -> Result<(), std::io::Error> {
        self.size += buffer.len() as u64;
        self.file.write_all(buffer.as_bytes()).inspect_err(|error| {
            // The review is worth more than its record.
            tracing::warn!(%error, "failed to write the record of the run's events; it ends here");
        })
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
