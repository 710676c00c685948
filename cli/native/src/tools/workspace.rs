//! The workspace: the one directory that tools can look into.

use std::io;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use cap_std::{
    ambient_authority,
    fs::{Dir, File},
};

/// The directory. Files are opened by a handle of it, so that no path leaves it, whatever links there are and whatever happens
/// to them meanwhile.
#[derive(Debug)]
pub(crate) struct Workspace {
    directory: Dir,
    root: Utf8PathBuf,
}

/// A path relative to the workspace, without `.` and `..`, that may be looked at. The workspace itself is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place(Utf8PathBuf);

impl Place {
    /// The path; `.` for the workspace.
    pub(super) fn path(&self) -> &Utf8Path {
        if self.0.as_str().is_empty() {
            Utf8Path::new(".")
        } else {
            &self.0
        }
    }

    /// Something below this directory.
    pub(super) fn join(&self, name: &str) -> Self {
        Self(self.0.join(name))
    }
}

/// The kind of thing at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
}

impl Workspace {
    pub(crate) fn open(root: &Utf8Path) -> io::Result<Self> {
        let root = root.canonicalize_utf8()?;
        Ok(Self {
            directory: Dir::open_ambient_dir(&root, ambient_authority())?,
            root,
        })
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// The place that a path of a model's names; an error if tools may not look there.
    pub(super) fn place(&self, path: &str) -> Result<Place, String> {
        let given = Utf8Path::new(path);
        let outside = || format!("{path} is outside of the workspace, and nothing there can be looked at.");
        let relative = match given.strip_prefix(&self.root) {
            Ok(relative) => relative,
            Err(_) if given.is_absolute() => return Err(outside()),
            Err(_) => given,
        };
        let mut clean = Utf8PathBuf::new();
        for component in relative.components() {
            match component {
                Utf8Component::Normal(name) => clean.push(name),
                Utf8Component::CurDir => {}
                Utf8Component::ParentDir if clean.pop() => {}
                Utf8Component::ParentDir | Utf8Component::RootDir | Utf8Component::Prefix(_) => return Err(outside()),
            }
        }
        if is_closed(&clean) {
            return Err(format!("{path} may not be looked at."));
        }
        Ok(Place(clean))
    }

    /// The kind of thing there. A link is not followed, also not in the middle of the path: inside of the workspace it could lead to
    /// what is closed.
    pub(super) fn kind(&self, place: &Place) -> io::Result<Kind> {
        let above = place
            .path()
            .ancestors()
            .skip(1)
            .filter(|path| !path.as_str().is_empty());
        for path in above {
            if self.directory.symlink_metadata(path)?.is_symlink() {
                return Err(io::Error::other("a link is in its path"));
            }
        }
        let metadata = self.directory.symlink_metadata(place.path())?;
        if metadata.is_dir() {
            Ok(Kind::Directory)
        } else if metadata.is_file() {
            Ok(Kind::File)
        } else {
            Err(io::Error::other("it is neither a file nor a directory"))
        }
    }

    /// The text for a place where nothing is that tools can look at. An empty result would say that a name is used nowhere.
    pub(super) fn missing(&self, place: &Place) -> String {
        let path = place.path().as_str().replace('\0', "\\0");
        let why = match self.kind(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => "",
            _ => " that can be looked at (links are not followed)",
        };
        format!("There is no file or directory {path} in the checkout{why}. Nothing was searched.")
    }

    /// Opens a file. Links, pipes and devices are none.
    pub(super) fn file(&self, place: &Place) -> io::Result<File> {
        if self.kind(place)? != Kind::File {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        self.directory.open(place.path())
    }

    /// The names in a directory that may be looked at, sorted; those of directories with a slash behind.
    pub(super) fn names(&self, place: &Place) -> io::Result<Vec<String>> {
        if self.kind(place)? != Kind::Directory {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let mut names = Vec::new();
        for entry in self.directory.read_dir(place.path())? {
            let entry = entry?;
            let (Ok(name), kind) = (entry.file_name().into_string(), entry.file_type()?) else {
                continue;
            };
            if is_closed(&place.join(&name).0) {
                continue;
            }
            if kind.is_dir() {
                names.push(format!("{name}/"));
            } else if kind.is_file() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Returns whether tools stay out of a path: what git keeps, and files of secrets by their usual name.
pub(super) fn is_closed(path: &Utf8Path) -> bool {
    path.components().any(|component| {
        let name = component.as_str().to_ascii_lowercase();
        name == ".git" || name.split('.').skip(1).any(|part| part == "env")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(directory.path()).expect("UTF-8").to_owned();
        let inside = root.join("ws");
        std::fs::create_dir_all(inside.join("src")).expect("a directory");
        std::fs::write(root.join("outside.txt"), "outside").expect("a file");
        std::fs::write(inside.join("src/main.rs"), "fn main() {}\n").expect("a file");
        let workspace = Workspace::open(&inside).expect("a workspace");
        (directory, workspace)
    }

    #[test]
    fn paths_stay_inside() {
        let (_keep, workspace) = workspace();
        let place = |path: &str| workspace.place(path).map(|place| place.path().to_string());
        for (path, clean) in [
            ("src/main.rs", "src/main.rs"),
            ("./src/../src//main.rs", "src/main.rs"),
            ("", "."),
            (".", "."),
            ("src/..", "."),
        ] {
            assert_eq!(place(path).as_deref(), Ok(clean), "{path}");
        }
        let absolute = workspace.root().join("src/main.rs");
        assert_eq!(place(absolute.as_str()).as_deref(), Ok("src/main.rs"));
        for path in [
            "..",
            "../outside.txt",
            "src/../../outside.txt",
            "/etc/passwd",
            "/",
            "/proc/self/environ",
        ] {
            assert!(place(path).is_err(), "{path}");
        }
        for path in [
            ".git",
            ".git/config",
            "a/.git/HEAD",
            ".GIT/config",
            ".env",
            "deploy/prod.env",
            ".env.local",
            "x.env.y/z",
        ] {
            assert!(place(path).is_err(), "{path}");
        }
        for path in [".github/workflows/ci.yml", ".gitignore", "environment.ts", "src/env.rs"] {
            assert!(place(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn links_lead_nowhere() {
        let (directory, workspace) = workspace();
        let inside = directory.path().join("ws");
        for (target, name) in [
            ("../outside.txt", "file"),
            ("..", "up"),
            ("/proc/self", "proc"),
            ("src/main.rs", "own"),
        ] {
            std::os::unix::fs::symlink(target, inside.join(name)).expect("a link");
        }
        std::fs::create_dir(inside.join(".git")).expect("a directory");
        std::fs::write(inside.join(".git/config"), "secret").expect("a file");
        std::os::unix::fs::symlink(".git", inside.join("kept")).expect("a link");
        for path in ["file", "own", "up/outside.txt", "proc/environ", "kept/config"] {
            let place = workspace.place(path).expect("nothing is wrong with the name");
            assert!(workspace.file(&place).is_err(), "{path}");
        }
        let top = workspace.place(".").expect("the workspace");
        assert_eq!(workspace.names(&top).expect("names"), ["src/"]);
        assert!(workspace.names(&workspace.place("up").expect("a name")).is_err());
    }
}
