//! The program `fake-gitlab`.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::stage::Stage;

#[tokio::test]
async fn it_prints_one_line_serves_and_leaves_nothing_behind() {
    let stage = Stage::free().await;
    let mut program = Command::new(env!("CARGO_BIN_EXE_fake-gitlab"))
        .arg("--repo")
        .arg(stage.working_copy.path())
        .args(["--source", "feature", "--target", "main"])
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
    let url = format!(
        "{}/projects/{}/merge_requests/{}",
        text("api_url"),
        facts["project_id"],
        facts["iid"]
    );
    let response = reqwest::Client::new()
        .get(url)
        .header("PRIVATE-TOKEN", text("token"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["sha"], facts["head_sha"]);

    let repository = PathBuf::from(text("repository"));
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
