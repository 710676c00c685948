//! `progress.jsonl`: what a run told while it went on, one object a line, so that a killed run can be shown again.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    os::unix::fs::OpenOptionsExt,
    sync::{Mutex, PoisonError},
};

use camino::Utf8Path;
use conclave_engine::ports::ProgressEvent;
use conclave_shared::{finding::Finding, model::ModelId, redact::Redactor};
use serde::{Deserialize, Serialize};

/// The record's name in the run directory.
pub(crate) const PROGRESS_FILE: &str = "progress.jsonl";

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedLine {
    /// Since the start of the run.
    pub(crate) seconds: f64,
    /// What happened.
    #[serde(flatten)]
    pub(crate) event: RecordedEvent,
}

/// A [`ProgressEvent`] that can be kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum RecordedEvent {
    Stage {
        text: String,
    },
    SessionStarted {
        reviewer: String,
        session: String,
        model: ModelId,
        attempt: u32,
    },
    Thinking {
        reviewer: String,
        silent_seconds: u64,
    },
    Waiting {
        reviewer: String,
        wait_seconds: u64,
    },
    Usage {
        reviewer: String,
        tokens: u64,
        cost_usd: f64,
    },
    SessionDone {
        reviewer: String,
        outcome: String,
        findings: Option<Vec<Finding>>,
        session_seconds: f64,
        reason: Option<String>,
    },
    Warning {
        text: String,
    },
}

impl From<ProgressEvent<'_>> for RecordedEvent {
    fn from(event: ProgressEvent<'_>) -> Self {
        match event {
            ProgressEvent::Stage(text) => Self::Stage { text: text.to_owned() },
            ProgressEvent::SessionStarted {
                reviewer,
                session,
                model,
                attempt,
            } => Self::SessionStarted {
                reviewer: reviewer.to_owned(),
                session: session.0.clone(),
                model: model.clone(),
                attempt,
            },
            ProgressEvent::Thinking { reviewer, seconds } => Self::Thinking {
                reviewer: reviewer.to_owned(),
                silent_seconds: seconds,
            },
            ProgressEvent::Waiting { reviewer, seconds } => Self::Waiting {
                reviewer: reviewer.to_owned(),
                wait_seconds: seconds,
            },
            ProgressEvent::Usage {
                reviewer,
                tokens,
                cost_usd,
            } => Self::Usage {
                reviewer: reviewer.to_owned(),
                tokens,
                cost_usd,
            },
            ProgressEvent::SessionDone {
                reviewer,
                outcome,
                findings,
                seconds,
                reason,
            } => Self::SessionDone {
                reviewer: reviewer.to_owned(),
                outcome: outcome.to_owned(),
                findings: findings.map(<[Finding]>::to_vec),
                session_seconds: seconds,
                reason: reason.map(str::to_owned),
            },
            ProgressEvent::Warning(text) => Self::Warning { text: text.to_owned() },
        }
    }
}

/// The writing end. Lines wait until there is a run directory; each later one is written when it comes, as there are few.
#[derive(Debug)]
pub(crate) struct Record {
    redactor: Redactor,
    place: Mutex<Place>,
}

#[derive(Debug)]
enum Place {
    Waiting(Vec<String>),
    File(File),
    Lost,
}

impl Record {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            place: Mutex::new(Place::Waiting(Vec::new())),
        }
    }

    /// Starts the file with what has waited.
    pub(crate) fn open(&self, directory: &Utf8Path) -> std::io::Result<()> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        // The run's directory was emptied: what stands there now is not ours, and a link is not followed.
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(directory.join(PROGRESS_FILE))?;
        if let Place::Waiting(lines) = &*place {
            file.write_all(lines.concat().as_bytes())?;
        }
        *place = Place::File(file);
        Ok(())
    }

    pub(crate) fn append(&self, line: &RecordedLine) {
        let Ok(mut value) = serde_json::to_value(line) else {
            return;
        };
        self.redactor.redact_json(&mut value);
        let line = format!("{value}\n");
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *place {
            Place::Waiting(lines) => lines.push(line),
            Place::File(file) => {
                if let Err(error) = file.write_all(line.as_bytes()) {
                    // The review is worth more than its record.
                    tracing::warn!(%error, "failed to write {PROGRESS_FILE}; this run cannot be shown again in full");
                    *place = Place::Lost;
                }
            }
            Place::Lost => {}
        }
    }
}

/// Reads a record. The last line of a killed run may be cut off: it is left out, as is any other that cannot be read;
/// how many is the second value.
pub(crate) fn read(directory: &Utf8Path) -> std::io::Result<(Vec<RecordedLine>, usize)> {
    let mut lines = Vec::new();
    let mut unreadable = 0;
    for line in BufReader::new(File::open(directory.join(PROGRESS_FILE))?).split(b'\n') {
        match serde_json::from_slice(&line?) {
            Ok(line) => lines.push(line),
            Err(_) => unreadable += 1,
        }
    }
    Ok((lines, unreadable))
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;
    use conclave_engine::ports::SessionId;

    use super::*;

    #[test]
    fn what_was_told_before_and_after_the_directory_was_there_can_be_read_without_secrets() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
        let record = Record::new(Redactor::new(["a-secret-value".to_owned()]));
        let append = |seconds, event: ProgressEvent<'_>| {
            record.append(&RecordedLine {
                seconds,
                event: event.into(),
            });
        };
        append(0.5, ProgressEvent::Warning("a-secret-value is no address"));
        record.open(&path).expect("a file");
        let model = "anthropic/claude-opus-5-5".parse().expect("a model");
        append(
            1.0,
            ProgressEvent::SessionStarted {
                reviewer: "security",
                session: &SessionId("ses_1".into()),
                model: &model,
                attempt: 2,
            },
        );
        // Killed in the middle of a line.
        let mut file = File::options()
            .append(true)
            .open(path.join(PROGRESS_FILE))
            .expect("the file");
        file.write_all(br#"{"seconds":2.0,"event":"sta"#).expect("writable");
        let (lines, unreadable) = read(&path).expect("readable");
        assert_eq!(unreadable, 1);
        assert_eq!(
            lines,
            [
                RecordedLine {
                    seconds: 0.5,
                    event: RecordedEvent::Warning {
                        text: "[redacted] is no address".into()
                    },
                },
                RecordedLine {
                    seconds: 1.0,
                    event: RecordedEvent::SessionStarted {
                        reviewer: "security".into(),
                        session: "ses_1".into(),
                        model,
                        attempt: 2,
                    },
                },
            ]
        );
    }
}
