//! Providers that break: the review ends, says what happened, and approves nothing that was not reviewed.

use conclave_scripted_provider::{Answer, COORDINATOR, Fault};

use crate::support::{Conclave, Repository, provider};

fn job(repository: &Repository) -> Conclave {
    Conclave::new(repository.path(), &["local", "main..feature", "--strict"])
}

#[tokio::test]
async fn refused_credentials_make_an_inconclusive_review() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let job = job(&repository)
        .anthropic(&provider)
        .env("ANTHROPIC_API_KEY", "not-the-right-key");
    let outcome = job.run().await.expect_code(4);
    let review = outcome.review();
    assert_eq!(review["verdict"], "inconclusive");
    assert!(
        outcome.stdout.contains("provider rejected credentials"),
        "{}",
        outcome.stdout
    );
    assert_eq!(review["reviewers"][0]["outcome"], "failed");
}

#[tokio::test]
async fn an_overloaded_model_is_replaced_within_its_family() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::status(529).model("claude-sonnet-5"));
    let outcome = job(&repository).anthropic(&provider).run().await.expect_code(0);
    assert!(
        outcome.models().contains(&"anthropic/claude-sonnet-4-6".to_owned()),
        "{:?}",
        outcome.models()
    );
    assert!(
        outcome
            .stdout
            .contains("anthropic/claude-sonnet-4-6 stood in for anthropic/claude-sonnet-5"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
}

#[tokio::test]
async fn a_broken_provider_is_left_for_the_next_one() {
    let (broken, healthy, repository) = (provider().await, provider().await, Repository::flawed());
    broken.inject(Fault::status(503));
    let outcome = job(&repository)
        .anthropic(&broken)
        .openai(&healthy)
        .run()
        .await
        .expect_code(0);
    assert!(
        outcome.models().iter().all(|model| model.starts_with("openai/")),
        "{:?}",
        outcome.models()
    );
    assert!(outcome.stderr.contains("going on with openai/"), "{}", outcome.stderr);
}

#[tokio::test]
async fn a_stream_that_is_cut_once_costs_nothing_but_time() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::cut().agent("generalist").times(1));
    let outcome = job(&repository).anthropic(&provider).run().await.expect_code(0);
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
}

#[tokio::test]
async fn unreadable_answers_are_no_clean_review() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_always("generalist", Answer::text("Looks good to me!"));
    let outcome = job(&repository).anthropic(&provider).run().await.expect_code(4);
    assert_eq!(outcome.review()["verdict"], "inconclusive");
    assert!(
        outcome
            .stdout
            .contains("unreadable output: the answer has no <findings> block"),
        "{}",
        outcome.stdout
    );
}

#[tokio::test]
async fn files_that_nobody_opened_are_no_clean_review() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_always("generalist", Answer::text("<findings></findings>"));
    let outcome = job(&repository).anthropic(&provider).run().await.expect_code(4);
    assert!(
        outcome.stdout.contains("nobody read src/users.py"),
        "{}",
        outcome.stdout
    );
}

#[tokio::test]
async fn a_silent_coordinator_is_replaced_by_rules_and_the_review_says_so() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_always(COORDINATOR, Answer::text("I would rather not."));
    let outcome = job(&repository).anthropic(&provider).run().await.expect_code(0);
    let review = outcome.review();
    assert_eq!(review["verdict"], "significant_concerns");
    assert!(
        review["degraded"]
            .as_str()
            .expect("it says so")
            .contains("never called submit_review"),
        "{review}"
    );
    assert!(outcome.stdout.contains("without a judge"), "{}", outcome.stdout);
}

#[tokio::test]
async fn a_spent_budget_ends_the_run_without_an_approval() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let arguments = ["local", "main..feature", "--strict", "--max-cost-usd", "0.000001"];
    let outcome = Conclave::new(repository.path(), &arguments)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(4);
    assert!(outcome.stdout.contains("run budget spent"), "{}", outcome.stdout);
    assert!(
        provider.requests().len() <= 4,
        "{} requests were made",
        provider.requests().len()
    );
}
