//! Reading and changing merge requests and files.

use conclave_fake_gitlab::{AccessLevel, DiffLimits, MergeRequestState, NewMergeRequest};
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn a_merge_request_shows_its_diff_refs() {
    let stage = Stage::free().await;
    let (status, body) = stage.bot.get(&stage.at("")).await;
    assert_eq!(status, 200);
    assert_eq!(body["diff_refs"], stage.gitlab.diff_refs(stage.merge_request));
    assert_ne!(body["diff_refs"]["base_sha"], body["diff_refs"]["start_sha"]);
    assert_eq!(
        (&body["sha"], &body["changes_count"]),
        (&body["diff_refs"]["head_sha"], &json!("5"))
    );
    assert_eq!(
        (&body["author"]["bot"], &body["detailed_merge_status"]),
        (&json!(false), &json!("mergeable"))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_fresh_merge_request_is_prepared_after_some_reads() {
    let stage = Stage::free().await;
    let new = NewMergeRequest {
        unprepared_reads: 2,
        ..NewMergeRequest::new(stage.author, "feature", "main")
    };
    let key = stage.gitlab.create_merge_request(stage.project, new);
    let path = stage.in_project(&format!("/merge_requests/{}", key.iid));
    for _ in 0..2 {
        let (_, body) = stage.bot.get(&path).await;
        assert_eq!(
            (&body["diff_refs"], &body["changes_count"], &body["prepared_at"]),
            (&Value::Null, &Value::Null, &Value::Null)
        );
        assert_eq!(body["detailed_merge_status"], "preparing");
    }
    let (_, body) = stage.bot.get(&path).await;
    assert!(body["diff_refs"]["head_sha"].is_string());
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_list_filters() {
    let stage = Stage::free().await;
    stage.gitlab.set_labels(stage.merge_request, &["backend", "urgent"]);
    let count = async |query: &str| {
        let (status, rows) = stage
            .bot
            .get(&stage.in_project(&format!("/merge_requests?{query}")))
            .await;
        assert_eq!(status, 200, "{rows}");
        rows.as_array().unwrap().len()
    };
    assert_eq!(count("state=opened").await, 1);
    assert_eq!(count("state=merged").await, 0);
    assert_eq!(count("iids=1,7").await, 1);
    assert_eq!(count("iids[]=7").await, 0);
    assert_eq!(count("labels=backend,urgent").await, 1);
    assert_eq!(count("labels=frontend").await, 0);
    assert_eq!(count("source_branch=feature&target_branch=main").await, 1);
    assert_eq!(count(&format!("author_id={}", stage.author.0)).await, 1);
    assert_eq!(count(&format!("reviewer_id={}", stage.human.0)).await, 0);
    stage.assert_no_violations();
}

#[tokio::test]
async fn diffs_come_without_file_headers() {
    let stage = Stage::free().await;
    let (_, diffs) = stage.bot.get(&stage.at("/diffs")).await;
    let find = |name: &str| {
        diffs
            .as_array()
            .unwrap()
            .iter()
            .find(|diff| diff["new_path"] == name)
            .unwrap()
            .clone()
    };
    assert!(
        find("src/lib.rs")["diff"]
            .as_str()
            .unwrap()
            .starts_with("@@ -2,7 +2,8 @@")
    );
    let new = find("new.txt");
    assert_eq!(
        (&new["new_file"], &new["old_path"], &new["a_mode"]),
        (&json!(true), &json!("new.txt"), &json!("0"))
    );
    let renamed = find("new_name.txt");
    assert_eq!(
        (&renamed["renamed_file"], &renamed["old_path"]),
        (&json!(true), &json!("old_name.txt"))
    );
    assert_eq!(
        (&find("gone.txt")["deleted_file"], &find("logo.png")["diff"]),
        (&json!(true), &json!(""))
    );
    let (_, diffs) = stage.bot.get(&stage.at("/diffs?unidiff=true")).await;
    assert!(diffs.as_array().unwrap().iter().any(|diff| {
        diff["diff"]
            .as_str()
            .unwrap()
            .starts_with("--- /dev/null\n+++ b/new.txt")
    }));
    stage.assert_no_violations();
}

#[tokio::test]
async fn limits_collapse_and_cut_diffs() {
    let stage = Stage::free().await;
    stage.gitlab.configure(|options| {
        options.diff_limits = DiffLimits {
            patch_bytes: 150,
            files: 4,
        }
    });
    let (_, diffs) = stage.bot.get(&stage.at("/diffs")).await;
    let diffs = diffs.as_array().unwrap();
    assert_eq!(diffs.len(), 4);
    let library = diffs.iter().find(|diff| diff["new_path"] == "src/lib.rs");
    assert!(library.is_none_or(|diff| diff["too_large"] == true && diff["diff"] == ""));
    assert!(diffs.iter().any(|diff| diff["collapsed"] == true && diff["diff"] == ""));
    assert_eq!(stage.bot.get(&stage.at("")).await.1["changes_count"], "4+");
    stage.assert_no_violations();
}

#[tokio::test]
async fn raw_diffs_versions_and_commits_agree() {
    let stage = Stage::free().await;
    let (status, raw) = stage.bot.get(&stage.at("/raw_diffs")).await;
    assert_eq!(status, 200);
    assert!(raw.as_str().unwrap().contains("rename from old_name.txt"));
    let (_, versions) = stage.bot.get(&stage.at("/versions")).await;
    let (_, version) = stage
        .bot
        .get(&stage.at(&format!("/versions/{}", versions[0]["id"])))
        .await;
    let (_, commits) = stage.bot.get(&stage.at("/commits")).await;
    assert_eq!(version["commits"], commits);
    assert_eq!(
        (commits.as_array().unwrap().len(), &commits[0]["title"]),
        (1, &json!("feature"))
    );
    assert_eq!(
        (version["diffs"].as_array().unwrap().len(), &version["real_size"]),
        (5, &json!("5"))
    );
    assert_eq!(versions[0]["head_commit_sha"], commits[0]["id"]);
    assert_eq!(stage.bot.get(&stage.at("/versions/1")).await.0, 404);
    stage.assert_no_violations();
}

#[tokio::test]
async fn compare_and_raw_files_come_from_git() {
    let stage = Stage::free().await;
    let (status, compare) = stage
        .bot
        .get(&stage.in_project("/repository/compare?from=main&to=feature"))
        .await;
    assert_eq!((status, compare["diffs"].as_array().unwrap().len()), (200, 5));
    let (_, straight) = stage
        .bot
        .get(&stage.in_project("/repository/compare?from=main&to=feature&straight=true"))
        .await;
    assert_eq!(straight["diffs"].as_array().unwrap().len(), 6);
    let (status, text) = stage
        .bot
        .get(&stage.in_project("/repository/files/src%2Flib%2Ers/raw?ref=feature"))
        .await;
    assert_eq!(status, 200);
    assert!(text.as_str().unwrap().contains("line five and a half"));
    assert_eq!(
        stage
            .bot
            .get(&stage.in_project("/repository/files/new.txt/raw?ref=main"))
            .await
            .0,
        404
    );
    assert_eq!(
        stage
            .bot
            .get(&stage.in_project("/repository/files/new.txt/raw?ref=nowhere"))
            .await
            .0,
        404
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn an_update_changes_what_it_names() {
    let stage = Stage::free().await;
    let author = stage.client(stage.author);
    let change = json!({
        "title": "Draft: better", "add_labels": ["one", "two"], "reviewer_ids": [stage.human.0, stage.bot_user.0],
    });
    let (status, body) = author.put(&stage.at(""), change).await;
    assert_eq!(
        (status, &body["draft"], &body["labels"]),
        (200, &json!(true), &json!(["one", "two"]))
    );
    assert_eq!(
        body["reviewers"].as_array().unwrap().len(),
        1,
        "more than one reviewer needs Premium"
    );
    assert_eq!(body["detailed_merge_status"], "draft_status");
    let (_, body) = author
        .put(&stage.at(""), json!({ "remove_labels": "one", "state_event": "close" }))
        .await;
    assert_eq!((&body["labels"], &body["state"]), (&json!(["two"]), &json!("closed")));
    assert_eq!(body["closed_by"]["username"], "alice");
    let (_, events) = author.get(&stage.at("/resource_state_events")).await;
    assert_eq!(events[0]["state"], "closed");
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_merge_request_opens_once_per_branch_pair() {
    let stage = Stage::free().await;
    let body = json!({ "title": "Again", "source_branch": "feature", "target_branch": "main" });
    let (status, refusal) = stage.bot.post(&stage.in_project("/merge_requests"), body.clone()).await;
    assert_eq!(status, 409, "{refusal}");
    stage
        .gitlab
        .set_state(stage.merge_request, stage.author, MergeRequestState::Closed);
    let (status, created) = stage.bot.post(&stage.in_project("/merge_requests"), body).await;
    assert_eq!((status, &created["iid"]), (201, &json!(2)));
    assert_eq!(stage.bot.delete(&stage.at("")).await.0, 403);
    let owner = stage.gitlab.create_user("owner");
    stage.gitlab.add_member(stage.project, owner, AccessLevel::Owner);
    assert_eq!(stage.client(owner).delete(&stage.at("")).await.0, 204);
    assert_eq!(stage.bot.get(&stage.at("")).await.0, 404);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_fork_sends_merge_requests_to_its_origin() {
    let stage = Stage::free().await;
    let fork = stage.gitlab.create_fork(stage.project, "alice/project");
    stage
        .working_copy
        .git(&["checkout", "--quiet", "-b", "from-fork", "feature"]);
    stage.working_copy.write("fork.txt", "fork\n");
    stage.working_copy.commit("fork");
    stage.gitlab.push(fork, stage.working_copy.path(), "from-fork");
    let new = NewMergeRequest {
        source_project: Some(fork),
        ..NewMergeRequest::new(stage.author, "from-fork", "main")
    };
    let key = stage.gitlab.create_merge_request(stage.project, new);
    let (_, body) = stage
        .bot
        .get(&stage.in_project(&format!("/merge_requests/{}", key.iid)))
        .await;
    assert_eq!(body["source_project_id"], fork.0);
    assert_eq!(body["target_project_id"], stage.project.0);
    assert_eq!(body["changes_count"], "6");
    stage.assert_no_violations();
}
