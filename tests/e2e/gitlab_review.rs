//! `conclave review` in a merge-request pipeline, against the stateful GitLab stand-in.

use conclave_fake_gitlab::{AccessLevel, FakeGitlab, MergeRequestRef, NewMergeRequest, Scope};
use serde_json::Value;

use crate::support::{Conclave, Repository, provider};

struct Pipeline {
    gitlab: FakeGitlab,
    merge_request: MergeRequestRef,
    token: String,
}

const PROJECT: &str = "group/service";

/// A project with an open merge request from `feature` to `main`, and a bot that may review it.
async fn pipeline(repository: &Repository) -> Pipeline {
    repository.git(&["checkout", "--quiet", "main"]);
    let gitlab = FakeGitlab::builder().start().await;
    let author = gitlab.create_user("alice");
    let bot = gitlab.create_bot("conclave-bot");
    let project = gitlab.create_project_from_git(repository.path(), PROJECT);
    gitlab.add_member(project, author, AccessLevel::Developer);
    gitlab.add_member(project, bot, AccessLevel::Developer);
    let token = gitlab.create_token(bot, &[Scope::Api]);
    let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
    Pipeline {
        gitlab,
        merge_request,
        token,
    }
}

impl Pipeline {
    /// `conclave review` with the variables of the merge request's pipeline.
    fn job(&self, repository: &Repository, arguments: &[&str]) -> Conclave {
        let mut all = vec!["review"];
        all.extend(arguments);
        Conclave::new(repository.path(), &all)
            .env("CI_API_V4_URL", self.gitlab.api_url())
            .env("CI_PROJECT_DIR", repository.path())
            .env("CI_MERGE_REQUEST_PROJECT_ID", self.merge_request.project.0.to_string())
            .env("CI_MERGE_REQUEST_PROJECT_PATH", PROJECT)
            .env("CI_MERGE_REQUEST_IID", self.merge_request.iid.to_string())
            .env("GITLAB_TOKEN", &self.token)
    }

    fn state(&self) -> Value {
        serde_json::to_value(self.gitlab.snapshot(self.merge_request)).unwrap()
    }
}

#[tokio::test]
async fn an_estimate_of_a_merge_request_asks_no_model_and_posts_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = pipeline(&repository).await;
    let arguments = ["--estimate", "--format", "json"];
    let job = pipeline.job(&repository, &arguments).anthropic(&provider);
    let outcome = job.run().await.expect_code(0);
    let plan: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(
        (plan["forge"].as_str(), plan["tier"].as_str()),
        (Some("gitlab"), Some("trivial"))
    );
    assert_eq!(plan["merge_request"].as_u64(), Some(pipeline.merge_request.iid));
    assert!(plan["estimate"]["cost_usd"].as_f64().unwrap() > 0.0);
    assert_eq!(provider.requests().len(), 0);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert!(
        state.notes.iter().all(|note| note.author != "conclave-bot"),
        "{:#?}",
        state.notes
    );
    assert!(state.approved_by.is_empty());
}

#[tokio::test]
async fn a_clean_merge_request_gets_one_note_and_an_approval_and_a_second_run_edits_it() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/greeting.py",
        "def greeting(name):\n    return \"Hello, \" + name\n",
    );
    repository.commit("Greet by name");
    let pipeline = pipeline(&repository).await;

    let outcome = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "approved");
    assert!(outcome.stderr.contains("approved by the bot"), "{}", outcome.stderr);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert_eq!(state.approved_by, ["conclave-bot"]);
    let notes: Vec<_> = state
        .notes
        .iter()
        .filter(|note| note.author == "conclave-bot")
        .collect();
    assert_eq!(notes.len(), 1, "{:#?}", state.notes);
    assert!(
        notes[0].body.contains("Approved: nothing to change"),
        "{}",
        notes[0].body
    );

    pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let again = pipeline.gitlab.snapshot(pipeline.merge_request);
    let count = again.notes.iter().filter(|note| note.author == "conclave-bot").count();
    assert_eq!(count, 1, "a second run posts nothing twice");
    assert_eq!(pipeline.gitlab.violations(), []);
}

#[tokio::test]
async fn a_flawed_merge_request_gets_its_findings_and_no_approval() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = pipeline(&repository).await;
    let outcome = pipeline
        .job(&repository, &["--gate", "block"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(1);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert!(state.approved_by.is_empty());
    let note = state
        .notes
        .iter()
        .find(|note| note.author == "conclave-bot")
        .expect("a note");
    for part in [
        "Significant concerns",
        "`src/users.py:6`",
        "sql-injection",
        "<!-- conclave:summary:",
    ] {
        assert!(note.body.contains(part), "{part} is missing in:\n{}", note.body);
    }
    assert!(!outcome.stderr.contains(&pipeline.token) && !note.body.contains(&pipeline.token));
    assert_eq!(pipeline.gitlab.violations(), []);
}

#[tokio::test]
async fn a_dry_run_prints_and_writes_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = pipeline(&repository).await;
    let before = pipeline.state();
    let outcome = pipeline
        .job(&repository, &["--dry-run"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert!(outcome.stdout.contains("src/users.py:6"), "{}", outcome.stdout);
    assert_eq!(pipeline.gitlab.writes().len(), 0);
    assert_eq!(pipeline.state(), before);
    assert_eq!(pipeline.gitlab.violations(), []);
}

#[tokio::test]
async fn a_refused_token_is_the_forges_failure_and_says_what_to_do() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = pipeline(&repository).await;
    let job = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .env("GITLAB_TOKEN", "wrong");
    let outcome = job.run().await.expect_code(3);
    assert!(
        outcome.stderr.contains("Set GITLAB_TOKEN to a project access token"),
        "{}",
        outcome.stderr
    );
    assert!(provider.requests().is_empty(), "no model was asked");
}

#[tokio::test]
async fn outside_of_a_pipeline_the_command_says_what_to_do_instead() {
    let repository = Repository::flawed();
    let outcome = Conclave::new(repository.path(), &["review"]).run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("locally use `conclave local`"),
        "{}",
        outcome.stderr
    );
}
