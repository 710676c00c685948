//! The `.git` of the agents' workspace: enough of one to mark the workspace's root, with nothing in it that can be read.
//!
//! `OpenCode` finds the root of a project by its `.git`, and takes `/` for the root where there is none. Its `grep` and `glob`
//! know no forbidden paths, and what a checkout leaves there names the real repository and lists its files. So once the files
//! are there, an empty repository takes its place: two empty directories, and a `HEAD` that is a link to a branch without a
//! commit, which is git's older form of it and has no content.

use std::{io, os::unix::fs::symlink};

use camino::Utf8Path;

/// Replaces the workspace's `.git`.
pub(crate) fn replace_by_empty(workspace: &Utf8Path) -> io::Result<()> {
    let directory = workspace.join(".git");
    std::fs::remove_dir_all(&directory)?;
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(directory.join(name))?;
    }
    symlink("refs/heads/none", directory.join("HEAD"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{git, scratch, write};

    #[test]
    fn an_empty_repository_marks_the_root_and_holds_no_text() {
        let scratch = scratch();
        git(&scratch.path, &["init", "--quiet"]);
        write(&scratch.path, "src/a.rs", "a\n");
        replace_by_empty(&scratch.path).expect("replaced");
        let top = git(&scratch.path.join("src"), &["rev-parse", "--show-toplevel"]);
        assert_eq!(top, scratch.path.canonicalize_utf8().expect("a path"));
        let mut waiting = vec![scratch.path.join(".git")];
        while let Some(directory) = waiting.pop() {
            for entry in directory.read_dir_utf8().expect("readable").flatten() {
                let kind = entry.file_type().expect("a type");
                assert!(!kind.is_file(), "{}", entry.path());
                if kind.is_dir() {
                    waiting.push(entry.path().to_owned());
                }
            }
        }
    }
}
