//! What cannot be done, and what the error tells the reader to do about it.

use conclave_fake_gitlab::{Fault, FaultKind, MergeRequestState, Scope};
use conclave_forge::ApiErrorKind;
use conclave_plugin_gitlab::{GitLab, GitLabSettings};
use conclave_shared::verdict::Verdict;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::stage::{Stage, publish};

#[tokio::test]
async fn a_token_that_may_only_read_posts_nothing() {
    let mut stage = Stage::new().await;
    stage.token = stage.gitlab.create_token(stage.bot, &[Scope::ReadApi]);
    let before = stage.snapshot();
    let failed = publish(&stage.loaded().await, &stage.review(Verdict::Approved)).await;
    let text = "the token may not post the review (403 The request requires higher privileges than provided by the \
                access token.). Make one with the scope `api` and set GITLAB_TOKEN to it. `conclave doctor` says what else \
                is missing";
    assert_eq!(failed, Err(text.to_owned()));
    assert_eq!(stage.snapshot(), before);
}

#[tokio::test]
async fn a_revoked_token_is_named() {
    let revoked = |what: &str| {
        format!(
            "GitLab refused the token ({what}: 401 Token was revoked. You have to re-authorize from the user.). Set \
             GITLAB_TOKEN to a project access token with the scope `api` and the role Developer; it may have expired. \
             `conclave doctor` says more"
        )
    };
    let stage = Stage::new().await;
    let plugin = stage.loaded().await;
    stage.gitlab.revoke_token(&stage.token);
    let error = stage.refusal().await;
    assert_eq!(error.to_string(), revoked("read whose token it is"));
    // For the exit code.
    assert_eq!(error.kind, ApiErrorKind::Unauthorized);
    // Between reading and posting, too.
    let failed = publish(&plugin, &stage.review(Verdict::Approved)).await;
    assert_eq!(failed, Err(revoked("read its comments")));
    assert!(stage.writes().is_empty());
}

#[tokio::test]
async fn a_token_with_a_line_break_is_named() {
    let stage = Stage::new().await;
    let settings = GitLabSettings {
        token: format!("{}\n", stage.token).into(),
        ..stage.settings()
    };
    let error = GitLab::publisher(&settings, None).unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::UnusableToken, "{error}");
}

#[tokio::test]
async fn only_an_open_merge_request_is_reviewed() {
    for (state, word) in [
        (MergeRequestState::Closed, "closed"),
        (MergeRequestState::Merged, "merged"),
    ] {
        let stage = Stage::new().await;
        stage.gitlab.set_state(stage.merge_request, stage.author, state);
        let text = format!("the merge request is {word}: only an open one is reviewed");
        assert_eq!(stage.refusal().await.to_string(), text);
        assert!(stage.writes().is_empty());
    }
}

#[tokio::test]
async fn one_that_is_merged_during_the_review_gets_its_note() {
    let stage = Stage::new().await;
    let plugin = stage.loaded().await;
    let merged = MergeRequestState::Merged;
    stage.gitlab.set_state(stage.merge_request, stage.author, merged);
    let outcome = publish(&plugin, &stage.review(Verdict::Approved)).await.unwrap();
    assert_eq!(outcome.warnings, ["not approved: the merge request is merged by now"]);
    assert_eq!(stage.writes(), ["POST /notes 201"]);
}

#[tokio::test]
async fn a_diff_that_is_not_ready_is_no_empty_diff() {
    let stage = Stage::new().await;
    let versions = "/projects/{id}/merge_requests/{iid}/versions";
    let answer = FaultKind::Answer {
        status: 200,
        content_type: "application/json".to_owned(),
        body: r#"[{"id":1,"head_commit_sha":null,"base_commit_sha":null}]"#.to_owned(),
    };
    stage.gitlab.inject(Fault::once("GET", versions, answer));
    let error = stage.refusal().await;
    assert_eq!(error.kind, ApiErrorKind::NotPrepared, "{error}");
}

#[tokio::test]
async fn a_merge_request_that_does_not_exist_is_named() {
    let stage = Stage::new().await;
    let settings = GitLabSettings {
        iid: 7,
        ..stage.settings()
    };
    let error = GitLab::publisher(&settings, None)
        .unwrap()
        .load()
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("GitLab does not find it (read the merge request: 404"),
        "{error}"
    );
}

#[tokio::test]
async fn a_log_in_page_is_no_answer() {
    let stage = Stage::new().await;
    let page = FaultKind::Answer {
        status: 200,
        content_type: "text/html".to_owned(),
        body: "<html>Log in</html>".to_owned(),
    };
    stage.gitlab.inject(Fault::once("GET", "/user", page));
    let error = stage.refusal().await.to_string();
    assert!(
        error.contains("Is there a proxy or a log-in page in between?"),
        "{error}"
    );
}

#[tokio::test]
async fn the_token_does_not_follow_a_redirect() {
    let stage = Stage::new().await;
    let elsewhere = stage.gitlab.api_url();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = GitLabSettings {
        api_url: format!("http://{}/api/v4", listener.local_addr().unwrap())
            .parse()
            .unwrap(),
        ..stage.settings()
    };
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: {elsewhere}/user\r\ncontent-length: 0\r\n\r\n");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        assert_ne!(stream.read(&mut request).await.unwrap(), 0);
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    let error = GitLab::publisher(&settings, None).unwrap().load().await.unwrap_err();
    server.await.unwrap();
    let text = format!(
        "GitLab answered 302 when asked to read whose token it is: it is at {elsewhere}/user now. Correct the address \
         or the project; a redirect is not followed, because it would get the token"
    );
    assert_eq!(error.to_string(), text);
    assert!(stage.gitlab.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_is_gone_is_named_with_the_cause() {
    let stage = Stage::new().await;
    let settings = GitLabSettings {
        // Nobody listens on the port that says so.
        api_url: "http://127.0.0.1:9/api/v4".parse().unwrap(),
        ..stage.settings()
    };
    let plugin = GitLab::publisher(&settings, None).unwrap();
    let error = plugin.load().await.unwrap_err().to_string();
    assert!(
        error.starts_with("the connection to GitLab at 127.0.0.1 failed (read whose token it is): "),
        "{error}"
    );
    assert!(error.contains("refused"), "{error}");
}
