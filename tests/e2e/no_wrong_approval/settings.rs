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
    a_setting_that_protects_and_cannot_be_read_withholds_the_approval
    a_gate_that_cannot_be_read_blocks
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

async fn a_setting_that_protects_and_cannot_be_read_withholds_the_approval() {
    let own = |name: &str, paths: &str| {
        format!("[[reviewers]]\nname = \"{name}\"\nprompt = \"docs/role.md\"\npaths = [\"{paths}\"]\nrequired = true\n")
    };
    let six: String = ["a", "b", "c", "d", "e", "f"].map(|name| own(name, "docs/")).concat();
    let rule = "[[rule]]\nid = \"ENG-1\"\nwhen = \"x\"\nuse = \"y\"\nlink = \"https://rules.example/1\"\npaths = [\"docs/\"]\n\
                [[rule]]\nid = \"ENG-2\"\nlink = \"https://rules.example/2\"\npaths = [\"src/\"]\nmanual_review = { who = [\"carol\"] }\n";
    let codex = "[codex]\nrules = \"rules.toml\"\n";
    let (bad_glob, bad_name) = (own("a", "src/["), own("A b", "src/"));
    for (settings, place) in [
        ("[review]\nmemory = \"off\"\n", ".conclave.toml:2"),
        ("[review]\nauthor_setles = \"none\"\n", ".conclave.toml:2"),
        (bad_glob.as_str(), ".conclave.toml:4"),
        (&bad_name, ".conclave.toml:2"),
        (&six, ".conclave.toml:26"),
        (codex, "rules.toml:7"),
    ] {
        let (provider, repository) = (provider().await, Repository::clean());
        let pipeline = Pipeline::new(&repository).await;
        let files = [
            (SETTINGS, settings),
            ("rules.toml", rule),
            ("docs/role.md", "Look twice.\n"),
        ];
        on_main(&pipeline, &repository, &files);
        let job = pipeline.job(&repository, &[]).anthropic(&provider);
        let outcome = job.run().await.expect_code(0);
        withheld(&pipeline, &outcome.review(), place);
    }
}

/// The review says which setting it is that withholds the approval.
fn withheld(pipeline: &Pipeline, review: &Value, place: &str) {
    let holds = &review["approval_holds"];
    assert_eq!(holds[0]["cause"], "settings", "{place}: {holds}");
    assert!(
        holds[0]["places"].to_string().contains(&format!("\"{place}\"")),
        "{place}: {holds}"
    );
    assert!(!pipeline.approved(), "{place}");
    let notes = pipeline.notes().concat();
    assert!(notes.contains("Settings that cannot be read"), "{place}: {notes}");
}

#[cfg(unix)]
#[tokio::test]
async fn settings_and_prompts_behind_a_symbolic_link_withhold_the_approval() {
    let settings = "[[reviewers]]\nname = \"own\"\nprompt = \"docs/role.md\"\npaths = [\"src/\"]\n";
    for (link, place) in [("docs/role.md", "docs/role.md"), (SETTINGS, ".conclave.toml:1")] {
        let (provider, repository) = (provider().await, Repository::clean());
        let pipeline = Pipeline::new(&repository).await;
        repository.git(&["checkout", "--quiet", "main"]);
        repository.write("docs/other.md", settings);
        std::os::unix::fs::symlink("docs/other.md", repository.path().join(link)).expect("a link");
        if link != SETTINGS {
            repository.write(SETTINGS, settings);
        }
        on_main(&pipeline, &repository, &[]);
        let job = pipeline.job(&repository, &[]).anthropic(&provider);
        let outcome = job.env("CONCLAVE_RUNTIME", "native").run().await.expect_code(0);
        withheld(&pipeline, &outcome.review(), place);
    }
}

async fn a_gate_that_cannot_be_read_blocks() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
    on_main(&pipeline, &repository, &[(SETTINGS, "[review]\ngate = \"Block\"\n")]);
    let job = pipeline.job(&repository, &[]).anthropic(&provider);
    let outcome = job.run().await.expect_code(1);
    withheld(&pipeline, &outcome.review(), ".conclave.toml:2");
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
