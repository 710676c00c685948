//! Histories that were merged once, crosswise, and of which a part is here.

use std::time::Duration;

use camino::Utf8PathBuf;

use super::*;
use crate::{
    FetchSettings, Remote,
    test_support::{Scratch, commit, git, scratch, write},
    with_history,
};

const FIX: &str = "def pay(o):\n    check(o)\n    return run(o)\n";
const FLAW: &str = "def pay(o):\n    return run(o)\n";

/// A server whose `main` has merged the first commit of `feature`, the first base, and a fix, the second one, which `feature` merges
/// and leaves out.
struct Crosswise {
    scratch: Scratch,
    bases: [String; 2],
}

impl Crosswise {
    fn new() -> Self {
        let scratch = scratch();
        let root = &scratch.path;
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        write(root, "pay.py", FLAW);
        commit(root, "one");
        git(root, &["checkout", "--quiet", "-b", "feature"]);
        write(root, "a.py", "a = 1\n");
        let first = commit(root, "first of the feature");
        git(root, &["checkout", "--quiet", "main"]);
        write(root, "pay.py", FIX);
        let second = commit(root, "fix");
        git(
            root,
            &["merge", "--quiet", "--no-ff", "-m", "merge the feature", "feature"],
        );
        git(root, &["checkout", "--quiet", "feature"]);
        git(
            root,
            &["merge", "--quiet", "--no-ff", "-s", "ours", "-m", "merge main", &second],
        );
        write(root, "a.py", "a = 2\n");
        commit(root, "second of the feature");
        Self {
            scratch,
            bases: [first, second],
        }
    }

    fn commit(&self, revision: &str) -> String {
        git(&self.scratch.path, &["rev-parse", revision])
    }

    async fn repository(&self) -> Repository {
        Repository::open(&self.scratch.path).await.expect("a repository")
    }
}

#[tokio::test]
async fn a_history_with_several_merge_bases_is_told_from_an_ordinary_one() {
    let server = Crosswise::new();
    let repository = server.repository().await;
    let (target, head) = (server.commit("main"), server.commit("feature"));
    for base in &server.bases {
        let parting = repository.parting(base, &target, &head).await.expect("an answer");
        let target = target.clone();
        assert_eq!(parting, Parting::Several { target });
    }
    let [first, second] = &server.bases;
    // The target branch has gone on, or it has not.
    for (base, target) in [(second, second), (first, first)] {
        let parting = repository.parting(base, target, &head).await.expect("an answer");
        assert_eq!(parting, Parting::Once);
    }
    git(&server.scratch.path, &["checkout", "--quiet", "-b", "later", first]);
    let later = commit(&server.scratch.path, "later");
    let parting = repository.parting(first, &target, &later).await.expect("an answer");
    assert_eq!(parting, Parting::Once);
}

#[tokio::test]
async fn what_a_merge_changes_is_worked_out_beside_the_repository() {
    let server = Crosswise::new();
    let repository = server.repository().await;
    let own = scratch();
    // A program that merges would be started for every file.
    git(&server.scratch.path, &["config", "merge.default", "evil"]);
    let marker = own.path.join("started");
    let program = format!("touch {marker}; false");
    git(&server.scratch.path, &["config", "merge.evil.driver", &program]);
    let before = git(&server.scratch.path, &["count-objects", "-v"]);
    let (target, head) = (server.commit("main"), server.commit("feature"));
    let merged = repository
        .merged_files(&target, &head, &own.path)
        .await
        .expect("merged");
    let expected = ["a.py", "pay.py"].map(|path| MergedFile {
        path: path.to_owned(),
        mode: "100644".to_owned(),
        object: server.commit(&format!("feature:{path}")),
    });
    assert_eq!(merged, expected, "the fix goes with the merge");
    assert!(!marker.exists());
    assert_eq!(git(&server.scratch.path, &["count-objects", "-v"]), before);

    // Both sides change a line: what a person makes of it is another commit.
    git(&server.scratch.path, &["rm", "--quiet", "pay.py"]);
    write(&server.scratch.path, "a.py", "a = 3\n");
    let head = commit(&server.scratch.path, "third of the feature");
    git(&server.scratch.path, &["checkout", "--quiet", "main"]);
    write(&server.scratch.path, "a.py", "a = 4\n");
    let target = commit(&server.scratch.path, "main goes on");
    let merged = repository
        .merged_files(&target, &head, &own.path)
        .await
        .expect("merged");
    let paths: Vec<&str> = merged.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.py", "pay.py"]);
    assert_ne!(merged[0].object, server.commit(&format!("{head}:a.py")));
    assert_eq!(
        (merged[1].mode.as_str(), merged[1].object.trim_matches('0')),
        ("000000", "")
    );

    let unknown = "1".repeat(40);
    let error = repository.merged_files(&unknown, &head, &own.path).await;
    assert!(error.is_err());
}

#[tokio::test]
async fn a_shallow_clone_says_what_it_does_not_know_and_gets_the_commits_alone() {
    let server = scratch();
    let root = &server.path;
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["config", "uploadpack.allowFilter", "true"]);
    write(root, "a.txt", "one\n");
    commit(root, "one");
    commit(root, "two");
    git(root, &["checkout", "--quiet", "-b", "straight"]);
    let straight = commit(root, "of the branch");
    git(root, &["checkout", "--quiet", "-b", "merging", "main"]);
    commit(root, "of the other branch");
    git(root, &["checkout", "--quiet", "main"]);
    let old = git(root, &["rev-parse", "HEAD"]);
    commit(root, "three");
    commit(root, "four");
    let base = commit(root, "five");
    git(root, &["checkout", "--quiet", "merging"]);
    git(root, &["merge", "--quiet", "--no-ff", "-m", "merge main", "main"]);
    let merging = git(root, &["rev-parse", "HEAD"]);
    git(root, &["checkout", "--quiet", "main"]);
    let target = commit(root, "six");

    let other = scratch();
    let (url, clone) = (format!("file://{root}"), other.path.join("clone"));
    let arguments = [
        "clone",
        "--quiet",
        "--depth=3",
        "--no-single-branch",
        &url,
        clone.as_str(),
    ];
    git(&other.path, &arguments);
    let repository = Repository::open(&clone).await.expect("a clone");
    let parting = repository.parting(&old, &target, &straight).await.expect("an answer");
    assert_eq!(parting, Parting::Once, "there is no merge in it");
    let parting = repository.parting(&base, &target, &merging).await.expect("an answer");
    assert_eq!(parting, Parting::Unknown);
    let settings = FetchSettings {
        remotes: Remote::parse(&url).into_iter().collect(),
        ca_file: None,
        proxies: Vec::new(),
        max_time: Duration::from_mins(1),
        remedy: "",
    };
    let place: Utf8PathBuf = other.path.join("history.git");
    let history = with_history(&[&merging, &target], &settings, &place).await;
    let history = history.expect("fetched");
    let parting = history.parting(&base, &target, &merging).await.expect("an answer");
    assert_eq!(parting, Parting::Once);
    assert!(history.file(&merging, "a.txt").await.is_err(), "no files");
    let nowhere = FetchSettings {
        remotes: Vec::new(),
        ..settings
    };
    let place = other.path.join("nothing.git");
    assert!(with_history(&[&merging], &nowhere, &place).await.is_none());
}
