//! One installation at a time, which leaves no directory behind that has nothing in it.

use std::{
    fs::{File, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use nix::libc::O_NOFOLLOW;

use super::{PARTIAL, pins::PINS, swap::restore};

/// Time between two looks for another installation's end.
const POLL: Duration = Duration::from_millis(100);
/// The name of the file whose lock is held.
const NAME: &str = ".lock";

/// The right to change what is installed. Dropping it removes its file, and each directory that is empty.
pub(super) struct Alone {
    directory: Utf8PathBuf,
    /// The file, locked where the file system has locks; nothing where it cannot be made.
    lock: Option<File>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Directories with something in them cannot be removed this way.
        for pin in &PINS {
            let _ = std::fs::remove_dir(self.directory.join(pin.directory_name()));
        }
        if let Some(lock) = self.lock.take() {
            // Still locked, where it was: an installation that waits for it sees that its name is gone, and makes another.
            let _ = std::fs::remove_file(self.directory.join(NAME));
            let _ = std::fs::remove_dir(&self.directory);
            drop(lock);
        }
    }
}

/// Waits until no other installation works here, and removes what one that was killed has left; a program that it had moved away and
/// not yet replaced goes back to its place. A file system without locks has none to wait for.
pub(super) async fn alone(directory: &Utf8Path, progress: &(dyn Fn(&str) + Sync)) -> io::Result<Alone> {
    let path = directory.join(NAME);
    let mut waits = false;
    let lock = loop {
        // An installation that has just failed may have taken the directory along.
        std::fs::create_dir_all(directory)?;
        let mut options = File::options();
        options
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(O_NOFOLLOW);
        let lock = match options.open(&path) {
            Ok(lock) => lock,
            Err(_) if path.is_symlink() => {
                // A link is not made here, and a lock on what it names would be of another file.
                std::fs::remove_file(&path)?;
                tokio::time::sleep(POLL).await;
                continue;
            }
            Err(_) if !directory.is_dir() => continue,
            Err(_) => break None,
        };
        match lock.try_lock() {
            Ok(()) if is_at(&lock, &path) => break Some(lock),
            // The one before removed it.
            Ok(()) => tokio::time::sleep(POLL).await,
            Err(TryLockError::Error(_)) => break Some(lock),
            Err(TryLockError::WouldBlock) => {
                if !std::mem::replace(&mut waits, true) {
                    progress("Another `conclave runtime` is at work here: waiting for its end …");
                }
                tokio::time::sleep(POLL).await;
            }
        }
    };
    for pin in &PINS {
        let home = directory.join(pin.directory_name());
        let Ok(entries) = home.read_dir_utf8() else {
            continue;
        };
        for entry in entries.flatten().filter(|entry| entry.file_name().starts_with(PARTIAL)) {
            restore(&entry.path().join(pin.version), &home.join(pin.version));
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(Alone {
        directory: directory.to_owned(),
        lock,
    })
}

/// Returns whether this file still has this name.
fn is_at(file: &File, path: &Utf8Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}
