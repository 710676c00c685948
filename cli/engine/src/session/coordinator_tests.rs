//! The coordinator: restarted, reminded, given what it did not ask for, and replaced in the end.

use std::{sync::Arc, time::Duration};

use conclave_shared::severity::Severity;
use serde_json::json;

use super::*;
use crate::{
    judge::test_support::finding,
    ports::{CoordinatorTools, Remedy, SessionPrompt},
    review::{ModelMove, StopCause},
    session::test_support::{Play, Stage, context, fails, lives, route, says},
};

fn security() -> ReviewerReport {
    ReviewerReport {
        name: ReviewerName::new("security").expect("a name"),
        outcome: ReviewerOutcome::Ok,
        reason: None,
        required: true,
        models: Vec::new(),
        usage: Vec::new(),
        seconds: 60.0,
        findings: 1,
        hallucinated: 0,
        repairs: Vec::new(),
        moves: Vec::new(),
    }
}

/// A mailbox with one finding.
fn mailbox() -> Arc<CoordinatorMailbox> {
    let mailbox = Arc::new(CoordinatorMailbox::default());
    mailbox.hand_over(&[security()], vec![finding("F1", Severity::Warning, "a", "x", 1)]);
    mailbox
}

fn submit(mailbox: &Arc<CoordinatorMailbox>) {
    let mailbox = Arc::clone(mailbox);
    tokio::spawn(async move {
        let findings = mailbox.findings().expect("the panel is done");
        let keep = findings
            .contains("\"id\":\"F1\"")
            .then(|| json!({"id": "F1", "action": "keep"}));
        let decisions: Vec<_> = keep.into_iter().collect();
        let review = json!({"summary": "s", "decisions": decisions, "proposed_verdict": "approved"});
        mailbox.submit_review(review).await.expect("valid");
    });
}

async fn run(
    mailbox: &Arc<CoordinatorMailbox>,
    script: impl Fn(&SessionPrompt, usize) -> Play + Send + Sync + 'static,
) -> (ReviewerReport, JudgedBy, Arc<Stage>) {
    let stage = Stage::new(script);
    let (context, ..) = context(&stage);
    let (report, judged_by) = coordinate(&context, Ok(route()), "judge".to_owned(), mailbox).await;
    (report, judged_by, stage)
}

#[tokio::test(start_paused = true)]
async fn it_is_given_the_findings_with_its_message() {
    let mailbox = mailbox();
    let own = Arc::clone(&mailbox);
    let (report, judged_by, stage) = run(&mailbox, move |prompt, number| {
        if number == 1 {
            let message = &prompt.parts[0];
            assert!(
                message.starts_with("judge\n\n{") && message.contains("\"id\":\"F1\""),
                "{message}"
            );
            return says(5, "I would rather not.");
        }
        submit(&own);
        says(5, "Submitted.")
    })
    .await;
    assert_eq!(
        (report.outcome, judged_by),
        (ReviewerOutcome::Ok, JudgedBy::Coordinator)
    );
    assert_eq!(stage.sessions(), 1, "in its own session, with all that it has read");
    assert_eq!(report.repairs, [RepairKind::Unsubmitted]);
    assert_eq!(format!("{:.0}", report.seconds), "5", "it is over with the submission");
}

#[tokio::test(start_paused = true)]
async fn one_that_did_not_submit_is_reminded_once_and_then_replaced() {
    let mailbox = mailbox();
    let (report, judged_by, stage) = run(&mailbox, |prompt, number| {
        if number > 1 {
            assert!(
                prompt.parts[0].starts_with("You have not submitted."),
                "{:?}",
                prompt.parts
            );
        }
        says(5, "It looks fine to me.")
    })
    .await;
    assert_eq!(report.outcome, ReviewerOutcome::Failed);
    assert_eq!(judged_by, JudgedBy::Rules("it never called submit_review".to_owned()));
    assert_eq!(stage.models().len(), 2, "asked once, reminded once");
}

#[tokio::test(start_paused = true)]
async fn a_submission_that_is_written_down_counts() {
    let review = json!({"summary": "Fine.", "decisions": [{"id": "F1", "action": "keep"}]});
    let incomplete = json!({"summary": "Fine.", "decisions": []});
    for (first, asked) in [(&review, 1), (&incomplete, 2)] {
        let mailbox = mailbox();
        let (first, review) = (format!("```json\n{first}\n```"), review.to_string());
        let (report, judged_by, stage) = run(&mailbox, move |prompt, number| {
            if number == 1 {
                return says(5, &first);
            }
            assert!(prompt.parts[0].contains("no decision on F1"), "{:?}", prompt.parts);
            says(5, &review)
        })
        .await;
        assert_eq!(
            (report.outcome, judged_by),
            (ReviewerOutcome::Ok, JudgedBy::Coordinator)
        );
        assert_eq!(stage.models().len(), asked);
        assert_eq!(mailbox.take_judgement().expect("there").summary, "Fine.");
    }
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_in_the_same_session_with_another_model_and_the_rules_are_the_last() {
    let mailbox = mailbox();
    let own = Arc::clone(&mailbox);
    let (report, judged_by, stage) = run(&mailbox, move |_, number| {
        if number == 1 {
            return fails(70, "APIError", Remedy::OtherProvider);
        }
        submit(&own);
        says(5, "Submitted.")
    })
    .await;
    assert_eq!(
        (report.outcome, judged_by),
        (ReviewerOutcome::Ok, JudgedBy::Coordinator)
    );
    assert_eq!(
        (stage.sessions(), stage.models()),
        (1, vec!["a/one".into(), "b/three".into()])
    );
    assert_eq!(
        report.moves,
        [ModelMove {
            from: "a/one".parse().expect("a model"),
            to: "b/three".parse().expect("a model"),
            reason: "it gave no sign of life for 60 s".to_owned(),
        }],
        "the review names who stood in for whom"
    );

    let mailbox = self::mailbox();
    let (report, judged_by, _) = run(&mailbox, |_, _| fails(1, "APIError", Remedy::OtherModel)).await;
    assert_eq!(report.outcome, ReviewerOutcome::Failed);
    assert_eq!(judged_by, JudgedBy::Rules("APIError".to_owned()));
}

/// A mailbox where everything is there, and one who submits at once and would go on for ten minutes.
fn submitting() -> (Arc<CoordinatorMailbox>, Arc<Stage>) {
    let mailbox = Arc::new(CoordinatorMailbox::default());
    mailbox.hand_over(&[], Vec::new());
    let own = Arc::clone(&mailbox);
    let stage = Stage::new(move |_, _| {
        submit(&own);
        says(600, "Submitted.")
    });
    (mailbox, stage)
}

#[tokio::test(start_paused = true)]
async fn a_submission_ends_it_once_the_gateway_has_all_of_the_answer() {
    let (mailbox, stage) = submitting();
    let (context, around, _stopper) = context(&stage);
    // The rest of the answer, with the usage in it, is on its way for two seconds.
    *around.held.lock().expect("a lock") = Some(Duration::ZERO);
    let arrives = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        *around.held.lock().expect("a lock") = None;
    };
    let coordinated = coordinate(&context, Ok(route()), "judge".to_owned(), &mailbox);
    let ((report, judged_by), ()) = tokio::join!(coordinated, arrives);
    assert_eq!(
        (report.outcome, judged_by),
        (ReviewerOutcome::Ok, JudgedBy::Coordinator)
    );
    assert_eq!(format!("{:.1}", report.seconds), "2.0");
    assert_eq!(stage.models().len(), 1, "it is asked for nothing more");
    let aborted = stage.aborted.lock().expect("a lock");
    assert!(aborted.is_empty(), "nobody waits until the runtime has ended it");
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_rest_never_comes_does_not_hold_up_the_review() {
    let (mailbox, stage) = submitting();
    let (context, around, _stopper) = context(&stage);
    *around.held.lock().expect("a lock") = Some(Duration::ZERO);
    let (report, judged_by) = coordinate(&context, Ok(route()), "judge".to_owned(), &mailbox).await;
    assert_eq!(judged_by, JudgedBy::Coordinator);
    assert_eq!(format!("{:.0}", report.seconds), "5");
}

#[tokio::test(start_paused = true)]
async fn its_own_time_ends_it_and_so_does_a_stop() {
    let mailbox = mailbox();
    let (report, ..) = run(&mailbox, |_, _| lives(1000, 10)).await;
    assert_eq!(report.outcome, ReviewerOutcome::TimedOut);
    assert_eq!(format!("{:.0}", report.seconds), "600");

    let stage = Stage::new(|_, _| lives(1000, 10));
    let (context, _, stopper) = context(&stage);
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        stopper.send_replace(Some(StopCause::Asked));
    };
    let coordinated = coordinate(&context, Ok(route()), "judge".to_owned(), &mailbox);
    let ((report, judged_by), ()) = tokio::join!(coordinated, stopping);
    assert!(matches!(judged_by, JudgedBy::Rules(_)));
    assert_eq!(format!("{:.0}", report.seconds), "30");
}
