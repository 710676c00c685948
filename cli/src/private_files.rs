//! Directories that a run writes into: the user's own, and never somewhere else by a link.
//!
//! The name of such a directory often lies in the checkout, where the author of a merge request can commit a link of that name, or
//! of a directory above it. So from the checkout, or from the working directory, downwards each part of the path has to be a
//! real directory of the user's. Above that the path is the user's own business.

use std::{
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
};

use camino::{Utf8Path, Utf8PathBuf};
use conclave_git::without_dots;

use crate::exit::Failure;

/// The mode of a directory that only its owner can look into.
const PRIVATE: u32 = 0o700;

/// Bits of a mode by which a directory is meant for several users: setuid, setgid, sticky.
const SHARED: u32 = 0o7000;

/// Makes the directory, private. One that is there becomes private only if nothing is in it: what others may use keeps its mode, and
/// the files that are written into it are private by themselves.
pub(crate) fn open(path: &Utf8Path, checkout: Option<&str>) -> io::Result<Utf8PathBuf> {
    let Place { base, parts } = Place::of(path, checkout)?;
    let owner = base.metadata()?.uid();
    let mut place = base;
    for part in &parts {
        place.push(part);
        match std::fs::DirBuilder::new().mode(PRIVATE).create(&place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(&place, owner)?,
            result => result?,
        }
    }
    // The working directory itself keeps its mode, whatever is in it.
    if !parts.is_empty() {
        let found = place.symlink_metadata()?;
        if found.uid() != nix::unistd::geteuid().as_raw() {
            return Err(refused(&place, "belongs to another user"));
        }
        let is_free = || Ok::<_, io::Error>(place.read_dir()?.next().is_none());
        if found.mode() & 0o077 != 0 && found.mode() & SHARED == 0 && is_free()? {
            std::fs::set_permissions(&place, std::fs::Permissions::from_mode(PRIVATE))?;
        }
    }
    Ok(place)
}

/// Has git ignore a directory that holds nothing but these files of ours: no commit takes them up, and no review of the working tree
/// reads them. One with a `.gitignore`, or with other files, stays as it is, and so does the working directory.
pub(crate) fn hide_from_git(directory: &Utf8Path, own: &[&str]) -> io::Result<()> {
    if std::env::current_dir()? == directory.as_std_path() {
        return Ok(());
    }
    for entry in directory.read_dir()? {
        let name = entry?.file_name();
        if !own.iter().any(|own| name == *own) {
            return Ok(());
        }
    }
    std::fs::File::create_new(directory.join(".gitignore"))?.write_all(b"*\n")
}

/// Makes directories in one that others can write to, each in the one before. One that is there is taken only if it is the
/// user's, and no other user can write to it: one may have made it first.
pub(crate) fn open_shared(base: &Utf8Path, parts: &[&str]) -> io::Result<Utf8PathBuf> {
    let mut place = base.to_owned();
    for part in parts {
        place.push(part);
        match std::fs::DirBuilder::new().mode(PRIVATE).create(&place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let found = place.symlink_metadata()?;
                check(&place, found.uid())?;
                if found.uid() != nix::unistd::geteuid().as_raw() {
                    return Err(refused(&place, "belongs to another user"));
                }
                if found.mode() & 0o022 != 0 {
                    return Err(refused(&place, "can be written by others"));
                }
            }
            result => result?,
        }
    }
    Ok(place)
}

/// The same as [`open`] for a directory that may not be there, and is not made: `None` if it is not.
pub(crate) fn existing(path: &Utf8Path, checkout: Option<&str>) -> io::Result<Option<Utf8PathBuf>> {
    let Place { base, parts } = Place::of(path, checkout)?;
    let owner = base.metadata()?.uid();
    let mut place = base;
    for part in &parts {
        place.push(part);
        if place.symlink_metadata().is_err() {
            return Ok(None);
        }
        check(&place, owner)?;
    }
    Ok(Some(place))
}

/// Writes a file that only its owner can read. What is there already is replaced; a link there is not followed.
pub(crate) fn write_file(path: &Utf8Path, content: &[u8]) -> Result<(), Failure> {
    let create = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(path)
    };
    create()
        .or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => std::fs::remove_file(path).and_then(|()| create()),
            _ => Err(error),
        })
        .and_then(|mut file| file.write_all(content))
        .map_err(Failure::io(format!("write {path}")))
}

/// A path in two parts.
struct Place {
    /// What is followed as it is.
    base: Utf8PathBuf,
    /// What has to be real directories.
    parts: Vec<String>,
}

impl Place {
    fn of(path: &Utf8Path, checkout: Option<&str>) -> io::Result<Self> {
        let current = Utf8PathBuf::from_path_buf(std::env::current_dir()?)
            .map_err(|path| io::Error::other(format!("{} is not UTF-8", path.display())))?;
        let absolute = without_dots(&current.join(path));
        let checkout = checkout.map(|directory| without_dots(&current.join(directory)));
        let real = checkout
            .as_ref()
            .and_then(|directory| directory.canonicalize_utf8().ok());
        let bases = [Some(current), checkout, real];
        let base = bases.into_iter().flatten().filter(|base| absolute.starts_with(base));
        // The uppermost: what lies between two of them is as little to be trusted as what lies below both.
        let base = base.min_by_key(|base| base.as_str().len());
        let base = match base {
            Some(base) => base,
            None => match absolute.parent() {
                Some(parent) => {
                    std::fs::DirBuilder::new()
                        .mode(PRIVATE)
                        .recursive(true)
                        .create(parent)?;
                    parent.to_owned()
                }
                None => absolute.clone(),
            },
        };
        let parts = absolute.strip_prefix(&base).unwrap_or(Utf8Path::new("")).components();
        Ok(Self {
            parts: parts.map(|part| part.as_str().to_owned()).collect(),
            base,
        })
    }
}

/// Returns whether this is a directory of the user's, of the owner of what it lies in, or of root.
fn check(place: &Utf8Path, owner: u32) -> io::Result<()> {
    let found = place.symlink_metadata()?;
    if found.is_symlink() {
        return Err(refused(place, "is a link"));
    }
    if !found.is_dir() {
        return Err(refused(place, "is not a directory"));
    }
    let user = nix::unistd::geteuid().as_raw();
    if [user, owner, 0].contains(&found.uid()) {
        Ok(())
    } else {
        Err(refused(place, "belongs to another user"))
    }
}

fn refused(place: &Utf8Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{place} {what}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn scratch() -> (tempfile::TempDir, Utf8PathBuf) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).expect("UTF-8");
        let path = path.canonicalize_utf8().expect("a path");
        (directory, path)
    }

    #[test]
    fn links_below_the_checkout_are_refused_and_new_directories_are_private() {
        let (_directory, root) = scratch();
        let (checkout, elsewhere) = (root.join("checkout"), root.join("elsewhere"));
        std::fs::create_dir_all(checkout.join("old")).expect("directories");
        std::fs::create_dir(&elsewhere).expect("a directory");
        symlink(&elsewhere, checkout.join("link")).expect("a link");
        let at = |name: &str| open(&checkout.join(name), Some(checkout.as_str()));
        let mode = |path: &Utf8Path| path.metadata().expect("there").mode() & 0o777;
        for new in ["new/deep", "old", "old/../new/other"] {
            let path = at(new).expect("made");
            assert_eq!(mode(&path), 0o700, "{new}");
        }
        assert_eq!(mode(&checkout.join("new")), 0o700);
        for refused in ["link", "link/below", "new/../link"] {
            let error = at(refused).expect_err("refused").to_string();
            assert!(error.contains("link is a link"), "{error}");
        }
        assert_eq!(elsewhere.read_dir_utf8().expect("readable").count(), 0);
        // Outside of the checkout only the directory itself must not be one.
        symlink(&elsewhere, root.join("mine")).expect("a link");
        assert!(open(&root.join("mine/run"), Some(checkout.as_str())).is_ok());
        assert!(open(&root.join("mine"), Some(checkout.as_str())).is_err());
        assert_eq!(existing(&checkout.join("nothing/here"), None).expect("asked"), None);
    }

    #[test]
    fn a_directory_that_others_may_use_keeps_its_mode() {
        let (_directory, root) = scratch();
        let opened = |name: &str, mode: u32, files: &[&str]| {
            let path = root.join(name);
            std::fs::create_dir(&path).expect("a directory");
            for file in files {
                std::fs::write(path.join(file), "theirs").expect("a file");
            }
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
            open(&path, None).expect("the user's own");
            path.metadata().expect("there").mode() & 0o7777
        };
        assert_eq!(opened("empty", 0o775, &[]), 0o700);
        assert_eq!(opened("of the project", 0o755, &["index.html"]), 0o755);
        for mode in [0o1777, 0o2775] {
            assert_eq!(opened(&format!("shared {mode:o}"), mode, &[]), mode);
        }
    }

    #[test]
    fn git_ignores_a_directory_of_ours_and_no_other() {
        let (_directory, root) = scratch();
        let ignored = |name: &str, files: &[&str]| {
            let directory = root.join(name);
            std::fs::create_dir(&directory).expect("a directory");
            for file in files {
                std::fs::write(directory.join(file), "theirs").expect("a file");
            }
            hide_from_git(&directory, &["review.json"]).expect("no fault");
            std::fs::read_to_string(directory.join(".gitignore")).ok()
        };
        assert_eq!(ignored("new", &[]).as_deref(), Some("*\n"));
        assert_eq!(ignored("of an earlier run", &["review.json"]).as_deref(), Some("*\n"));
        assert_eq!(ignored("with others", &["review.json", "main.py"]), None);
        assert_eq!(ignored("with rules", &[".gitignore"]).as_deref(), Some("theirs"));
    }

    #[test]
    fn what_another_could_have_made_is_refused_in_a_shared_directory() {
        let (_directory, root) = scratch();
        let path = open_shared(&root, &["conclave", "runs"]).expect("made");
        assert_eq!(path.metadata().expect("there").mode() & 0o777, 0o700);
        assert_eq!(open_shared(&root, &["conclave", "runs"]).expect("the user's own"), path);
        let refusal = || {
            open_shared(&root, &["conclave", "runs"])
                .expect_err("refused")
                .to_string()
        };
        let writable = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(root.join("conclave"), writable).expect("a mode");
        assert!(refusal().contains("can be written by others"), "{}", refusal());
        std::fs::rename(root.join("conclave"), root.join("elsewhere")).expect("moved");
        symlink(root.join("elsewhere"), root.join("conclave")).expect("a link");
        assert!(refusal().contains("is a link"), "{}", refusal());
    }
}
