//! Putting what is new into its place.

use std::io;

use camino::Utf8Path;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// Puts a new directory into its place, in one step where the file system has one. Elsewhere what was there is moved to `old` first, and
/// back if the second step fails; a kill between the two leaves it there, for `restore`. What was there is at `new` or `old` then.
pub(super) fn put(new: &Utf8Path, place: &Utf8Path, old: &Utf8Path) -> io::Result<()> {
    put_with(exchange, new, place, old)
}

fn exchange(one: &Utf8Path, other: &Utf8Path) -> io::Result<()> {
    let (one, other) = (one.as_std_path(), other.as_std_path());
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(io::Error::from)
}

fn put_with(
    exchange: impl FnOnce(&Utf8Path, &Utf8Path) -> io::Result<()>,
    new: &Utf8Path,
    place: &Utf8Path,
    old: &Utf8Path,
) -> io::Result<()> {
    if exchange(new, place).is_ok() {
        return Ok(());
    }
    // Nothing is there to exchange it with, or the file system cannot.
    match std::fs::rename(place, old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::rename(new, place).inspect_err(|_| restore(old, place))
}

/// Moves what an installation has moved away back to its place, if that is empty.
pub(super) fn restore(old: &Utf8Path, place: &Utf8Path) {
    if place.symlink_metadata().is_err() {
        let _ = std::fs::rename(old, place);
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;

    /// A directory with the directories `place` and `new` in it, each with a file that says which it is.
    fn directories() -> (tempfile::TempDir, [Utf8PathBuf; 3]) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
        let paths = ["new", "place", "old"].map(|name| root.join(name));
        for path in &paths[..2] {
            std::fs::create_dir(path).expect("a directory");
            std::fs::write(path.join("name"), path.file_name().expect("a name")).expect("a file");
        }
        (directory, paths)
    }

    fn said(path: &Utf8Path) -> Option<String> {
        std::fs::read_to_string(path.join("name")).ok()
    }

    fn cannot(_: &Utf8Path, _: &Utf8Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[test]
    fn the_new_one_takes_the_place_whatever_the_file_system_can() {
        let (_directory, [new, place, old]) = directories();
        put(&new, &place, &old).expect("put");
        assert_eq!(said(&place).as_deref(), Some("new"));
        let left = [said(&new), said(&old)];
        assert!(
            left.contains(&Some("place".to_owned())),
            "the old one goes with its directory: {left:?}"
        );

        let (_directory, [new, place, old]) = directories();
        put_with(cannot, &new, &place, &old).expect("put");
        assert_eq!(
            (said(&place).as_deref(), said(&old).as_deref()),
            (Some("new"), Some("place"))
        );

        // Nothing was there before.
        let (_directory, [new, place, old]) = directories();
        std::fs::remove_dir_all(&place).expect("removed");
        put(&new, &place, &old).expect("put");
        assert_eq!((said(&place).as_deref(), said(&old)), (Some("new"), None));
    }

    #[test]
    fn an_error_in_between_leaves_what_was_there_in_its_place() {
        let (_directory, [new, place, old]) = directories();
        std::fs::remove_dir_all(&new).expect("removed");
        put_with(cannot, &new, &place, &old).expect_err("there is nothing to put");
        assert_eq!((said(&place).as_deref(), said(&old)), (Some("place"), None));
    }
}
