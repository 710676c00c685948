//! Merges that bring what the diff does not show.

use std::process::Command;

use camino::Utf8PathBuf;
use conclave_engine::diff::FileDiff;
use conclave_plugin_local::Range;

use super::*;
use crate::{
    diff,
    run::prepare::change::{Origin, Source},
};

fn file(kind: ChangeKind, paths: (&str, &str), mode: &str, object: &str) -> FileDiff {
    FileDiff {
        kind,
        old_path: paths.0.to_owned(),
        path: paths.1.to_owned(),
        modes: ("100644".to_owned(), mode.to_owned()),
        objects: ("0a".to_owned(), object.to_owned()),
        ..FileDiff::default()
    }
}

#[test]
fn what_a_merge_makes_of_a_file_is_seen_only_as_the_diff_shows_it() {
    let diff = Diff {
        files: vec![
            file(ChangeKind::Modified, ("a.py", "a.py"), "100644", "1a"),
            file(ChangeKind::Deleted, ("b.py", "b.py"), GONE, "00"),
            file(ChangeKind::Renamed, ("c.py", "d.py"), "100644", "2b"),
            // A copy leaves the first one where it is.
            file(ChangeKind::Copied, ("e.py", "f.py"), "100644", "3c"),
        ],
    };
    for (path, mode, object, is_seen) in [
        ("a.py", "100644", "1a", true),
        ("a.py", "100755", "1a", false),
        ("a.py", "100644", "9f", false),
        ("a.py", GONE, "0000", false),
        ("b.py", GONE, "0000", true),
        ("b.py", "100644", "1a", false),
        ("c.py", GONE, "0000", true),
        ("d.py", "100644", "2b", true),
        ("e.py", GONE, "0000", false),
        ("pay.py", "100644", "4d", false),
    ] {
        let merged = MergedFile {
            path: path.to_owned(),
            mode: mode.to_owned(),
            object: object.to_owned(),
        };
        assert_eq!(
            unseen(vec![merged], &diff).is_empty(),
            is_seen,
            "{path} {mode} {object}"
        );
    }
}

struct Scene {
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().join("source")).unwrap();
        std::fs::create_dir(&root).unwrap();
        let scene = Self {
            _directory: directory,
            root,
        };
        scene.git(&["init", "--quiet", "--initial-branch=main"]);
        scene
    }

    fn git(&self, arguments: &[&str]) {
        self.git_at("2026-01-02T03:04:05Z", arguments);
    }

    fn git_at(&self, date: &str, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date)
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    /// Commits this content of a file.
    fn commit(&self, path: &str, content: &str) {
        std::fs::write(self.root.join(path), content).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", path]);
    }

    /// Returns what merging `feature` changes unseen.
    async fn check(&self) -> Option<Unseen> {
        let scratch = tempfile::tempdir().unwrap();
        let scratch = Utf8PathBuf::from_path_buf(scratch.path().to_owned()).unwrap();
        let range = Range::Commits {
            base: "main".to_owned(),
            head: "feature".to_owned(),
        };
        let source = Source {
            origin: Origin::Local {
                directory: self.root.clone(),
                range,
                scratch: scratch.clone(),
            },
            project: "shop".to_owned(),
            secret: None,
        };
        let job = source.load().await.unwrap();
        let subject = &job.subject;
        let (diff, _) = diff::read(&job.repository, &subject.base_sha, &subject.head_sha, &scratch)
            .await
            .unwrap();
        check(&job, &diff, &scratch).await
    }
}

#[tokio::test]
async fn a_fix_that_a_crosswise_merge_takes_off_the_target_branch_withholds_the_approval() {
    let scene = Scene::new();
    scene.commit("pay.py", "run(order)\n");
    scene.git(&["checkout", "--quiet", "-b", "feature"]);
    scene.commit("a.py", "a = 1\n");
    // Of two merge bases git takes the newer one, by dates that the author sets.
    scene.git_at("2033-01-02T03:04:05Z", &["commit", "--quiet", "--amend", "--no-edit"]);
    scene.git(&["checkout", "--quiet", "main"]);
    scene.commit("pay.py", "check(order)\nrun(order)\n");
    scene.git(&["tag", "fix"]);
    scene.git(&["merge", "--quiet", "--no-ff", "-m", "merge the feature", "feature"]);
    scene.git(&["checkout", "--quiet", "feature"]);
    scene.git(&[
        "merge",
        "--quiet",
        "--no-ff",
        "-s",
        "ours",
        "-m",
        "merge the fix",
        "fix",
    ]);
    scene.commit("a.py", "a = 2\n");
    let Unseen { hold, gap } = scene.check().await.expect("a hold");
    assert_eq!(hold.cause, HoldCause::TargetBranch);
    assert!(hold.reason.ends_with(REMEDY), "{}", hold.reason);
    assert_eq!(hold.places, ["pay.py"]);
    assert_eq!(
        gap.as_deref(),
        Some("merging makes something else of pay.py than the diff shows")
    );

    // What the remedy says: then the diff shows it.
    scene.git(&["merge", "--quiet", "--no-ff", "-m", "merge main", "main"]);
    assert_eq!(scene.check().await, None);
}
