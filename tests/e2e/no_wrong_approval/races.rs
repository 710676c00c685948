//! Two runs of one merge request at once, a stop at any moment, and a run that has no client of the forge: none of them leaves
//! or gives an approval that the code did not earn.

use std::time::Duration;

use conclave_fake_gitlab::{FakeGitlab, Fault as ForgeFault, FaultKind, RequestRecord, Tier};
use conclave_scripted_provider::{Answer, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::stances::{asked, job, push, wait_for};
use crate::support::{Conclave, Outcome, PROJECT, Pipeline, Repository, played, provider};

on_both_runtimes! {
    a_slow_run_takes_in_what_another_run_has_found_meanwhile
    what_another_run_posts_right_before_the_approval_counts
    a_stop_before_the_merge_request_is_read_takes_the_approval_back
    certificates_that_cannot_be_read_take_the_approval_back
    a_run_that_is_told_to_stop_does_not_approve
}

/// The only reviewer of a change this small.
const REVIEWER: &str = "generalist";
/// So long GitLab takes for each request where a test has to act between two of them.
const LATENCY: Duration = Duration::from_millis(300);

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// A model that finds nothing, whatever it reads.
async fn blind() -> ScriptedProvider {
    let provider = provider().await;
    provider.set_words(REVIEWER, vec![Answer::text("<findings></findings>".to_owned())]);
    provider
}

/// Returns once GitLab has answered a request like this.
async fn answered(pipeline: &Pipeline, is: impl Fn(&RequestRecord) -> bool) {
    wait_for(|| pipeline.gitlab.requests().iter().any(&is)).await;
}

fn writes_note(request: &RequestRecord) -> bool {
    let of_a_note = request.path.ends_with("/notes") || request.path.contains("/notes/");
    request.is_write() && of_a_note
}

/// A slow run that finds nothing ends after another one, of the same commit, that found a critical problem.
async fn slow_run(tier: Tier, arguments: &[&str], exit: i32) {
    let (seeing, blind, repository) = (provider().await, blind().await, Repository::flawed());
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(tier), &repository).await;
    let run = |provider: &ScriptedProvider| pipeline.job(&repository, arguments).anthropic(provider);
    let reviewing = asked(&blind, REVIEWER, 1);
    let slow = run(&blind)
        .run_while(|pid| {
            let (pipeline, run, seeing) = (&pipeline, &run, &seeing);
            async move {
                reviewing.await;
                send(pid, Signal::SIGSTOP);
                run(seeing).run().await.expect_code(exit);
                assert!(!pipeline.approved());
                send(pid, Signal::SIGCONT);
            }
        })
        .await
        .expect_code(exit);
    has_taken_it_in(&pipeline, &slow);
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    let requests = arguments.contains(&"gate") && tier == Tier::Premium;
    assert_eq!(!snapshot.requested_changes_by.is_empty(), requests, "the block stays");
}

/// The run that found nothing shows what the other one has found, in its note and its records, and approves nothing.
fn has_taken_it_in(pipeline: &Pipeline, slow: &Outcome) {
    assert!(!pipeline.approved(), "{}", slow.stderr);
    let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
    let summary = snapshot.notes.iter().find(|note| note.body.starts_with("## ")).unwrap();
    for part in [
        "Significant concerns: 1 critical",
        "Another run",
        "while this review was at work",
    ] {
        assert!(summary.body.contains(part), "{part}: {}", summary.body);
    }
    assert_eq!(slow.review()["verdict"], "significant_concerns");
    assert!(
        snapshot.threads.iter().any(|thread| !thread.resolved),
        "the thread stays open: {:?}",
        snapshot.threads
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_slow_run_takes_in_what_another_run_has_found_meanwhile() {
    for (tier, arguments, exit) in played([
        (Tier::Premium, &["--mode", "gate"][..], 1),
        (Tier::Free, &["--gate", "block"][..], 1),
        (Tier::Free, &[][..], 0),
    ]) {
        slow_run(tier, arguments, exit).await;
    }
}

async fn what_another_run_posts_right_before_the_approval_counts() {
    let (seeing, blind, repository) = (provider().await, blind().await, Repository::flawed());
    let pipeline = Pipeline::on(FakeGitlab::builder().tier(Tier::Premium), &repository).await;
    pipeline.gitlab.configure(|options| options.latency = LATENCY);
    let run = |provider: &ScriptedProvider| pipeline.job(&repository, &["--mode", "gate"]).anthropic(provider);
    let reviewing = asked(&seeing, REVIEWER, 1);
    let blocked = || {
        let snapshot = pipeline.gitlab.snapshot(pipeline.merge_request);
        !snapshot.requested_changes_by.is_empty()
    };
    // Both have begun when the blind one posts its note; before it approves, the other one posts and blocks.
    run(&seeing)
        .run_while(|other| {
            let (pipeline, run, blind, blocked) = (&pipeline, &run, &blind, &blocked);
            async move {
                reviewing.await;
                send(other, Signal::SIGSTOP);
                let slow = run(blind).run_while(|pid| async move {
                    answered(pipeline, writes_note).await;
                    send(pid, Signal::SIGSTOP);
                    send(other, Signal::SIGCONT);
                    wait_for(blocked).await;
                    send(pid, Signal::SIGCONT);
                });
                has_taken_it_in(pipeline, &slow.await.expect_code(1));
            }
        })
        .await
        .expect_code(1);
    assert!(blocked(), "the block stays");
}

/// A run of a merge request that an earlier run approved, at the commit before.
async fn approved_before(repository: &Repository, provider: &ScriptedProvider) -> Pipeline {
    let pipeline = Pipeline::new(repository).await;
    job(&pipeline, repository, provider).run().await.expect_code(0);
    assert!(pipeline.approved());
    push(
        &pipeline,
        repository,
        "feature",
        "src/later.py",
        "def later():\n    return 1\n",
    );
    pipeline.gitlab.forget_requests();
    pipeline
}

/// `conclave review` of the merge request by its address.
fn by_address(pipeline: &Pipeline, repository: &Repository, arguments: &[&str]) -> Conclave {
    let address = format!(
        "{}/{PROJECT}/-/merge_requests/{}",
        pipeline.gitlab.url(),
        pipeline.merge_request.iid
    );
    let mut all = vec!["review", "--mr", &address];
    all.extend(arguments);
    Conclave::new(repository.path(), &all).env("GITLAB_TOKEN", &pipeline.token)
}

async fn a_stop_before_the_merge_request_is_read_takes_the_approval_back() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = approved_before(&repository, &provider).await;
    // It is stopped while it looks for GitLab, which comes before everything else.
    pipeline
        .gitlab
        .inject(ForgeFault::once("GET", "/version", FaultKind::Hang));
    let outcome = by_address(&pipeline, &repository, &[])
        .anthropic(&provider)
        .run_while(|pid| {
            let pipeline = &pipeline;
            async move {
                answered(pipeline, |request| request.path.ends_with("/version")).await;
                send(pid, Signal::SIGTERM);
            }
        })
        .await
        .expect_code(143);
    assert!(!pipeline.approved(), "{}", outcome.stderr);
    let notes = pipeline.notes().concat();
    assert!(notes.contains("A later run was stopped"), "{notes}");
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn certificates_that_cannot_be_read_take_the_approval_back() {
    let (provider, repository) = (provider().await, Repository::clean());
    for (arguments, variable) in played([
        (&["--ca-file", "/nowhere/ca.pem"][..], None),
        (&[][..], Some("CI_SERVER_TLS_CA_FILE")),
        (&["--ca-file", "/nowhere/ca.pem", "--agents", "many"][..], None),
    ]) {
        for with_address in played([true, false]) {
            let pipeline = approved_before(&repository, &provider).await;
            let run = if with_address {
                by_address(&pipeline, &repository, arguments)
            } else {
                pipeline.job(&repository, arguments)
            };
            let run = match variable {
                Some(name) => run.env(name, "/nowhere/ca.pem"),
                None => run,
            };
            let outcome = run.anthropic(&provider).run().await.expect_code(2);
            assert!(!pipeline.approved(), "{arguments:?} {variable:?}: {}", outcome.stderr);
            repository.git(&["update-ref", "refs/heads/feature", "feature~1"]);
        }
    }
}

async fn a_run_that_is_told_to_stop_does_not_approve() {
    let reads_comments = |request: &RequestRecord| request.method == "GET" && request.path.ends_with("/discussions");
    let approved = "✅ Approved";
    // Once the review is done: before anything is posted, and between the note and the approval.
    for between in played([true, false]) {
        let (provider, repository) = (provider().await, Repository::clean());
        let pipeline = Pipeline::new(&repository).await;
        pipeline.gitlab.configure(|options| options.latency = LATENCY);
        let outcome = job(&pipeline, &repository, &provider)
            .run_while(|pid| {
                let pipeline = &pipeline;
                async move {
                    if between {
                        answered(pipeline, writes_note).await;
                    } else {
                        let looks = || pipeline.gitlab.requests().into_iter().filter(reads_comments).count();
                        wait_for(|| looks() >= 2).await;
                    }
                    send(pid, Signal::SIGTERM);
                }
            })
            .await
            .expect_code(143);
        assert!(!pipeline.approved(), "{between}: {}", outcome.stderr);
        let notes = pipeline.notes().concat();
        assert!(
            notes.contains("Inconclusive") && notes.contains("the run was stopped") && !notes.contains(approved),
            "{between}: {notes}"
        );
        assert_eq!(outcome.review()["verdict"], "inconclusive");

        // The next run reviews all of it again, and approves.
        pipeline.gitlab.configure(|options| options.latency = Duration::ZERO);
        job(&pipeline, &repository, &provider).run().await.expect_code(0);
        assert!(pipeline.approved());
        assert_eq!(pipeline.gitlab.violations(), []);
    }
}
