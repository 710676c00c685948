//! An unmodified client that many people use is the judge: if it cannot work here, the fake is wrong.

use tokio::process::Command;

use conclave_fake_gitlab::Scope;

use crate::stage::Stage;

#[tokio::test]
async fn python_gitlab_reviews_a_merge_request() {
    let stage = Stage::premium().await;
    let token = stage.gitlab.create_token(stage.bot_user, &[Scope::Api]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python_gitlab.py");
    // `scripts/setup` makes an environment of its own for it.
    let python = std::env::var_os("CONCLAVE_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(python)
        .arg(script)
        .args([
            stage.gitlab.url(),
            &token,
            &stage.project.0.to_string(),
            &stage.merge_request.iid.to_string(),
        ])
        .output()
        .await
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}{stderr}");
    stage.assert_no_violations();

    let snapshot = stage.gitlab.snapshot(stage.merge_request);
    assert_eq!(snapshot.notes[0].body, "A note, changed.");
    let thread = &snapshot.threads[0];
    assert!(thread.resolved);
    assert_eq!(
        (thread.position.as_ref().unwrap().new_line, thread.notes.len()),
        (Some(5), 2)
    );
    assert!(snapshot.approved_by.is_empty() && snapshot.drafts.is_empty());
    assert_eq!(snapshot.labels, ["reviewed"]);
}
