//! What the merge request shows of the bot, in every mode, on Free and Premium, on servers before and after 19.2.

use conclave_engine::{
    ports::{AppliedState, PublishOutcome, PublishSettings},
    review::{ReviewMode, ReviewState},
};
use conclave_fake_gitlab::{AccessLevel, Builder, FakeGitlab, Fault, FaultKind, NewMergeRequest, Options, Tier};
use conclave_shared::verdict::Verdict;

use crate::stage::{BOT, Stage, in_mode};

async fn premium() -> Stage {
    Stage::with(FakeGitlab::builder().tier(Tier::Premium)).await
}

/// A whole run in a mode. A review with another verdict says something else.
async fn run(stage: &Stage, mode: ReviewMode, verdict: Verdict) -> PublishOutcome {
    stage.run_with(&stage.review(verdict), in_mode(mode)).await
}

fn stands(stage: &Stage) -> (Vec<String>, Vec<String>, String) {
    let found = stage.gitlab.snapshot(stage.merge_request);
    (
        found.approved_by,
        found.requested_changes_by,
        found.detailed_merge_status,
    )
}

/// A block is taken back without an approval, which a waiting merge could use, whatever this server understands.
#[tokio::test]
async fn a_request_is_taken_back_on_every_server_and_never_by_approving() {
    let server = |change: fn(&mut Options)| {
        let mut options = Options {
            tier: Tier::Premium,
            ..Options::default()
        };
        change(&mut options);
        FakeGitlab::builder().options(options)
    };
    let servers: [(&str, Builder, &str); 4] = [
        (
            "after 19.2, where `reviewed` is enough",
            server(|options| options.reviewed_clears_block = true),
            "bulk_publish",
        ),
        ("after 19.2, where it is not", server(|_| ()), "graphql"),
        (
            "before 19.2",
            server(|options| {
                "19.1.3-ee".clone_into(&mut options.version);
                options.bulk_publish_takes_body = false;
            }),
            "graphql",
        ),
        (
            "before 19.2, without the other API",
            server(|options| {
                "18.4.0-ee".clone_into(&mut options.version);
                options.bulk_publish_takes_body = false;
                options.graphql = false;
            }),
            "/submit_review approved",
        ),
    ];
    for (name, builder, by) in servers {
        let stage = Stage::with(builder).await;
        run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
        assert_eq!(stands(&stage).1, [BOT], "{name}");
        stage.gitlab.forget_requests();
        let outcome = run(&stage, ReviewMode::Gate, Verdict::MinorIssues).await;
        assert_eq!(
            stands(&stage),
            (Vec::new(), Vec::new(), "mergeable".to_owned()),
            "{name}"
        );
        assert_eq!(outcome.warnings, Vec::<String>::new(), "{name}");
        let writes = stage.gitlab.writes();
        assert!(!writes.iter().any(|write| write.path.ends_with("/approve")), "{name}");
        let last = writes.last().unwrap();
        let what = format!("{} {}", last.path, last.body);
        assert!(what.contains(by), "{name}: {what}");
    }
}

#[tokio::test]
async fn a_request_that_nothing_takes_back_is_told_and_remembered() {
    let stage = premium().await;
    run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    stage.gitlab.configure(|options| options.graphql = false);
    stage.gitlab.inject(
        Fault::once(
            "POST",
            "/projects/{id}/merge_requests/{iid}/notes",
            FaultKind::InsufficientScope,
        )
        .times(9),
    );
    let outcome = run(&stage, ReviewMode::Gate, Verdict::MinorIssues).await;
    let expected = AppliedState {
        wanted: ReviewState::None,
        shown: Some(ReviewState::RequestedChanges),
    };
    assert_eq!(outcome.applied_state, Some(expected));
    assert!(outcome.warnings[0].contains("could not be taken back"), "{outcome:?}");
    assert_eq!(stands(&stage).1, [BOT]);
    // The next run still knows of it.
    stage.gitlab.clear_faults();
    stage.gitlab.configure(|options| options.graphql = true);
    run(&stage, ReviewMode::Gate, Verdict::MinorIssues).await;
    assert_eq!(stands(&stage).1, Vec::<String>::new());
}

#[tokio::test]
async fn on_the_free_tier_nothing_blocks_and_the_reader_is_told_what_does() {
    let stage = Stage::new().await;
    let outcome = run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    let applied = outcome.applied_state.unwrap();
    assert!(applied.is_mismatch(), "{applied:?}");
    assert!(outcome.warnings[0].contains("on GitLab Premium only"), "{outcome:?}");
    assert!(outcome.warnings[0].contains("--gate block"), "{outcome:?}");
    stage.gitlab.forget_requests();
    run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    assert_eq!(
        stage.writes(),
        Vec::<String>::new(),
        "it is not asked for again and again"
    );
}

#[tokio::test]
async fn where_the_job_fails_no_warning_advises_to_let_it_fail() {
    let stage = Stage::new().await;
    let settings = PublishSettings {
        fails_job: true,
        ..in_mode(ReviewMode::Gate)
    };
    let review = stage.review(Verdict::SignificantConcerns);
    let outcome = stage.run_with(&review, settings).await;
    assert!(outcome.applied_state.unwrap().is_mismatch());
    let advises = |warning: &String| warning.contains("--gate block");
    assert!(!outcome.warnings.iter().any(advises), "{outcome:?}");
}

#[tokio::test]
async fn a_request_that_cannot_be_seen_is_no_mismatch() {
    let stage = premium().await;
    stage.gitlab.set_title(stage.merge_request, "Draft: Merge feature");
    let outcome = run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    assert_eq!(outcome.applied_state.unwrap().shown, None);
    assert!(outcome.warnings[0].contains("cannot be seen"), "{outcome:?}");
    assert_eq!(stands(&stage).1, [BOT]);
    // A reviewer's own found shows it all the same.
    let stage = premium().await;
    stage.gitlab.add_reviewer(stage.merge_request, stage.bot);
    stage.gitlab.set_title(stage.merge_request, "Draft: Merge feature");
    let outcome = run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    assert_eq!(
        outcome.applied_state.unwrap().shown,
        Some(ReviewState::RequestedChanges)
    );
}

#[tokio::test]
async fn a_reporter_cannot_block_and_that_is_said() {
    let stage = premium().await;
    stage.gitlab.add_member(stage.project, stage.bot, AccessLevel::Reporter);
    let outcome = run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    assert!(outcome.applied_state.unwrap().is_mismatch());
    assert!(
        outcome.warnings[0].contains("the bot needs the role Developer"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn the_bots_own_merge_request_is_unblocked_although_it_may_not_approve_it() {
    let mut stage = premium().await;
    let new = NewMergeRequest::new(stage.bot, "feature", "main");
    stage.merge_request = stage.gitlab.create_merge_request(stage.project, new);
    run(&stage, ReviewMode::Gate, Verdict::SignificantConcerns).await;
    assert_eq!(stands(&stage).1, [BOT]);
    let outcome = run(&stage, ReviewMode::Gate, Verdict::Approved).await;
    assert_eq!((stands(&stage).0, stands(&stage).1), (Vec::new(), Vec::new()));
    assert!(outcome.warnings[0].starts_with("not approved"), "{outcome:?}");
}
