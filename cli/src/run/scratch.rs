//! The scratch space of a run, which it leaves nothing of.
//!
//! A run that is killed cannot remove it. So each is owned by a lock, which the kernel lets go of when the run is dead, and the next
//! run removes what has no owner any more.

use std::{
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_engine::ports::StopSignal;
use nix::{
    fcntl::{Flock, FlockArg},
    unistd::geteuid,
};

use super::{directory::temporary_path, sweep};
use crate::{exit::Failure, private_files::hide_from_git};

/// The first part of the directory's name.
const PREFIX: &str = "conclave-";
/// The file whose lock is held for as long as the run lives.
const OWNER: &str = "owner";

/// Maximum time for removing scratch space: long enough for the workspace of a large repository on a slow machine.
const MAX_REMOVAL: Duration = Duration::from_mins(1);

/// Maximum time for removing what killed runs have left. The next run goes on with the rest.
const MAX_LEFTOVERS: Duration = Duration::from_secs(5);

/// Maximum time for it in a run that was stopped, which has ten seconds in all.
const MAX_REMOVAL_STOPPED: Duration = Duration::from_secs(5);

/// Scratch space outside of every checkout: the agent's workspace and home. Removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: Utf8PathBuf,
    stop: StopSignal,
    /// Nothing where the file system has no locks: then only this run removes it.
    owner: Option<Flock<File>>,
    /// The removal of what killed runs have left.
    leftovers: Option<JoinHandle<()>>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(leftovers) = self.leftovers.take() {
            let _ = leftovers.join();
        }
        let began = Instant::now();
        let takes_too_long = || {
            let limit = match self.stop.cause() {
                Some(_) => MAX_REMOVAL_STOPPED,
                None => MAX_REMOVAL,
            };
            began.elapsed() > limit
        };
        let remove = || remove_all(self.path.as_std_path(), takes_too_long);
        // Its own file may be the one that is too many to list a directory.
        let removed = remove().or_else(|_| {
            drop(self.owner.take());
            remove()
        });
        if let Err(error) = removed {
            tracing::warn!(
                "failed to remove {}: {error}. It holds a copy of the checkout, and what OpenCode has written if it ran; the next run \
                 with the same TMPDIR removes it",
                self.path
            );
        }
    }
}

impl Scratch {
    /// Makes it. Once `stop` says that the run has to end, its removal has less time.
    pub(crate) fn create(stop: StopSignal) -> Result<Self, Failure> {
        let place = temporary_path();
        if !place.is_absolute() {
            // It would be in the code under review, and somewhere else for each program that is started.
            return Err(Failure::Settings(format!(
                "TMPDIR is `{}`, which depends on the directory that a program runs in. Set it to an absolute path, or unset it",
                place.display()
            )));
        }
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(&place)
            .map_err(|source| {
                Failure::Settings(format!(
                    "failed to make a temporary directory in {}: {source}. Set TMPDIR to a directory that can be written",
                    place.display()
                ))
            })?;
        let path = Utf8PathBuf::from_path_buf(directory.keep()).map_err(|path| {
            Failure::Settings(format!(
                "the path of the temporary directory {} is not UTF-8",
                path.display()
            ))
        })?;
        // TMPDIR may be in the working tree that is reviewed, whose new files are all that git sees there. What fails here fails what is
        // written next as well.
        let _ = hide_from_git(&path, &[]);
        let own = path.clone();
        Ok(Self {
            owner: own_by_lock(path.as_std_path()).ok(),
            path,
            stop,
            leftovers: thread::Builder::new()
                .name("leftovers".to_owned())
                .spawn(move || remove_leftovers(&place, own.as_std_path()))
                .ok(),
        })
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }
}

/// Puts a file in the directory whose lock says that its run lives. It gets its name when the lock is held.
fn own_by_lock(directory: &Path) -> io::Result<Flock<File>> {
    let new = directory.join("new-owner");
    let file = File::create_new(&new)?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error)?;
    std::fs::rename(new, directory.join(OWNER))?;
    Ok(lock)
}

/// Removes scratch spaces of this user whose runs are dead, but not this one.
fn remove_leftovers(place: &Path, own: &Path) {
    let began = Instant::now();
    let takes_too_long = || began.elapsed() > MAX_LEFTOVERS;
    for leftover in place
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        if leftover == own || !is_scratch(&leftover) || takes_too_long() {
            continue;
        }
        // Held until all of it is gone: two runs do not remove the same.
        if let Some(_lock) = File::open(leftover.join(OWNER))
            .ok()
            .and_then(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).ok())
        {
            match remove_all(&leftover, takes_too_long) {
                Ok(()) => tracing::info!(path = %leftover.display(), "removed what a killed run has left"),
                Err(error) => tracing::info!(path = %leftover.display(), %error, "what a killed run has left stays"),
            }
        }
    }
}

/// Returns whether this is a directory that a run of this user has made. Links are followed nowhere.
fn is_scratch(path: &Path) -> bool {
    let user = geteuid().as_raw();
    let is_ours = |path: PathBuf| path.symlink_metadata().ok().filter(|found| found.uid() == user);
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        && is_ours(path.to_owned()).is_some_and(|found| found.is_dir())
        && is_ours(path.join(OWNER)).is_some_and(|found| found.is_file())
}

/// Removes the directory, the owner's file last, and only if nothing else is left: without it no run would go on.
fn remove_all(directory: &Path, takes_too_long: impl Fn() -> bool) -> io::Result<()> {
    let Ok(entries) = directory.read_dir() else {
        return sweep::remove(directory, takes_too_long);
    };
    let mut first = Ok(());
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            first = first.and(sweep::remove(&entry.path(), &takes_too_long));
        }
    }
    first?;
    sweep::remove(directory, takes_too_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_owns_any_more_is_removed() {
        let place = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("a directory");
        std::fs::write(outside.path().join(OWNER), "").expect("a file");
        let made = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.join("home/deep")).expect("directories");
            std::fs::write(path.join("home/file"), "x").expect("a file");
            path
        };
        let (own, living, dead) = (made("conclave-own"), made("conclave-living"), made("conclave-dead"));
        let (unowned, other) = (made("conclave-unowned"), made("another-dead"));
        let _lives = own_by_lock(&living).expect("a lock");
        for ended in [&own, &dead, &other] {
            drop(own_by_lock(ended).expect("a lock"));
        }
        let link = place.path().join("conclave-link");
        std::os::unix::fs::symlink(outside.path(), &link).expect("a link");
        remove_leftovers(place.path(), &own);
        assert!(!dead.exists());
        for stays in [&own, &living, &unowned, &other] {
            assert!(stays.join("home/file").exists(), "{}", stays.display());
        }
        assert!(link.symlink_metadata().is_ok() && outside.path().join(OWNER).exists());
    }

    #[test]
    fn what_takes_too_long_to_remove_is_left_to_the_next_run() {
        let place = tempfile::tempdir().expect("a directory");
        let ended = place.path().join("conclave-ended");
        for name in ["workspace/deep", "home"] {
            std::fs::create_dir_all(ended.join(name)).expect("directories");
            std::fs::write(ended.join(name).join("file"), "x").expect("a file");
        }
        drop(own_by_lock(&ended).expect("a lock"));
        assert!(remove_all(&ended, || true).is_err());
        assert!(
            ended.join(OWNER).exists(),
            "it can still be told from another's directory"
        );
        remove_leftovers(place.path(), Path::new("own"));
        assert!(!ended.exists());
    }
}
