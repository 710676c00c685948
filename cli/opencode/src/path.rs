//! Programs on `PATH`.

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::{AccessFlags, access};

/// Returns whether this is a file that can be executed.
pub(crate) fn is_program(file: &Utf8Path) -> bool {
    file.is_file() && access(file.as_std_path(), AccessFlags::X_OK).is_ok()
}

/// Every program of this name on `PATH`.
pub(crate) fn on_path(name: &str, path: &str) -> impl Iterator<Item = Utf8PathBuf> {
    named_on_path(name, path).filter(|candidate| is_program(candidate))
}

/// Everything of this name on `PATH`, whether it can be executed or not. A directory that is not absolute would be one of the code under
/// review.
pub(crate) fn named_on_path(name: &str, path: &str) -> impl Iterator<Item = Utf8PathBuf> {
    path.split(':')
        .map(Utf8Path::new)
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|candidate| candidate.symlink_metadata().is_ok())
}
