//! Tokens, users, projects, members, jobs.

use conclave_fake_gitlab::{AccessLevel, FakeGitlab, Scope, Visibility};
use serde_json::json;

use crate::stage::{Client, Stage};

#[tokio::test]
async fn a_token_says_who_it_is() {
    let stage = Stage::free().await;
    let (status, user) = stage.bot.get("/user").await;
    assert_eq!(
        (status, &user["username"], &user["bot"]),
        (200, &json!("review-bot"), &json!(true))
    );
    let (status, user) = stage.bot.clone().with_header("AUTHORIZATION-ABSENT").get("/user").await;
    assert_eq!((status, user), (401, json!({ "message": "401 Unauthorized" })));
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_bearer_token_works_too() {
    let stage = Stage::free().await;
    let token = format!("Bearer {}", stage.gitlab.create_token(stage.human, &[Scope::Api]));
    let (status, user) = Client::new(&stage.gitlab, token)
        .with_header("Authorization")
        .get("/user")
        .await;
    assert_eq!((status, &user["username"]), (200, &json!("bob")));
}

#[tokio::test]
async fn bad_and_weak_tokens_are_refused() {
    let stage = Stage::free().await;
    let unknown = Client::new(&stage.gitlab, "nonsense".to_owned());
    assert_eq!(unknown.get("/user").await.0, 401);
    let token = stage.gitlab.create_token(stage.human, &[Scope::Api]);
    stage.gitlab.revoke_token(&token);
    let (status, body) = Client::new(&stage.gitlab, token).get("/user").await;
    assert_eq!((status, &body["error"]), (401, &json!("invalid_token")));
    let reader = Client::new(&stage.gitlab, stage.gitlab.create_token(stage.human, &[Scope::ReadApi]));
    assert_eq!(reader.get(&stage.at("/notes")).await.0, 200);
    let (status, body) = reader.post(&stage.at("/notes"), json!({ "body": "x" })).await;
    assert_eq!(
        (status, &body["error"], &body["scope"]),
        (403, &json!("insufficient_scope"), &json!("api"))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_private_project_is_invisible_to_strangers() {
    let stage = Stage::free().await;
    let stranger = stage.client(stage.gitlab.create_user("mallory"));
    let path = stage.in_project("");
    assert_eq!(
        stranger.get(&path).await,
        (404, json!({ "message": "404 Project Not Found" }))
    );
    stage
        .gitlab
        .set_project(stage.project, |settings| settings.visibility = Visibility::Public);
    let (status, project) = stranger.get("/projects/group%2Fproject").await;
    assert_eq!(
        (status, &project["path_with_namespace"]),
        (200, &json!("group/project"))
    );
    assert_eq!(project["permissions"]["project_access"], json!(null));
    let (_, project) = stage.bot.get(&path).await;
    assert_eq!(project["permissions"]["project_access"]["access_level"], 30);
    assert_eq!(project["default_branch"], "main");
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_moved_project_redirects() {
    let stage = Stage::free().await;
    stage.gitlab.move_project(stage.project, "elsewhere/project");
    let response = stage
        .bot
        .send(reqwest::Method::GET, "/projects/group%2Fproject", None)
        .await;
    assert_eq!(response.status(), 301);
    assert_eq!(
        response.headers()["location"],
        format!("{}{}", stage.gitlab.api_url(), stage.in_project(""))
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn members_have_access_levels() {
    let stage = Stage::free().await;
    let (status, member) = stage
        .bot
        .get(&stage.in_project(&format!("/members/all/{}", stage.human.0)))
        .await;
    assert_eq!((status, &member["access_level"]), (200, &json!(30)));
    stage.gitlab.add_member(stage.project, stage.human, AccessLevel::Guest);
    let (_, member) = stage
        .bot
        .get(&stage.in_project(&format!("/members/all/{}", stage.human.0)))
        .await;
    assert_eq!(member["access_level"], 10);
    let stranger = stage.gitlab.create_user("mallory");
    assert_eq!(
        stage
            .bot
            .get(&stage.in_project(&format!("/members/all/{}", stranger.0)))
            .await
            .0,
        404
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_version_is_what_the_options_say() {
    let stage = Stage::free().await;
    for path in ["/version", "/metadata"] {
        let (status, version) = stage.bot.get(path).await;
        assert_eq!(
            (status, &version["version"], &version["enterprise"]),
            (200, &json!("19.5.0-ee"), &json!(true))
        );
    }
    stage.gitlab.configure(|options| options.version = "17.11.0".to_owned());
    assert_eq!(stage.bot.get("/metadata").await.1["enterprise"], false);
    assert_eq!(stage.bot.get(&stage.at("/approval_state")).await.0, 404);
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_job_token_reads_a_little_and_writes_nothing() {
    let stage = Stage::free().await;
    let token = stage.gitlab.create_job_token(stage.author, stage.merge_request);
    let job = Client::new(&stage.gitlab, token).with_header("JOB-TOKEN");
    let (status, body) = job.get("/job").await;
    assert_eq!(
        (status, &body["pipeline"]["source"]),
        (200, &json!("merge_request_event"))
    );
    assert_eq!(body["user"]["username"], "alice");
    assert_eq!(job.get(&stage.at("")).await.0, 200);
    assert_eq!(job.get(&stage.at("/notes")).await.0, 200);
    assert_eq!(job.get(&stage.at("/discussions")).await.0, 401);
    assert_eq!(job.get("/user").await.0, 401);
    assert_eq!(job.post(&stage.at("/notes"), json!({ "body": "x" })).await.0, 403);
    assert_eq!(stage.bot.get("/job").await.0, 401);
    stage.assert_no_violations();
}

#[tokio::test]
async fn the_server_can_live_below_a_path() {
    let stage = Stage::with(FakeGitlab::builder().sub_path("/gitlab")).await;
    assert!(stage.gitlab.api_url().ends_with("/gitlab/api/v4"));
    let (status, merge_request) = stage.bot.get(&stage.at("")).await;
    assert_eq!(status, 200);
    assert!(
        merge_request["web_url"]
            .as_str()
            .unwrap()
            .starts_with(stage.gitlab.url())
    );
    stage.assert_no_violations();
}

#[tokio::test]
async fn a_user_is_found_by_the_whole_name_only() {
    let stage = Stage::free().await;
    let (status, users) = stage.bot.get("/users?username=BOB").await;
    assert_eq!(
        (status, &users[0]["username"], &users[1]),
        (200, &json!("bob"), &json!(null))
    );
    assert_eq!(users[0]["id"], json!(stage.human.0));
    assert_eq!(stage.bot.get("/users?username=bo").await, (200, json!([])));
    let stranger = Client::new(&stage.gitlab, "nonsense".to_owned());
    assert_eq!(stranger.get("/users?username=bob").await.0, 401);
    stage.assert_no_violations();
}

#[tokio::test]
async fn one_user_shows_whether_it_is_a_bot() {
    let stage = Stage::free().await;
    for (user, bot) in [(stage.human, false), (stage.bot_user, true)] {
        let (status, found) = stage.bot.get(&format!("/users/{}", user.0)).await;
        assert_eq!((status, &found["bot"]), (200, &json!(bot)));
    }
    assert_eq!(stage.bot.get("/users/999999").await.0, 404);
}
