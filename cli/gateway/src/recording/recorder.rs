//! Writing a recording.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufWriter, Write},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_shared::model::ModelId;

use super::{Cleaner, Line, RecordedProvider, VERSION};
use crate::{clock::now, errors::ConfigError, lock::locked};

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
    pub(super) fn create(
        path: PathBuf,
        notes: BTreeMap<String, String>,
        providers: Vec<RecordedProvider>,
        cleaner: Cleaner,
    ) -> Result<Self, ConfigError> {
        let failed = |error: std::io::Error| ConfigError::Recording(path.clone(), error.to_string());
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        // An earlier recording is replaced; a link in its place goes itself.
        options.write(true).create_new(true);
        // It holds the code under review and the prompts.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(&path)
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => std::fs::remove_file(&path).and_then(|()| options.open(&path)),
                _ => Err(error),
            })
            .map_err(failed)?;
        let recorder = Self {
            file: Mutex::new(BufWriter::new(file)),
            path,
            cleaner,
            next: AtomicU64::new(1),
            problem: Mutex::default(),
        };
        recorder.write(&Line::Recording {
            version: VERSION,
            providers,
            notes,
        });
        match recorder.problem() {
            Some(problem) => Err(ConfigError::Recording(recorder.path, problem)),
            None => Ok(recorder),
        }
    }

    /// Notes a request; its answer is noted through the result.
    pub(crate) fn call(
        self: &Arc<Self>,
        reviewer: String,
        session: &str,
        model: &ModelId,
        body: &[u8],
    ) -> CallRecording {
        let call = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(&Line::Call {
            call,
            reviewer,
            session: session.to_owned(),
            model: model.clone(),
            body: self.cleaner.body(body),
        });
        CallRecording {
            recorder: Arc::clone(self),
            call,
            started: now(),
            over: false,
        }
    }

    /// The first error that kept it from being written.
    pub(crate) fn problem(&self) -> Option<String> {
        locked(&self.problem).clone()
    }

    fn write(&self, line: &Line) {
        let whole = matches!(line, Line::Recording { .. } | Line::Ended { .. } | Line::Refused { .. });
        let written = serde_json::to_string(line)
            .map_err(std::io::Error::from)
            .and_then(|line| {
                let mut file = locked(&self.file);
                writeln!(file, "{line}")?;
                // A run that is killed leaves whole calls.
                if whole { file.flush() } else { Ok(()) }
            });
        if let Err(error) = written {
            tracing::warn!(path = %self.path.display(), %error, "the recording cannot be written");
            locked(&self.problem).get_or_insert_with(|| format!("{}: {error}", self.path.display()));
        }
    }
}

/// The recording of one call.
#[derive(Debug)]
pub(crate) struct CallRecording {
    recorder: Arc<Recorder>,
    call: u64,
    started: Instant,
    over: bool,
}

impl CallRecording {
    pub(crate) fn frame(&mut self, raw: &[u8]) {
        let milliseconds = milliseconds(now().saturating_duration_since(self.started));
        let data = self.recorder.cleaner.clean(&String::from_utf8_lossy(raw));
        self.recorder.write(&Line::Frame {
            call: self.call,
            milliseconds,
            data,
        });
    }

    pub(crate) fn refused(&mut self, status: u16, retry_after: Option<Duration>, body: &str) {
        self.over = true;
        let body = self.recorder.cleaner.clean(body);
        self.recorder.write(&Line::Refused {
            call: self.call,
            status,
            retry_after_ms: retry_after.map(milliseconds),
            body,
        });
    }

    /// The answer is over. Only a fault that its frames do not show is noted.
    pub(crate) fn ended(&mut self, class: Option<FailureClass>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        let fault = match class {
            Some(FailureClass::Retryable(fault)) => Some(fault.as_str().to_owned()),
            _ => None,
        };
        self.recorder.write(&Line::Ended { call: self.call, fault });
    }
}

impl Drop for CallRecording {
    /// A call that was given up ends here; its answer is what had come.
    fn drop(&mut self) {
        self.ended(Some(ProviderFault::CutStream.into()));
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
