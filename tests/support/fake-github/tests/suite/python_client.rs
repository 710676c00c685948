//! An unmodified client that many people use is the judge: if it cannot work here, the stand-in is wrong.

use conclave_fake_github::{FakeGithub, Permissions};
use tokio::process::Command;

use crate::stage::Stage;

#[tokio::test]
async fn pygithub_reviews_a_pull_request() {
    review(Stage::new().await).await;
}

#[tokio::test]
async fn pygithub_reviews_on_an_enterprise_server() {
    review(Stage::with(FakeGithub::builder().enterprise("3.19.0")).await).await;
}

async fn review(stage: Stage) {
    let permissions = Permissions::review().write("contents").write("statuses");
    let token = stage
        .github
        .installation_token(stage.app, stage.repository, permissions);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pygithub.py");
    // `scripts/setup` makes an environment of its own for it.
    let python = std::env::var_os("CONCLAVE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let arguments = [script, &stage.github.api_url(), &token, "acme/shop", "1"];
    let output = Command::new(python).args(arguments).output().await.unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    stage.assert_no_violations();

    let snapshot = stage.github.snapshot(stage.pull);
    assert_eq!(snapshot.comments[0].body, "A summary, changed.");
    assert_eq!((snapshot.threads.len(), snapshot.threads[0].comments.len()), (3, 2));
    assert!(snapshot.threads[0].resolved_by.is_some());
    assert_eq!(snapshot.checks[0].conclusion.as_deref(), Some("failure"));
    assert_eq!(snapshot.statuses[0].state, "success");
}
