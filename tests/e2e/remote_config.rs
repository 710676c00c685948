//! The control plane and the tracker, for real: a switch in KV changes the next review, and every run is counted.

use crate::support::{Conclave, Repository, Workers, provider};

on_both_runtimes! {
    a_provider_switched_off_between_two_runs_changes_the_model_and_both_runs_are_tracked
    a_stored_document_that_cannot_be_used_withholds_the_approval_and_is_said_once
}

fn review(repository: &Repository, workers: &Workers) -> Conclave {
    Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
        .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
}

async fn a_provider_switched_off_between_two_runs_changes_the_model_and_both_runs_are_tracked() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::start().await);
    let both = |job: Conclave| job.anthropic(&provider).openai(&provider);

    let before = both(review(&repository, &workers)).run().await.expect_code(0);
    assert!(
        before.models().iter().all(|model| model.starts_with("anthropic/")),
        "{:?}",
        before.models()
    );

    workers
        .command(r#"kv put provider/anthropic {"enabled":false,"reason":"incident 7"}"#)
        .await;
    workers
        .until_config(|answer| answer["config"]["providers"]["anthropic"]["enabled"] == false)
        .await;
    let asked = provider.requests().len();
    let after = both(review(&repository, &workers)).run().await.expect_code(0);
    assert!(
        after.models().iter().all(|model| model.starts_with("openai/")),
        "{:?}",
        after.models()
    );
    assert!(
        after.stdout.contains("anthropic is switched off: incident 7"),
        "the review says why:\n{}",
        after.stdout
    );
    let later = &provider.requests()[asked..];
    assert!(!later.is_empty());
    assert!(
        later.iter().all(|request| request.path.ends_with("/chat/completions")),
        "nobody asked the disabled provider"
    );
    assert_eq!(
        before.categories(),
        after.categories(),
        "another model, the same findings"
    );

    // Both reviews reached the tracker, with what they found and what they cost.
    let rows = workers
        .rows("SELECT verdict, cost_usd FROM runs WHERE verdict IS NOT NULL", |rows| {
            rows.len() == 2
        })
        .await;
    assert!(
        rows.iter().all(|row| row["verdict"] == "significant_concerns"),
        "{rows:?}"
    );
    let metrics = reqwest_text(&format!("{}/metrics", workers.tracker_url), Workers::METRICS_TOKEN).await;
    assert!(
        metrics.contains(r#"conclave_runs_total{tier="trivial",verdict="significant_concerns"} 2"#),
        "{metrics}"
    );
}

/// A document that the Worker cannot read protects as little as one that the client cannot read; a switch of an incident counts all the same.
async fn a_stored_document_that_cannot_be_used_withholds_the_approval_and_is_said_once() {
    let (provider, repository, mut workers) = (provider().await, Repository::clean(), Workers::start().await);
    for stored in ["{\"schema_version\":9}", "reviewers: {}"] {
        workers.command(&format!("kv put config/document {stored}")).await;
        workers
            .command(r#"kv put provider/anthropic {"enabled":false,"reason":"off()"}"#)
            .await;
        workers
            .until_config(|answer| {
                let provider = &answer["config"]["providers"]["anthropic"];
                answer["document_fault"].is_string() && provider["enabled"] == false
            })
            .await;
        let call = review(&repository, &workers).anthropic(&provider).openai(&provider);
        let outcome = call.run().await.expect_code(0);
        let review = outcome.review();
        assert_eq!(review["configuration"]["instead"], "defaults", "{stored}");
        let holds = review["approval_holds"].as_array().unwrap();
        assert!(holds.iter().any(|hold| hold["cause"] == "settings"), "{holds:?}");
        let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(text.matches("has left its document out").count(), 1, "{text}");
        assert!(outcome.models().iter().all(|model| model.starts_with("openai/")));
        assert!(
            outcome.stdout.contains("anthropic is switched off: off()"),
            "{}",
            outcome.stdout
        );
        workers.command("kv delete config/document").await;
        workers.until_config(|answer| answer["document_fault"].is_null()).await;
    }
}

async fn reqwest_text(url: &str, token: &str) -> String {
    let response = reqwest::Client::new().get(url).bearer_auth(token).send().await.unwrap();
    assert!(response.status().is_success(), "{url}: {}", response.status());
    response.text().await.unwrap()
}
