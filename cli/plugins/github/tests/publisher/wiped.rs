//! The bot's memory, deleted or edited by an account that may write.

use conclave_engine::{
    ports::PublishOutcome,
    review::{HoldCause, Review, ReviewMode},
};
use conclave_fake_github::{Fault, FaultKind};
use conclave_shared::verdict::Verdict;

use crate::{
    conformance::stage::{ForgeStage, Who, at, in_mode},
    scenarios::OnGitHub,
};

const GATE: ReviewMode = ReviewMode::Gate;

/// The fate of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wiping {
    /// Its text is again the one of the review that found nothing.
    SetBack,
    /// Its text is another one.
    Overwritten,
    /// It is gone.
    Deleted,
}

/// A pull request of which the first commit was approved, and the second blocked; then its author has seen to the summary and the
/// thread, and pushed something else. Returns the number of the summary.
async fn wiped(wiping: Wiping) -> (OnGitHub, u64) {
    let stage = OnGitHub::with_lines().await;
    stage.conclude(GATE, Verdict::Approved).await;
    let (note, clean) = stage.shown().notes.remove(0);
    stage.push_again();
    let review = Review {
        findings: vec![at("src/a.py", (4, 4), "new one")],
        ..stage.review(Verdict::SignificantConcerns)
    };
    stage.run(&review, in_mode(GATE)).await;
    let shown = stage.shown();
    assert!(shown.bot_requests() && shown.threads.len() == 1);
    let (github, pull, author) = (&stage.0.github, stage.0.pull, stage.0.author);
    github.delete_review_comment(pull, shown.threads[0].note);
    match wiping {
        Wiping::SetBack => github.edit_comment(pull, author, note, &clean),
        Wiping::Overwritten => github.edit_comment(pull, author, note, "hello"),
        Wiping::Deleted => github.delete_comment(pull, note),
    }
    stage.push(&[("other.txt", Some("other\n"))]);
    (stage, note)
}

fn is_held(outcome: &PublishOutcome) -> bool {
    let mut amended = outcome.amended.iter();
    amended.any(|review| {
        let mut holds = review.approval_holds.iter();
        review.may_be_blocked() && holds.any(|hold| hold.cause == HoldCause::UnreadableReviews)
    })
}

/// A run whose models say nothing lifts nothing.
async fn lifts_nothing(stage: &OnGitHub, case: &str) {
    let outcome = stage.conclude(GATE, Verdict::Approved).await;
    assert!(
        !outcome.approved && !stage.shown().bot_approves(),
        "{case}: {outcome:?}"
    );
    assert!(is_held(&outcome), "{case}: {outcome:?}");
    let notes = stage.shown().notes;
    let says = |text: &String| text.contains("this run lifts nothing of it");
    assert!(notes.iter().any(|(_, text)| says(text)), "{case}: {notes:?}");
}

#[tokio::test]
async fn a_summary_that_is_set_back_overwritten_or_deleted_lifts_no_block() {
    for wiping in [Wiping::SetBack, Wiping::Overwritten, Wiping::Deleted] {
        let (stage, note) = wiped(wiping).await;
        let case = format!("{wiping:?}");
        let holds = stage.publisher().load().await.unwrap().holds.clone();
        assert!(holds.iter().any(|hold| hold.cause.may_hide_a_block()), "{case}");
        // The note of a run that knew nothing is not taken for what was lost.
        for _ in 0..3 {
            lifts_nothing(&stage, &case).await;
            assert!(stage.shown().bot_requests(), "{case}");
        }
        stage.delete_note(note);
        lifts_nothing(&stage, &case).await;
        let newest = stage.shown().notes.last().map(|(note, _)| *note);
        stage.delete_note(newest.unwrap());
        lifts_nothing(&stage, &case).await;
        assert!(stage.shown().bot_requests(), "{case}");
        // A member ends it, on the pull request's page.
        stage.take_request_back();
        let outcome = stage.conclude(GATE, Verdict::Approved).await;
        assert!(outcome.approved && !is_held(&outcome), "{case}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_author_s_own_dismissal_settles_nothing_that_was_lost() {
    for command in [false, true] {
        let (stage, _) = wiped(Wiping::Deleted).await;
        stage.dismiss_requests(Who::Author);
        for _ in 0..2 {
            lifts_nothing(&stage, "dismissed by the author").await;
        }
        if command {
            let said = stage.publisher().dismiss("bob").await.unwrap();
            assert!(said.is_some_and(|said| said.contains("is dismissed")));
            let outcome = stage.conclude(GATE, Verdict::Approved).await;
            assert!(!is_held(&outcome) && !outcome.approved, "{outcome:?}");
            stage.push(&[("another.txt", Some("another\n"))]);
            assert!(stage.conclude(GATE, Verdict::Approved).await.approved);
        }
    }
}

#[tokio::test]
async fn a_request_for_changes_of_a_note_that_is_whole_is_lifted_by_the_commit_that_fixes_it() {
    let stage = OnGitHub::with_lines().await;
    stage.conclude(GATE, Verdict::SignificantConcerns).await;
    // A run that is not finished keeps it, and is known to be of a later commit.
    stage.push_again();
    let outcome = stage.conclude(GATE, Verdict::Inconclusive).await;
    assert!(!is_held(&outcome) && stage.shown().bot_requests(), "{outcome:?}");
    stage.push(&[("other.txt", Some("other\n"))]);
    let outcome = stage.conclude(GATE, Verdict::MinorIssues).await;
    assert!(!is_held(&outcome) && !stage.shown().bot_requests(), "{outcome:?}");
    // Nor does a note that is deleted then hold anything.
    stage.delete_note(stage.shown().notes[0].0);
    let outcome = stage.conclude(GATE, Verdict::Approved).await;
    assert!(outcome.approved && !is_held(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn a_thread_that_another_account_has_edited_counts_until_a_member_has_resolved_it() {
    let stage = OnGitHub::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage.run(&review, in_mode(ReviewMode::Approve)).await;
    let thread = stage.shown().threads.remove(0);
    let text = format!("It is fine.\n\n{}", thread.body);
    let (github, pull) = (&stage.0.github, stage.0.pull);
    github.edit_review_comment(pull, stage.0.author, thread.note, &text);
    for by in [None, Some(Who::Author)] {
        if let Some(by) = by {
            stage.resolve(by, &thread.id);
        }
        let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(!outcome.approved && is_held(&outcome), "{by:?}: {outcome:?}");
    }
    stage.resolve(Who::Member, &thread.id);
    let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert!(outcome.approved && !is_held(&outcome), "{outcome:?}");
}

#[tokio::test]
async fn a_summary_that_is_set_back_lifts_nothing_where_its_editor_is_not_known() {
    let (stage, _) = wiped(Wiping::SetBack).await;
    let limited = FaultKind::GraphqlError {
        kind: "RATE_LIMITED".to_owned(),
        message: "API rate limit exceeded".to_owned(),
    };
    let fault = Fault::once("POST", "/graphql", limited).containing("reviewThreads");
    stage.0.github.inject(fault.times(99));
    lifts_nothing(&stage, "without GraphQL").await;
    assert!(stage.shown().bot_requests());
    stage.end_troubles();
    lifts_nothing(&stage, "with GraphQL again").await;
}
