//! The state that the merge request shows of the bot, in every mode.

use conclave_engine::{
    diff::{FilterReason, FilteredFile},
    ports::{Forge as _, PublishOutcome},
    review::{Review, ReviewMode, ReviewState},
};
use conclave_forge::Withdrawal;
use conclave_shared::verdict::Verdict;

use super::stage::{Act, ForgeStage, Shown, Trouble, Who, in_mode};

const GATE: ReviewMode = ReviewMode::Gate;

fn stands(shown: &Shown) -> (bool, bool) {
    (shown.bot_approves(), shown.bot_requests())
}

pub(crate) async fn each_mode_does_what_it_says_and_no_more<S: ForgeStage>() {
    use ReviewMode::{Approve, Comment, Gate};
    for (mode, verdict, approved, blocked) in [
        (Comment, Verdict::Approved, false, false),
        (Comment, Verdict::SignificantConcerns, false, false),
        (Approve, Verdict::Approved, true, false),
        (Approve, Verdict::SignificantConcerns, false, false),
        (Gate, Verdict::Approved, true, false),
        (Gate, Verdict::ApprovedWithComments, true, false),
        (Gate, Verdict::MinorIssues, false, false),
        (Gate, Verdict::Inconclusive, false, false),
        (Gate, Verdict::SignificantConcerns, false, true),
    ] {
        let stage = S::new().await;
        let outcome = stage.conclude(mode, verdict).await;
        assert_eq!(stands(&stage.shown()), (approved, blocked), "{mode:?} {verdict}");
        let said = (outcome.approved, outcome.warnings);
        assert_eq!(said, (approved, Vec::new()), "{mode:?} {verdict}");
        assert!(!outcome.applied_state.unwrap().is_mismatch(), "{mode:?} {verdict}");
        if mode == Comment {
            assert_eq!(stage.acts(), [(Act::PostNote, true)], "{verdict}");
        }
    }
}

pub(crate) async fn every_step_from_every_state_ends_where_it_should<S: ForgeStage>() {
    let verdicts = [Verdict::Approved, Verdict::MinorIssues, Verdict::SignificantConcerns];
    for first in verdicts {
        for second in verdicts {
            let stage = S::new().await;
            stage.conclude(GATE, first).await;
            let outcome = stage.conclude(GATE, second).await;
            let expected = match second {
                Verdict::Approved => (true, false),
                Verdict::SignificantConcerns => (false, true),
                _ => (false, false),
            };
            let shown = stage.shown();
            assert_eq!(stands(&shown), expected, "{first} → {second}");
            assert_eq!(outcome.warnings, Vec::<String>::new(), "{first} → {second}");
            let taken_back = "The bot takes its earlier approval back: this review does not approve.";
            let says = first == Verdict::Approved && second != Verdict::Approved;
            assert_eq!(shown.summary().contains(taken_back), says, "{first} → {second}");
            // The same once more changes nothing.
            stage.forget();
            stage.conclude(GATE, second).await;
            let acts = if says { vec![(Act::EditNote, true)] } else { Vec::new() };
            assert!(
                stage.acts().is_empty() || stage.acts() == acts,
                "{first} → {second} → {second}"
            );
        }
    }
}

pub(crate) async fn changing_the_mode_lifts_no_block_and_takes_an_approval_back<S: ForgeStage>() {
    let stage = S::new().await;
    stage.conclude(GATE, Verdict::SignificantConcerns).await;
    stage.conclude(ReviewMode::Approve, Verdict::SignificantConcerns).await;
    assert!(stage.shown().bot_requests(), "a mode finds nothing fixed");
    stage.conclude(ReviewMode::Comment, Verdict::Inconclusive).await;
    assert!(
        stage.shown().bot_requests(),
        "neither does a review that is not finished"
    );
    stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert!(!stage.shown().bot_requests());
    stage.conclude(ReviewMode::Comment, Verdict::Approved).await;
    assert!(!stage.shown().bot_approves(), "comment never approves");
}

pub(crate) async fn what_a_person_has_dismissed_is_not_approved_again_before_another_commit<S: ForgeStage>() {
    const SAID: &str = "A person has dismissed the bot's review of this commit";
    for (by_hand, without_note) in [(true, false), (false, false), (true, true), (false, true)] {
        let stage = S::new().await;
        stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(stage.shown().bot_approves());
        if by_hand {
            stage.take_approval_back();
        } else {
            let said = stage.publisher().dismiss("bob").await.unwrap();
            assert!(said.is_some_and(|said| said.contains("is dismissed")));
        }
        if without_note {
            let (note, _) = stage.shown().notes[0];
            stage.delete_note(note);
        }
        let case = format!("by hand: {by_hand}, without the note: {without_note}");
        for mode in [ReviewMode::Approve, GATE, ReviewMode::Approve] {
            let outcome = stage.conclude(mode, Verdict::Approved).await;
            let shown = stage.shown();
            assert!(!shown.bot_approves() && !outcome.approved, "{case}");
            assert!(shown.summary().contains(SAID), "{case}: {}", shown.summary());
        }
        stage.forget();
        stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert_eq!(stage.acts(), [], "{case}: the same again writes nothing");
        // A run without a review of its own forgets nothing.
        let publisher = stage.loaded().await;
        let why = Withdrawal {
            reason: "It failed.",
            stopped: false,
            explains: false,
        };
        publisher.withdraw(why).await.unwrap();
        stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(!stage.shown().bot_approves(), "{case}");
        stage.push_again();
        stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(stage.shown().bot_approves(), "{case}: another commit is another matter");
        assert!(!stage.shown().summary().contains(SAID), "{case}");
    }
}

pub(crate) async fn an_approval_that_a_run_took_back_is_given_again<S: ForgeStage>() {
    let stage = S::new().await;
    for (verdict, approves) in [
        (Verdict::Approved, true),
        (Verdict::MinorIssues, false),
        (Verdict::Approved, true),
    ] {
        stage.conclude(ReviewMode::Approve, verdict).await;
        assert_eq!(stage.shown().bot_approves(), approves, "{verdict}");
    }
    // Also after a run that failed.
    let publisher = stage.loaded().await;
    let why = Withdrawal {
        reason: "It failed.",
        stopped: false,
        explains: false,
    };
    assert!(publisher.withdraw(why).await.unwrap());
    let shown = stage.shown();
    assert!(!shown.bot_approves());
    // The heading of the last review is folded away.
    let (now, before) = shown.summary().split_once("<details><summary>").unwrap();
    assert!(
        now.contains("approval was taken back") && !now.contains("Approved"),
        "{now}"
    );
    assert!(before.contains("Approved"), "{before}");
    stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert!(stage.shown().bot_approves());
}

pub(crate) async fn a_change_of_noise_alone_gets_one_note<S: ForgeStage>() {
    let stage = S::new().await;
    for is_first in [true, false] {
        stage.forget();
        let publisher = stage.loaded().await;
        publisher.left_out(&[FilteredFile {
            path: "yarn.lock".to_owned(),
            old_path: None,
            reason: FilterReason::LockFile,
        }]);
        let why = Withdrawal {
            reason: "There was nothing to review.",
            stopped: false,
            explains: true,
        };
        assert!(!publisher.withdraw(why).await.unwrap());
        let said = stage.shown().summary().to_owned();
        assert!(
            said.contains("Nothing to review") && said.contains("`yarn.lock` (lock file)"),
            "{said}"
        );
        let written: &[(Act, bool)] = if is_first { &[(Act::PostNote, true)] } else { &[] };
        assert_eq!(stage.acts(), written);
    }
    stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert!(stage.shown().bot_approves(), "a review takes its place");
    assert!(!stage.shown().summary().contains("Nothing to review"));
}

pub(crate) async fn a_dismissed_request_is_neither_repeated_nor_said_to_stand<S: ForgeStage>() {
    let stage = S::new().await;
    stage.conclude(GATE, Verdict::SignificantConcerns).await;
    assert!(stage.shown().bot_requests());
    stage.publisher().dismiss("bob").await.unwrap();
    for (mode, verdict) in [
        (GATE, Verdict::SignificantConcerns),
        (GATE, Verdict::SignificantConcerns),
        (ReviewMode::Comment, Verdict::SignificantConcerns),
    ] {
        let outcome = stage.conclude(mode, verdict).await;
        assert!(!stage.shown().bot_requests(), "{mode:?} {verdict}");
        let shown = outcome.applied_state.unwrap().shown;
        assert_ne!(shown, Some(ReviewState::RequestedChanges), "{mode:?} {verdict}");
        let summary = ForgeStage::shown(&stage).summary().to_owned();
        assert!(!summary.contains("request for changes stays"), "{summary}");
    }
    stage.push_again();
    stage.conclude(GATE, Verdict::SignificantConcerns).await;
    assert!(stage.shown().bot_requests(), "another commit is another matter");
}

pub(crate) async fn the_approval_of_a_person_is_not_touched<S: ForgeStage>() {
    let stage = S::new().await;
    stage.approve(Who::Member);
    stage.forget();
    let outcome = stage.conclude(ReviewMode::Approve, Verdict::SignificantConcerns).await;
    assert_eq!((outcome.approved, outcome.warnings), (false, Vec::new()));
    assert_eq!(stage.shown().approved, [Who::Member]);
    assert_eq!(stage.acts(), [(Act::PostNote, true)]);
}

pub(crate) async fn the_request_of_a_person_is_not_touched<S: ForgeStage>() {
    let stage = S::new().await;
    stage.request_changes(Who::Member);
    stage.conclude(GATE, Verdict::SignificantConcerns).await;
    assert_eq!(stage.shown().requested, [Who::Member, Who::Bot]);
    stage.conclude(GATE, Verdict::MinorIssues).await;
    assert_eq!(stage.shown().requested, [Who::Member]);
    stage.conclude(GATE, Verdict::Approved).await;
    let shown = stage.shown();
    assert_eq!((shown.approved, shown.requested), (vec![Who::Bot], vec![Who::Member]));
}

/// A review of what was there before somebody pushed.
async fn publish_after_push<S: ForgeStage>(stage: &S, verdict: Verdict) -> PublishOutcome {
    let (publisher, review) = (stage.loaded().await, stage.review(verdict));
    stage.push_again();
    stage.publish(&publisher, &review, in_mode(GATE)).await.unwrap()
}

pub(crate) async fn a_newer_commit_is_neither_approved_nor_blocked<S: ForgeStage>() {
    for (verdict, not) in [
        (Verdict::Approved, "not approved"),
        (Verdict::SignificantConcerns, "no changes requested"),
    ] {
        let stage = S::new().await;
        let outcome = publish_after_push(&stage, verdict).await;
        assert_eq!(stands(&stage.shown()), (false, false), "{verdict}");
        let warning = format!("{not}: there is a newer commit than the reviewed one");
        assert_eq!(outcome.warnings, [warning]);
        // The note said that changes would be requested, and is corrected.
        let corrected = (verdict == Verdict::SignificantConcerns).then_some((Act::EditNote, true));
        let acts: Vec<_> = std::iter::once((Act::PostNote, true)).chain(corrected).collect();
        assert_eq!(stage.acts(), acts, "{verdict}");
    }
}

pub(crate) async fn an_approval_of_an_older_commit_does_not_outlive_a_push<S: ForgeStage>() {
    let stage = S::new().await;
    stage.conclude(GATE, Verdict::Approved).await;
    stage.forget();
    let outcome = publish_after_push(&stage, Verdict::Approved).await;
    assert!(
        !outcome.approved && outcome.warnings[0].contains("there is a newer commit"),
        "{outcome:?}"
    );
    assert!(!stage.shown().bot_approves());
    // The note says the same already.
    assert_eq!(stage.acts(), [(Act::WithdrawApproval, true)]);
}

pub(crate) async fn the_bots_own_merge_request_is_reviewed_and_not_approved<S: ForgeStage>() {
    let mut stage = S::new().await;
    stage.open_by_bot();
    let outcome = stage.conclude(GATE, Verdict::Approved).await;
    assert!(
        !outcome.approved && outcome.warnings[0].starts_with("not approved"),
        "{outcome:?}"
    );
    assert!(!stage.shown().bot_approves());
    stage.shown().summary();
}

pub(crate) async fn a_fork_is_blocked_and_never_approved<S: ForgeStage>() {
    let mut stage = S::new().await;
    stage.open_from_fork();
    let change = stage.publisher().load().await.unwrap();
    assert!(change.subject.from_fork);
    let of = |verdict| Review {
        from_fork: true,
        ..stage.review(verdict)
    };
    for (verdict, requested) in [(Verdict::SignificantConcerns, true), (Verdict::Approved, false)] {
        let outcome = stage.run(&of(verdict), in_mode(GATE)).await;
        assert_eq!((outcome.approved, outcome.warnings), (false, Vec::new()), "{verdict}");
        assert_eq!(stands(&stage.shown()), (false, requested), "{verdict}");
    }
    stage.approve(Who::Bot);
    stage.run(&of(Verdict::Approved), in_mode(GATE)).await;
    assert!(!stage.shown().bot_approves());
}

pub(crate) async fn an_approval_that_cannot_be_taken_back_is_an_error<S: ForgeStage>() {
    let stage = S::new().await;
    stage.approve(Who::Bot);
    stage.trouble(Act::WithdrawApproval, Trouble::BadGateway, 0, 3);
    let review = stage.review(Verdict::MinorIssues);
    let failed = stage
        .publish(&stage.loaded().await, &review, in_mode(GATE))
        .await
        .unwrap_err();
    assert!(failed.contains("take its approval back"), "{failed}");
    // What fails less often is tried again.
    for trouble in [Trouble::BadGateway, Trouble::ErrorAfterStore] {
        stage.trouble(Act::WithdrawApproval, trouble, 0, 1);
    }
    let outcome = stage.run(&review, in_mode(GATE)).await;
    assert_eq!((outcome.approved, outcome.warnings), (false, Vec::new()));
    assert!(!stage.shown().bot_approves());
}

pub(crate) async fn an_approval_that_failed_after_it_was_stored_counts<S: ForgeStage>() {
    for trouble in [Trouble::ErrorAfterStore, Trouble::CutAnswer] {
        let stage = S::new().await;
        stage.trouble(Act::Approve, trouble, 0, 1);
        let outcome = stage.conclude(GATE, Verdict::Approved).await;
        assert_eq!((outcome.approved, outcome.warnings), (true, Vec::new()), "{trouble:?}");
        assert!(stage.shown().bot_approves(), "{trouble:?}");
    }
}

pub(crate) async fn a_closed_merge_request_loses_the_approval<S: ForgeStage>() {
    let stage = S::new().await;
    stage.conclude(GATE, Verdict::Approved).await;
    let publisher = stage.loaded().await;
    stage.close();
    let review = stage.review(Verdict::Approved);
    let outcome = stage.publish(&publisher, &review, in_mode(GATE)).await.unwrap();
    let warning = &outcome.warnings[0];
    assert!(
        !outcome.approved && warning.starts_with("not approved: the "),
        "{warning}"
    );
    assert!(warning.ends_with("request is closed by now"), "{warning}");
    assert!(!stage.shown().bot_approves());
}

pub(crate) async fn another_target_during_the_review_is_not_approved_and_the_review_says_so<S: ForgeStage>() {
    for (mode, verdict) in [
        (GATE, Verdict::Approved),
        (ReviewMode::Comment, Verdict::Approved),
        (GATE, Verdict::MinorIssues),
        (GATE, Verdict::SignificantConcerns),
    ] {
        let stage = S::new().await;
        let publisher = stage.loaded().await;
        stage.advance("release", "released\n");
        stage.retarget("release");
        let review = stage.review(verdict);
        let outcome = stage.publish(&publisher, &review, in_mode(mode)).await.unwrap();
        assert!(!outcome.approved && !stage.shown().bot_approves(), "{outcome:?}");
        let changed = "The target branch was changed from main to release during the review";
        assert!(
            outcome.warnings.iter().any(|warning| warning.contains(changed)),
            "{outcome:?}"
        );
        // What the run reports says the same as the note.
        let amended = outcome.amended.unwrap();
        assert!(amended.needs_person(), "{:?}", amended.approval_holds);
        let shown = stage.shown();
        assert!(shown.summary().contains(changed), "{verdict}: {}", shown.summary());
        assert_eq!(shown.bot_requests(), verdict == Verdict::SignificantConcerns);
    }
}

pub(crate) async fn a_request_that_failed_after_it_was_stored_counts<S: ForgeStage>() {
    for trouble in [Trouble::ErrorAfterStore, Trouble::CutAnswer, Trouble::BadGateway] {
        let stage = S::new().await;
        stage.conclude(GATE, Verdict::MinorIssues).await;
        stage.trouble(Act::RequestChanges, trouble, 0, 1);
        let outcome = stage.conclude(GATE, Verdict::SignificantConcerns).await;
        assert_eq!(outcome.warnings, Vec::<String>::new(), "{trouble:?}");
        assert_eq!(stage.troubles_left(), 0, "{trouble:?}");
        assert_eq!(stage.shown().own_requests, 1, "{trouble:?}");
        // It is remembered, so a better review takes it back.
        stage.conclude(GATE, Verdict::MinorIssues).await;
        assert_eq!(stage.shown().own_requests, 0, "{trouble:?}");
    }
}
