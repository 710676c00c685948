//! Jobs of GitHub Actions, their artifacts, and texts that act.

use std::collections::BTreeMap;

use conclave_fake_github::{EffectKind, JobEvent, NewPull, Permissions};
use serde_json::{Value, json};

use crate::stage::{Client, Stage};

#[tokio::test]
async fn each_event_has_its_variables_and_its_file() {
    let stage = Stage::new().await;
    let comment = stage.github.comment(stage.pull, stage.bob, "/review");
    let run = stage.github.add_workflow_run(stage.pull, "pull_request");
    let events = [
        (JobEvent::PullRequest("opened"), "refs/pull/1/merge", "feature"),
        (
            JobEvent::Retargeted("develop".to_owned()),
            "refs/pull/1/merge",
            "feature",
        ),
        (
            JobEvent::PullRequestTarget("labeled", Some("conclave".to_owned())),
            "refs/heads/main",
            "feature",
        ),
        (JobEvent::IssueComment(comment), "refs/heads/main", ""),
        (JobEvent::WorkflowRun(run), "refs/heads/main", ""),
        (JobEvent::MergeGroup, "refs/heads/gh-readonly-queue/main/pr-1-", ""),
        (
            JobEvent::WorkflowDispatch(BTreeMap::from([("number".to_owned(), "1".to_owned())])),
            "refs/heads/main",
            "",
        ),
    ];
    for (event, reference, head) in events {
        let job = stage.github.job(stage.pull, &event, stage.copy.path());
        let variable = |name: &str| job.variables[name].as_str();
        assert_eq!(variable("GITHUB_EVENT_NAME"), event.name());
        assert!(
            variable("GITHUB_REF").starts_with(reference),
            "{event:?}: {}",
            variable("GITHUB_REF")
        );
        assert_eq!(variable("GITHUB_HEAD_REF"), head, "{event:?}");
        assert_ne!(variable("GITHUB_SHA"), if head.is_empty() { "" } else { "feature" });
        let file = std::fs::read_to_string(variable("GITHUB_EVENT_PATH")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&file).unwrap(), job.event);
        assert_eq!(
            (job.summary(), job.output(), job.environment()),
            (String::new(), String::new(), String::new())
        );
    }
}

/// Everything that a published example has is there, with the same type.
#[tokio::test]
async fn events_have_the_shape_of_githubs_examples() {
    let stage = Stage::new().await;
    let eve = stage.github.create_user("eve");
    let fork = stage.github.fork(stage.repository, eve);
    let from_fork = stage
        .github
        .open_pull(stage.repository, NewPull::new(eve, "feature", "main").from_fork(fork));
    let comment = stage.github.comment(stage.pull, stage.bob, "x");
    stage.github.describe(stage.pull, "Title", "Description");
    stage.github.describe(from_fork, "Title", "Description");
    for (example, pull, event) in [
        ("pull_request.opened", stage.pull, JobEvent::PullRequest("opened")),
        ("pull_request.opened-fork", from_fork, JobEvent::PullRequest("opened")),
        (
            "pull_request.synchronize",
            stage.pull,
            JobEvent::PullRequest("synchronize"),
        ),
        (
            "pull_request.edited-base",
            stage.pull,
            JobEvent::Retargeted("develop".to_owned()),
        ),
        ("issue_comment.created", stage.pull, JobEvent::IssueComment(comment)),
    ] {
        let path = format!(
            "{}/../../fixtures/github/webhooks/{example}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let expected: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let job = stage.github.job(pull, &event, stage.copy.path());
        compare(&expected, &job.event, example);
    }
}

fn compare(expected: &Value, found: &Value, place: &str) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                let place = format!("{place}.{name}");
                compare(
                    value,
                    found.get(name).unwrap_or_else(|| panic!("{place} is missing")),
                    &place,
                );
            }
        }
        // What is `null` in one may have a value in the other.
        (Value::Null, _) | (_, Value::Null) => {}
        (expected, found) => {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert_eq!(kind(expected), kind(found), "{place}: {expected} and {found}");
        }
    }
}

#[tokio::test]
async fn the_second_of_two_workflows_reads_the_first_ones_artifact() {
    let stage = Stage::new().await;
    let run = stage.github.add_workflow_run(stage.pull, "pull_request");
    stage.github.add_artifact(stage.repository, run, "pr", b"PK");
    let job = Client::new(
        &stage.github,
        &stage.github.actions_token(stage.repository, Permissions::read_only()),
    );
    let (_, found) = job.get(&format!("/actions/runs/{run}")).await;
    assert_eq!(
        (&found["event"], &found["head_sha"]),
        (&json!("pull_request"), &json!(stage.github.head(stage.pull)))
    );
    let (_, artifacts) = job.get(&format!("/actions/runs/{run}/artifacts?name=pr")).await;
    assert_eq!(artifacts["total_count"], 1);
    assert_eq!(
        job.get(&format!("/actions/runs/{run}/attempts/1/jobs")).await.1["jobs"][0]["run_id"],
        json!(run)
    );
    let download = job.request(
        reqwest::Method::GET,
        &format!("/actions/artifacts/{}/zip", artifacts["artifacts"][0]["id"]),
    );
    let answer = download.send().await.unwrap();
    assert_eq!(answer.status(), 302);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let client = reqwest::Client::builder().user_agent("suite").build().unwrap();
    assert_eq!(client.get(&location).send().await.unwrap().text().await.unwrap(), "PK");
    stage.assert_no_violations();
    client.get(&location).bearer_auth(&job.token).send().await.unwrap();
    assert_eq!(stage.github.violations()[0].reason, "the token followed a redirect");

    let scanner = stage.installation(Permissions::none().write("security_events"));
    let head = stage.github.head(stage.pull);
    let upload = |sarif: &str| json!({ "commit_sha": head, "ref": "refs/pull/1/head", "sarif": sarif });
    assert_eq!(scanner.post("/code-scanning/sarifs", upload("H4sIAAAA")).await.0, 400);
    // {"version":"2.1.0","runs":[]}, compressed.
    let upload = upload("H4sIAAAAAAACA6tWKkstKs7Mz1OyUjLSM9QzUNJRKirNK1ayio6tBQBSlZKzHQAAAA==");
    let (status, receipt) = scanner.post("/code-scanning/sarifs", upload.clone()).await;
    assert_eq!(status, 202);
    let (_, processed) = scanner
        .get(&format!("/code-scanning/sarifs/{}", receipt["id"].as_str().unwrap()))
        .await;
    assert_eq!(processed["processing_status"], "complete");
    stage.github.set_code_scanning(stage.repository, false);
    assert_eq!(scanner.post("/code-scanning/sarifs", upload).await.0, 403);
}

#[tokio::test]
async fn texts_that_act_are_remembered_wherever_they_are_posted() {
    let stage = Stage::new().await;
    stage.bot.post("/issues/1/comments", json!({ "body": "cc @bob" })).await;
    stage
        .bot
        .post("/pulls/1/reviews", json!({ "event": "COMMENT", "body": "fixes #1" }))
        .await;
    stage
        .thread(
            &stage.bot,
            json!({ "path": "src/lib.rs", "line": 5, "body": "see @acme/core" }),
        )
        .await;
    let kinds: Vec<EffectKind> = stage.github.effects().iter().map(|effect| effect.kind).collect();
    assert_eq!(
        kinds,
        [
            EffectKind::Mention,
            EffectKind::Closing,
            EffectKind::Reference,
            EffectKind::TeamMention
        ]
    );
    stage.github.forget_requests();
    stage
        .bot
        .post("/issues/1/comments", json!({ "body": "`@bob` fixes #\u{2060}1" }))
        .await;
    assert_eq!(stage.github.effects(), []);
    stage.assert_no_violations();
}
