//! The program `fake-github`, driven as from another language.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::stage::Stage;

#[tokio::test]
async fn it_prints_one_line_serves_takes_commands_and_leaves_nothing_behind() {
    let stage = Stage::new().await;
    let mut program = Command::new(env!("CARGO_BIN_EXE_fake-github"))
        .arg("--repo")
        .arg(stage.copy.path())
        .args(["--head", "feature", "--base", "main"])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let line = BufReader::new(program.stdout.take().unwrap())
        .lines()
        .next_line()
        .await
        .unwrap()
        .unwrap();
    let facts: Value = serde_json::from_str(&line).unwrap();
    let text = |name: &str| facts[name].as_str().unwrap().to_owned();
    let http = reqwest::Client::builder().user_agent("suite").build().unwrap();
    let url = format!("{}/repos/acme/shop/pulls/{}", text("api_url"), facts["number"]);
    let token = facts["tokens"]["actions"].as_str().unwrap();
    let get = || async { http.get(&url).bearer_auth(token).send().await.unwrap() };
    let pull: Value = get().await.json().await.unwrap();
    assert_eq!(pull["head"]["sha"], facts["head_sha"]);

    let control = |command: Value| {
        let request = http.post(text("control_url")).json(&command);
        async move {
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        }
    };
    let fault = json!({ "method": "GET", "pattern": "/repos/*/*/pulls/*", "kind": { "secondary_limit": { "retry_after": 3 } } });
    assert_eq!(control(json!({ "do": "inject", "fault": fault })).await.0, 200);
    assert_eq!(get().await.status(), 403);
    let at = json!({ "repository": facts["repository_id"], "number": facts["number"] });
    let comment = json!({ "do": "comment", "pull": at, "user": facts["users"]["member"], "body": "Hello." });
    assert_eq!(control(comment).await.0, 200);
    assert_eq!(
        control(json!({ "do": "snapshot", "pull": at })).await.1["comments"][0]["author"],
        "member"
    );
    assert_eq!(control(json!({ "do": "violations" })).await.1, json!([]));
    assert_eq!(
        control(json!({ "do": "requests" })).await.1.as_array().unwrap().len(),
        2
    );
    assert_eq!(control(json!({ "do": "dance" })).await.0, 400);

    let repository = PathBuf::from(text("git"));
    assert!(repository.exists());
    let id = program.id().unwrap().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .await
            .unwrap()
            .success()
    );
    assert!(program.wait().await.unwrap().success());
    assert!(!repository.exists());
}
