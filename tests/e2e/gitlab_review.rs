//! `conclave review` in a merge-request pipeline, against the stateful GitLab stand-in.

use conclave_fake_gitlab::MergeRequestState;
use serde_json::Value;

use crate::support::{Conclave, Pipeline, Repository, Workers, provider};

on_both_runtimes! {
    an_estimate_of_a_merge_request_asks_no_model_and_posts_nothing
    a_refused_token_is_the_forges_failure_and_says_what_to_do
    outside_of_a_pipeline_the_command_says_what_to_do_instead
    a_rule_that_wants_a_person_makes_that_person_a_reviewer_and_nobody_approves
    the_note_remembers_what_the_reviews_of_a_merge_request_have_cost
    one_that_is_merged_or_closed_before_the_job_is_not_reviewed_and_that_is_no_failure
    a_breach_that_a_person_has_to_approve_withholds_the_approval_until_it_is_gone
}

async fn an_estimate_of_a_merge_request_asks_no_model_and_posts_nothing() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
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

async fn one_that_is_merged_or_closed_before_the_job_is_not_reviewed_and_that_is_no_failure() {
    let (provider, repository) = (provider().await, Repository::flawed());
    for (state, word) in [
        (MergeRequestState::Merged, "merged"),
        (MergeRequestState::Closed, "closed"),
    ] {
        let pipeline = Pipeline::new(&repository).await;
        let (gitlab, merge_request) = (&pipeline.gitlab, pipeline.merge_request);
        gitlab.set_state(merge_request, pipeline.author, state);
        let outcome = pipeline.job(&repository, &[]).anthropic(&provider).run().await;
        let stderr = outcome.expect_code(0).stderr;
        assert!(
            stderr.contains(&format!("Nothing is done: the merge request is {word}")),
            "{stderr}"
        );
        assert_eq!((pipeline.notes().len(), provider.requests().len()), (0, 0));
    }
}

async fn a_refused_token_is_the_forges_failure_and_says_what_to_do() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let pipeline = Pipeline::new(&repository).await;
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

async fn outside_of_a_pipeline_the_command_says_what_to_do_instead() {
    let repository = Repository::flawed();
    let outcome = Conclave::new(repository.path(), &["review"]).run().await.expect_code(2);
    assert!(
        outcome.stderr.contains("locally use `conclave local`"),
        "{}",
        outcome.stderr
    );
}

async fn a_rule_that_wants_a_person_makes_that_person_a_reviewer_and_nobody_approves() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.write(".conclave.toml", "[codex]\nrules = \"rules.toml\"\n");
    repository.write(
        "rules.toml",
        "[[rule]]\nid = \"DATA-003\"\nwhen = \"a schema changes\"\nlink = \"https://rules.example.com/data-003\"\n\
         paths = [\"db/\"]\nmanual_review = { who = [\"@carol\"], add_as_reviewers = true }\n",
    );
    repository.commit("Rules");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("db/schema.txt", "one\n");
    repository.commit("A schema");
    let pipeline = Pipeline::new(&repository).await;
    pipeline.gitlab.create_user("carol");
    let outcome = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert!(outcome.stderr.contains("not approved by the bot"), "{}", outcome.stderr);
    let state = pipeline.gitlab.snapshot(pipeline.merge_request);
    assert!(state.approved_by.is_empty());
    assert_eq!(state.reviewers[0].user, "carol");
    let note = &state
        .notes
        .iter()
        .find(|note| note.author == "conclave-bot")
        .expect("a note")
        .body;
    assert!(
        note.contains("[DATA-003](https://rules.example.com/data-003)"),
        "{note}"
    );
    assert_eq!(pipeline.gitlab.violations(), []);
}

/// A rule whose breach a person has to approve; the demo model takes what stands in back-ticks for what it is about.
pub(crate) const ASKS_FOR_A_PERSON: &str = "[[rule]]\nid = \"LOG-007\"\nwhen = \"a service tells something: `print(`\"\nuse = \"the log \
     module\"\nlink = \"https://rules.example.com/log-007\"\npaths = [\"src/\"]\nlevel = \"must\"\non_breach = \"review\"\napprovers = [\"@group/data\"]\n";

/// A small change that breaks [`ASKS_FOR_A_PERSON`], which is on the target branch.
pub(crate) fn breaks_a_rule() -> Repository {
    let repository = Repository::new();
    repository.write(".conclave.toml", "[codex]\nrules = \"rules.toml\"\n");
    repository.write("rules.toml", ASKS_FOR_A_PERSON);
    repository.commit("Rules");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("src/sum.py", "def add(total):\n    print(total)\n    return total\n");
    repository.commit("Add up");
    repository
}

async fn a_breach_that_a_person_has_to_approve_withholds_the_approval_until_it_is_gone() {
    let (provider, repository) = (provider().await, breaks_a_rule());
    let pipeline = Pipeline::new(&repository).await;
    let job = || pipeline.job(&repository, &[]).anthropic(&provider);
    let push = |path: &str, text: &str| {
        repository.git(&["checkout", "--quiet", "feature"]);
        repository.write(path, text);
        repository.commit("More");
        pipeline
            .gitlab
            .push(pipeline.merge_request.project, repository.path(), "feature");
    };
    let first = job().run().await.expect_code(0);
    assert_eq!(
        first.review()["manual_reviews"][0]["who"],
        serde_json::json!(["@group/data"])
    );
    assert!(first.stderr.contains("not approved by the bot"), "{}", first.stderr);
    assert!(!pipeline.approved());
    let notes = pipeline.notes().concat();
    assert!(notes.contains("has to approve: the rule [LOG-007]"), "{notes}");

    // The file that breaks it is not read again: its finding is carried over, with what its rule wants.
    push("README.md", "# Sums\n");
    let second = job().run().await.expect_code(0).review();
    assert_eq!(second["coverage"]["reviewed"], serde_json::json!(["README.md"]));
    assert_eq!(second["manual_reviews"][0]["rule"], "LOG-007", "{second:#}");
    let checked = &second["coverage"]["rules"][0];
    assert_eq!(
        (&checked["earlier"], &checked["breaches"]),
        (&serde_json::json!(["src/sum.py"]), &1.into())
    );
    assert!(!pipeline.approved());

    push("src/sum.py", "def add(total):\n    return total\n");
    let third = job().run().await.expect_code(0).review();
    assert_eq!(third["manual_reviews"], serde_json::json!([]), "{third:#}");
    assert!(pipeline.approved());
    assert_eq!(pipeline.gitlab.violations(), []);
}

async fn the_note_remembers_what_the_reviews_of_a_merge_request_have_cost() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::config().await);
    let pipeline = Pipeline::new(&repository).await;
    // Any call at all is more than this: the first review spends it, the second one has nothing left.
    workers
        .command(r#"kv put config/document {"schema_version":1,"limits":{"budget":{"merge_request_usd":0.000001}}}"#)
        .await;
    let job = || {
        pipeline
            .job(&repository, &[])
            .anthropic(&provider)
            .env("CONCLAVE_CONFIG_URL", &workers.config_url)
            .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
    };
    let note = || {
        let state = pipeline.gitlab.snapshot(pipeline.merge_request);
        let mut notes = state.notes.into_iter().filter(|note| note.author == "conclave-bot");
        notes.next().expect("a note").body
    };
    let spent = |body: &str| -> u64 {
        let after = body.split("<!-- conclave:spent:").nth(1).expect("the memory");
        after.split(':').next().unwrap().parse().unwrap()
    };
    let first = job().run().await.expect_code(0).review();
    let after_first = spent(&note());
    assert!(after_first > 0, "{first:#}");
    let asked = provider.requests().len();
    assert!(asked > 0);

    let second = job().run().await.expect_code(0).review();
    assert_eq!(provider.requests().len(), asked, "no model is asked any more");
    // What the first review found still stands: it asked a reviewer, whose one call spent the budget.
    assert_eq!(second["verdict"], first["verdict"]);
    assert_eq!(second["verdict"], "significant_concerns");
    let partial = second["partial"].as_str().expect("it says so");
    assert!(partial.contains("for all reviews of the change is spent"), "{partial}");
    assert_eq!(
        spent(&note()),
        after_first,
        "it cost nothing, and nothing was forgotten"
    );
    assert!(note().contains("**Partial:**"), "{}", note());
    assert_eq!(pipeline.gitlab.violations(), []);
}
