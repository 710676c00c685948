//! Programs on `PATH`.

use camino::{Utf8Path, Utf8PathBuf};

/// Every file of this name on `PATH`. A directory that is not absolute would be one of the code under review.
pub(crate) fn on_path(name: &str, path: &str) -> impl Iterator<Item = Utf8PathBuf> {
    path.split(':')
        .map(Utf8Path::new)
        .filter(|directory| directory.is_absolute())
        .map(move |directory| directory.join(name))
        .filter(|candidate| candidate.is_file())
}
