//! Where a run keeps its records, and the scratch space that it leaves nothing of.

use std::io::Write;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::{exit::Failure, settings::Environment};

/// The records of a run.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: Utf8PathBuf,
}

impl RunDirectory {
    /// Makes the directory: the one that was asked for, else one below the user's state directory, else below the
    /// temporary directory. Records of an earlier run in it are replaced.
    pub(crate) fn create(asked: Option<&Utf8Path>, run_id: &str, environment: &Environment) -> Result<Self, Failure> {
        let path = match asked {
            Some(path) => path.to_owned(),
            None => default_root(environment).join(run_id),
        };
        let create = |path: &Utf8Path| {
            let patches = path.join("patches");
            if patches.is_dir() {
                std::fs::remove_dir_all(&patches)?;
            }
            std::fs::create_dir_all(&patches)?;
            std::fs::create_dir_all(path.join("prompts"))?;
            path.canonicalize_utf8()
        };
        match create(&path) {
            Ok(path) => Ok(Self { path }),
            // A read-only home must not stop a review; a directory that was asked for must be the one.
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
/// anything was paid for.
pub(crate) fn prepare_reports(directory: Option<&Utf8Path>) -> Result<(), Failure> {
    let Some(directory) = directory else { return Ok(()) };
    std::fs::create_dir_all(directory)
        .and_then(|()| tempfile::tempfile_in(directory))
        .map(drop)
        .map_err(|source| unwritable("write reports into", directory, &source, "--reports"))
}

fn unwritable(what: &str, path: &Utf8Path, source: &std::io::Error, flag: &str) -> Failure {
    Failure::Settings(format!(
        "failed to {what} {path}: {source}. Name a directory that can be written with {flag}"
    ))
}

/// Writes a file; what is there already is replaced.
pub(crate) fn write_file(path: &Utf8Path, content: &[u8]) -> Result<(), Failure> {
    std::fs::File::create(path)
        .and_then(|mut file| file.write_all(content))
        .map_err(Failure::io(format!("write {path}")))
}

/// Where the records of runs go, where nobody says otherwise.
pub(crate) fn default_root(environment: &Environment) -> Utf8PathBuf {
    let state = match (environment.get("XDG_STATE_HOME"), environment.get("HOME")) {
        (Some(state), _) => Utf8PathBuf::from(state),
        (None, Some(home)) => Utf8PathBuf::from(home).join(".local/state"),
        (None, None) => temporary(),
    };
    state.join("conclave/runs")
}

/// Where the last good configuration is kept; nowhere for a user without a home.
pub(crate) fn cache_directory(environment: &Environment) -> Option<Utf8PathBuf> {
    let cache = match (environment.get("XDG_CACHE_HOME"), environment.get("HOME")) {
        (Some(cache), _) => Utf8PathBuf::from(cache),
        (None, Some(home)) => Utf8PathBuf::from(home).join(".cache"),
        (None, None) => return None,
    };
    Some(cache.join("conclave"))
}

/// The directory for scratch space.
pub(crate) fn temporary() -> Utf8PathBuf {
    Utf8PathBuf::from_path_buf(std::env::temp_dir()).unwrap_or_else(|_| Utf8PathBuf::from("/tmp"))
}

/// Scratch space outside of every checkout: the agent's workspace and home. Removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    _directory: TempDir,
    path: Utf8PathBuf,
}

impl Scratch {
    pub(crate) fn create() -> Result<Self, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("conclave-")
            .tempdir()
            .map_err(|source| {
                let place = std::env::temp_dir();
                Failure::Settings(format!(
                    "failed to make a temporary directory in {}: {source}. Set TMPDIR to a directory that can be written",
                    place.display()
                ))
            })?;
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned())
            .map_err(|path| Failure::Settings(format!("the temporary directory {} is no UTF-8", path.display())))?;
        Ok(Self {
            _directory: directory,
            path,
        })
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }
}
