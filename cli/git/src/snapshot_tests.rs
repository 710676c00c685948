//! The content of a snapshot, which leaves no trace.

use super::*;
use crate::test_support::{Scratch, commit, git, scratch, write};

struct Place {
    scratch: Scratch,
    root: camino::Utf8PathBuf,
}

impl Place {
    fn new() -> Self {
        let scratch = scratch();
        let root = scratch.path.join("repository");
        std::fs::create_dir(&root).expect("a directory");
        git(&root, &["init", "--quiet"]);
        write(&root, ".gitignore", "*.log\n");
        write(&root, "kept.txt", "one\n");
        write(&root, "gone.txt", "one\n");
        commit(&root, "First");
        Self { scratch, root }
    }

    async fn repository(&self) -> Repository {
        Repository::open(&self.root).await.expect("a repository")
    }

    async fn taken(&self, what: Uncommitted) -> Result<Option<(String, Repository)>, GitError> {
        let snapshot = self.snapshot(what).await?;
        assert_eq!(snapshot.left_out, [""; 0]);
        Ok(snapshot.taken)
    }

    async fn snapshot(&self, what: Uncommitted) -> Result<Snapshot, GitError> {
        self.repository()
            .await
            .snapshot(&self.scratch.path.join("snapshot"), what)
            .await
    }
}

async fn text(snapshot: &(String, Repository), path: &str) -> Option<String> {
    let (commit, repository) = snapshot;
    let bytes = repository.file(commit, path).await.expect("an answer")?;
    Some(String::from_utf8(bytes).expect("text"))
}

#[tokio::test]
async fn a_repository_may_have_any_path() {
    let scratch = scratch();
    for name in ["a:b", "quo\"te", "back\\slash", "a: \"b\\"] {
        let root = scratch.path.join(name);
        std::fs::create_dir(&root).expect("a directory");
        git(&root, &["init", "--quiet"]);
        write(&root, "kept.txt", "one\n");
        commit(&root, "First");
        write(&root, "new.txt", "new\n");
        let repository = Repository::open(&root).await.expect("a repository");
        let own = scratch.path.join(format!("snapshot of {name}"));
        let taken = repository.snapshot(&own, Uncommitted::WorkingTree).await;
        let taken = taken
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .taken
            .expect("changes");
        assert_eq!(text(&taken, "kept.txt").await.as_deref(), Some("one\n"), "{name}");
    }
}

#[tokio::test]
async fn the_working_tree_is_everything_and_the_index_what_is_staged() {
    let place = Place::new();
    write(&place.root, "staged.txt", "staged\n");
    git(&place.root, &["add", "staged.txt"]);
    write(&place.root, "staged.txt", "staged, then changed\n");
    write(&place.root, "kept.txt", "two\n");
    write(&place.root, "new.txt", "new\n");
    write(&place.root, "debug.log", "ignored\n");
    std::fs::remove_file(place.root.join("gone.txt")).expect("it was there");
    let status = git(&place.root, &["status", "--porcelain"]);
    let objects = git(&place.root, &["count-objects"]);

    let all = place
        .taken(Uncommitted::WorkingTree)
        .await
        .expect("a snapshot")
        .expect("changes");
    for (path, expected) in [
        ("staged.txt", Some("staged, then changed\n")),
        ("kept.txt", Some("two\n")),
        ("new.txt", Some("new\n")),
        ("debug.log", None),
        ("gone.txt", None),
    ] {
        assert_eq!(text(&all, path).await.as_deref(), expected, "{path}");
    }
    let staged = place
        .taken(Uncommitted::Staged)
        .await
        .expect("a snapshot")
        .expect("changes");
    for (path, expected) in [
        ("staged.txt", Some("staged\n")),
        ("kept.txt", Some("one\n")),
        ("new.txt", None),
        ("gone.txt", Some("one\n")),
    ] {
        assert_eq!(text(&staged, path).await.as_deref(), expected, "{path}");
    }
    assert_eq!(git(&place.root, &["status", "--porcelain"]), status);
    assert_eq!(git(&place.root, &["count-objects"]), objects);
}

#[tokio::test]
async fn in_a_sparse_checkout_new_files_count_and_absent_ones_are_not_gone() {
    let place = Place::new();
    write(&place.root, "docs/a.md", "a\n");
    write(&place.root, "lib/a.rs", "a\n");
    commit(&place.root, "Directories");
    git(&place.root, &["sparse-checkout", "set", "docs"]);
    assert!(!place.root.join("lib").exists());
    write(&place.root, "docs/a.md", "b\n");
    write(&place.root, "lib/new.rs", "new\n");
    let taken = place.taken(Uncommitted::WorkingTree).await;
    let taken = taken.expect("a snapshot").expect("changes");
    assert_eq!(text(&taken, "docs/a.md").await.as_deref(), Some("b\n"));
    assert_eq!(text(&taken, "lib/new.rs").await.as_deref(), Some("new\n"));
    assert_eq!(text(&taken, "lib/a.rs").await.as_deref(), Some("a\n"));
}

#[tokio::test]
async fn the_index_that_a_hook_is_told_of_counts_if_it_is_the_repositorys() {
    let place = Place::new();
    let worktree = place.scratch.path.join("worktree");
    git(&place.root, &["worktree", "add", "--quiet", worktree.as_str()]);
    let real = |path: &str| place.scratch.path.canonicalize_utf8().expect("real").join(path);
    let own = real("repository/.git/index");
    let of_worktree = real("repository/.git/worktrees/worktree/index.lock");
    let beside = real("repository/.git/next-index-1.lock");
    for path in [&of_worktree, &beside, &real("elsewhere")] {
        std::fs::write(path, "x").expect("a file");
    }
    std::os::unix::fs::symlink(real("elsewhere"), real("repository/.git/link")).expect("a link");
    let repository = place.repository().await;
    for (told, expected) in [
        (None, &own),
        (Some(".git/next-index-1.lock"), &beside),
        (Some(beside.as_str()), &beside),
        (Some(".git/index.lock"), &own),
        (Some(".git"), &own),
        (Some(".git/link"), &own),
        (Some("../elsewhere"), &own),
        (Some(""), &own),
    ] {
        let found = repository.index_of_commit(told.map(camino::Utf8PathBuf::from)).await;
        let found = found.expect("an answer").canonicalize_utf8().expect("real");
        assert_eq!(&found, expected, "{told:?}");
    }
    let repository = Repository::open(&worktree).await.expect("a repository");
    let found = repository.index_of_commit(Some(of_worktree.clone())).await;
    assert_eq!(found.expect("an answer"), of_worktree);
}

#[tokio::test]
async fn nothing_staged_is_no_snapshot() {
    let place = Place::new();
    write(&place.root, "new.txt", "new\n");
    assert!(place.taken(Uncommitted::Staged).await.expect("an answer").is_none());
}

#[tokio::test]
async fn what_cannot_be_taken_in_is_named_with_what_to_do() {
    let place = Place::new();
    // A file name that git refuses in every repository.
    write(&place.root, "GIT~1/a.txt", "a\n");
    git(&place.root, &["config", "core.protectNTFS", "true"]);
    let error = place.taken(Uncommitted::WorkingTree).await.expect_err("git refuses");
    let text = error.to_string();
    assert!(text.contains("GIT~1") && text.contains(".gitignore"), "{text}");
}

#[tokio::test]
async fn a_new_repository_without_a_commit_is_left_out_and_one_with_a_commit_is_not() {
    let place = Place::new();
    for path in ["empty", "sub/an \"empty\" [one]", "full"] {
        let directory = place.root.join(path);
        std::fs::create_dir_all(&directory).expect("a directory");
        git(&directory, &["init", "--quiet"]);
        write(&directory, "a.txt", "a\n");
    }
    commit(&place.root.join("full"), "First");
    write(&place.root, "sub/new.txt", "new\n");
    let snapshot = place.snapshot(Uncommitted::WorkingTree).await.expect("a snapshot");
    assert_eq!(snapshot.left_out, ["empty/", "sub/an \"empty\" [one]/"]);
    let (commit, repository) = snapshot.taken.expect("changes");
    let head = repository.commit("HEAD").await.expect("a commit");
    let mut new = repository.new_files(&head, &commit).await.expect("an answer");
    new.sort();
    assert_eq!(new, ["full", "sub/new.txt"]);
}

#[tokio::test]
async fn a_bare_repository_has_nothing_uncommitted() {
    let place = Place::new();
    let bare = place.scratch.path.join("bare.git");
    git(&place.root, &["clone", "--quiet", "--bare", ".", bare.as_str()]);
    let repository = Repository::open(&bare).await.expect("a repository");
    let error = repository
        .snapshot(&place.scratch.path.join("snapshot"), Uncommitted::WorkingTree)
        .await
        .expect_err("there is no tree");
    assert!(error.to_string().contains("name a range of commits"), "{error}");
}

#[tokio::test]
async fn a_submodule_with_changes_of_its_own_is_named() {
    let place = Place::new();
    let library = place.scratch.path.join("library");
    std::fs::create_dir(&library).expect("a directory");
    git(&library, &["init", "--quiet"]);
    write(&library, "lib.txt", "one\n");
    commit(&library, "Library");
    git(
        &place.root,
        &["submodule", "--quiet", "add", library.as_str(), "vendor/library"],
    );
    commit(&place.root, "With a library");
    let repository = place.repository().await;
    assert_eq!(repository.changed_submodules().await.expect("an answer"), [""; 0]);
    write(&place.root, "vendor/library/lib.txt", "two\n");
    assert_eq!(
        repository.changed_submodules().await.expect("an answer"),
        ["vendor/library"]
    );
    // As a repository of its own it has a working tree like any other.
    let inside = Repository::open(&place.root.join("vendor/library"))
        .await
        .expect("a repository");
    let taken = inside
        .snapshot(&place.scratch.path.join("inside"), Uncommitted::WorkingTree)
        .await;
    let taken = taken.expect("a snapshot").taken.expect("changes");
    assert_eq!(text(&taken, "lib.txt").await.as_deref(), Some("two\n"));
}

#[tokio::test]
async fn the_default_branch_is_found_in_many_places() {
    let place = Place::new();
    let repository = place.repository().await;
    assert_eq!(repository.default_branch().await.as_deref(), Some("main"));
    git(&place.root, &["branch", "--quiet", "-m", "work"]);
    assert_eq!(repository.default_branch().await, None);
    // Another remote than `origin`, whose default branch has a name of its own.
    git(&place.root, &["branch", "stable"]);
    let upstream = place.scratch.path.join("upstream.git");
    git(&place.root, &["clone", "--quiet", "--bare", ".", upstream.as_str()]);
    git(&upstream, &["symbolic-ref", "HEAD", "refs/heads/stable"]);
    git(&place.root, &["remote", "add", "company", upstream.as_str()]);
    git(&place.root, &["fetch", "--quiet", "company"]);
    git(&place.root, &["remote", "set-head", "company", "--auto"]);
    assert_eq!(repository.default_branch().await.as_deref(), Some("company/stable"));
    git(&place.root, &["remote", "set-head", "company", "--delete"]);
    assert_eq!(repository.default_branch().await, None);
    git(
        &place.root,
        &["branch", "--quiet", "--set-upstream-to=company/stable", "work"],
    );
    assert_eq!(repository.default_branch().await.as_deref(), Some("company/stable"));
}
