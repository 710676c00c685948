//! Twenty findings at once, one of which GitHub does not take.

use conclave_engine::ports::PublishSettings;
use conclave_fake_github::FakeGithub;

use crate::{
    conformance::stage::{ForgeStage, at},
    scenarios::OnGitHub,
    stage::Stage,
};

const FINDINGS: usize = 20;
/// Requests of the review, its lists, and the comment that goes alone.
const MAX_REQUESTS: usize = 20;

#[tokio::test]
async fn one_comment_of_twenty_that_is_refused_loses_none() {
    let names: Vec<String> = (0..FINDINGS).map(|number| format!("src/file{number:02}.py")).collect();
    let files = |text: &'static str| -> Vec<(&str, Option<&str>)> {
        names.iter().map(|name| (name.as_str(), Some(text))).collect()
    };
    let (base, head) = (files("one\ntwo\n"), files("one\ntwo\nthree\n"));
    let stage = OnGitHub(Stage::of_change(FakeGithub::builder(), &base, &head).await);
    let findings: Vec<_> = { names.iter() }.map(|name| at(name, (3, 3), "three")).collect();
    let mut review = stage.with_findings(findings);
    // Our diff has a file by another name than GitHub's.
    let mut diff = stage.files();
    let other = "src/elsewhere.py".to_owned();
    let file = diff.iter_mut().find(|file| file.path == names[7]).unwrap();
    file.path.clone_from(&other);
    review.findings[7].finding.file.clone_from(&other);
    let publisher = stage.loaded().await;
    stage.forget();
    let outcome = stage
        .publish_of(&diff, &publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    let shown = stage.shown();
    assert_eq!(
        (outcome.posted_inline, shown.threads.len()),
        (FINDINGS - 1, FINDINGS - 1)
    );
    assert!(shown.summary().contains(&other), "{}", shown.summary());
    assert!(
        outcome.warnings[0].contains("1 finding could not be posted beside the code"),
        "{outcome:?}"
    );
    assert!(stage.requests() <= MAX_REQUESTS, "{}", stage.requests());
    // Nothing is posted twice by the next run.
    stage.forget();
    let publisher = stage.loaded().await;
    stage
        .publish_of(&diff, &publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    assert_eq!(stage.shown().threads.len(), FINDINGS - 1);
}
