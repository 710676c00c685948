//! Removing a directory that a hostile program has filled.
//!
//! Directories without rights get them back, and a tree of any depth is moved up level by level: each directory once, and no path
//! becomes long. What takes too long is left, and reported.

use std::{io, os::unix::fs::PermissionsExt, path::Path};

use nix::{
    fcntl::AT_FDCWD,
    sys::stat::{FchmodatFlags, Mode, fchmodat},
};

/// Rights to list a directory and to change what is in it.
const OWN: u32 = 0o700;

/// Removes the directory with everything in it, until it `takes_too_long`. Nothing may write there any more.
///
/// # Errors
/// The first thing that could not be removed; the rest was removed all the same.
pub(crate) fn remove(root: &Path, takes_too_long: impl Fn() -> bool) -> io::Result<()> {
    let mut first = Ok(());
    let mut note = |result: io::Result<()>| {
        if first.is_ok() {
            first = result;
        }
    };
    let mut moved = 0_u64;
    let mut waiting = vec![root.to_owned()];
    let mut emptied = Vec::new();
    while let Some(directory) = waiting.pop() {
        note(open_up(&directory));
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) => {
                note(Err(error));
                continue;
            }
        };
        for entry in entries {
            if takes_too_long() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it takes too long"));
            }
            let removed = entry.and_then(|entry| {
                if !entry.file_type()?.is_dir() {
                    return std::fs::remove_file(entry.path());
                }
                if directory == root {
                    waiting.push(entry.path());
                    return Ok(());
                }
                // Its own rights are needed as well: where it is, is written in it.
                open_up(&entry.path())?;
                let place = root.join(format!("moved-up-{moved}"));
                moved += 1;
                std::fs::rename(entry.path(), &place)?;
                waiting.push(place);
                Ok(())
            });
            note(removed);
        }
        emptied.push(directory);
    }
    for directory in emptied.iter().rev() {
        note(std::fs::remove_dir(directory));
    }
    first
}

/// Gives the owner the rights of a directory back. A link in its place is not followed.
fn open_up(directory: &Path) -> io::Result<()> {
    let mode = directory.symlink_metadata()?.permissions().mode();
    if mode & OWN == OWN {
        return Ok(());
    }
    let mode = Mode::from_bits_truncate(mode | OWN);
    fchmodat(AT_FDCWD, directory, mode, FchmodatFlags::NoFollowSymlink).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, os::unix::fs::symlink};

    use nix::{
        fcntl::{OFlag, openat},
        sys::stat::mkdirat,
    };

    use super::*;

    #[test]
    fn directories_without_rights_and_links_out_of_it_go_and_their_targets_stay() {
        let outside = tempfile::tempdir().expect("a directory");
        let root = tempfile::tempdir().expect("a directory").keep();
        let inner = root.join("home/locked/inner");
        std::fs::create_dir_all(&inner).expect("directories");
        std::fs::write(inner.join("file"), "x").expect("a file");
        std::fs::write(outside.path().join("file"), "x").expect("a file");
        symlink(outside.path(), inner.join("link")).expect("a link");
        symlink(outside.path(), root.join("home/link")).expect("a link");
        std::fs::set_permissions(outside.path(), std::fs::Permissions::from_mode(0o500)).expect("rights");
        for locked in [&inner, &root.join("home/locked"), &root.join("home")] {
            std::fs::set_permissions(locked, std::fs::Permissions::from_mode(0o0)).expect("no rights");
        }
        remove(&root, || false).expect("removed");
        assert!(!root.exists());
        let mode = outside.path().metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o500, "the target of a link is as it was");
        assert!(outside.path().join("file").exists());
    }

    #[test]
    fn a_deep_tree_is_removed_in_as_many_steps_as_it_has_directories() {
        // As one path it would be longer than a system call takes (4,096 bytes).
        const DEPTH: u32 = 3_000;
        let root = tempfile::tempdir().expect("a directory").keep();
        let mut place = std::fs::File::open(&root)
            .map(std::os::fd::OwnedFd::from)
            .expect("opened");
        for _ in 0..DEPTH {
            mkdirat(&place, "d", Mode::S_IRWXU).expect("made");
            place = openat(&place, "d", OFlag::O_DIRECTORY, Mode::empty()).expect("opened");
        }
        let handled = Cell::new(0);
        let count = || {
            handled.set(handled.get() + 1);
            false
        };
        remove(&root, count).expect("removed");
        assert!(!root.exists());
        assert_eq!(handled.get(), DEPTH, "each directory once");
    }

    #[test]
    fn what_takes_too_long_is_left_and_reported() {
        let root = tempfile::tempdir().expect("a directory").keep();
        std::fs::write(root.join("file"), "x").expect("a file");
        let error = remove(&root, || true).expect_err("late");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        remove(&root, || false).expect("removed");
    }
}
