//! Directories that a repository consists of, found without git: where its files are, its `.git`, and its objects with all from which
//! it borrows some.

use std::{collections::BTreeSet, fs::File, io::Read};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

/// Maximum length of a file that names other directories, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Maximum number of repositories that one borrows from, one behind the other, as git has it.
const MAX_DEPTH: u32 = 5;

/// The characters that end a file with a single path. A blank before them is one of the path.
const LINE_END: [char; 2] = ['\r', '\n'];

/// The path without `.` and `..`, not looking at the disk.
pub fn without_dots(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for part in path.components() {
        match part {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The places of the repository that `directory` is in; none if it is in none. What it borrows may be borrowed again.
pub fn places_around(directory: &Utf8Path) -> Vec<Utf8PathBuf> {
    let directory = camino::absolute_utf8(directory).unwrap_or_else(|_| directory.to_owned());
    let found = directory
        .ancestors()
        .find_map(|root| Some((root.to_owned(), git_directory(root)?)));
    let Some((root, git)) = found else { return Vec::new() };
    // A worktree's own directory names the one that it shares with others.
    let shared =
        text(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path.trim_end_matches(LINE_END)));
    let objects = shared.join("objects");
    let mut places = vec![root, git, shared];
    places.extend(object_stores(&objects));
    places
}

/// These objects, and those that they are completed with.
pub(crate) fn object_stores(objects: &Utf8Path) -> BTreeSet<Utf8PathBuf> {
    let mut stores = BTreeSet::from([objects.to_owned()]);
    let mut last = vec![objects.to_owned()];
    for _ in 0..MAX_DEPTH {
        let next = last.iter().flat_map(|objects| {
            let listed = text(&objects.join("info/alternates")).unwrap_or_default();
            let paths = listed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            // A relative path is relative to these objects.
            paths.map(|path| objects.join(unquoted(path))).collect::<Vec<_>>()
        });
        last = next.filter(|store| stores.insert(store.clone())).collect();
    }
    stores
}

/// The `.git` of a directory that has one, or the directory itself if it is a bare repository.
fn git_directory(root: &Utf8Path) -> Option<Utf8PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    if let Some(link) = text(&git) {
        return Some(root.join(link.trim_end_matches(LINE_END).strip_prefix("gitdir: ")?));
    }
    let is_bare = root.join("HEAD").is_file() && root.join("objects").is_dir() && root.join("refs").is_dir();
    is_bare.then(|| root.to_owned())
}

/// A path as git writes it, in quotation marks if it holds unusual characters.
fn unquoted(path: &str) -> String {
    let Some(inner) = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return path.to_owned();
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let mut octal = String::new();
        while octal.len() < 3
            && let Some(digit) = rest.next_if(|digit| matches!(digit, b'0'..=b'7'))
        {
            octal.push(digit.into());
        }
        match u8::from_str_radix(&octal, 8) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(rest.next().map(|byte| match byte {
                b'n' => b'\n',
                b't' => b'\t',
                other => other,
            })),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text(file: &Utf8Path) -> Option<String> {
    let mut bytes = Vec::new();
    if !file.is_file() {
        return None;
    }
    File::open(file).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_objects_worktrees_and_bare_repositories_are_places() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(directory.path()).expect("UTF-8");
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        let second = root.join("second/objects");
        write("first/.git/HEAD", "ref: refs/heads/main\n");
        write("first/.git/objects/info/alternates", &format!("# cache\n{second}\n\n"));
        write(
            "second/objects/info/alternates",
            "../../a/\u{fc}\n\"../../third\\040\\303\\274/objects\"\n",
        );
        write("third \u{fc}/objects/info/alternates", "../../first/.git/objects\n");
        write("first/src/deep/file", "x");
        write("first/.git/worktrees/w/commondir", "../..\n");
        write("w/.git", &format!("gitdir: {root}/first/.git/worktrees/w\n"));
        write("bare/HEAD", "ref: refs/heads/main\n");
        write("bare/objects/pack/x", "");
        write("bare/refs/heads/main", "");
        let places = |path: &str| places_around(&root.join(path));
        let real = |places: Vec<Utf8PathBuf>| -> BTreeSet<Utf8PathBuf> {
            places
                .iter()
                .filter_map(|place| place.canonicalize_utf8().ok())
                .collect()
        };
        let base = root.canonicalize_utf8().expect("real");
        let all = |wanted: &[&str]| wanted.iter().map(|path| base.join(path)).collect::<BTreeSet<_>>();
        let stores = ["first/.git/objects", "second/objects", "third \u{fc}/objects"];
        assert_eq!(
            real(places("first/src/deep")),
            all(&[&["first", "first/.git"][..], &stores].concat())
        );
        assert!(places("first").iter().any(|place| place.as_str().ends_with("a/\u{fc}")));
        assert_eq!(
            real(places("w")),
            all(&[&["w", "first/.git/worktrees/w", "first/.git"][..], &stores].concat())
        );
        assert_eq!(real(places("bare")), all(&["bare", "bare/objects"]));
        assert_eq!(places_around(Utf8Path::new("/proc/self")), [""; 0]);
    }
}
