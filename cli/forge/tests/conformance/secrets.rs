//! Reviews of our account that another secret has signed.

use conclave_engine::{
    ports::PublishOutcome,
    review::{HoldCause, Review, ReviewMode},
};
use conclave_shared::verdict::Verdict;

use super::stage::{ForgeStage, Shown, Who, at, in_mode};

const GATE: ReviewMode = ReviewMode::Gate;
const OTHER: &str = "another secret";
const SAID: &str = "signed with another secret";

/// A stage on which a review has requested changes, with its note and its thread.
async fn blocked<S: ForgeStage>() -> (S, u64, String) {
    let stage = S::with_lines().await;
    let review = Review {
        findings: vec![at("src/a.py", (4, 4), "new one")],
        ..stage.review(Verdict::SignificantConcerns)
    };
    stage.run(&review, in_mode(GATE)).await;
    let mut shown = stage.shown();
    assert!(shown.bot_requests());
    let (note, thread) = (shown.notes[0].0, shown.threads.remove(0).id);
    (stage, note, thread)
}

/// A whole run with another secret, of a review without findings.
async fn run<S: ForgeStage>(stage: &S, verdict: Verdict) -> PublishOutcome {
    let publisher = stage.publisher_of(OTHER);
    publisher.load().await.unwrap();
    let review = stage.review(verdict);
    stage.publish(&publisher, &review, in_mode(GATE)).await.unwrap()
}

/// The causes of the holds that posting has added.
fn held(outcome: &PublishOutcome) -> Vec<HoldCause> {
    let amended = outcome.amended.iter();
    amended
        .flat_map(|review| &review.approval_holds)
        .map(|hold| hold.cause)
        .collect()
}

fn says_why(shown: &Shown) -> bool {
    shown.notes.iter().any(|(_, text)| text.contains(SAID))
}

pub(crate) async fn under_another_secret_nothing_is_approved_and_no_block_is_lifted<S: ForgeStage>() {
    for verdict in [Verdict::Approved, Verdict::MinorIssues] {
        let (stage, ..) = blocked::<S>().await;
        // Before the review, for the job's log.
        let holds = stage.publisher_of(OTHER).load().await.unwrap().holds.clone();
        assert!(holds.iter().any(|hold| hold.cause == HoldCause::UnreadableReviews));
        for _ in 0..2 {
            let outcome = run(&stage, verdict).await;
            let shown = stage.shown();
            assert!(!outcome.approved && !shown.bot_approves(), "{verdict}");
            assert!(shown.bot_requests() && !shown.threads[0].resolved, "{verdict}");
            assert_eq!(held(&outcome), [HoldCause::UnreadableReviews], "{verdict}");
            assert!(outcome.amended.unwrap().may_be_blocked(), "{verdict}");
            assert!(says_why(&shown), "{verdict}: {:?}", shown.notes);
        }
    }
}

pub(crate) async fn threads_that_a_member_resolves_and_notes_that_are_deleted_count_no_longer<S: ForgeStage>() {
    for (by, approved) in [(Who::Author, false), (Who::Member, true)] {
        let (stage, note, thread) = blocked::<S>().await;
        run(&stage, Verdict::Approved).await;
        stage.delete_note(note);
        let outcome = run(&stage, Verdict::Approved).await;
        assert!(!outcome.approved, "the thread is open");
        stage.resolve(by, &thread);
        if by == Who::Member {
            stage.take_request_back();
        }
        let outcome = run(&stage, Verdict::Approved).await;
        assert_eq!(outcome.approved, approved, "{by:?}");
        let shown = stage.shown();
        assert_eq!(
            (shown.bot_approves(), says_why(&shown)),
            (approved, !approved),
            "{by:?}"
        );
    }
}

pub(crate) async fn an_approval_under_another_secret_is_taken_back<S: ForgeStage>() {
    let stage = S::new().await;
    stage.conclude(GATE, Verdict::Approved).await;
    assert!(stage.shown().bot_approves());
    let outcome = run(&stage, Verdict::Approved).await;
    assert!(!outcome.approved && !stage.shown().bot_approves(), "{outcome:?}");
    assert_eq!(held(&outcome), [HoldCause::UnreadableReviews]);
}

pub(crate) async fn marks_of_another_secret_in_other_accounts_notes_and_in_quotes_count_for_nothing<S: ForgeStage>() {
    let (stage, ..) = blocked::<S>().await;
    let shown = stage.shown();
    let copied = [&shown.notes[0].1, &shown.threads[0].body];
    let stage = S::with_lines().await;
    for text in copied {
        stage.say(Who::Member, text);
        stage.start_thread(Who::Author, text);
        stage.say(Who::Bot, &format!("Look at this:\n\n~~~~\n{text}\n~~~~"));
    }
    let outcome = run(&stage, Verdict::Approved).await;
    assert!(outcome.approved && stage.shown().bot_approves(), "{outcome:?}");
    assert!(!says_why(&stage.shown()));
}
