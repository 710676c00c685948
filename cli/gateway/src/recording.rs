//! Recordings: every call of a model, and what came of it, as lines of JSON; and runs that are answered from one.
//!
//! The first line says what the recording is; then each call is a line, followed by a line for each frame of its answer
//! and one for its end. Calls run side by side, so lines carry the number of their call. Nothing secret gets in: no
//! headers at all, and every text goes through the redactor. Places of this run (the workspace's path) have names, so
//! that the requests of a later run are the same.

mod recorder;
mod replay;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use conclave_shared::{model::ModelId, redact::Redactor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{errors::ConfigError, wire::Wire};

pub(crate) use recorder::{CallRecording, Recorder};
pub(crate) use replay::Playback;
pub use replay::Recording;

/// The version of the file's shape.
const VERSION: u32 = 1;

/// The choice between recording calls and answering them from a recording.
#[derive(Debug, Clone, Default)]
pub enum RecordingMode {
    /// Neither.
    #[default]
    Off,
    /// Every call and its answer is written down.
    Record {
        /// The file. An existing one is replaced.
        file: PathBuf,
        /// Facts that a replay will need, by name.
        notes: BTreeMap<String, String>,
    },
    /// Calls are answered from a recording, and no provider is asked.
    Replay(Arc<Recording>),
}

/// A provider of the recorded run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedProvider {
    /// Its name.
    pub name: String,
    /// The format that it spoke.
    pub wire: Wire,
}

/// The source of answers, and the recorder of calls.
#[derive(Debug)]
pub(crate) enum CallSource {
    Provider,
    RecordedProvider(Arc<Recorder>),
    Recording(Arc<Recording>, Cleaner),
}

impl CallSource {
    /// The source for this mode. A file to record to is made here.
    pub(crate) fn new(
        mode: RecordingMode,
        providers: impl Iterator<Item = RecordedProvider>,
        cleaner: Cleaner,
    ) -> Result<Self, ConfigError> {
        Ok(match mode {
            RecordingMode::Off => Self::Provider,
            RecordingMode::Record { file, notes } => {
                Self::RecordedProvider(Arc::new(Recorder::create(file, notes, providers.collect(), cleaner)?))
            }
            RecordingMode::Replay(recording) => Self::Recording(recording, cleaner),
        })
    }
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
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
