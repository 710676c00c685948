//! The ways of GitHub alone: reviews that are all or nothing, pending ones, rights by kind of token, limits, opinions of others.

use std::time::Duration;

use conclave_engine::{
    ports::{Forge, PublishSettings},
    review::{Review, ReviewMode, ThreadState},
};
use conclave_fake_github::{Fault, FaultKind, Permissions, PullState, ReviewState, Side};
use conclave_forge::{ApiErrorKind, ChangeApi, ClientTimeouts, NotesApi, ReviewStateApi};
use conclave_plugin_github::{GitHub, SignedOpinion};
use conclave_shared::verdict::Verdict;
use tokio::time::Instant;

use crate::{
    conformance::stage::{Act, ForgeStage, Trouble, Who, at, in_mode, on_lines},
    scenarios::{Change, OnGitHub},
};

const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

/// A refusal as a review gets one for any of its comments.
fn refused() -> FaultKind {
    FaultKind::Answer {
        status: 422,
        content_type: "application/json".to_owned(),
        body: r#"{"message":"Unprocessable Entity","errors":["Pull request review thread line must be part of the diff"]}"#
            .to_owned(),
    }
}

fn api(stage: &OnGitHub) -> GitHub {
    GitHub::new(&stage.0.settings(), stage.0.timeouts).unwrap()
}

#[tokio::test]
async fn a_draft_is_one_and_is_reviewed_like_any_other() {
    let stage = OnGitHub::new().await;
    for draft in [false, true] {
        stage.0.github.set_draft(stage.0.pull, draft);
        assert_eq!(api(&stage).load().await.unwrap().subject.draft, draft);
        let approved = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert_eq!((approved.approved, approved.warnings), (true, Vec::new()), "{draft}");
        let blocked = stage.conclude(ReviewMode::Gate, Verdict::SignificantConcerns).await;
        assert!(!blocked.approved && stage.shown().bot_requests(), "{draft}");
    }
}

#[tokio::test]
async fn all_findings_come_in_one_review_on_lines_of_hunks() {
    let stage = OnGitHub::with_lines().await;
    let outcome = stage
        .run(&stage.with_findings(on_lines(16)), PublishSettings::default())
        .await;
    assert_eq!((outcome.posted_inline, outcome.warnings), (16, Vec::new()));
    let reviews = stage.acts().iter().filter(|(act, _)| *act == Act::OpenThread).count();
    let threads = stage.0.snapshot().threads;
    let on_file = threads.iter().filter(|thread| thread.is_file).count();
    // What is not in a hunk stands at the file, which no review takes.
    assert_eq!(
        (reviews, on_file),
        (
            1 + on_file,
            16 - threads.iter().filter(|thread| !thread.is_file).count()
        )
    );
    assert!(on_file > 0 && on_file < 16, "{on_file}");
}

#[tokio::test]
async fn a_quote_that_goes_on_behind_its_hunk_stands_at_the_line_that_was_changed() {
    let stage = OnGitHub::with_lines().await;
    let long = at("src/a.py", (4, 14), "new one");
    let outcome = stage
        .run(&stage.with_findings(vec![long]), PublishSettings::default())
        .await;
    assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()));
    let threads = stage.0.snapshot().threads;
    let places: Vec<_> = threads.iter().map(|thread| (thread.is_file, thread.line)).collect();
    assert_eq!(places, [(false, Some(5))]);
}

#[tokio::test]
async fn a_request_for_changes_that_a_dead_run_did_not_make_is_made_by_the_next() {
    let stage = OnGitHub::new().await;
    let review = stage.review(Verdict::SignificantConcerns);
    let github = &stage.0.github;
    github.inject(Fault::once("POST", REVIEWS, FaultKind::Hang).containing("REQUEST_CHANGES"));
    let asked = async {
        let is_request = |write: &conclave_fake_github::RequestRecord| write.body["event"] == "REQUEST_CHANGES";
        while !github.requests().iter().any(is_request) {
            tokio::task::yield_now().await;
        }
    };
    // The run dies after the summary, which remembers a request, and before there is one.
    tokio::select! {
        asked = tokio::time::timeout(Duration::from_mins(1), asked) => asked.expect("it is asked for"),
        outcome = stage.run(&review, in_mode(ReviewMode::Gate)) => panic!("it ended: {outcome:?}"),
    }
    assert!(!stage.shown().bot_requests() && stage.shown().summary().contains("Significant concerns"));
    let outcome = stage.run(&review, in_mode(ReviewMode::Gate)).await;
    assert!(stage.shown().bot_requests(), "{outcome:?}");
    assert_eq!(outcome.warnings, Vec::<String>::new());
    // A person's dismissal of it is another thing.
    let reviews = stage.0.snapshot().reviews;
    let request = reviews
        .iter()
        .find(|review| review.state == ReviewState::ChangesRequested)
        .unwrap();
    github.dismiss_review(stage.0.pull, stage.0.human, request.post.id);
    stage.run(&review, in_mode(ReviewMode::Gate)).await;
    assert!(!stage.shown().bot_requests());
    // Nor is it said to stand by a review that would not have lifted it.
    let outcome = stage.conclude(ReviewMode::Gate, Verdict::Inconclusive).await;
    let shown = outcome.applied_state.unwrap().shown;
    assert_eq!(shown, Some(conclave_engine::review::ReviewState::None));
}

#[tokio::test]
async fn a_request_for_changes_that_stands_is_renewed_by_the_next_commits_review_and_not_made_again() {
    for (is_refused, states) in [
        (false, vec![ReviewState::ChangesRequested]),
        (true, vec![ReviewState::ChangesRequested; 3]),
    ] {
        let stage = OnGitHub::new().await;
        stage.conclude(ReviewMode::Gate, Verdict::SignificantConcerns).await;
        for content in ["2\n", "3\n"] {
            if is_refused {
                let fault = Fault::once("PUT", "/repos/*/*/pulls/*/reviews/*", refused());
                stage.0.github.inject(fault);
            }
            stage.push(&[("file.txt", Some(content))]);
            let outcome = stage.conclude(ReviewMode::Gate, Verdict::SignificantConcerns).await;
            assert_eq!(outcome.warnings, Vec::<String>::new(), "refused: {is_refused}");
        }
        let reviews = stage.0.snapshot().reviews;
        let found: Vec<_> = reviews.iter().map(|review| review.state).collect();
        assert_eq!(found, states, "refused: {is_refused}");
        let newest = reviews.last().unwrap();
        let signed = stage.0.signer().read::<SignedOpinion>(&newest.post.body);
        assert_eq!(signed.map(|opinion| opinion.head), Some(stage.range().2));
        stage.conclude(ReviewMode::Gate, Verdict::MinorIssues).await;
        assert_eq!(stage.shown().own_requests, 0, "refused: {is_refused}");
    }
}

#[tokio::test]
async fn a_request_for_changes_of_another_job_is_not_made_twice() {
    // It was there before.
    let stage = OnGitHub::new().await;
    let review = stage.review(Verdict::SignificantConcerns);
    let publisher = stage.loaded().await;
    ForgeStage::request_changes(&stage, Who::Bot);
    let gate = in_mode(ReviewMode::Gate);
    let outcome = stage.publish(&publisher, &review, gate).await.unwrap();
    assert_eq!((stage.shown().own_requests, outcome.warnings), (1, Vec::new()));
    assert!(stage.acts().iter().all(|(act, _)| *act != Act::RequestChanges));
    // It came at the same moment: the first one stays.
    let stage = OnGitHub::new().await;
    let (github, pull, bot) = (stage.0.github.clone(), stage.0.pull, stage.0.bot());
    let text = stage.0.signer().sign(&SignedOpinion {
        head: stage.range().2,
        approves: None,
    });
    stage.0.github.after("POST", REVIEWS, move || {
        github.review(pull, bot, ReviewState::ChangesRequested, &text);
    });
    let review = stage.review(Verdict::SignificantConcerns);
    let outcome = stage.run(&review, gate).await;
    assert_eq!((stage.shown().own_requests, outcome.warnings), (1, Vec::new()));
    let states: Vec<_> = stage.0.snapshot().reviews.iter().map(|review| review.state).collect();
    assert_eq!(states, [ReviewState::ChangesRequested, ReviewState::Dismissed]);
}

#[tokio::test]
async fn an_approval_that_cannot_be_read_back_or_taken_back_is_an_error() {
    // The summary was posted, and what the token may not read then is another thing than a missing right to write.
    for after in [0, 1] {
        let stage = OnGitHub::new().await;
        let publisher = stage.loaded().await;
        let fault = Fault::once("GET", REVIEWS, FaultKind::NotAccessible);
        stage.0.github.inject(fault.after(after).times(99));
        let review = stage.review(Verdict::Approved);
        let posted = stage.publish(&publisher, &review, in_mode(ReviewMode::Approve)).await;
        assert!(posted.is_err() && !publisher.was_denied(), "{after}: {posted:?}");
        assert_eq!(stage.shown().notes.len(), 1);
    }
    // It was closed in between, and the approval stands.
    let stage = OnGitHub::new().await;
    let publisher = stage.loaded().await;
    let review = stage.review(Verdict::Approved);
    stage.after(REVIEWS, Change::State(PullState::Closed));
    let dismissal = Fault::once(
        "PUT",
        "/repos/*/*/pulls/*/reviews/*/dismissals",
        FaultKind::NotAccessible,
    );
    stage.0.github.inject(dismissal.times(99));
    let posted = stage.publish(&publisher, &review, in_mode(ReviewMode::Approve)).await;
    let error = posted.unwrap_err();
    assert!(error.contains("take its approval back"), "{error}");
    assert!(stage.shown().bot_approves() && !publisher.was_denied());
}

#[tokio::test]
async fn a_refused_review_loses_no_finding() {
    for times in [1, 2] {
        let stage = OnGitHub::with_lines().await;
        stage
            .0
            .github
            .inject(Fault::once("POST", REVIEWS, refused()).times(times));
        let findings = vec![at("src/a.py", (4, 4), "new one"), at("fresh.py", (1, 3), "f")];
        let outcome = stage
            .run(&stage.with_findings(findings), PublishSettings::default())
            .await;
        assert_eq!((outcome.posted_inline, outcome.warnings), (2, Vec::new()));
        assert_eq!(stage.shown().threads.len(), 2);
    }
}

#[tokio::test]
async fn one_place_that_github_does_not_have_falls_back_to_the_file_and_the_others_stay() {
    let stage = OnGitHub::with_lines().await;
    let publisher = stage.loaded().await;
    let findings = vec![at("src/a.py", (4, 5), "new one"), at("fresh.py", (1, 3), "f")];
    let review = stage.with_findings(findings);
    let mut files = stage.files();
    // Our diff says another path than GitHub's, as where a rename is seen by one of the two only.
    let file = files.iter_mut().find(|file| file.path == "src/a.py").unwrap();
    file.path = "src/b.py".to_owned();
    let mut review = review;
    review.findings[0].finding.file = "src/b.py".to_owned();
    let outcome = stage
        .publish_of(&files, &publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    let shown = stage.shown();
    assert_eq!((outcome.posted_inline, shown.threads.len()), (1, 1));
    let warning = &outcome.warnings[0];
    assert!(
        warning.contains("1 finding could not be posted beside the code"),
        "{warning}"
    );
    assert!(shown.summary().contains("new one"), "{}", shown.summary());
}

#[tokio::test]
async fn a_pending_review_of_ours_blocks_nothing() {
    let stage = OnGitHub::with_lines().await;
    stage
        .0
        .github
        .review(stage.0.pull, stage.0.bot(), ReviewState::Pending, "Left behind.");
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()));
    let left = stage.0.snapshot().reviews;
    assert!(
        left.iter().all(|review| review.state != ReviewState::Pending),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_suggestion_replaces_exactly_the_lines_that_it_stands_on() {
    let stage = OnGitHub::with_lines().await;
    let mut entry = at("src/a.py", (4, 5), "new one\nnew two");
    entry.finding.fix = Some("newer = 1".to_owned());
    entry.finding.quoted_whole = true;
    stage
        .run(&stage.with_findings(vec![entry]), PublishSettings::default())
        .await;
    let thread = &stage.0.snapshot().threads[0];
    assert_eq!(
        (thread.start_line, thread.line, thread.side),
        (Some(4), Some(5), Side::Right)
    );
    let text = stage.0.github.with_suggestion(stage.0.pull, thread.comments[0].id);
    assert!(text.starts_with("a1\na3\na4\nnewer = 1\na5\n"), "{text}");
}

#[tokio::test]
async fn an_opinion_without_our_signature_is_not_ours() {
    let stage = OnGitHub::new().await;
    // Another workflow that posts as the same account.
    stage
        .0
        .github
        .review(stage.0.pull, stage.0.bot(), ReviewState::Approved, "LGTM");
    stage.conclude(ReviewMode::Gate, Verdict::MinorIssues).await;
    let states: Vec<_> = stage.0.snapshot().reviews.iter().map(|review| review.state).collect();
    assert_eq!(states, [ReviewState::Approved], "it is left alone");
}

#[tokio::test]
async fn a_push_between_the_approval_and_the_look_takes_it_back() {
    let stage = OnGitHub::new().await;
    let publisher = stage.loaded().await;
    let review = stage.review(Verdict::Approved);
    stage.after(REVIEWS, Change::Push);
    let outcome = stage
        .publish(&publisher, &review, in_mode(ReviewMode::Gate))
        .await
        .unwrap();
    assert!(!outcome.approved, "{outcome:?}");
    assert!(outcome.warnings[0].contains("newer commit"), "{outcome:?}");
    assert!(!stage.shown().bot_approves());
}

#[tokio::test]
async fn a_new_target_or_a_close_between_the_approval_and_the_look_takes_it_back() {
    for (change, back, said) in [
        (
            Change::Target("release"),
            Change::Target("main"),
            "The target branch was changed from main to release",
        ),
        (
            Change::State(PullState::Closed),
            Change::State(PullState::Open),
            "The pull request is closed by now",
        ),
    ] {
        let stage = OnGitHub::new().await;
        stage.advance("release", "released\n");
        stage.after(REVIEWS, change);
        let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(
            !outcome.approved && outcome.warnings[0].contains(said),
            "{change:?}: {outcome:?}"
        );
        let shown = stage.shown();
        assert!(!shown.bot_approves(), "{change:?}");
        assert!(
            shown.summary().contains("A person has to approve this"),
            "{}",
            shown.summary()
        );
        let acts: Vec<Act> = stage.acts().into_iter().map(|(act, _)| act).collect();
        assert_eq!(
            acts,
            [Act::PostNote, Act::Approve, Act::WithdrawApproval, Act::EditNote],
            "{change:?}"
        );
        // No person has dismissed it: as it was before, it is approved.
        back.make(&stage.0.github, stage.0.pull);
        let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert!(outcome.approved, "{change:?}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_merge_that_only_waited_for_the_approval_leaves_it_there() {
    let stage = OnGitHub::new().await;
    stage.after(REVIEWS, Change::State(PullState::Merged));
    let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert_eq!((outcome.approved, outcome.warnings), (true, Vec::new()));
}

#[tokio::test]
async fn what_is_closed_or_merged_while_the_summary_is_posted_is_not_approved() {
    for (state, word) in [(PullState::Closed, "closed"), (PullState::Merged, "merged")] {
        let stage = OnGitHub::new().await;
        stage.after("/repos/*/*/issues/*/comments", Change::State(state));
        let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
        assert_eq!(
            outcome.warnings,
            [format!("not approved: the pull request is {word} by now")]
        );
        assert_eq!(stage.acts(), [(Act::PostNote, true)], "{word}");
    }
}

#[tokio::test]
async fn workflows_that_may_not_approve_say_where_to_allow_it() {
    let mut stage = OnGitHub::new().await;
    stage.0.app = stage.0.github.actions_app();
    stage.0.token = stage.0.github.actions_token(stage.0.repository, Permissions::review());
    let outcome = stage.conclude(ReviewMode::Approve, Verdict::Approved).await;
    assert!(!outcome.approved);
    assert!(
        outcome.warnings[0].contains("Allow GitHub Actions to create and approve pull requests"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_thread_is_resolved_and_opened_again() {
    let stage = OnGitHub::with_lines().await;
    stage
        .run(
            &stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]),
            PublishSettings::default(),
        )
        .await;
    let github = api(&stage);
    let bot = github.load().await.unwrap().bot;
    let (threads, _) = github.threads(bot, 1).await.unwrap();
    let id = &threads
        .iter()
        .find(|thread| !thread.id.starts_with("note-"))
        .unwrap()
        .id;
    for resolved in [true, false] {
        github.set_resolved(id, resolved).await.unwrap();
        assert_eq!(stage.shown().threads[0].resolved, resolved);
        github.threads(bot, 1).await.unwrap();
    }
    github.reply(id, "Once more.").await.unwrap();
    let thread = github.thread(bot, id).await.unwrap();
    assert_eq!(thread.answers().next_back().unwrap().text, "Once more.");
    assert_eq!(
        github.set_resolved("1", true).await.unwrap_err().kind,
        ApiErrorKind::NotFound
    );
}

#[tokio::test]
async fn a_used_up_graphql_limit_leaves_the_threads_as_they_are() {
    let stage = OnGitHub::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage.run(&review, PublishSettings::default()).await;
    let publisher = stage.loaded().await;
    let kind = FaultKind::GraphqlError {
        kind: "RATE_LIMITED".to_owned(),
        message: "API rate limit exceeded".to_owned(),
    };
    stage.0.github.inject(Fault::once("POST", "/graphql", kind).times(99));
    stage.forget();
    let outcome = stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    assert_eq!((outcome.posted_inline, stage.shown().threads.len()), (0, 1));
    let acts = stage.acts();
    assert!(acts.iter().all(|(act, _)| *act == Act::EditNote), "{acts:?}");
}

#[tokio::test]
async fn a_used_up_graphql_limit_opens_no_resolved_thread_again() {
    let stage = OnGitHub::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage.run(&review, PublishSettings::default()).await;
    stage.resolve(Who::Bot, &stage.shown().threads[0].id);
    let publisher = stage.loaded().await;
    let kind = FaultKind::GraphqlError {
        kind: "RATE_LIMITED".to_owned(),
        message: "API rate limit exceeded".to_owned(),
    };
    let limit = Fault::once("POST", "/graphql", kind).containing("reviewThreads");
    stage.0.github.inject(limit.times(99));
    // It was read before as resolved, and is not shown now: no other run has opened it.
    let seen = publisher.meanwhile(&stage.review(Verdict::Approved)).await.unwrap();
    assert!(seen.is_empty(), "{seen:?}");
    let change = stage.publisher().load().await.unwrap();
    let found = change.subject.existing_findings.iter();
    let states: Vec<ThreadState> = found.map(|finding| finding.state).collect();
    assert_eq!(states, [ThreadState::Unknown]);
}

#[tokio::test]
async fn a_thread_without_a_named_resolver_is_not_ours_unless_our_note_says_so() {
    let stage = OnGitHub::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage.run(&review, PublishSettings::default()).await;
    // GitHub names people only.
    stage.resolve(Who::Bot, &stage.shown().threads[0].id);
    let change = stage.publisher().load().await.unwrap();
    let found = change.subject.existing_findings.iter();
    let states: Vec<ThreadState> = found.map(|finding| finding.state).collect();
    assert_eq!(states, [ThreadState::ResolvedByUnnamed]);
}

#[tokio::test]
async fn a_limit_in_disguise_is_waited_for() {
    for kind in [
        FaultKind::Abuse,
        FaultKind::SecondaryLimit { retry_after: None },
        FaultKind::TooManyRequests { retry_after: Some(1) },
        FaultKind::RateLimit { reset: 1 },
    ] {
        let stage = OnGitHub::with_lines().await;
        stage.0.github.inject(Fault::once("POST", REVIEWS, kind.clone()));
        let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
        let outcome = stage.run(&review, PublishSettings::default()).await;
        assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()), "{kind:?}");
    }
}

#[tokio::test]
async fn a_limit_of_graphql_is_waited_for_and_the_limited_query_asked_again() {
    let limit = |text: &str| Fault::once("POST", "/graphql", FaultKind::GraphqlLimit { reset: 1 }).containing(text);
    // Reading the threads and the pull request.
    for query in ["reviewThreads", "headRefOid"] {
        let stage = OnGitHub::with_lines().await;
        let publisher = stage.loaded().await;
        stage.0.github.inject(limit(query));
        stage.forget();
        let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
        let outcome = stage
            .publish(&publisher, &review, PublishSettings::default())
            .await
            .unwrap();
        assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()), "{query}");
        assert_eq!(stage.0.github.remaining_faults(), 0, "{query}");
        let requests = stage.0.github.requests();
        let limited = { requests.iter() }.position(|request| request.fault.is_some()).unwrap();
        assert_eq!(
            requests[limited + 1].body,
            requests[limited].body,
            "{query}: it is asked again"
        );
    }
    // A mutation.
    let stage = OnGitHub::with_lines().await;
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    stage.run(&review, PublishSettings::default()).await;
    let (github, thread) = (api(&stage), stage.shown().threads[0].id.clone());
    let bot = github.load().await.unwrap().bot;
    github.threads(bot, 1).await.unwrap();
    stage.0.github.inject(limit("resolveReviewThread"));
    github.set_resolved(&thread, true).await.unwrap();
    assert!(stage.shown().threads[0].resolved);
    assert_eq!(stage.0.github.remaining_faults(), 0);
}

#[tokio::test]
async fn no_wait_goes_beyond_the_end_of_the_job() {
    let mut stage = OnGitHub::with_lines().await;
    let begun = Instant::now();
    stage.0.timeouts = ClientTimeouts {
        ends: Some(begun + Duration::from_secs(30)),
        retry: GitHub::timeouts(None).retry,
        ..stage.0.timeouts
    };
    let hour = FaultKind::SecondaryLimit {
        retry_after: Some(3600),
    };
    stage.0.github.inject(Fault::once("POST", REVIEWS, hour));
    let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
    let publisher = stage.loaded().await;
    let posted = stage.publish(&publisher, &review, PublishSettings::default()).await;
    let said = match posted {
        Ok(outcome) => outcome.warnings.join(" "),
        Err(error) => error,
    };
    assert!(said.contains("the job ends before it may be asked again"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    // After the end nothing is asked at all.
    let over = ClientTimeouts {
        ends: Some(begun),
        ..stage.0.timeouts
    };
    stage.0.timeouts = over;
    let asked = stage.0.github.writes().len();
    let error = stage.0.plugin().load().await.unwrap_err();
    assert!(error.to_string().contains("the job's time is over"), "{error}");
    assert_eq!(stage.0.github.writes().len(), asked);
}

#[tokio::test]
async fn writes_keep_the_distance_that_is_asked_for() {
    let gap = Duration::from_millis(100);
    let mut stage = OnGitHub::with_lines().await;
    stage.0.timeouts = ClientTimeouts {
        write_gap: gap,
        ..stage.0.timeouts
    };
    let findings = vec![at("src/a.py", (4, 4), "new one"), at("image.bin", (1, 1), "i")];
    let review = stage.with_findings(findings);
    let publisher = stage.loaded().await;
    assert_eq!(stage.0.github.writes().len(), 0);
    // On this side: two that arrive closer to each other may have been sent apart, on a busy machine.
    let begun = Instant::now();
    stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap();
    assert_eq!(stage.0.github.writes().len(), 3);
    assert!(begun.elapsed() >= 2 * gap, "{:?}", begun.elapsed());
    assert_eq!(GitHub::timeouts(None).write_gap, Duration::from_secs(1));
}

#[tokio::test]
async fn a_token_without_a_right_says_which_line_to_add() {
    for (permissions, line) in [
        (Permissions::read_only(), "`pull-requests: write`"),
        (
            Permissions::none().read("contents").read("pull_requests"),
            "`pull-requests: write`",
        ),
    ] {
        let mut stage = OnGitHub::with_lines().await;
        let app = stage.0.app;
        stage.0.token = stage.0.github.installation_token(app, stage.0.repository, permissions);
        let publisher = stage.loaded().await;
        let review = stage.with_findings(vec![at("src/a.py", (4, 4), "new one")]);
        let refused = stage
            .publish(&publisher, &review, PublishSettings::default())
            .await
            .unwrap_err();
        assert!(
            refused.contains("may not post findings") && refused.contains(line),
            "{refused}"
        );
    }
    let mut stage = OnGitHub::new().await;
    stage.0.token = "ghs_unknown".to_owned();
    let error = stage.publisher().load().await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Unauthorized);
}

#[tokio::test]
async fn a_locked_conversation_and_a_moved_repository_are_named() {
    let stage = OnGitHub::new().await;
    let publisher = stage.loaded().await;
    stage.0.github.set_locked(stage.0.pull, true);
    let review = stage.review(Verdict::MinorIssues);
    let error = stage
        .publish(&publisher, &review, PublishSettings::default())
        .await
        .unwrap_err();
    assert!(error.contains("conversation of the pull request is locked"), "{error}");
    stage.0.github.rename_repository(stage.0.repository, "store");
    let error = stage.publisher().load().await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Moved, "the token does not follow: {error}");
}

#[tokio::test]
async fn a_closed_or_merged_pull_request_is_not_reviewed() {
    use conclave_fake_github::PullState::{Closed, Merged};
    for (state, word) in [(Closed, "closed"), (Merged, "merged")] {
        let stage = OnGitHub::new().await;
        stage.0.github.set_state(stage.0.pull, state);
        let error = stage.publisher().load().await.unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::NotOpen(word.to_owned()));
    }
}

#[tokio::test]
async fn a_deleted_fork_is_still_a_fork() {
    let mut stage = OnGitHub::new().await;
    stage.0.open_from_fork();
    let fork = conclave_fake_github::RepositoryId(stage.0.repository.0 + 1);
    stage.0.github.delete_repository(fork);
    assert!(stage.loaded().await.subject().await.unwrap().from_fork);
}

#[tokio::test]
async fn roles_are_asked_of_the_api_and_programs_decide_nothing() {
    use conclave_engine::publish::BreakGlassPolicy::Developers;
    use conclave_fake_github::Role;
    let stage = OnGitHub::new().await;
    let github = &stage.0.github;
    let stranger = github.create_user("mallory");
    let reader = github.create_user("rita");
    github.set_role(stage.0.repository, reader, Some(Role::Triage));
    let program = github.bot(github.create_app("helper"));
    for user in [stranger, reader, program] {
        github.comment(stage.0.pull, user, "break glass");
    }
    let found = stage.publisher().break_glass(Developers).await.unwrap();
    assert_eq!(found, None);
    // Neither do words that another person put into a member's comment, nor hidden ones.
    let edited = stage.say(Who::Member, "Fine.");
    github.edit_comment(stage.0.pull, stage.0.author, edited, "break glass");
    let hidden = stage.say(Who::Member, "break glass");
    github.minimize_comment(stage.0.pull, hidden, "OFF_TOPIC");
    assert_eq!(stage.publisher().break_glass(Developers).await.unwrap(), None);
    // A member's own words do, also after the member has edited them.
    let own = stage.say(Who::Member, "break glas");
    github.edit_comment(stage.0.pull, stage.0.human, own, "break glass");
    assert!(stage.publisher().break_glass(Developers).await.unwrap().is_some());
}

#[tokio::test]
async fn five_hundreds_after_the_write_leave_one_of_each() {
    for trouble in [Trouble::ErrorAfterStore, Trouble::CutAnswer] {
        let stage = OnGitHub::new().await;
        stage.trouble(Act::RequestChanges, trouble, 0, 1);
        stage.conclude(ReviewMode::Gate, Verdict::SignificantConcerns).await;
        let github = api(&stage);
        let bot = github.load().await.unwrap().bot;
        let requests = stage.0.snapshot().reviews;
        assert!(requests.len() <= 1, "{requests:?}");
        assert!(!github.approval(bot).await.unwrap().stands);
    }
}

#[tokio::test]
async fn reviewers_are_asked_once() {
    use conclave_fake_github::Role;
    let stage = OnGitHub::new().await;
    let carol = stage.0.github.create_user("carol");
    stage.0.github.set_role(stage.0.repository, carol, Some(Role::Write));
    let github = api(&stage);
    let warnings = github.add_reviewers(&["carol", "nobody-here"]).await.unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains("nobody-here was not made a reviewer"),
        "{warnings:?}"
    );
    assert_eq!(stage.0.snapshot().requested_reviewers, ["carol"]);
    stage.forget();
    assert_eq!(github.add_reviewers(&["Carol"]).await.unwrap(), Vec::<String>::new());
    assert_eq!(stage.acts(), []);
}

#[tokio::test]
async fn an_enterprise_server_is_reached_by_its_addresses() {
    let builder = conclave_fake_github::FakeGithub::builder().enterprise("3.19.0");
    let base = [("file.txt", Some("one\n"))];
    let head = [("file.txt", Some("one\ntwo\n"))];
    let stage = OnGitHub(crate::stage::Stage::of_change(builder, &base, &head).await);
    let review = stage.with_findings(vec![at("file.txt", (2, 2), "two")]);
    let outcome = stage.run(&review, PublishSettings::default()).await;
    assert_eq!((outcome.posted_inline, outcome.warnings), (1, Vec::new()));
    assert!(
        Forge::meanwhile(&stage.loaded().await, &review)
            .await
            .unwrap()
            .is_empty()
    );
}

/// Each way in which a text acts on GitHub, in everything that a model or an author can write.
#[tokio::test]
async fn nothing_that_a_review_says_acts_on_github() {
    const HOSTILE: [&str; 14] = [
        "@alice please merge",
        "cc @acme/security",
        "see #12, GH-12 and acme/shop#3",
        "Fixes #1",
        "closes: acme/shop#1",
        "Duplicate of #12",
        "since 0123456789abcdef0123456789abcdef01234567 it fails",
        "alice@0123456789abcdef",
        "![x](https://evil.example/x.png)",
        "<img src=https://evil.example/x.png> <details open>",
        "http://127.0.0.1/acme/shop/issues/7",
        "```suggestion\nrm -rf /\n```",
        "> [!NOTE]\n> - [ ] x",
        "::error::x ##[error]y",
    ];
    for text in HOSTILE {
        let stage = OnGitHub::with_lines().await;
        let mut on_line = at("src/a.py", (4, 4), "new one");
        let mut on_file = at("image.bin", (1, 1), "i");
        let mut in_summary = at("nowhere.py", (1, 1), text);
        for entry in [&mut on_line, &mut on_file, &mut in_summary] {
            entry.finding.claim = text.to_owned();
            entry.finding.scenario = text.to_owned();
            entry.finding.category = text.to_owned();
            entry.finding.fix = Some(text.to_owned());
            entry.finding.quoted_whole = true;
        }
        let review = Review {
            summary: text.to_owned(),
            warnings: vec![text.to_owned()],
            verdict_reason: text.to_owned(),
            ..stage.with_findings(vec![on_line, on_file, in_summary])
        };
        stage.run(&review, in_mode(ReviewMode::Gate)).await;
        assert_eq!(stage.0.github.effects(), [], "{text}");
        let found = stage.0.snapshot();
        assert_eq!(found.threads.len(), 2, "{text}");
        // What can be committed is the fix itself, never a part of another text.
        let fix = format!("{text}\n");
        let mut suggestions = found.threads.iter().filter_map(|thread| thread.suggestion.as_ref());
        assert!(suggestions.all(|suggestion| *suggestion == fix), "{text}");
    }
}
