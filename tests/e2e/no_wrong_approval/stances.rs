//! What becomes of an approval or a block at each ending of a run.

mod scene;
pub(crate) mod table;

use conclave_scripted_provider::{Fault, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::support::{Conclave, Pipeline, Repository, provider};
pub(super) use scene::{asked, wait_for};

on_both_runtimes! {
    settings_that_change_during_the_review_withhold_the_approval_and_are_named
    a_target_branch_that_goes_on_with_the_same_settings_is_approved
    a_job_that_a_push_has_cancelled_leaves_everything_to_the_newer_run
    an_approval_of_an_older_commit_goes_before_the_next_review_begins
}

pub(super) fn job(pipeline: &Pipeline, repository: &Repository, provider: &ScriptedProvider) -> Conclave {
    pipeline.job(repository, &[]).anthropic(provider)
}

/// Commits a file on a branch and pushes it.
pub(super) fn push(pipeline: &Pipeline, repository: &Repository, branch: &str, path: &str, content: &str) {
    repository.git(&["checkout", "--quiet", branch]);
    repository.write(path, content);
    repository.commit("Go on");
    repository.git(&["checkout", "--quiet", "main"]);
    let project = pipeline.merge_request.project;
    pipeline.gitlab.push(project, repository.path(), branch);
}

async fn settings_that_change_during_the_review_withhold_the_approval_and_are_named() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let reviewing = asked(&provider, "generalist", 1);
    let outcome = job(&pipeline, &repository, &provider)
        .run_while(|_| async {
            reviewing.await;
            let settings = "[review]\nstrictness = \"strict\"\n";
            push(&pipeline, &repository, "main", ".conclave.toml", settings);
        })
        .await
        .expect_code(0);
    assert!(!pipeline.approved(), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("Settings of main changed"),
        "{}",
        outcome.stderr
    );
    let notes = pipeline.notes().concat();
    assert!(
        notes.contains("Settings of main changed") && notes.contains("`.conclave.toml`"),
        "{notes}"
    );
    assert!(notes.contains("A person has to approve this"), "{notes}");

    // What a person does next: run it again. By the new settings it is approved.
    job(&pipeline, &repository, &provider).run().await.expect_code(0);
    assert!(pipeline.approved());
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_target_branch_that_goes_on_with_the_same_settings_is_approved() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let reviewing = asked(&provider, "generalist", 1);
    job(&pipeline, &repository, &provider)
        .run_while(|_| async {
            reviewing.await;
            push(&pipeline, &repository, "main", "README.md", "# Another title\n");
        })
        .await
        .expect_code(0);
    assert!(pipeline.approved());
}

async fn a_job_that_a_push_has_cancelled_leaves_everything_to_the_newer_run() {
    let (provider, slow, repository) = (provider().await, provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    slow.inject(Fault::hang());
    let reviewing = asked(&slow, "generalist", 1);
    let older = job(&pipeline, &repository, &slow).run_while(|pid| {
        let (pipeline, repository, provider) = (&pipeline, &repository, &provider);
        async move {
            reviewing.await;
            push(
                pipeline,
                repository,
                "feature",
                "src/later.py",
                "def later():\n    return 1\n",
            );
            job(pipeline, repository, provider).run().await.expect_code(0);
            assert!(pipeline.approved(), "the newer run approves");
            pipeline.gitlab.forget_requests();
            kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGTERM).unwrap();
        }
    });
    let outcome = older.await.expect_code(143);
    assert!(pipeline.approved(), "{}", outcome.stderr);
    let writes = pipeline.gitlab.writes();
    assert!(writes.is_empty(), "{writes:?}");
    assert!(outcome.stderr.contains("there is a newer commit"), "{}", outcome.stderr);
}

async fn an_approval_of_an_older_commit_goes_before_the_next_review_begins() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    job(&pipeline, &repository, &provider).run().await.expect_code(0);
    assert!(pipeline.approved());
    push(
        &pipeline,
        &repository,
        "feature",
        "src/later.py",
        "def later():\n    return 1\n",
    );
    let before = provider
        .requests()
        .iter()
        .filter(|request| request.agent == "generalist")
        .count();
    let reviewing = asked(&provider, "generalist", before + 1);
    job(&pipeline, &repository, &provider)
        .run_while(|_| async {
            reviewing.await;
            assert!(!pipeline.approved(), "whatever becomes of the run");
        })
        .await
        .expect_code(0);
    assert!(pipeline.approved(), "and it comes with the review");
}

#[tokio::test]
async fn the_note_says_why_an_approval_was_taken_back() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let job = || job(&pipeline, &repository, &provider).env("CONCLAVE_RUNTIME", "native");
    job().run().await.expect_code(0);
    // At the same commit: the run fails before there is anything to post.
    let failed = job()
        .env("CONCLAVE_RUNTIME", "opencode")
        .env("CONCLAVE_OPENCODE", "/nowhere/opencode")
        .run()
        .await
        .expect_code(2);
    assert!(!pipeline.approved(), "{}", failed.stderr);
    let notes = pipeline.notes().concat();
    for part in [
        "approval was taken back",
        "A later run failed",
        "Approved: nothing to change",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    job().run().await.expect_code(0);
    assert!(pipeline.approved());
    assert!(!pipeline.notes().concat().contains("taken back"), "the review is back");

    // Nothing but noise is left of the change.
    repository.git(&["checkout", "--quiet", "-B", "feature", "main"]);
    push(
        &pipeline,
        &repository,
        "feature",
        "poetry.lock",
        "# This file is automatically @generated by Poetry\n",
    );
    job().run().await.expect_code(0);
    assert!(!pipeline.approved());
    let notes = pipeline.notes().concat();
    assert!(
        notes.contains("found nothing to review") && notes.contains("noise by rule"),
        "{notes}"
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}
