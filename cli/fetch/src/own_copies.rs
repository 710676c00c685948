//! A directory of copies: the user's own, or none.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use nix::{fcntl::OFlag, unistd::geteuid};

/// Maximum length of a file that is read from such a directory, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Makes the directory, for its owner alone. One that is a link, or that another user owns, is refused.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(directory)?;
    check(directory)
}

/// Reads a file of the directory. Neither the directory nor the file may be a link, and both have to be the user's own.
pub fn read(file: &Path) -> io::Result<Vec<u8>> {
    check(file.parent().unwrap_or(Path::new(".")))?;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NOFOLLOW.bits() | OFlag::O_NONBLOCK.bits())
        .open(file)?;
    content(opened)
}

/// The content of an open file, if it is the user's own.
fn content(file: File) -> io::Result<Vec<u8>> {
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != geteuid().as_raw() {
        return Err(refused("the copy is not a file of this user"));
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

fn check(directory: &Path) -> io::Result<()> {
    let found = directory.symlink_metadata()?;
    if found.is_symlink() {
        return Err(refused("the directory of the copies is a link"));
    }
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Err(refused("the directory of the copies is not a directory of this user"));
    }
    Ok(())
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_and_files_of_other_users_are_no_copies() {
        let scratch = tempfile::tempdir().expect("a directory");
        let own = scratch.path().join("cache/conclave");
        create(&own).expect("made");
        let mode = own.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(own.join("copy"), "text").expect("written");
        assert_eq!(read(&own.join("copy")).expect("readable"), b"text");

        symlink(own.join("copy"), own.join("link")).expect("a link");
        assert!(read(&own.join("link")).is_err());
        let linked = scratch.path().join("linked");
        symlink(&own, &linked).expect("a link");
        assert!(read(&linked.join("copy")).is_err());
        assert!(create(&linked).is_err());

        // Only root can give things away.
        if geteuid().is_root() {
            std::os::unix::fs::chown(own.join("copy"), Some(65534), None).expect("given away");
            assert!(read(&own.join("copy")).is_err());
            std::os::unix::fs::chown(&own, Some(65534), None).expect("given away");
            assert!(create(&own).is_err());
        }
    }
}
