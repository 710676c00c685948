//! The words of a forge: nothing that a person reads in a job of GitHub speaks of merge requests, nor one of GitLab of pull requests.

use std::path::Path;

use conclave_fake_github::{Job, JobEvent, Permissions};
use serde_json::Value;

use crate::support::{Outcome, Pipeline, Repository, Workflow, foreign_words, provider, texts_in};

on_both_runtimes! {
    multi_thread:
    nothing_in_a_job_of_github_speaks_of_merge_requests
    nothing_in_a_job_of_gitlab_speaks_of_pull_requests
}

/// The texts of everything that a run wrote into a folder.
fn texts_of(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(texts_of(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => texts.extend(texts_in(&value)),
            Err(_) => texts.push(text),
        }
    }
    texts
}

/// Everything of a run that a person reads, beside what is posted.
fn said(outcome: &Outcome, reports: &Path) -> Vec<String> {
    let mut texts = vec![outcome.stdout.clone(), outcome.stderr.clone()];
    texts.extend(outcome.try_review().iter().flat_map(texts_in));
    texts.extend(texts_of(reports));
    texts
}

/// Everything that is posted, and what the workflow gets.
fn posted(workflow: &Workflow, job: &Job) -> Vec<String> {
    let found = workflow.snapshot();
    let comments = found.comments.iter().map(|comment| comment.body.clone());
    let reviews = found.reviews.iter().map(|review| review.post.body.clone());
    let threads = { found.threads.iter() }.flat_map(|thread| &thread.comments);
    let checks = found.checks.iter().flat_map(|check| {
        let texts = [check.title.clone(), check.summary.clone()].into_iter().flatten();
        texts.chain(check.annotations.clone())
    });
    let statuses = found.statuses.iter().filter_map(|status| status.description.clone());
    comments
        .chain(reviews)
        .chain(threads.map(|comment| comment.body.clone()))
        .chain(checks)
        .chain(statuses)
        .chain([job.summary(), job.output()])
        .collect()
}

async fn nothing_in_a_job_of_github_speaks_of_merge_requests() {
    let (provider, repository) = (provider().await, Repository::two_flaws());
    let mut workflow = Workflow::new(&repository).await;
    workflow.github.allow_actions_to_approve(workflow.repository, true);
    let bob = workflow.member("bob");
    let reports = tempfile::tempdir().unwrap();
    let folder = reports.path().to_str().unwrap();
    let mut read: Vec<String> = Vec::new();
    let job = workflow.opened(repository.path());
    let gate = ["--mode", "gate", "--gate", "block", "--reports", folder];
    let annotated = ["--max-inline", "0", "--reports", folder];
    let spent = ["--max-cost-usd", "0.000001", "--full", "--reports", folder];
    for (arguments, code) in [
        (&["--estimate"][..], 0),
        (&["--dry-run"][..], 0),
        (&gate[..], 1),
        (&annotated[..], 0),
        (&spent[..], 0),
    ] {
        let call = workflow.review_in(&job, &repository, arguments).anthropic(&provider);
        read.extend(said(&call.run().await.expect_code(code), reports.path()));
    }
    read.extend(posted(&workflow, &job));
    // The next push fixes one, in a job that may make no check, nor resolve its thread.
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.write("src/users.py", "import sqlite3\n");
    repository.commit("Find nobody");
    workflow.push(&repository);
    // Jobs of comments refuse a checkout of the head.
    repository.git(&["checkout", "--quiet", "main"]);
    let permissions = Permissions::none().read("contents").write("pull_requests");
    workflow.token = workflow.github.actions_token(workflow.repository, permissions);
    let job = workflow.opened(repository.path());
    let call = workflow.review_in(&job, &repository, &["--reports", folder]);
    let outcome = call.anthropic(&provider).run().await.expect_code(0);
    read.extend(said(&outcome, reports.path()));
    for command in ["explain", "dismiss", "merge"] {
        let comment = workflow
            .github
            .comment(workflow.pull, bob, &format!("/conclave {command}"));
        let job = workflow
            .github
            .job(workflow.pull, &JobEvent::IssueComment(comment), repository.path());
        let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
        read.extend(said(&call.run().await, reports.path()));
    }
    workflow.github.comment(workflow.pull, bob, "break glass");
    let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    read.extend(said(&call.run().await.expect_code(0), reports.path()));
    read.extend(posted(&workflow, &job));
    workflow
        .github
        .set_state(workflow.pull, conclave_fake_github::PullState::Closed);
    let call = workflow.review_in(&job, &repository, &[]).anthropic(&provider);
    read.extend(said(&call.run().await.expect_code(0), reports.path()));

    let all = read.join("\n");
    assert_eq!(foreign_words(true, &all), Vec::<String>::new());
    for part in [
        "pull request",
        "Significant concerns",
        "`contents: write`",
        "break glass",
    ] {
        assert!(
            all.contains(part),
            "{part} is missing: what is read is not all that was said"
        );
    }
    // A model calls it what its prompt does, whichever forge it is on.
    let requests = provider.requests().into_iter();
    let asked: Vec<String> = requests
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(asked.iter().any(|body| body.contains("Review one change.")));
    assert_eq!(workflow.github.violations(), []);
}

async fn nothing_in_a_job_of_gitlab_speaks_of_pull_requests() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let reports = tempfile::tempdir().unwrap();
    let folder = reports.path().to_str().unwrap();
    let mut read: Vec<String> = Vec::new();
    for (arguments, code) in [
        (&["--estimate"][..], 0),
        (&["--mode", "gate", "--reports", folder][..], 1),
    ] {
        let call = pipeline.job(&repository, arguments).anthropic(&provider);
        read.extend(said(&call.run().await.expect_code(code), reports.path()));
    }
    read.extend(pipeline.notes());
    let all = read.join("\n");
    assert_eq!(foreign_words(false, &all), Vec::<String>::new());
    assert!(all.contains("Significant concerns"));
}
