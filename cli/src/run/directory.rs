//! Where a run keeps its records.

mod own;

use std::{collections::BTreeSet, ffi::OsString, io, os::unix::fs::DirBuilderExt, path::PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::{Repository, without_dots};

use self::own::{DIRECTORIES, Purpose, Survey};
use super::recording;
use crate::{
    args::refused_directories,
    env::Environment,
    exit::Failure,
    private_files::{self, write_file},
};

/// The records of a run.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: Utf8PathBuf,
}

impl RunDirectory {
    /// Makes the directory: the one that was asked for, else one below the user's state directory, else below the
    /// temporary directory. Records of an earlier run in it are removed; what else stands in their places is an error.
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
            remove_own(&path, Purpose::Records)?;
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
                let path = create(&path).map_err(|source| unwritable(Purpose::Records, &path, &source))?;
                Ok(Self { path })
            }
            Err(source) => Err(unwritable(Purpose::Records, &path, &source)),
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
/// anything was paid for. Reports of an earlier run are removed; what else stands in their places is an error.
pub(crate) fn prepare_reports(directory: Option<&Utf8Path>, environment: &Environment) -> Result<(), Failure> {
    let Some(directory) = directory else { return Ok(()) };
    private_files::open(directory, environment.job_checkout())
        .and_then(|path| {
            remove_own(&path, Purpose::Reports)?;
            private_files::hide_from_git(&path, &[recording::FILE])?;
            tempfile::tempfile_in(path)
        })
        .map(drop)
        .map_err(|source| unwritable(Purpose::Reports, directory, &source))
}

/// Removes the reports and records of an earlier run before anything of this one can fail: they would be taken for its own. What
/// Conclave did not write stays and is an error, and then nothing is removed.
///
/// What is committed under these names goes with them, because git still has it: a branch must not choose where a report is written.
/// A job uploads what it finds, whatever becomes of the run. So in a job all of this goes even then.
pub(crate) async fn clear(
    output: Option<&Utf8Path>,
    reports: Option<&Utf8Path>,
    environment: &Environment,
) -> Result<(), Failure> {
    let checkout = environment.job_checkout();
    let mut surveys = Vec::new();
    let mut refusal = keep_apart(output, reports).err();
    for (asked, purpose) in [(output, Purpose::Records), (reports, Purpose::Reports)] {
        // A place that cannot be looked at is refused when the directory is made.
        let Some((asked, Ok(Some(path)))) = asked.map(|path| (path, private_files::existing(path, checkout))) else {
            continue;
        };
        match survey(&path, purpose, checkout).await {
            Ok(survey) => {
                let foreign = survey
                    .foreign()
                    .map(|place| unwritable(purpose, asked, &in_the_way(place)));
                refusal = refusal.or(foreign);
                surveys.push(survey);
            }
            Err(source) => refusal = refusal.or_else(|| Some(unwritable(purpose, asked, &source))),
        }
    }
    if refusal.is_none() || checkout.is_some() {
        for survey in &surveys {
            if let Err(error) = survey.remove() {
                tracing::warn!(%error, "what an earlier run has left could not be removed");
            }
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// The same for a call whose arguments are wrong. Outside of a job nothing is uploaded, and everything stays.
pub(crate) async fn clear_refused(arguments: &[OsString], environment: &Environment) {
    if environment.job_checkout().is_none() {
        return;
    }
    let (outputs, reports) = refused_directories(arguments, environment);
    let outputs = outputs.iter().map(|path| (Some(path.as_path()), None));
    let reports = reports.iter().map(|path| (None, Some(path.as_path())));
    for (output, reports) in outputs.chain(reports) {
        // The run is refused already.
        let _ = clear(output, reports, environment).await;
    }
}

/// Refuses records where reports are: a reader of the reports would see the prompts, with the mark of their sections.
fn keep_apart(output: Option<&Utf8Path>, reports: Option<&Utf8Path>) -> Result<(), Failure> {
    let (Some(output), Some(reports)) = (output, reports) else {
        return Ok(());
    };
    let (records, shown) = (resolved(output), resolved(reports));
    // Reports beside the project's files are uploaded by their names.
    let holds_project = records != shown && resolved(Utf8Path::new(".")).starts_with(&shown);
    if holds_project || !records.starts_with(&shown) {
        return Ok(());
    }
    Err(Failure::Settings(format!(
        "--output {output} is in the directory of --reports {reports}, so the records of the run (prompts, patches) would be among the \
         reports. Name a directory outside of it with --output"
    )))
}

/// Where a path leads, as far as it is there yet.
fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    let absolute = camino::absolute_utf8(path).unwrap_or_else(|_| path.to_owned());
    let absolute = without_dots(&absolute);
    let real = absolute.ancestors().find_map(|above| {
        let rest = absolute.strip_prefix(above).ok()?;
        Some(above.canonicalize_utf8().ok()?.join(rest))
    });
    real.unwrap_or(absolute)
}

/// Looks at a directory, knowing what git has there.
async fn survey(directory: &Utf8Path, purpose: Purpose, checkout: Option<&str>) -> io::Result<Survey> {
    let survey = Survey::new(directory, purpose, &BTreeSet::new())?;
    if survey.foreign().is_none() {
        return Ok(survey);
    }
    let names = purpose.names();
    let tracked = async {
        match checkout {
            Some(checkout) => {
                let repository = Repository::open(Utf8Path::new(checkout)).await?;
                repository.tracked(directory, &names).await
            }
            // A person may have edited it.
            None => {
                Repository::open(directory)
                    .await?
                    .tracked_unedited(directory, &names)
                    .await
            }
        }
    };
    match tracked.await {
        Ok(tracked) => Survey::new(
            directory,
            purpose,
            &tracked.into_iter().map(Utf8PathBuf::from).collect(),
        ),
        Err(error) => {
            tracing::debug!(%error, %directory, "git does not say what is committed in it");
            Ok(survey)
        }
    }
}

/// Removes everything of an earlier run, and nothing where something else is in the way.
fn remove_own(directory: &Utf8Path, purpose: Purpose) -> io::Result<()> {
    let survey = Survey::new(directory, purpose, &BTreeSet::new())?;
    match survey.foreign() {
        Some(place) => Err(in_the_way(place)),
        None => survey.remove(),
    }
}

fn in_the_way(place: &Utf8Path) -> io::Error {
    let problem = format!("{place} is in the way, and Conclave did not write it");
    io::Error::new(io::ErrorKind::AlreadyExists, problem)
}

fn unwritable(purpose: Purpose, path: &Utf8Path, source: &io::Error) -> Failure {
    let (what, flag) = match purpose {
        Purpose::Records => ("make the run directory", "--output"),
        Purpose::Reports => ("write reports into", "--reports"),
    };
    let remedy = match source.kind() {
        io::ErrorKind::AlreadyExists => "Move it away, or name another directory with",
        _ => "Name a directory that can be written with",
    };
    Failure::Settings(format!("failed to {what} {path}: {source}. {remedy} {flag}"))
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

#[cfg(test)]
#[path = "directory/directory_tests.rs"]
mod tests;
