//! What is in the repository: over the API, and over git itself.

use conclave_fake_github::{FakeGithub, Options, Permissions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{Stage, git};

#[tokio::test]
async fn files_commits_and_comparisons_are_githubs_own() {
    let stage = Stage::new().await;
    let head = stage.github.head(stage.pull);
    let (_, files) = stage.bot.get("/pulls/1/files").await;
    let facts: Vec<Value> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["filename"], one["status"], one["previous_filename"]]))
        .collect();
    assert_eq!(
        json!(facts),
        json!([
            ["gone.txt", "removed", null],
            ["logo.png", "modified", null],
            ["new.txt", "added", null],
            ["new_name.txt", "renamed", "old_name.txt"],
            ["src/lib.rs", "modified", null],
        ])
    );
    // No patch is not no change.
    assert!(files[1].get("patch").is_none());
    let patch = files[4]["patch"].as_str().unwrap();
    assert!(
        patch.starts_with("@@ -2,7 +2,8 @@") && patch.contains("\n@@ -37,7 +38,6 @@"),
        "{patch}"
    );
    let (_, commits) = stage.bot.get("/pulls/1/commits").await;
    assert_eq!(
        (&commits[0]["sha"], commits.as_array().unwrap().len()),
        (&json!(head), 1)
    );
    let (_, commit) = stage.bot.get(&format!("/commits/{head}")).await;
    assert_eq!(commit["files"].as_array().unwrap().len(), 5);
    let (_, compared) = stage.bot.get(&format!("/compare/main...{head}")).await;
    let (_, pull) = stage.bot.get("/pulls/1").await;
    // The base of the pull request is the tip of its target branch, and not the merge base.
    assert_ne!(compared["merge_base_commit"]["sha"], pull["base"]["sha"]);
    assert_eq!((&compared["ahead_by"], &compared["behind_by"]), (&json!(1), &json!(1)));
    let (_, diff) = stage.bot.accepting("application/vnd.github.diff").get("/pulls/1").await;
    assert!(diff.as_str().unwrap().starts_with("diff --git a/gone.txt"), "{diff}");
    let (_, found) = stage.bot.get(&format!("/commits/{head}/pulls")).await;
    assert_eq!(found[0]["number"], 1);
    stage.assert_no_violations();
}

#[tokio::test]
async fn contents_are_base64_raw_or_a_directory() {
    let stage = Stage::new().await;
    let (_, file) = stage.bot.get("/contents/new.txt?ref=feature").await;
    assert_eq!(
        (&file["encoding"], &file["content"], &file["size"]),
        (&json!("base64"), &json!("YQpiCmMK"), &json!(6))
    );
    let raw = stage.bot.accepting("application/vnd.github.raw+json");
    assert_eq!(
        raw.get("/contents/src/lib.rs?ref=feature")
            .await
            .1
            .as_str()
            .unwrap()
            .lines()
            .nth(4),
        Some("line five")
    );
    let (_, entries) = stage.bot.get("/contents/").await;
    let names: Vec<&str> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["gone.txt", "logo.png", "old_name.txt", "other.txt", "src"]);
    assert_eq!(stage.bot.get("/contents/nothing.txt").await.0, 404);
    stage.assert_no_violations();
}

// Git blocks the thread it is started on, and is served by another.
#[tokio::test(flavor = "multi_thread")]
async fn git_itself_clones_fetches_by_sha_and_pushes() {
    let stage = Stage::new().await;
    stage.github.set_private(stage.repository, true);
    let writer = stage.installation(Permissions::review().write("contents"));
    let url = |token: &str| {
        format!(
            "{}/acme/shop.git",
            stage
                .github
                .url()
                .replace("http://", &format!("http://x-access-token:{token}@"))
        )
    };
    let directory = TempDir::new().unwrap();
    let target = directory.path().to_str().unwrap();
    git(
        directory.path(),
        &["clone", "--quiet", "--depth=1", &url(&writer.token), target],
    );
    let head = stage.github.head(stage.pull);
    git(directory.path(), &["fetch", "--quiet", "--depth=5", "origin", &head]);
    git(
        directory.path(),
        &[
            "fetch",
            "--quiet",
            "--unshallow",
            "origin",
            "+refs/pull/1/head:refs/pull/1/head",
            "+refs/pull/1/merge:refs/pull/1/merge",
        ],
    );
    assert_eq!(git(directory.path(), &["rev-parse", "refs/pull/1/head"]), head);
    assert_eq!(git(directory.path(), &["rev-parse", "refs/pull/1/merge^2"]), head);
    git(directory.path(), &["checkout", "--quiet", "-B", "feature", &head]);
    std::fs::write(directory.path().join("pushed.txt"), "x\n").unwrap();
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["commit", "--quiet", "--message", "pushed"]);
    git(directory.path(), &["push", "--quiet", "origin", "feature"]);
    let (_, pull) = writer.get("/pulls/1").await;
    assert_eq!(
        pull["head"]["sha"],
        json!(git(directory.path(), &["rev-parse", "HEAD"]))
    );

    let plain = reqwest::get(format!(
        "{}/acme/shop.git/info/refs?service=git-upload-pack",
        stage.github.url()
    ))
    .await
    .unwrap();
    assert_eq!(plain.status(), 401);
    let reader = stage.bot.token.clone();
    let push = format!("{}/info/refs?service=git-receive-pack", url(&reader));
    assert_eq!(reqwest::get(push).await.unwrap().status(), 403);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_merge_that_is_computed_or_impossible_shows() {
    let options = Options {
        unmergeable_reads: 1,
        patch_bytes: 10,
        ..Options::default()
    };
    let stage = Stage::with(FakeGithub::builder().options(options)).await;
    let mergeable = || async { stage.bot.get("/pulls/1").await.1["mergeable"].clone() };
    assert_eq!((mergeable().await, mergeable().await), (Value::Null, json!(true)));
    assert!(stage.bot.get("/pulls/1/files").await.1[4].get("patch").is_none());
    stage.copy.git(&["checkout", "--quiet", "main"]);
    stage.copy.write("src/lib.rs", "another\n");
    stage.copy.commit("conflict");
    stage.github.push(stage.repository, stage.copy.path(), "main");
    stage.github.retarget(stage.pull, "main");
    mergeable().await;
    assert_eq!(mergeable().await, json!(false));
    assert_eq!(stage.github.snapshot(stage.pull).merge_state, "DIRTY");
    stage.assert_no_violations();
}
