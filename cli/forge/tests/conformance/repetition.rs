//! Runs that come again, at once, or after one that broke off: one of everything.

use conclave_engine::{
    ports::{Forge, PublishSettings},
    review::Review,
};
use conclave_shared::{finding::fingerprint, severity::Severity, verdict::Verdict};

use super::stage::{Act, ForgeStage, Trouble, Who, at, on_lines};

pub(crate) async fn a_second_run_writes_nothing<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let findings = vec![
        at("src/a.py", (4, 4), "new one"),
        at("fresh.py", (1, 3), "f"),
        at("nowhere.py", (1, 1), "n"),
    ];
    let review = stage.with_findings(findings);
    stage.run(&review, PublishSettings::default()).await;
    let before = stage.shown();
    stage.forget();
    // Another run of the same: other times, words and costs.
    let again = Review {
        run_id: "run-2".to_owned(),
        summary: "The same in other words.".to_owned(),
        seconds: 99.0,
        cost_usd: 0.5,
        ..review
    };
    let settings = PublishSettings {
        remember_cost: false,
        ..PublishSettings::default()
    };
    let outcome = stage.run(&again, settings).await;
    assert_eq!((outcome.posted_inline, stage.acts()), (0, Vec::new()));
    assert_eq!(stage.shown(), before);
    // Where there is a limit for all reviews together, what was paid has to be remembered.
    stage.run(&again, PublishSettings::default()).await;
    assert_eq!(stage.acts(), [(Act::EditNote, true)]);
}

pub(crate) async fn a_summary_that_somebody_changed_is_written_again<S: ForgeStage>() {
    let stage = S::new().await;
    let review = stage.with_findings(Vec::new());
    stage.run(&review, PublishSettings::default()).await;
    let (note, body) = stage.shown().notes.remove(0);
    stage.edit_note(note, &body.replace("Minor issues", "Approved"));
    stage.run(&review, PublishSettings::default()).await;
    assert!(stage.shown().summary().contains("Minor issues"));
}

pub(crate) async fn what_was_stored_in_spite_of_an_error_is_not_posted_again<S: ForgeStage>() {
    for (trouble, times) in [
        (Trouble::ErrorAfterStore, 1),
        (Trouble::ErrorAfterStore, 3),
        (Trouble::CutAnswer, 2),
        (Trouble::ServerError, 2),
        (Trouble::BadGateway, 3),
        (Trouble::TooFast, 2),
    ] {
        let stage = S::with_lines().await;
        let findings = vec![
            at("src/a.py", (4, 4), "new one"),
            at("src/a.py", (5, 5), "new two"),
            at("fresh.py", (2, 2), "f2"),
        ];
        stage.trouble(Act::OpenThread, trouble, 0, times);
        let outcome = stage
            .run(&stage.with_findings(findings), PublishSettings::default())
            .await;
        let found = (stage.shown().threads.len(), outcome.posted_inline, outcome.warnings);
        assert_eq!(found, (3, 3, Vec::new()), "{trouble:?}");
        assert_eq!(stage.troubles_left(), 0);
    }
}

pub(crate) async fn a_summary_that_was_stored_in_spite_of_an_error_is_not_posted_again<S: ForgeStage>() {
    for (troubles, posts) in [
        (vec![Trouble::ErrorAfterStore], 1),
        (vec![Trouble::CutAnswer], 1),
        (vec![Trouble::ServerError], 2),
        (vec![Trouble::BadGateway, Trouble::ErrorAfterStore], 2),
        (vec![Trouble::TooFast], 2),
    ] {
        let stage = S::new().await;
        for trouble in &troubles {
            stage.trouble(Act::PostNote, *trouble, 0, 1);
        }
        let outcome = stage
            .run(&stage.review(Verdict::MinorIssues), PublishSettings::default())
            .await;
        assert_eq!(
            (outcome.approved, outcome.warnings),
            (false, Vec::new()),
            "{troubles:?}"
        );
        assert_eq!(stage.troubles_left(), 0, "{troubles:?}");
        assert!(stage.shown().summary().contains("Minor issues"), "{troubles:?}");
        let posted = stage.acts().iter().filter(|(act, _)| *act == Act::PostNote).count();
        assert_eq!(posted, posts, "{troubles:?}");
    }
    let stage = S::new().await;
    stage.trouble(Act::PostNote, Trouble::ServerError, 0, 99);
    let review = stage.review(Verdict::Approved);
    let failed = stage
        .publish(&stage.loaded().await, &review, PublishSettings::default())
        .await;
    assert!(failed.is_err(), "{failed:?}");
    let shown = stage.shown();
    assert!(
        shown.notes.is_empty() && !shown.bot_approves(),
        "nothing is approved without a note"
    );
}

pub(crate) async fn a_thread_of_an_earlier_run_is_known_after_pushes_and_only_if_it_is_ours<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let entry = at("src/a.py", (4, 4), "new one");
    let run = async |stage: &S| {
        let review = stage.with_findings(vec![entry.clone()]);
        let outcome = stage.run(&review, PublishSettings::default()).await;
        (outcome.posted_inline, stage.shown().threads.len())
    };
    assert_eq!(run(&stage).await, (1, 1));
    let body = stage.shown().threads[0].body.clone();
    stage.push(&[("fresh.py", Some("f1\nf2\nf3\nf4\n"))]);
    assert_eq!(run(&stage).await, (0, 1));

    // A copy of our note by another account, marker and all, keeps nothing from being posted.
    let stage = S::with_lines().await;
    stage.start_thread(Who::Member, &body);
    assert_eq!(run(&stage).await, (1, 2));
}

pub(crate) async fn a_resolved_thread_is_respected_unless_it_was_ours_to_resolve_or_it_got_worse<S: ForgeStage>() {
    for (by, severity, posted) in [
        (Who::Member, Severity::Warning, 0),
        (Who::Member, Severity::Critical, 1),
        (Who::Bot, Severity::Warning, 1),
    ] {
        let stage = S::with_lines().await;
        let mut entry = at("src/a.py", (4, 4), "new one");
        stage
            .run(&stage.with_findings(vec![entry.clone()]), PublishSettings::default())
            .await;
        stage.resolve(by, &stage.shown().threads[0].id);
        entry.finding.severity = severity;
        for expected in [posted, 0] {
            let review = stage.with_findings(vec![entry.clone()]);
            let outcome = stage.run(&review, PublishSettings::default()).await;
            assert_eq!(outcome.posted_inline, expected, "{by:?} {severity:?}");
        }
    }
}

pub(crate) async fn a_finding_whose_thread_is_known_is_not_posted<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let mut entry = at("src/a.py", (4, 4), "new one");
    stage
        .run(&stage.with_findings(vec![entry.clone()]), PublishSettings::default())
        .await;
    let thread = stage.shown().threads.remove(0);
    // The code around it was changed, so its fingerprint is another one.
    entry.finding.fingerprint = fingerprint("src/a.py", "injection", "something else");
    entry.thread = Some(thread.id);
    let outcome = stage
        .run(&stage.with_findings(vec![entry]), PublishSettings::default())
        .await;
    let shown = stage.shown();
    assert_eq!((outcome.posted_inline, shown.threads.len()), (0, 1));
    assert!(
        shown.summary().contains(&thread.note.to_string()),
        "{}",
        shown.summary()
    );
}

pub(crate) async fn two_jobs_at_once_leave_one_of_everything<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let review = stage.with_findings(on_lines(8));
    let (one, two) = (stage.loaded().await, stage.loaded().await);
    let settings = PublishSettings::default();
    let (first, second) = tokio::join!(
        stage.publish(&one, &review, settings),
        stage.publish(&two, &review, settings)
    );
    first.unwrap();
    second.unwrap();
    let shown = stage.shown();
    assert_eq!(shown.threads.len(), 8);
    shown.summary();
    // And what both have left is left alone.
    stage.forget();
    stage.run(&review, settings).await;
    let others: Vec<_> = stage
        .acts()
        .into_iter()
        .filter(|(act, _)| *act != Act::EditNote)
        .collect();
    assert_eq!(others, []);
}

pub(crate) async fn a_run_that_died_half_way_is_gone_on_from<S: ForgeStage>() {
    let stage = S::with_lines().await;
    let review = stage.with_findings(on_lines(4));
    stage.trouble(Act::OpenThread, Trouble::NoRight, 2, 99);
    let failed = stage
        .publish(&stage.loaded().await, &review, PublishSettings::default())
        .await;
    assert!(failed.is_err(), "{failed:?}");
    let left = stage.shown().threads.len();
    assert!((1..4).contains(&left), "{left}");
    stage.end_troubles();
    let outcome = stage.run(&review, PublishSettings::default()).await;
    let shown = stage.shown();
    assert_eq!(shown.threads.len(), 4);
    // What was on its way when the first run failed may have arrived after the count.
    assert!(outcome.posted_inline <= 4 - left, "{outcome:?}, {left} before");
    shown.summary();
}

pub(crate) async fn many_pages_are_read_to_the_end<S: ForgeStage>() {
    let mut stage = S::with_lines().await;
    stage.small_pages();
    for number in 0..7 {
        stage.start_thread(Who::Member, &format!("Thread {number}"));
    }
    let review = stage.with_findings(on_lines(5));
    stage.run(&review, PublishSettings::default()).await;
    assert_eq!(stage.shown().threads.len(), 12);
    stage.say(Who::Member, "One more");
    stage.forget();
    stage.run(&review, PublishSettings::default()).await;
    assert_eq!((stage.shown().threads.len(), stage.acts()), (12, Vec::new()));
}

pub(crate) async fn one_run_that_posts_twice_has_one_note<S: ForgeStage>() {
    let stage = S::new().await;
    let publisher = stage.loaded().await;
    for verdict in [Verdict::Inconclusive, Verdict::MinorIssues] {
        let review = stage.review(verdict);
        stage
            .publish(&publisher, &review, PublishSettings::default())
            .await
            .unwrap();
    }
    assert!(stage.shown().summary().contains("Minor issues"));
}

pub(crate) async fn what_a_run_cost_that_is_left_behind_by_a_newer_one_counts<S: ForgeStage>() {
    for remembers in [true, false] {
        let stage = S::new().await;
        let older = stage.loaded().await;
        let review = Review {
            cost_usd: 0.5,
            ..stage.review(Verdict::MinorIssues)
        };
        stage.push_again();
        stage
            .run(&stage.review(Verdict::Inconclusive), PublishSettings::default())
            .await;
        let before = stage.publisher().load().await.unwrap();
        stage.forget();
        let settings = PublishSettings {
            remember_cost: remembers,
            ..PublishSettings::default()
        };
        let outcome = stage.publish(&older, &review, settings).await.unwrap();
        assert!(outcome.warnings[0].starts_with("nothing posted: "), "{outcome:?}");
        assert!(!older.has_written(), "nothing of its review");
        let acts = if remembers {
            vec![(Act::EditNote, true)]
        } else {
            Vec::new()
        };
        assert_eq!(stage.acts(), acts);
        // The newer review stands as it was, and the next one knows what both have cost.
        let next = stage.publisher().load().await.unwrap();
        let added = next.spent_before_usd - before.spent_before_usd;
        assert!((added - if remembers { 0.5 } else { 0.0 }).abs() < 1e-9, "{added}");
        assert!(next.subject.previous_review == before.subject.previous_review);
        assert!(stage.shown().summary().contains("Inconclusive"));
    }
}

pub(crate) async fn two_runs_that_began_together_have_one_note<S: ForgeStage>() {
    let stage = S::new().await;
    let (one, other) = (stage.loaded().await, stage.loaded().await);
    for (publisher, verdict) in [(one, Verdict::Inconclusive), (other, Verdict::MinorIssues)] {
        let review = stage.review(verdict);
        stage
            .publish(&publisher, &review, PublishSettings::default())
            .await
            .unwrap();
    }
    // The worse verdict of both stays, in whichever order they post.
    let shown = stage.shown();
    assert!(shown.summary().starts_with("## ⚪ Inconclusive"), "{}", shown.summary());
    assert_eq!(stage.acts(), [(Act::PostNote, true), (Act::EditNote, true)]);
}

pub(crate) async fn a_copied_marker_is_not_ours<S: ForgeStage>() {
    let stage = S::new().await;
    stage
        .run(&stage.review(Verdict::MinorIssues), PublishSettings::default())
        .await;
    let (note, body) = stage.shown().notes.remove(0);
    stage.delete_note(note);
    stage.say(Who::Member, &body);
    stage.forget();
    for verdict in [Verdict::Inconclusive, Verdict::MinorIssues] {
        stage.run(&stage.review(verdict), PublishSettings::default()).await;
    }
    assert!(stage.shown().summary().contains("Minor issues"));
    assert_eq!(stage.acts(), [(Act::PostNote, true), (Act::EditNote, true)]);
}

pub(crate) async fn another_note_of_the_bot_is_left_alone<S: ForgeStage>() {
    const OTHER: &str = "The nightly build is green.";
    let stage = S::new().await;
    stage.say(Who::Bot, OTHER);
    stage
        .run(&stage.review(Verdict::MinorIssues), PublishSettings::default())
        .await;
    let shown = stage.shown();
    assert_eq!(shown.notes.len(), 2);
    assert_eq!(shown.notes[0].1, OTHER);
    shown.summary();
}

pub(crate) async fn a_deleted_note_is_posted_anew<S: ForgeStage>() {
    let stage = S::new().await;
    let review = stage.review(Verdict::MinorIssues);
    let delete = || stage.delete_note(stage.shown().notes[0].0);
    stage.run(&review, PublishSettings::default()).await;
    // Once before the next run, and once in the middle of it.
    delete();
    stage.run(&review, PublishSettings::default()).await;
    let publisher = stage.loaded().await;
    delete();
    stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    stage.shown().summary();
    assert_eq!(stage.acts(), [(Act::PostNote, true); 3]);
}

pub(crate) async fn nothing_is_posted_before_the_merge_request_was_read<S: ForgeStage>() {
    let stage = S::new().await;
    let review = stage.review(Verdict::Approved);
    let refused = stage
        .publish(&stage.publisher(), &review, PublishSettings::default())
        .await;
    assert!(refused.unwrap_err().ends_with("request was never loaded"));
    assert_eq!(stage.requests(), 0);
}
