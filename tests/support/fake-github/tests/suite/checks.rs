//! Check runs and statuses, and what they do to a merge.

use conclave_fake_github::{Permissions, Protection};
use serde_json::{Value, json};

use crate::stage::Stage;

#[tokio::test]
async fn a_check_run_begins_is_completed_and_gates_the_merge() {
    let stage = Stage::new().await;
    let protection = Protection {
        required_checks: vec![("conclave".to_owned(), Some(stage.app))],
        ..Protection::default()
    };
    stage.github.protect(stage.repository, "main", protection);
    let head = stage.github.head(stage.pull);
    let merge_state = || stage.github.snapshot(stage.pull).merge_state;
    assert_eq!(merge_state(), "BLOCKED");
    let begin = json!({ "name": "conclave", "head_sha": head, "status": "in_progress", "external_id": "1/main" });
    let (status, check) = stage.bot.post("/check-runs", begin).await;
    assert_eq!(
        (status, &check["status"], &check["conclusion"]),
        (201, &json!("in_progress"), &Value::Null)
    );
    assert_eq!(
        (&check["app"]["slug"], &check["pull_requests"][0]["number"]),
        (&json!("conclave"), &json!(1))
    );
    let path = format!("/check-runs/{}", check["id"]);
    let annotation = |line: u64| json!({ "path": "src/lib.rs", "start_line": line, "end_line": line, "annotation_level": "warning", "message": "m" });
    let many: Vec<Value> = (1..=50).map(annotation).collect();
    let output = json!({ "title": "t", "summary": "s", "annotations": many });
    assert_eq!(
        stage.bot.patch(&path, json!({ "output": output })).await.1["output"]["annotations_count"],
        50
    );
    let output = json!({ "title": "Significant concerns", "summary": "s", "annotations": [annotation(51)] });
    let failed = json!({ "status": "completed", "conclusion": "failure", "output": output });
    let (_, check) = stage.bot.patch(&path, failed).await;
    assert_eq!(
        (&check["status"], &check["output"]["annotations_count"]),
        (&json!("completed"), &json!(51))
    );
    assert_eq!(
        stage
            .bot
            .get(&format!("{path}/annotations?per_page=100"))
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        51
    );
    assert_eq!(merge_state(), "BLOCKED");
    // Completing with a conclusion alone is enough; going back to work is possible.
    assert_eq!(
        stage.bot.patch(&path, json!({ "status": "in_progress" })).await.1["conclusion"],
        Value::Null
    );
    assert_eq!(
        stage.bot.patch(&path, json!({ "conclusion": "neutral" })).await.1["status"],
        "completed"
    );
    assert_eq!(merge_state(), "CLEAN");

    let (_, list) = stage
        .bot
        .get(&format!(
            "/commits/{head}/check-runs?check_name=conclave&filter=latest&app_id={}",
            stage.app.0
        ))
        .await;
    assert_eq!(
        (&list["total_count"], &list["check_runs"][0]["id"]),
        (&json!(1), &check["id"])
    );
    // Another App's check of the same name is another one, and out of reach.
    let actions = stage.github.actions_token(stage.repository, Permissions::review());
    let actions = crate::stage::Client::new(&stage.github, &actions);
    let (status, refused) = actions.patch(&path, json!({ "conclusion": "success" })).await;
    assert_eq!(status, 403);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .starts_with("Invalid app_id `15368`"),
        "{refused}"
    );
    let other = json!({ "name": "conclave", "head_sha": "feature", "conclusion": "success" });
    assert_eq!(actions.post("/check-runs", other).await.0, 201);
    assert_eq!(stage.github.snapshot(stage.pull).checks.len(), 2);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_check_run_that_breaks_a_limit_is_refused() {
    let stage = Stage::new().await;
    let head = stage.github.head(stage.pull);
    let annotation =
        json!({ "path": "a", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "m" });
    let with_output = |output: Value| json!({ "name": "c", "head_sha": head, "output": output });
    let contract = [
        with_output(json!({ "title": "t", "summary": "s".repeat(65_536) })),
        with_output(json!({ "title": "t".repeat(256), "summary": "s" })),
        with_output(json!({ "title": "t", "summary": "s", "annotations": vec![annotation; 51] })),
        json!({ "name": "c", "head_sha": head, "conclusion": "good" }),
    ];
    for (index, body) in contract.into_iter().enumerate() {
        assert_eq!(stage.bot.post("/check-runs", body).await.0, 422);
        assert_eq!(stage.github.violations().len(), index + 1);
    }
    stage.github.forget_requests();
    let wide = json!({ "path": "a", "start_line": 1, "end_line": 2, "start_column": 1, "annotation_level": "notice", "message": "m" });
    for body in [
        json!({ "name": "c", "head_sha": "f".repeat(40) }),
        json!({ "name": "c", "head_sha": head, "status": "completed" }),
        json!({ "name": "c", "head_sha": head, "conclusion": "stale" }),
        with_output(json!({ "title": "t", "summary": "s", "annotations": [wide] })),
    ] {
        assert_eq!(stage.bot.post("/check-runs", body).await.0, 422);
    }
    assert_eq!(stage.github.snapshot(stage.pull).checks, []);
    stage.assert_no_violations();
}

#[tokio::test]
async fn statuses_stand_in_where_checks_are_not_to_be_had() {
    let stage = Stage::new().await;
    let head = stage.github.head(stage.pull);
    let protection = Protection {
        required_approvals: 1,
        required_checks: vec![("conclave".to_owned(), None)],
        ..Protection::default()
    };
    stage.github.protect(stage.repository, "main", protection);
    let bob = stage.person(stage.bob);
    for state in ["pending", "success"] {
        let body = json!({ "state": state, "context": "conclave", "description": "d" });
        assert_eq!(bob.post(&format!("/statuses/{head}"), body).await.0, 201);
        assert_eq!(bob.get("/commits/feature/status").await.1["state"], state);
    }
    let long = json!({ "state": "success", "description": "d".repeat(141) });
    assert_eq!(bob.post(&format!("/statuses/{head}"), long).await.0, 422);
    let (_, combined) = bob.get(&format!("/commits/{head}/status")).await;
    assert_eq!(
        (&combined["total_count"], &combined["statuses"][0]["context"]),
        (&json!(1), &json!("conclave"))
    );
    let (_, rules) = stage.bot.get("/rules/branches/main").await;
    assert_eq!(rules[0]["parameters"]["required_approving_review_count"], 1);
    assert_eq!(
        rules[1]["parameters"]["required_status_checks"][0]["context"],
        "conclave"
    );
    assert_eq!(stage.bot.get("/rules/branches/other").await.1, json!([]));
    let admin = stage.installation(Permissions::none().read("administration"));
    assert_eq!(admin.get("/branches/main/protection").await.0, 200);
    assert_eq!(
        admin.get("/actions/permissions/workflow").await.1["can_approve_pull_request_reviews"],
        false
    );
    stage.assert_no_violations();
}
