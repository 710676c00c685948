//! A directory of somebody else's, whose configuration names programs.

use camino::Utf8Path;

use super::*;
use crate::{
    snapshot::Uncommitted,
    test_support::{commit, git, scratch, write},
};

/// Lines of a configuration with which every look at a file leaves a canary.
fn hostile(canary: &Utf8Path, filter: &str) -> String {
    let program = |name: &str| format!("\"touch {canary}-{name}; cat\"");
    format!(
        "[filter \"{filter}\"]\n\tclean = {}\n\tsmudge = {}\n\tprocess = {}\n\trequired = true\n[core]\n\tfsmonitor = {}\n",
        program("clean"),
        program("smudge"),
        program("process"),
        program("fsmonitor"),
    )
}

fn append(path: &Utf8Path, lines: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, before + lines).expect("written");
}

#[tokio::test]
async fn a_snapshot_runs_no_filter_of_the_directory_or_of_a_submodule() {
    let scratch = scratch();
    let canary = scratch.path.join("canary");
    let (root, inner) = (scratch.path.join("root"), scratch.path.join("inner"));
    for directory in [&inner, &root] {
        std::fs::create_dir(directory).expect("a directory");
        git(directory, &["init", "--quiet"]);
        write(directory, "a.txt", "a\n");
        commit(directory, "First");
    }
    git(&root, &["submodule", "--quiet", "add", inner.as_str(), "lib"]);
    commit(&root, "A submodule");
    // Without the file that announces it.
    git(&root, &["rm", "--quiet", "--force", "--cached", ".gitmodules"]);
    commit(&root, "Unannounced");
    append(&root.join(".git/config"), &hostile(&canary, "evil.a=b"));
    append(
        &root.join(".git/info/attributes"),
        "* filter=evil.a=b\n* filter=included\n",
    );
    append(&root.join(".git/more"), &hostile(&canary, "included"));
    append(&root.join(".git/config"), "[include]\n\tpath = more\n");
    append(&root.join(".git/modules/lib/config"), &hostile(&canary, "inside"));
    append(&root.join(".git/modules/lib/info/attributes"), "* filter=inside\n");
    for file in ["a.txt", "new.txt", "lib/a.txt", "lib/new.txt"] {
        write(&root, file, "changed\n");
    }

    let repository = Repository::open(&root).await.expect("a repository");
    let own = scratch.path.join("scratch");
    let snapshot = repository.snapshot(&own, Uncommitted::WorkingTree);
    let (commit, with_snapshot) = snapshot.await.expect("taken").taken.expect("something differs");
    let content = with_snapshot.file(&commit, "a.txt").await.expect("read");
    assert_eq!(content.as_deref(), Some(b"changed\n".as_slice()));
    repository.changed_submodules().await.expect("looked at");
    let left: Vec<_> = scratch.path.read_dir_utf8().expect("readable").flatten().collect();
    let ran: Vec<_> = left
        .iter()
        .filter(|entry| entry.file_name().starts_with("canary"))
        .collect();
    assert!(ran.is_empty(), "{ran:?}");
}

#[tokio::test]
async fn a_working_tree_elsewhere_is_refused() {
    let scratch = scratch();
    let (private, foreign) = (scratch.path.join("private"), scratch.path.join("foreign"));
    for directory in [&private, &foreign] {
        std::fs::create_dir(directory).expect("a directory");
        git(directory, &["init", "--quiet"]);
        write(directory, "a.txt", "a\n");
        commit(directory, "First");
    }
    git(&foreign, &["config", "core.worktree", private.as_str()]);
    let error = Repository::open(&foreign).await.expect_err("refused").to_string();
    assert!(error.contains("core.worktree"), "{error}");
}
