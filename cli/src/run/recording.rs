//! `--record` and `--replay-models`.

use std::{collections::BTreeMap, sync::Arc};

use camino::Utf8PathBuf;
use conclave_engine::{plugin::ProviderSpec, review::RuntimeName, untrusted::Nonce};
use conclave_gateway::{ConfigError, Recording, RecordingMode};

use crate::{
    args::CommonArguments,
    env::{Environment, providers},
    exit::Failure,
    private_files,
};

/// The recording's file in its directory.
pub(super) const FILE: &str = "model-calls.jsonl";
/// The note that held the boundary of the prompts' sections.
const BOUNDARY: &str = "boundary";
/// The note that names the agent runtime.
const RUNTIME: &str = "runtime";

/// The recording of a run, or a run that was.
#[derive(Debug, Clone)]
pub(crate) enum RunRecording {
    Off,
    Record(Utf8PathBuf),
    Replay(Arc<Recording>),
}

impl RunRecording {
    pub(crate) fn open(arguments: &CommonArguments, environment: &Environment) -> Result<Self, Failure> {
        if let Some(file) = &arguments.replay_models {
            let recording = Recording::open(file.as_std_path()).map_err(|error| match error {
                ConfigError::Recording(_, problem) => Failure::Settings(format!(
                    "--replay-models {file}: {problem}. Name the file {FILE} of a directory that --record has written"
                )),
                other => other.into(),
            })?;
            return Ok(Self::Replay(Arc::new(recording)));
        }
        let Some(directory) = &arguments.record else {
            return Ok(Self::Off);
        };
        let opened = private_files::open(directory, environment.job_checkout()).and_then(|path| {
            private_files::hide_from_git(&path, &[FILE])?;
            Ok(path)
        });
        let directory = opened.map_err(|error| {
            Failure::Settings(format!(
                "failed to make the directory of the recording {directory}: {error}. Name a directory that can be written \
                 with --record"
            ))
        })?;
        Ok(Self::Record(directory))
    }

    /// The providers of the recorded run, which need no credentials.
    pub(crate) fn providers(&self) -> Result<Option<Vec<ProviderSpec>>, Failure> {
        match self {
            Self::Replay(recording) => providers::recorded(recording).map(Some),
            Self::Off | Self::Record(_) => Ok(None),
        }
    }

    /// The boundary that the recorded run had, if its recording is of an older version: newer ones have none in their texts.
    pub(crate) fn boundary(&self) -> Option<Nonce> {
        match self {
            Self::Replay(recording) => recording.note(BOUNDARY).and_then(Nonce::recorded),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// The agent runtime of the recorded run. Recordings that do not name it are older than the native one.
    pub(crate) fn runtime(&self) -> Option<RuntimeName> {
        let Self::Replay(recording) = self else { return None };
        let named = recording
            .note(RUNTIME)
            .and_then(|note| RuntimeName::ALL.into_iter().find(|name| name.as_str() == note));
        Some(named.unwrap_or(RuntimeName::OpenCode))
    }

    /// The gateway's settings for it, in a run on this agent runtime.
    pub(crate) fn mode(&self, runtime: RuntimeName) -> RecordingMode {
        match self {
            Self::Off => RecordingMode::Off,
            Self::Record(directory) => RecordingMode::Record {
                file: directory.join(FILE).into(),
                notes: BTreeMap::from([(RUNTIME.to_owned(), runtime.as_str().to_owned())]),
            },
            Self::Replay(recording) => RecordingMode::Replay(Arc::clone(recording)),
        }
    }
}
