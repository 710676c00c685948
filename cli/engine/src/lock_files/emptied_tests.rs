//! Lock files that pin nothing any more.

use super::{ChangedLockFile, check, pinned_packages};

#[test]
fn a_lock_file_that_loses_all_packages_is_emptied() {
    let go = format!("github.com/a/b v1.0.0 h1:{}=\n", "A".repeat(43));
    let cargo = "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n";
    let crates = format!(
        "{cargo}\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
         checksum = \"a\"\n"
    );
    let npm = "{\"packages\": {\"node_modules/a\": {\"version\": \"1.0.0\", \"integrity\": \"sha512-A\"}}}";
    let yarn = "# yarn lockfile v1\n\na@^1.0.0:\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz\"\n  integrity sha512-A\n";
    let gems = "GEM\n  remote: https://rubygems.org/\n  specs:\n";
    let rack = format!("{gems}    rack (3.0.0)\n");
    let poetry =
        "[[package]]\nname = \"a\"\nversion = \"1.0\"\nfiles = [{file = \"a-1.0.tar.gz\", hash = \"sha256:aa\"}]\n";
    let uv = "version = 1\n\n[[package]]\nname = \"app\"\nversion = \"1.0\"\nsource = { editable = \".\" }\n";
    let uv_with = format!(
        "{uv}\n[[package]]\nname = \"a\"\nversion = \"1.0\"\nsource = {{ registry = \"https://pypi.org/simple\" }}\nsdist = {{ url = \
         \"https://files.pythonhosted.org/a-1.0.tar.gz\", hash = \"sha256:a\" }}\n"
    );
    let pipfile =
        "{\"_meta\": {\"sources\": [{\"name\": \"pypi\", \"url\": \"https://pypi.org/simple\"}]}, \"default\": {}}";
    let pipfile_with = pipfile.replace("{}}", "{\"a\": {\"version\": \"==1.0\", \"hashes\": [\"sha256:a\"]}}}");
    let is_emptied = |path: &str, base: Option<&str>, head: &str| {
        let file = ChangedLockFile {
            path,
            base,
            head,
            manifest: None,
        };
        check(&file).expect("readable").is_emptied
    };
    for (path, full, empty) in [
        ("Cargo.lock", &crates[..], &["", "# hi\n", "version = 4\n", cargo][..]),
        (
            "package-lock.json",
            npm,
            &["{}", "{\"packages\": {\"\": {\"name\": \"app\"}}}"],
        ),
        ("yarn.lock", yarn, &["", "# yarn lockfile v1\n"]),
        ("go.sum", &go[..], &[""]),
        ("Gemfile.lock", &rack[..], &[gems, ""]),
        ("poetry.lock", poetry, &["package = []\n"]),
        ("uv.lock", &uv_with[..], &["version = 1\n", uv]),
        ("Pipfile.lock", &pipfile_with[..], &[pipfile]),
    ] {
        assert!(!pinned_packages(path, full).is_empty(), "{path}");
        assert!(!is_emptied(path, Some(full), full), "{path}");
        for &empty in empty {
            assert!(is_emptied(path, Some(full), empty), "{path}: {empty:?}");
            assert!(!is_emptied(path, Some(empty), full), "{path}: {empty:?}");
            assert!(!is_emptied(path, None, empty), "a new one: {path}: {empty:?}");
            assert!(pinned_packages(path, empty).is_empty(), "{path}: {empty:?}");
        }
    }
    assert!(pinned_packages("yarn.lock", "no lock file").is_empty());
    assert!(pinned_packages("notes.txt", yarn).is_empty());
}
