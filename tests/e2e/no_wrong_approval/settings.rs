//! Whose settings are in force.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Conclave, Pipeline, Repository, provider};

on_both_runtimes! {
    a_gate_newer_than_the_branch_point_blocks_and_the_account_names_its_commit
    a_rule_newer_than_the_branch_point_asks_for_a_person
    settings_that_git_cannot_read_are_an_error_and_never_none
    rules_in_a_directory_that_git_cannot_read_are_an_error_too
    a_plan_goes_by_the_newest_settings_too
}

const SETTINGS: &str = ".conclave.toml";

/// Commits files on `main` and pushes it, while `feature` stays where it branched off. Returns the new tip.
fn on_main(pipeline: &Pipeline, repository: &Repository, files: &[(&str, &str)]) -> String {
    repository.git(&["checkout", "--quiet", "main"]);
    for (path, content) in files {
        repository.write(path, content);
    }
    repository.commit("Newer than the branch");
    let project = pipeline.merge_request.project;
    pipeline.gitlab.push(project, repository.path(), "main");
    repository.git(&["rev-parse", "main"])
}

/// A clone as a job has it, made before `main` went on.
fn clone(repository: &Repository) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let source = repository.path().to_str().unwrap();
    repository.git(&["clone", "--quiet", source, directory.path().to_str().unwrap()]);
    directory
}

/// The loose object of a file at a commit.
fn object(repository: &Repository, commit: &str, path: &str) -> PathBuf {
    let name = repository.git(&["rev-parse", &format!("{commit}:{path}")]);
    let (directory, file) = name.split_at(2);
    repository.path().join(".git/objects").join(directory).join(file)
}

async fn a_gate_newer_than_the_branch_point_blocks_and_the_account_names_its_commit() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    let checkout = clone(&repository);
    let tip = on_main(&pipeline, &repository, &[(SETTINGS, "[review]\ngate = \"block\"\n")]);
    // The job's checkout does not have that commit yet.
    let job = |directory: &Path| {
        pipeline
            .job(&repository, &[])
            .anthropic(&provider)
            .env("CI_PROJECT_DIR", directory)
    };
    let outcome = job(checkout.path()).run().await.expect_code(1);
    let review = outcome.review();
    assert_eq!(review["settings_sha"], tip.as_str());
    assert_ne!(review["base_sha"], tip.as_str());
    assert!(outcome.stdout.contains(&tip), "{}", outcome.stdout);
    assert!(pipeline.notes().concat().contains(&tip[..8]), "{:?}", pipeline.notes());
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn a_rule_newer_than_the_branch_point_asks_for_a_person() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let rule = "[[rule]]\nid = \"DATA-003\"\nwhen = \"a person is greeted\"\nlink = \"https://rules.example.com/data-003\"\n\
                paths = [\"src/\"]\nmanual_review = { who = [\"carol\"] }\n";
    on_main(
        &pipeline,
        &repository,
        &[(SETTINGS, "[codex]\nrules = \"rules.toml\"\n"), ("rules.toml", rule)],
    );
    let outcome = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["manual_reviews"][0]["rule"], "DATA-003");
    assert!(!pipeline.approved(), "{}", outcome.stderr);
}

async fn settings_that_git_cannot_read_are_an_error_and_never_none() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    job().run().await.expect_code(0);
    assert!(pipeline.approved(), "a healthy run approves");
    let tip = on_main(&pipeline, &repository, &[(SETTINGS, "[review]\nmode = \"comment\"\n")]);
    let file = object(&repository, &tip, SETTINGS);
    std::fs::remove_file(&file).expect("a loose object");
    let outcome = job().run().await.expect_code(2);
    assert!(outcome.stderr.contains("git"), "{}", outcome.stderr);
    assert!(!pipeline.approved(), "what nobody could read approves nothing");
    let notes = pipeline.notes().concat();
    assert!(notes.contains("approval was taken back"), "{notes}");
}

async fn rules_in_a_directory_that_git_cannot_read_are_an_error_too() {
    let (provider, repository) = (provider().await, Repository::clean());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let rule = "[[rule]]\nid = \"ENG-1\"\ntitle = \"Names\"\ntext = \"Names say what is meant.\"\nlink = \"https://rules.example/1\"\n";
    let tip = on_main(
        &pipeline,
        &repository,
        &[(SETTINGS, "[codex]\nrules = \"rules\"\n"), ("rules/names.toml", rule)],
    );
    std::fs::remove_file(object(&repository, &tip, "rules/names.toml")).expect("a loose object");
    let outcome = job().run().await.expect_code(2);
    assert!(outcome.stderr.contains("git"), "{}", outcome.stderr);
    assert!(!pipeline.approved(), "what nobody could read approves nothing");
}

async fn a_plan_goes_by_the_newest_settings_too() {
    let repository = Repository::clean();
    let pipeline = Pipeline::new(&repository).await;
    let tip = on_main(
        &pipeline,
        &repository,
        &[(SETTINGS, "[review]\npreset = \"yardstick\"\n")],
    );
    let outcome = pipeline
        .job(&repository, &["--estimate", "--format", "json"])
        .run()
        .await
        .expect_code(0);
    let plan: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(plan["settings_sha"], tip.as_str());
    assert_eq!(plan["preset"]["chosen_by"], "repo");

    // Locally it is the commit that the person compares with.
    let local = Conclave::new(repository.path(), &["plan", "main..feature", "--format", "json"])
        .run()
        .await
        .expect_code(0);
    let plan: Value = serde_json::from_str(&local.stdout).expect("JSON");
    assert_eq!(plan["settings_sha"], tip.as_str());
    assert_eq!(plan["preset"]["chosen_by"], "repo");
}
