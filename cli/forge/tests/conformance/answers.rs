//! Answers in our threads of earlier reviews.

use conclave_engine::{
    ports::PublishSettings,
    review::{Review, ThreadAction, ThreadChange},
    untrusted::escape,
};
use conclave_shared::verdict::Verdict;

use super::stage::{Act, ForgeStage, Who, at};

pub(crate) async fn a_thread_that_is_fixed_elsewhere_is_answered_with_the_code_once_and_resolved<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let entry = at("src/a.py", (4, 4), "new one");
    stage
        .run(&stage.with_findings(vec![entry.clone()]), PublishSettings::default())
        .await;
    let thread = stage.shown().threads.remove(0);
    stage.reply(Who::Member, &thread.id, "That is checked elsewhere.");
    // An answer of an earlier review, which names no place, is not the last word.
    stage.reply(Who::Bot, &thread.id, "It is still there.");
    let review = Review {
        threads: vec![ThreadAction {
            thread: thread.id.clone(),
            fingerprint: entry.finding.fingerprint.clone(),
            change: ThreadChange::FixedElsewhere {
                text: "It is checked there. /approve @bob [x](https://example.org)".to_owned(),
                file: "docs/a (1).md".to_owned(),
                line: 2,
                end_line: Some(3),
            },
        }],
        ..stage.review(Verdict::MinorIssues)
    };
    stage.run(&review, PublishSettings::default()).await;
    let shown = stage.shown();
    let after = &shown.threads[0];
    assert!(after.resolved);
    assert_eq!(after.answers.len(), 3, "one answer more: {:?}", after.answers);
    let answer = &after.answers[2];
    let head = stage.range().2;
    let address = answer.rsplit_once("](").unwrap().1;
    assert!(
        address.contains(&format!("/blob/{head}/docs/a%20%281%29.md#L2-")) && address.ends_with("3)"),
        "{answer}"
    );
    let place = escape("docs/a (1).md, lines 2-3");
    assert!(answer.contains(&format!("\n\n[{place}]({address}")), "{answer}");
    assert!(
        !answer.contains("@bob") && !answer.contains("(https://example.org)"),
        "{answer}"
    );
    assert_eq!(shown.carried_out, 0);
    stage.forget();
    stage.run(&review, PublishSettings::default()).await;
    let writes: Vec<_> = stage
        .acts()
        .into_iter()
        .filter(|(act, _)| *act != Act::EditNote)
        .collect();
    assert_eq!(writes, [], "once");
}
