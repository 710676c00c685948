//! Tokens of each kind, and what they may see and do.

use conclave_fake_github::{Permissions, Role};
use reqwest::Method;
use serde_json::json;

use crate::stage::{Client, Stage};

#[tokio::test]
async fn each_kind_of_token_may_do_what_github_lets_it() {
    let stage = Stage::new().await;
    let github = &stage.github;
    let head = github.head(stage.pull);
    let all = || Permissions::review().write("statuses").write("contents");
    let clients = [
        (
            "actions",
            Client::new(github, &github.actions_token(stage.repository, Permissions::review())),
        ),
        (
            "read-only",
            Client::new(
                github,
                &github.actions_token(stage.repository, Permissions::read_only()),
            ),
        ),
        ("installation", stage.installation(all())),
        (
            "fine-grained",
            Client::new(github, &github.personal_token(stage.bob, all())),
        ),
        ("classic", stage.person(stage.bob)),
        ("stranger", stage.person(github.create_user("eve"))),
        ("anonymous", Client::new(github, "")),
    ];
    let requests = [
        ("GET", "/user", json!(null)),
        ("GET", "/pulls/1", json!(null)),
        ("POST", "/issues/1/comments", json!({ "body": "x" })),
        ("POST", "/check-runs", json!({ "name": "conclave", "head_sha": head })),
        ("POST", &format!("/statuses/{head}"), json!({ "state": "success" })),
        ("GET", "/branches/main/protection", json!(null)),
    ];
    let expected = [
        ("actions", [403, 200, 201, 201, 403, 403]),
        ("read-only", [403, 200, 403, 403, 403, 403]),
        ("installation", [403, 200, 201, 201, 201, 403]),
        ("fine-grained", [200, 200, 201, 403, 201, 403]),
        ("classic", [200, 200, 201, 403, 201, 404]),
        ("stranger", [200, 200, 201, 403, 404, 404]),
        ("anonymous", [401, 200, 401, 401, 401, 404]),
    ];
    for ((name, client), (_, expected)) in clients.iter().zip(expected) {
        let mut found = Vec::new();
        for (method, path, body) in &requests {
            let client = if *path == "/user" {
                client.at("")
            } else {
                client.clone()
            };
            found.push(match *method {
                "GET" => client.get(path).await.0,
                _ => client.post(path, body.clone()).await.0,
            });
        }
        assert_eq!(found, expected, "{name}");
    }
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_refusal_names_the_permission_and_private_repositories_do_not_exist() {
    let stage = Stage::new().await;
    let reader = stage.installation(Permissions::read_only());
    let answer = reader
        .request(Method::POST, "/issues/1/comments")
        .json(&json!({ "body": "x" }))
        .send()
        .await
        .unwrap();
    assert_eq!(
        answer.headers()["x-accepted-github-permissions"],
        "issues=write; pull_requests=write"
    );
    stage.github.set_private(stage.repository, true);
    let eve = stage.github.create_user("eve");
    assert_eq!(stage.person(eve).get("/pulls/1").await.0, 404);
    assert_eq!(stage.installation(Permissions::none()).get("/pulls/1").await.0, 403);
    stage.github.set_role(stage.repository, eve, Some(Role::Read));
    assert_eq!(stage.person(eve).get("/pulls/1").await.0, 200);
    stage.github.expire_token(&reader.token);
    let (status, answer) = reader.get("/pulls/1").await;
    assert_eq!((status, &answer["message"]), (401, &json!("Bad credentials")));
    let unknown = Client::new(&stage.github, "ghs_unknown");
    assert_eq!(
        unknown.graphql("{ viewer { login } }", json!({})).await["message"],
        "Bad credentials"
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn roles_decide_and_bots_have_none() {
    let stage = Stage::new().await;
    for (role, permission, name) in [
        (Role::Triage, "read", "triage"),
        (Role::Maintain, "write", "maintain"),
        (Role::Admin, "admin", "admin"),
    ] {
        stage.github.set_role(stage.repository, stage.bob, Some(role));
        let (_, answer) = stage.bot.get("/collaborators/bob/permission").await;
        assert_eq!(
            (&answer["permission"], &answer["role_name"]),
            (&json!(permission), &json!(name))
        );
    }
    let (status, answer) = stage.bot.get("/collaborators/conclave%5Bbot%5D/permission").await;
    assert_eq!(
        (status, &answer["message"]),
        (404, &json!("conclave[bot] is not a user"))
    );
    assert_eq!(stage.bot.get("/collaborators/nobody/permission").await.0, 404);
    // Who may push may change everybody's words, and it shows.
    let comment = stage.github.comment(stage.pull, stage.alice, "Mine.");
    let path = format!("/issues/comments/{comment}");
    assert_eq!(
        stage
            .person(stage.bob)
            .patch(&path, json!({ "body": "Changed." }))
            .await
            .0,
        200
    );
    assert_eq!(stage.bot.patch(&path, json!({ "body": "No." })).await.0, 403);
    assert_eq!(
        stage.github.snapshot(stage.pull).comments[0].editor.as_deref(),
        Some("bob")
    );
    stage.github.delete_user(stage.alice);
    let (_, ghost) = stage.bot.get(&path).await;
    assert_eq!(ghost["user"], json!(null));
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_renamed_repository_redirects_by_its_id() {
    let stage = Stage::new().await;
    stage.github.rename_repository(stage.repository, "store");
    let answer = stage
        .bot
        .request(Method::GET, "/pulls/1/files?per_page=2")
        .send()
        .await
        .unwrap();
    let location = format!(
        "{}/repositories/{}/pulls/1/files?per_page=2",
        stage.github.api_url(),
        stage.repository.0
    );
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (301, &location.as_str().parse().unwrap())
    );
    let by_id = stage.bot.at(&format!("/repositories/{}", stage.repository.0));
    assert_eq!(by_id.get("/pulls/1/files").await.1.as_array().unwrap().len(), 5);
    assert_eq!(by_id.get("").await.1["full_name"], "acme/store");
    stage.assert_no_violations();
}
