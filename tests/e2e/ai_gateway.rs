//! A whole review through an AI Gateway: no provider's key anywhere, and nothing on the way that must not be there.

use std::collections::BTreeSet;

use conclave_scripted_provider::{AiGateway, DemoModel, ScriptedProvider};
use serde_json::Value;

use crate::support::{Conclave, PROVIDER_KEY, Repository};

const TOKEN: &str = "aig-token-that-only-conclave-has";

async fn gateway() -> ScriptedProvider {
    ScriptedProvider::builder()
        .api_key("stored-at-the-gateway")
        .behind(AiGateway::new("acc0unt", "reviews", TOKEN))
        .model(DemoModel::new())
        .start()
        .await
        .expect("a provider")
}

fn job(repository: &Repository, provider: &ScriptedProvider) -> Conclave {
    Conclave::new(repository.path(), &["local", "main"])
        .env(
            "CONCLAVE_AI_GATEWAY_URL",
            format!("{}/v1/acc0unt/reviews", provider.url()),
        )
        .env("CF_AIG_TOKEN", TOKEN)
}

fn users(provider: &ScriptedProvider, from: usize) -> BTreeSet<String> {
    let requests = provider.requests();
    let users = requests[from..].iter().map(|request| {
        let metadata: Value = serde_json::from_str(request.header("cf-aig-metadata").expect("metadata")).expect("JSON");
        metadata["userId"].as_str().expect("a user").to_owned()
    });
    users.collect()
}

#[tokio::test]
async fn every_request_of_a_review_goes_through_it_as_it_wants_it() {
    let (provider, repository) = (gateway().await, Repository::flawed());
    // The whole panel, so that classes of models differ.
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.commit("Renew sessions");
    let outcome = job(&repository, &provider)
        .env("ANTHROPIC_API_KEY", PROVIDER_KEY)
        .run()
        .await
        .expect_code(0);
    assert_eq!(
        provider.violations(),
        [],
        "each request as the gateway wants it, to the header"
    );
    let paths: BTreeSet<String> = provider.requests().iter().map(|request| request.path.clone()).collect();
    let expected = ["anthropic/v1/messages", "workers-ai/v1/chat/completions"];
    let expected: BTreeSet<String> = expected.map(|path| format!("/v1/acc0unt/reviews/{path}")).into();
    assert_eq!(paths, expected, "light reviewers use Workers AI, all others Anthropic");
    assert_eq!(outcome.review()["coverage"]["gaps"], serde_json::json!([]));
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    assert!(
        outcome.stderr.contains("ANTHROPIC_API_KEY is not used"),
        "{}",
        outcome.stderr
    );

    // Always the same user, who is nobody; the runtime knows neither gateway nor token.
    let first = users(&provider, 0);
    assert_eq!(first.len(), 1, "{first:?}");
    let name = repository.path().file_name().unwrap().to_string_lossy().into_owned();
    assert!(!first.iter().any(|user| user.contains(&name)));
    for record in ["opencode.json", "events.jsonl", "review.json", "shared-mr-context.txt"] {
        let text = outcome.record(record);
        assert!(!text.contains(TOKEN) && !text.contains("acc0unt"), "{record}");
    }
    let asked = provider.requests().len();
    let again = job(&repository, &provider).env("CONCLAVE_FOCUS", "security");
    again.run().await.expect_code(0);
    assert_eq!(
        users(&provider, asked),
        first,
        "the same installation and project, the same user"
    );
}

#[tokio::test]
async fn a_wrong_token_is_a_review_that_did_not_happen() {
    let (provider, repository) = (gateway().await, Repository::flawed());
    let outcome = job(&repository, &provider)
        .env("CF_AIG_TOKEN", "another-token")
        .env("CONCLAVE_STRICT", "true")
        .run()
        .await
        .expect_code(4);
    assert_eq!(outcome.review()["verdict"], "inconclusive");
    assert!(provider.violations().iter().all(|violation| violation.status == 401));
}
