//! Recording: every call of a model, and what came of it, as lines of JSON.
//!
//! The first line says what the recording is; then each call is a line, followed by a line for each frame of its answer
//! and one for its end. Calls run side by side, so lines carry the number of their call. Nothing secret gets in: no
//! headers at all, and every text goes through the redactor. Places of this run (the workspace's path) have names, so
//! that the requests of a later run are the same.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_shared::{model::ModelId, redact::Redactor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{attempt::Failure, config::ConfigError, sessions::now, wire::Wire};

/// The version of the file's shape.
pub(crate) const VERSION: u32 = 1;

/// What a recording is made with.
#[derive(Debug, Clone)]
pub struct RecordSettings {
    /// The file. One that is there is replaced.
    pub file: PathBuf,
    /// What whoever replays it will need to know, by name.
    pub notes: BTreeMap<String, String>,
}

/// A provider of the recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedProvider {
    /// Its name.
    pub name: String,
    /// The format that it spoke.
    pub wire: Wire,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first one.
    Recording {
        version: u32,
        providers: Vec<RecordedProvider>,
        notes: BTreeMap<String, String>,
    },
    /// A request went out.
    Call {
        call: u64,
        reviewer: String,
        session: String,
        model: ModelId,
        body: Box<RawValue>,
    },
    /// A frame of its answer came.
    Frame { call: u64, milliseconds: u64, data: String },
    /// The answer was an error status.
    Refused {
        call: u64,
        status: u16,
        retry_after_ms: Option<u64>,
        body: String,
    },
    /// There was no answer, or it ended; with a fault that is not of the stream's own saying.
    Ended { call: u64, fault: Option<String> },
}

/// Takes local names and secrets out of a text.
#[derive(Debug, Clone)]
pub(crate) struct Cleaner {
    pub(crate) places: Vec<(String, String)>,
    pub(crate) redactors: [Redactor; 2],
}

impl Cleaner {
    pub(crate) fn clean(&self, text: &str) -> String {
        let [own, others] = &self.redactors;
        let mut text = others.redact(&own.redact(text));
        for (place, name) in &self.places {
            if text.contains(place.as_str()) {
                text = text.replace(place.as_str(), name);
            }
        }
        text
    }

    /// A request's body as it is recorded and compared.
    pub(crate) fn body(&self, body: &[u8]) -> Box<RawValue> {
        let text = self.clean(&String::from_utf8_lossy(body));
        RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

/// Writes a recording.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: Mutex<BufWriter<File>>,
    path: PathBuf,
    cleaner: Cleaner,
    next: AtomicU64,
    problem: Mutex<Option<String>>,
}

impl Recorder {
    pub(crate) fn create(
        settings: &RecordSettings,
        providers: Vec<RecordedProvider>,
        cleaner: Cleaner,
    ) -> Result<Self, ConfigError> {
        let failed = |error: std::io::Error| ConfigError::Recording {
            path: settings.file.clone(),
            problem: error.to_string(),
        };
        if let Some(directory) = settings.file.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        // An earlier recording is replaced; a link in its place goes itself.
        options.write(true).create_new(true);
        // It holds the code under review and the prompts.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(&settings.file)
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    std::fs::remove_file(&settings.file).and_then(|()| options.open(&settings.file))
                }
                _ => Err(error),
            })
            .map_err(failed)?;
        let recorder = Self {
            file: Mutex::new(BufWriter::new(file)),
            path: settings.file.clone(),
            cleaner,
            next: AtomicU64::new(1),
            problem: Mutex::default(),
        };
        recorder.write(&Line::Recording {
            version: VERSION,
            providers,
            notes: settings.notes.clone(),
        });
        match recorder.problem() {
            Some(problem) => Err(ConfigError::Recording {
                path: settings.file.clone(),
                problem,
            }),
            None => Ok(recorder),
        }
    }

    /// Notes a request; what comes of it is noted through the result.
    pub(crate) fn call(self: &Arc<Self>, reviewer: String, session: &str, model: &ModelId, body: &[u8]) -> Take {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(&Line::Call {
            call,
            reviewer,
            session: session.to_owned(),
            model: model.clone(),
            body: self.cleaner.body(body),
        });
        Take {
            recorder: Arc::clone(self),
            call,
            started: now(),
            over: false,
        }
    }

    /// What kept it from being written, if something did.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn write(&self, line: &Line) {
        let whole = matches!(line, Line::Recording { .. } | Line::Ended { .. } | Line::Refused { .. });
        let written = serde_json::to_string(line)
            .map_err(std::io::Error::from)
            .and_then(|line| {
                let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
                writeln!(file, "{line}")?;
                // A run that is killed leaves whole calls.
                if whole { file.flush() } else { Ok(()) }
            });
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "the recording cannot be written");
            let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
            problem.get_or_insert_with(|| format!("{}: {error}", self.path.display()));
        }
    }
}

/// The recording of one call.
#[derive(Debug)]
pub(crate) struct Take {
    recorder: Arc<Recorder>,
    call: u64,
    started: Instant,
    over: bool,
}

impl Take {
    pub(crate) fn frame(&mut self, raw: &[u8]) {
        let milliseconds = milliseconds(now().saturating_duration_since(self.started));
        let data = self.recorder.cleaner.clean(&String::from_utf8_lossy(raw));
        self.recorder.write(&Line::Frame {
            call: self.call,
            milliseconds,
            data,
        });
    }

    pub(crate) fn refused(&mut self, status: u16, asked: Option<Duration>, body: &str) {
        self.over = true;
        let body = self.recorder.cleaner.clean(body);
        self.recorder.write(&Line::Refused {
            call: self.call,
            status,
            retry_after_ms: asked.map(milliseconds),
            body,
        });
    }

    pub(crate) fn failed(&mut self, failure: &Failure) {
        self.ended(Some(failure.class));
    }

    /// The answer is over. Only a fault that its frames do not tell is noted.
    pub(crate) fn ended(&mut self, class: Option<FailureClass>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let fault = class.and_then(|class| match class {
            FailureClass::Retryable(fault) => Some(fault.as_str().to_owned()),
            _ => None,
        });
        self.recorder.write(&Line::Ended { call: self.call, fault });
    }
}

impl Drop for Take {
    /// A call that was given up ends here; its answer is what had come.
    fn drop(&mut self) {
        self.ended(Some(FailureClass::Retryable(ProviderFault::CutStream)));
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
