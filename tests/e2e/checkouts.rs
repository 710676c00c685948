//! What a CI job has of the repository: a shallow clone, a temporary merge commit, nothing.

use conclave_fake_gitlab::{AccessLevel, FakeGitlab, MergeRequestRef, NewMergeRequest, Scope};
use conclave_scripted_provider::ScriptedProvider;
use serde_json::Value;

use crate::support::{Conclave, Repository, provider};

on_both_runtimes! {
    a_dry_run_reviews_a_shallow_merged_results_checkout_as_the_merge_request_and_writes_nothing
    a_job_without_a_checkout_fetches_the_merge_request
    without_checkout_and_remote_the_job_says_what_it_needs
    a_pipeline_of_another_commit_says_so
    a_job_completes_a_partial_clone_and_a_person_is_told_how_to
}

/// A merge request whose target has moved on, and the commit that GitLab makes of both for its pipeline.
struct MergedResults {
    repository: Repository,
    head: String,
    merge: String,
    gitlab: FakeGitlab,
    merge_request: MergeRequestRef,
    variables: Vec<(&'static str, String)>,
}

impl MergedResults {
    async fn new() -> Self {
        let repository = Repository::flawed();
        let head = repository.git(&["rev-parse", "feature"]);
        repository.git(&["checkout", "--quiet", "main"]);
        repository.write("src/other.py", "def other():\n    return 1\n");
        repository.commit("Somebody else's work");
        repository.git(&["checkout", "--quiet", "-b", "temporary"]);
        repository.git(&["merge", "--quiet", "--no-ff", "-m", "Temporary merge", "feature"]);
        let merge = repository.git(&["rev-parse", "HEAD"]);
        repository.git(&["checkout", "--quiet", "main"]);
        let gitlab = FakeGitlab::builder().start().await;
        let author = gitlab.create_user("alice");
        let bot = gitlab.create_bot("conclave-bot");
        let project = gitlab.create_project_from_git(repository.path(), "group/service");
        gitlab.add_member(project, author, AccessLevel::Developer);
        gitlab.add_member(project, bot, AccessLevel::Developer);
        let token = gitlab.create_token(bot, &[Scope::Api]);
        let merge_request = gitlab.create_merge_request(project, NewMergeRequest::new(author, "feature", "main"));
        let variables = vec![
            ("CI_API_V4_URL", gitlab.api_url()),
            ("CI_MERGE_REQUEST_PROJECT_ID", merge_request.project.0.to_string()),
            ("CI_MERGE_REQUEST_PROJECT_PATH", "group/service".to_owned()),
            ("CI_MERGE_REQUEST_IID", merge_request.iid.to_string()),
            ("CI_MERGE_REQUEST_EVENT_TYPE", "merged_result".to_owned()),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", head.clone()),
            ("CI_COMMIT_SHA", merge.clone()),
            ("GITLAB_TOKEN", token),
        ];
        Self {
            repository,
            head,
            merge,
            gitlab,
            merge_request,
            variables,
        }
    }

    /// `conclave review --dry-run` in this directory.
    fn job(&self, directory: &std::path::Path, provider: &ScriptedProvider) -> Conclave {
        self.command(directory, provider, &["review", "--dry-run"])
    }

    /// The same with other arguments.
    fn command(&self, directory: &std::path::Path, provider: &ScriptedProvider, arguments: &[&str]) -> Conclave {
        let mut job = Conclave::new(directory, arguments)
            .anthropic(provider)
            .env("CI_PROJECT_DIR", directory);
        for (name, value) in &self.variables {
            job = job.env(name, value);
        }
        job
    }

    fn url(&self) -> String {
        format!("file://{}", self.repository.path().display())
    }
}

async fn a_dry_run_reviews_a_shallow_merged_results_checkout_as_the_merge_request_and_writes_nothing() {
    let (provider, stage) = (provider().await, MergedResults::new().await);
    let directory = tempfile::tempdir().unwrap();
    let checkout = directory.path().join("checkout");
    let target = checkout.to_str().unwrap();
    stage.repository.git(&[
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=temporary",
        &stage.url(),
        target,
    ]);
    let before = stage.gitlab.snapshot(stage.merge_request);
    let outcome = stage.job(&checkout, &provider).run().await.expect_code(0);
    let review = outcome.review();
    assert_eq!(review["head_sha"], stage.head.as_str());
    assert_ne!(review["head_sha"], stage.merge.as_str());
    assert_eq!(
        review["coverage"]["reviewed"],
        serde_json::json!(["src/users.py"]),
        "nothing of the target's own work"
    );
    assert!(!outcome.stderr.contains("this pipeline runs for"), "{}", outcome.stderr);
    // A dry run prints the review, and writes nothing.
    assert!(outcome.stdout.contains("src/users.py:6"), "{}", outcome.stdout);
    assert_eq!(stage.gitlab.writes().len(), 0);
    assert_eq!(stage.gitlab.snapshot(stage.merge_request), before);
    assert_eq!(stage.gitlab.violations(), []);
}

async fn a_job_without_a_checkout_fetches_the_merge_request() {
    let (provider, stage) = (provider().await, MergedResults::new().await);
    let empty = tempfile::tempdir().unwrap();
    let arguments = ["review", "--estimate", "--format", "json"];
    let job = stage
        .command(empty.path(), &provider, &arguments)
        .env("CI_REPOSITORY_URL", stage.url());
    let plan: Value = serde_json::from_str(&job.run().await.expect_code(0).stdout).expect("JSON");
    assert_eq!(plan["files"][0]["path"], "src/users.py", "{plan:#}");
    assert_eq!(plan["files"].as_array().unwrap().len(), 1, "{plan:#}");
    assert_eq!(
        std::fs::read_dir(empty.path()).unwrap().count(),
        0,
        "nothing is put where the job runs"
    );
}

async fn without_checkout_and_remote_the_job_says_what_it_needs() {
    let (provider, stage) = (provider().await, MergedResults::new().await);
    let empty = tempfile::tempdir().unwrap();
    let outcome = stage.job(empty.path(), &provider).run().await.expect_code(2);
    assert!(
        outcome
            .stderr
            .contains("there is no remote to fetch it from. Set `GIT_DEPTH: 0`"),
        "{}",
        outcome.stderr
    );
    assert!(provider.requests().is_empty(), "no model was asked");
}

async fn a_pipeline_of_another_commit_says_so() {
    let (provider, stage) = (provider().await, MergedResults::new().await);
    let job = stage
        .job(stage.repository.path(), &provider)
        .env("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "1".repeat(40));
    let outcome = job.run().await.expect_code(0);
    assert!(
        outcome.stderr.contains(&format!(
            "the newest version of the merge request, {}, is reviewed",
            stage.head
        )),
        "{}",
        outcome.stderr
    );
}

async fn a_job_completes_a_partial_clone_and_a_person_is_told_how_to() {
    let (provider, stage) = (provider().await, MergedResults::new().await);
    stage.repository.git(&["config", "uploadpack.allowFilter", "true"]);
    for filter in ["blob:none", "tree:0"] {
        let directory = tempfile::tempdir().unwrap();
        let checkout = directory.path().join("checkout");
        let (option, target) = (format!("--filter={filter}"), checkout.to_str().unwrap());
        let url = stage.url();
        stage.repository.git(&[
            "clone",
            "--quiet",
            &option,
            "--no-checkout",
            "--branch=feature",
            &url,
            target,
        ]);
        let arguments = ["review", "--estimate", "--format", "json"];
        let outcome = stage.command(&checkout, &provider, &arguments).run().await;
        let plan: Value = serde_json::from_str(&outcome.expect_code(0).stdout).expect("JSON");
        assert_eq!(plan["files"][0]["path"], "src/users.py", "{filter}: {plan:#}");
        let review = stage.job(&checkout, &provider).run().await.expect_code(0).review();
        assert_eq!(review["coverage"]["reviewed"], serde_json::json!(["src/users.py"]));
        assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
        // Without a job there are no credentials but the person's own.
        let local = Conclave::new(&checkout, &["local", "origin/main..origin/feature"]).anthropic(&provider);
        let text = local.run().await.expect_code(2).stderr;
        assert!(
            text.contains("is a partial clone") && text.contains("`git fetch --refetch --no-filter origin`"),
            "{text}"
        );
        assert!(!text.contains("lazy"), "{text}");
    }
}
