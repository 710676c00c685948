//! Notes of earlier versions, literally: what stands on merge requests today stays ours.

use conclave_engine::ports::{Forge, PublishSettings};

use crate::{
    conformance::stage::{ForgeStage, Who, at},
    scenarios::OnGitLab,
};

const SUMMARY: &str = include_str!("../../../../../tests/fixtures/posted/summary.md");
const THREAD: &str = include_str!("../../../../../tests/fixtures/posted/thread.md");

#[tokio::test]
async fn notes_of_earlier_versions_are_taken_over() {
    let stage = OnGitLab::with_lines().await;
    stage.start_thread(Who::Bot, THREAD);
    let note = stage.say(Who::Bot, SUMMARY);
    let publisher = stage.publisher();
    let change = publisher.load().await.unwrap();
    assert!(
        (change.spent_before_usd - 1.23).abs() < 1e-9,
        "{}",
        change.spent_before_usd
    );
    let existing = &change.subject.existing_findings;
    assert_eq!(
        (
            existing.len(),
            existing[0].record.line,
            change.carry_over.findings.len()
        ),
        (1, 4, 1)
    );
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let seen = publisher.meanwhile(&review).await.unwrap();
    assert!(seen.is_empty(), "{seen:?}");
    let outcome = stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    let shown = stage.shown();
    assert_eq!((outcome.posted_inline, shown.threads.len()), (0, 1));
    assert_eq!((shown.notes.len(), shown.notes[0].0), (1, note));
    let summary = shown.summary();
    assert!(summary.contains("Something is wrong with new one"), "{summary}");
    assert!(summary.contains("<!-- conclave:spent:1230000:"), "{summary}");
}
