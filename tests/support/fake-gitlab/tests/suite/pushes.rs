//! Pushes: new versions, threads that move and threads that stay behind.

use serde_json::json;

use crate::stage::Stage;

fn comment(stage: &Stage, lines: &serde_json::Value) -> String {
    let mut fields = lines.clone();
    fields["old_path"] = json!("src/lib.rs");
    fields["new_path"] = json!("src/lib.rs");
    stage
        .gitlab
        .start_thread(stage.merge_request, stage.human, "Look.", &stage.position(&fields))
}

#[tokio::test]
async fn a_push_makes_a_version_and_moves_threads() {
    let stage = Stage::free().await;
    comment(&stage, &json!({ "new_line": 5 }));
    comment(&stage, &json!({ "new_line": 6 }));
    comment(&stage, &json!({ "old_line": 40 }));
    comment(&stage, &json!({ "old_line": 20, "new_line": 21 }));
    let old_refs = stage.gitlab.diff_refs(stage.merge_request);

    stage.working_copy.git(&["checkout", "--quiet", "feature"]);
    let text = stage
        .working_copy
        .read("src/lib.rs")
        .replace("line five and a half", "line 5.5");
    stage
        .working_copy
        .write("src/lib.rs", &format!("a new first line\n{text}"));
    stage.working_copy.commit("answer the review");
    stage.gitlab.push(stage.project, stage.working_copy.path(), "feature");

    let (_, versions) = stage.bot.get(&stage.at("/versions")).await;
    assert_eq!(versions.as_array().unwrap().len(), 2);
    assert_eq!(
        versions[1]["head_commit_sha"], old_refs["head_sha"],
        "the newest comes first"
    );
    assert_eq!(versions[0]["head_commit_sha"], stage.gitlab.head(stage.merge_request));
    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    let places: Vec<_> = snapshot
        .threads
        .iter()
        .map(|thread| thread.position.as_ref().unwrap())
        .map(|place| (place.version, place.outdated, place.old_line, place.new_line))
        .collect();
    assert_eq!(
        places,
        [
            (Some(2), false, None, Some(6)),
            (Some(1), true, None, Some(6)),
            (Some(2), false, Some(40), None),
            (Some(2), false, Some(20), Some(22)),
        ]
    );
    assert_eq!(snapshot.system_notes[0].body, "added 1 commit");
    stage.assert_no_violations();
}

#[tokio::test]
async fn old_shas_stay_valid_and_make_an_outdated_thread() {
    let stage = Stage::free().await;
    let position = stage.position(&json!({ "old_path": "new.txt", "new_path": "new.txt", "new_line": 1 }));
    stage.working_copy.git(&["checkout", "--quiet", "feature"]);
    stage.working_copy.write("more.txt", "more\n");
    stage.working_copy.commit("more");
    stage.gitlab.push(stage.project, stage.working_copy.path(), "feature");
    let (status, _) = stage
        .bot
        .post(&stage.at("/discussions"), json!({ "body": "x", "position": position }))
        .await;
    assert_eq!(status, 201);
    assert!(
        stage.gitlab.snapshot(stage.merge_request).threads[0]
            .position
            .as_ref()
            .unwrap()
            .outdated
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_push_into_the_repository_is_noticed_with_the_next_request() {
    let stage = Stage::free().await;
    stage
        .gitlab
        .set_project(stage.project, |settings| settings.approvals.reset_on_push = true);
    stage.gitlab.approve(stage.merge_request, stage.human);
    let before = stage.gitlab.head(stage.merge_request);
    stage.working_copy.git(&["checkout", "--quiet", "feature"]);
    stage.working_copy.write("more.txt", "more\n");
    stage.working_copy.commit("more");
    let repository = stage.gitlab.repository_path(stage.project);
    stage
        .working_copy
        .git(&["push", "--quiet", repository.to_str().unwrap(), "feature"]);
    let (_, body) = stage.bot.get(&stage.at("")).await;
    assert_ne!(body["sha"], before);
    let (status, _) = stage.bot.post(&stage.at("/approve"), json!({ "sha": before })).await;
    assert_eq!(status, 409, "a push in between must not be approved");
    assert!(stage.gitlab.snapshot(stage.merge_request).approved_by.is_empty());
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_rebase_keeps_the_patch_id() {
    let stage = Stage::free().await;
    stage.working_copy.git(&["rebase", "--quiet", "main", "feature"]);
    stage.gitlab.push(stage.project, stage.working_copy.path(), "feature");
    let (_, versions) = stage.bot.get(&stage.at("/versions")).await;
    assert_eq!(versions[0]["patch_id_sha"], versions[1]["patch_id_sha"]);
    assert_ne!(versions[0]["head_commit_sha"], versions[1]["head_commit_sha"]);
    assert_eq!(versions[0]["base_commit_sha"], versions[0]["start_commit_sha"]);
}
