//! `events.jsonl`: everything that the runtime says, one self-contained object a line.
//!
//! Lines are written out after 100 of them or 50 ms, whichever comes first, so that a killed job leaves a record that
//! can be read up to its last moments.

use std::{io::Write, time::Duration};

use camino::Utf8Path;
use conclave_shared::redact::Redactor;
use serde_json::Value;
use tokio::sync::mpsc;

/// How many lines may wait.
const MOST_LINES: usize = 100;
/// How long a line may wait.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// The writing end. Cheap to clone; never blocks the one who writes.
#[derive(Debug, Clone)]
pub struct Journal {
    lines: mpsc::UnboundedSender<String>,
}

/// Waits until everything is on disk.
#[derive(Debug)]
pub(crate) struct JournalHandle {
    task: tokio::task::JoinHandle<()>,
}

impl JournalHandle {
    /// Comes back when all journals are dropped and everything is written.
    pub(crate) async fn finished(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the journal's task broke");
        }
    }
}

impl Journal {
    /// Creates the file and starts writing.
    pub(crate) fn create(path: &Utf8Path, redactor: Redactor) -> Result<(Self, JournalHandle), std::io::Error> {
        let mut file = std::fs::File::create(path)?;
        let (lines, mut waiting) = mpsc::unbounded_channel::<String>();
        let path = path.to_owned();
        let task = tokio::spawn(async move {
            let mut buffer = String::new();
            while let Some(first) = waiting.recv().await {
                buffer.push_str(&redactor.redact(&first));
                let until = tokio::time::Instant::now() + LONGEST_WAIT;
                let mut count = 1;
                while count < MOST_LINES {
                    match tokio::time::timeout_at(until, waiting.recv()).await {
                        Ok(Some(line)) => buffer.push_str(&redactor.redact(&line)),
                        Ok(None) | Err(_) => break,
                    }
                    count += 1;
                }
                if let Err(error) = file.write_all(buffer.as_bytes()) {
                    // The review is worth more than its record.
                    tracing::warn!(%error, %path, "failed to write the journal; the record of this run is incomplete");
                    return;
                }
                buffer.clear();
            }
        });
        Ok((Self { lines }, JournalHandle { task }))
    }

    /// Appends one object.
    pub fn append(&self, event: &Value) {
        // A closed channel means that the file could not be written, which has been said.
        let _ = self.lines.send(format!("{event}\n"));
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn every_line_is_written_in_order_and_soon() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().join("events.jsonl")).expect("UTF-8");
        let (journal, handle) = Journal::create(&path, Redactor::default()).expect("a file");
        journal.append(&json!({"n": 0}));
        // Nobody closes the journal here: the line has to arrive by itself.
        tokio::time::timeout(Duration::from_secs(5), async {
            while std::fs::read_to_string(&path).expect("readable").is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await
        .expect("the line is written without a flush");
        for n in 1..500 {
            journal.append(&json!({"n": n}));
        }
        drop(journal);
        handle.finished().await;
        let text = std::fs::read_to_string(&path).expect("readable");
        let numbers: Vec<i64> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).expect("an object")["n"]
                    .as_i64()
                    .expect("a number")
            })
            .collect();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_secret_that_the_agent_came_across_is_not_recorded() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().join("events.jsonl")).expect("UTF-8");
        let redactor = Redactor::new(["a-secret-value".to_owned()]);
        let (journal, handle) = Journal::create(&path, redactor).expect("a file");
        journal.append(&json!({"output": "token = a-secret-value"}));
        drop(journal);
        handle.finished().await;
        let text = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(text, "{\"output\":\"token = [redacted]\"}\n");
    }
}
