//! Where a run keeps its records.

use std::{ffi::OsString, io, os::unix::fs::DirBuilderExt, path::PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::{recording, reports};
use crate::{
    args::refused_directories,
    env::Environment,
    exit::Failure,
    output,
    private_files::{self, write_file},
};

/// Directories of a run's records.
const DIRECTORIES: [&str; 2] = ["patches", "prompts"];
/// Records that are written in pieces, by others.
const STREAMS: [&str; 3] = ["events.jsonl", output::PROGRESS_FILE, "opencode.json"];

/// The records of a run.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: Utf8PathBuf,
}

impl RunDirectory {
    /// Makes the directory: the one that was asked for, else one below the user's state directory, else below the
    /// temporary directory. Records of an earlier run in it, and what stands in their places, are removed.
    pub(crate) fn create(asked: Option<&Utf8Path>, run_id: &str, environment: &Environment) -> Result<Self, Failure> {
        let path = match asked {
            Some(path) => path.to_owned(),
            None => default_root(environment).join(run_id),
        };
        let has_own_place = || match asked {
            None if state_directory(environment).is_none() => {
                private_files::open_shared(&temporary(), &SHARED_ROOT).map(drop)
            }
            _ => Ok(()),
        };
        let create = |path: &Utf8Path| {
            let path = private_files::open(path, environment.job_checkout())?;
            remove_own(&path)?;
            private_files::hide_from_git(&path, &[recording::FILE])?;
            for name in DIRECTORIES {
                std::fs::DirBuilder::new().mode(0o700).create(path.join(name))?;
            }
            path.canonicalize_utf8()
        };
        match has_own_place().and_then(|()| create(&path)) {
            Ok(path) => Ok(Self { path }),
            // Another user's directory, or a read-only home must not stop a review; a directory that was asked for must be the one.
            Err(_) if asked.is_none() => {
                let path = temporary().join(format!("conclave-run-{run_id}"));
                let path =
                    create(&path).map_err(|source| unwritable("make the run directory", &path, &source, "--output"))?;
                Ok(Self { path })
            }
            Err(source) => Err(unwritable("make the run directory", &path, &source, "--output")),
        }
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Writes a record.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<Utf8PathBuf, Failure> {
        let path = self.path.join(name);
        write_file(&path, content)?;
        Ok(path)
    }
}

/// Makes the directory that reports are asked for in, and tries to write there: that it cannot be done is better known before
/// anything was paid for. What stands in the places of the reports is removed.
pub(crate) fn prepare_reports(directory: Option<&Utf8Path>, environment: &Environment) -> Result<(), Failure> {
    let Some(directory) = directory else { return Ok(()) };
    private_files::open(directory, environment.job_checkout())
        .and_then(|path| {
            remove_files(&path, &reports::NAMES)?;
            private_files::hide_from_git(&path, &[recording::FILE])?;
            tempfile::tempfile_in(path)
        })
        .map(drop)
        .map_err(|source| unwritable("write reports into", directory, &source, "--reports"))
}

/// Removes what stands in the places of a run's reports before anything can fail: what a branch has committed there would be
/// uploaded as ours. A place that cannot be cleared is refused later, when the directory is made.
pub(crate) fn clear(output: Option<&Utf8Path>, reports: Option<&Utf8Path>, environment: &Environment) {
    let checkout = environment.job_checkout();
    for (directory, own) in [(output, true), (reports, false)] {
        let Some(Ok(Some(path))) = directory.map(|path| private_files::existing(path, checkout)) else {
            continue;
        };
        let cleared = if own {
            remove_own(&path)
        } else {
            remove_files(&path, &reports::NAMES)
        };
        if let Err(error) = cleared {
            tracing::warn!(%error, %path, "what stands in the places of the reports could not be removed");
        }
    }
}

/// The same for a call whose arguments are wrong.
pub(crate) fn clear_refused(arguments: &[OsString], environment: &Environment) {
    let (outputs, reports) = refused_directories(arguments, environment);
    for output in &outputs {
        clear(Some(output), None, environment);
    }
    for directory in &reports {
        clear(None, Some(directory), environment);
    }
}

/// Removes everything of an earlier run.
fn remove_own(directory: &Utf8Path) -> io::Result<()> {
    remove_files(directory, &reports::NAMES)?;
    remove_files(directory, &STREAMS)?;
    let is_current = std::env::current_dir().is_ok_and(|current| current == directory.as_std_path());
    for name in DIRECTORIES {
        let path = directory.join(name);
        match path.symlink_metadata() {
            // A project may have directories of these names of its own.
            Ok(_) if is_current => {
                return Err(io::Error::other(format!(
                    "{name} is in the way: name a directory of its own"
                )));
            }
            // Links below it are removed, not followed.
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(&path)?,
            Ok(_) => std::fs::remove_file(&path)?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Removes files; a link is removed itself.
fn remove_files(directory: &Utf8Path, names: &[&str]) -> io::Result<()> {
    for name in names {
        match std::fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), format!("{name} is in the way: {error}")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn unwritable(what: &str, path: &Utf8Path, source: &std::io::Error, flag: &str) -> Failure {
    Failure::Settings(format!(
        "failed to {what} {path}: {source}. Name a directory that can be written with {flag}"
    ))
}

/// Where the records of runs go, where nobody says otherwise.
pub(crate) fn default_root(environment: &Environment) -> Utf8PathBuf {
    let state = state_directory(environment).unwrap_or_else(temporary);
    SHARED_ROOT.iter().fold(state, |path, part| path.join(part))
}

/// Directories of all runs' records, below the user's state directory or the temporary one.
const SHARED_ROOT: [&str; 2] = ["conclave", "runs"];

/// The user's state directory; nothing for a user without a home.
fn state_directory(environment: &Environment) -> Option<Utf8PathBuf> {
    environment.user_directory("XDG_STATE_HOME", ".local/state")
}

/// Where the last good configuration is kept; nowhere for a user without a home.
pub(crate) fn cache_directory(environment: &Environment) -> Option<Utf8PathBuf> {
    Some(environment.user_directory("XDG_CACHE_HOME", ".cache")?.join("conclave"))
}

/// Where `conclave runtime install` puts programs; nowhere for a user without a home.
pub(crate) fn programs_directory(environment: &Environment) -> Option<Utf8PathBuf> {
    Some(
        environment
            .user_directory("XDG_DATA_HOME", ".local/share")?
            .join("conclave"),
    )
}

/// The directory for scratch space.
pub(crate) fn temporary() -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(temporary_path()).unwrap_or_else(|_| Utf8PathBuf::from("/tmp"))
}

/// The same as the system has it. An empty variable is one that is not set.
pub(super) fn temporary_path() -> PathBuf {
    let place = std::env::temp_dir();
    if place.as_os_str().is_empty() {
        return PathBuf::from("/tmp");
    }
    place
}
