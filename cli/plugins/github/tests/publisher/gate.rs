//! The check on a commit: what it is begun in spite of, and what it does not pass for.

use conclave_fake_github::{FakeGithub, Fault, FaultKind, NewPull, Options, Permissions, PullState};
use conclave_forge::{ApiErrorKind, Begun, CheckEnd, Conclusion, Gate, Reviewed};
use conclave_plugin_github::{CheckSettings, GitHub};

use crate::{conformance::stage::ForgeStage, scenarios::OnGitHub, stage::Stage};

const CHECKS: &str = "/repos/*/*/check-runs";

/// The check of a new run.
fn check(stage: &OnGitHub) -> Gate {
    let settings = CheckSettings {
        name: "conclave".to_owned(),
        details_url: None,
        timeouts: stage.0.timeouts,
    };
    GitHub::check(&stage.0.settings(), settings, &stage.0.github.head(stage.0.pull)).unwrap()
}

fn end(conclusion: Conclusion) -> CheckEnd {
    CheckEnd {
        conclusion,
        title: "Title".to_owned(),
        summary: "Summary".to_owned(),
        annotations: Vec::new(),
    }
}

/// The only check on the head: its status, and its conclusion.
fn shown(stage: &OnGitHub) -> (String, Option<String>) {
    let checks = stage.0.snapshot().checks;
    let [check] = &checks[..] else {
        unreachable!("one check: {checks:?}")
    };
    (check.status.clone(), check.conclusion.clone())
}

fn completed(conclusion: &str) -> (String, Option<String>) {
    ("completed".to_owned(), Some(conclusion.to_owned()))
}

/// The checks that were made.
fn made(stage: &OnGitHub) -> usize {
    let writes = stage.0.github.writes().into_iter();
    let made = writes.filter(|write| write.method == "POST" && write.path.ends_with("/check-runs"));
    made.count()
}

#[tokio::test]
async fn it_passes_only_for_the_target_branch_that_was_reviewed() {
    for (conclusion, ended) in [
        (Conclusion::Success, "cancelled"),
        (Conclusion::Neutral, "cancelled"),
        (Conclusion::Failure, "failure"),
    ] {
        for reviews in [true, false] {
            let stage = OnGitHub::new().await;
            let (check, head) = (check(&stage), stage.range().2);
            assert_eq!(check.begin().await.unwrap(), Begun::Begun(None));
            let reviewed = Reviewed {
                head: reviews.then_some(&head),
                target: Some("main"),
            };
            assert_eq!(check.end(reviewed, &end(conclusion)).await.unwrap(), None);
            assert_eq!(shown(&stage), completed(conclusion.word()));
            check.begin().await.unwrap();
            stage.advance("release", "released\n");
            stage.retarget("release");
            let said = check.end(reviewed, &end(conclusion)).await.unwrap();
            assert_eq!(shown(&stage), completed(ended));
            let says = said.is_some_and(|said| said.contains("into main, and the target branch is release"));
            assert_eq!(says, conclusion.passes());
        }
    }
}

#[tokio::test]
async fn it_does_not_pass_while_another_open_pull_request_of_the_commit_has_no_review() {
    for (from_fork, has_checks) in [(false, true), (true, true), (false, false)] {
        let mut stage = OnGitHub::new().await;
        if !has_checks {
            let permissions = Permissions::none().read("contents").write("pull_requests");
            let permissions = permissions.write("statuses");
            stage.0.token = stage
                .0
                .github
                .installation_token(stage.0.app, stage.0.repository, permissions);
        }
        stage.advance("release", "released\n");
        let first = stage.0.pull;
        if from_fork {
            stage.0.open_from_fork();
        } else {
            let new = NewPull::new(stage.0.author, "feature", "release");
            stage.0.pull = stage.0.github.open_pull(stage.0.repository, new);
        }
        let second = stage.0.pull;
        // Which passes, and what it says of the other one.
        let review = async |stage: &OnGitHub| {
            let check = check(stage);
            check.begin().await.unwrap();
            let said = check.end(Reviewed::default(), &end(Conclusion::Success)).await.unwrap();
            let found = stage.0.snapshot();
            let shown = match &found.checks[..] {
                [] => found.statuses[0].state.clone(),
                [check, ..] => check.conclusion.clone().unwrap(),
            };
            (shown, said)
        };
        stage.0.pull = first;
        let case = format!("from a fork: {from_fork}, checks: {has_checks}");
        for _ in 0..2 {
            let (shown, said) = review(&stage).await;
            let title = format!(
                "The review of #{}, which has the same commit, has not passed",
                second.number
            );
            assert_eq!((shown.as_str(), said), ("failure", Some(title)), "{case}");
        }
        // The first one's own review has passed, so the second one is all that is waited for, and the other way round.
        for pull in [second, first, second] {
            stage.0.pull = pull;
            assert_eq!(review(&stage).await, ("success".to_owned(), None), "{case}");
        }
        // One that would not pass asks for no others, and does not pass for any.
        stage.0.pull = first;
        stage.forget();
        let failing = check(&stage);
        failing.begin().await.unwrap();
        let failed = end(Conclusion::Failure);
        assert_eq!(failing.end(Reviewed::default(), &failed).await.unwrap(), None, "{case}");
        let lists = stage.0.github.requests().into_iter();
        assert_eq!(lists.filter(|request| request.path.ends_with("/pulls")).count(), 0);
        stage.0.pull = second;
        assert_eq!(review(&stage).await.0, "failure", "{case}");
        stage.0.github.set_state(first, PullState::Closed);
        assert_eq!(review(&stage).await, ("success".to_owned(), None), "{case}");
        // Opened again, it has not passed.
        stage.0.github.set_state(first, PullState::Open);
        assert_eq!(review(&stage).await.0, "failure", "{case}");
    }
}

#[tokio::test]
async fn one_that_is_closed_or_merged_after_it_was_begun_is_cancelled() {
    for (state, word) in [(PullState::Closed, "closed"), (PullState::Merged, "merged")] {
        for (conclusion, ended) in [
            (Conclusion::Success, "cancelled"),
            (Conclusion::Neutral, "cancelled"),
            (Conclusion::Failure, "failure"),
        ] {
            let stage = OnGitHub::new().await;
            let check = check(&stage);
            check.begin().await.unwrap();
            stage.0.github.set_state(stage.0.pull, state);
            let said = check.end(Reviewed::default(), &end(conclusion)).await.unwrap();
            assert_eq!(shown(&stage), completed(ended));
            let expected = conclusion
                .passes()
                .then(|| format!("The pull request is {word} by now"));
            assert_eq!(said, expected);
        }
    }
}

#[tokio::test]
async fn a_reviewed_commit_that_is_not_the_newest_any_more_is_cancelled() {
    let stage = OnGitHub::new().await;
    let (check, head) = (check(&stage), stage.range().2);
    check.begin().await.unwrap();
    stage.push_again();
    let reviewed = Reviewed {
        head: Some(&head),
        target: Some("main"),
    };
    let said = check.end(reviewed, &end(Conclusion::Success)).await.unwrap();
    assert_eq!(said.as_deref(), Some("There is a newer commit"));
    let ended = stage.0.github.writes().pop().unwrap().body;
    assert_eq!(ended["conclusion"], "cancelled");
    assert_eq!(ended["output"]["summary"], "Summary");
    assert!(stage.0.snapshot().checks.is_empty(), "the newest one has its own");
}

#[tokio::test]
async fn what_fails_when_it_is_begun_is_looked_for_and_made_once() {
    for (kind, requests) in [
        (FaultKind::BadGateway, 2),
        (FaultKind::CutBeforeStore, 2),
        (FaultKind::ErrorAfterStore, 1),
        (FaultKind::CutAfterStore, 1),
        (FaultKind::TruncatedBody, 1),
    ] {
        let stage = OnGitHub::new().await;
        stage.0.github.inject(Fault::once("POST", CHECKS, kind.clone()));
        let check = check(&stage);
        assert_eq!(check.begin().await.unwrap(), Begun::Begun(None), "{kind:?}");
        assert_eq!(
            (made(&stage), shown(&stage).0),
            (requests, "in_progress".to_owned()),
            "{kind:?}"
        );
        check.end(Reviewed::default(), &end(Conclusion::Success)).await.unwrap();
        assert_eq!(shown(&stage), completed("success"), "{kind:?}");
        assert_eq!(made(&stage), requests, "{kind:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_begun_is_tried_again_at_the_end_and_an_error_there() {
    let stage = OnGitHub::new().await;
    let broken = || {
        let fault = Fault::once("POST", CHECKS, FaultKind::BadGateway);
        stage.0.github.inject(fault.times(99));
    };
    broken();
    let check = check(&stage);
    let Begun::Begun(Some(said)) = check.begin().await.unwrap() else {
        unreachable!("it says so")
    };
    assert!(said.contains("it is tried again when the run ends"), "{said}");
    let reviewed = Reviewed::default();
    let error = check.end(reviewed, &end(Conclusion::Success)).await.unwrap_err();
    assert_eq!(error.kind, ApiErrorKind::Failed(502));
    assert!(
        error.to_string().contains("a merge that asks for the check waits"),
        "{error}"
    );
    assert!(stage.0.snapshot().checks.is_empty());
    stage.0.github.clear_faults();
    check.end(reviewed, &end(Conclusion::Success)).await.unwrap();
    assert_eq!(shown(&stage), completed("success"));
}

#[tokio::test]
async fn a_check_whose_beginning_was_cut_short_gets_its_end() {
    let stage = OnGitHub::new().await;
    // What a run has made whose wait for the answer was given up.
    check(&stage).begin().await.unwrap();
    let cut = check(&stage);
    cut.end(Reviewed::default(), &end(Conclusion::Cancelled)).await.unwrap();
    assert_eq!((shown(&stage), made(&stage)), (completed("cancelled"), 1));
}

#[tokio::test]
async fn that_of_a_closed_or_merged_pull_request_stays_as_it_is() {
    for state in [PullState::Closed, PullState::Merged] {
        let stage = OnGitHub::new().await;
        let earlier = check(&stage);
        earlier.begin().await.unwrap();
        earlier
            .end(Reviewed::default(), &end(Conclusion::Success))
            .await
            .unwrap();
        stage.0.github.set_state(stage.0.pull, state);
        stage.forget();
        let later = check(&stage);
        assert_eq!(later.begin().await.unwrap(), Begun::NotOpen);
        later.end(Reviewed::default(), &end(Conclusion::Failure)).await.unwrap();
        assert_eq!(
            (stage.0.github.writes().len(), shown(&stage)),
            (0, completed("success"))
        );
    }
}

#[tokio::test]
async fn checks_begin_anew_when_the_same_commit_is_reviewed_again() {
    // What GitHub does with the end of a check that has one is not written down anywhere.
    for ended_checks_stay in [false, true] {
        for earlier in [Conclusion::Success, Conclusion::Neutral, Conclusion::Failure] {
            let builder = FakeGithub::builder().options(Options {
                ended_checks_stay,
                ..Options::default()
            });
            let (base, head) = ([("a.txt", Some("one\n"))], [("a.txt", Some("two\n"))]);
            let stage = OnGitHub(Stage::of_change(builder, &base, &head).await);
            let first = check(&stage);
            first.begin().await.unwrap();
            first.end(Reviewed::default(), &end(earlier)).await.unwrap();
            let again = check(&stage);
            assert_eq!(again.begin().await.unwrap(), Begun::Begun(None));
            // The newest of the name counts: as long as the review is under way it shows no end, and nothing that the last one said.
            assert_eq!(shown(&stage), ("in_progress".to_owned(), None), "{earlier:?}");
            let title = stage.0.snapshot().checks.remove(0).title;
            assert_eq!(title.as_deref(), Some("The review is running"), "{earlier:?}");
            again.end(Reviewed::default(), &end(Conclusion::Failure)).await.unwrap();
            assert_eq!(shown(&stage), completed("failure"));
            assert_eq!(made(&stage), if ended_checks_stay { 2 } else { 1 });
        }
    }
}
