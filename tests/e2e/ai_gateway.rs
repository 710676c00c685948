//! A whole review through an AI Gateway: no provider's key anywhere, and nothing on the way that must not be there.

use std::collections::BTreeSet;

use conclave_scripted_provider::{AiGateway, DemoModel, ScriptedProvider};
use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, PROVIDER_KEY, Repository, played, plays_every_case};

on_both_runtimes! {
    every_request_of_a_review_goes_through_it_as_it_wants_it
    a_wrong_token_is_a_review_that_did_not_happen
    a_preset_that_the_plan_reports_is_the_one_that_reviews
    models_of_the_job_and_endpoints_beside_it_are_used_as_without_it
}

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
    let of_runtime = match AgentRuntime::current() {
        AgentRuntime::OpenCode => "opencode.json",
        AgentRuntime::Native => "prompts/REVIEWER_SHARED.md",
    };
    for record in [of_runtime, "events.jsonl", "review.json", "shared-mr-context.txt"] {
        let text = outcome.record(record);
        assert!(!text.contains(TOKEN) && !text.contains("acc0unt"), "{record}");
    }
    if plays_every_case() {
        let asked = provider.requests().len();
        let again = job(&repository, &provider).env("CONCLAVE_FOCUS", "security");
        again.run().await.expect_code(0);
        assert_eq!(
            users(&provider, asked),
            first,
            "the same installation and project, the same user"
        );
    }
}

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

/// The models that were asked for.
fn asked(provider: &ScriptedProvider) -> BTreeSet<String> {
    let requests = provider.requests();
    requests.iter().map(|request| request.model.clone()).collect()
}

fn command(provider: &ScriptedProvider, repository: &Repository, arguments: &[&str]) -> Conclave {
    Conclave::new(repository.path(), arguments)
        .env(
            "CONCLAVE_AI_GATEWAY_URL",
            format!("{}/v1/acc0unt/reviews", provider.url()),
        )
        .env("CF_AIG_TOKEN", TOKEN)
}

async fn plan(provider: &ScriptedProvider, repository: &Repository, more: &[&str]) -> Value {
    let all: Vec<&str> = ["plan", "--format", "json"].iter().chain(more).copied().collect();
    let outcome = command(provider, repository, &all).run().await.expect_code(0);
    serde_json::from_str(&outcome.stdout).expect("a plan")
}

async fn a_preset_that_the_plan_reports_is_the_one_that_reviews() {
    let (provider, repository) = (gateway().await, Repository::new());
    repository.write(".conclave.toml", "[review]\npreset = \"yardstick\"\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "auth/session.py",
        "def renew(token):\n    print(\"DEBUG\", token)\n    return token\n",
    );
    repository.commit("Renew sessions");
    let yardstick = BTreeSet::from([
        "@cf/moonshotai/kimi-k2.6".to_owned(),
        "claude-opus-4-7".to_owned(),
        "claude-sonnet-4-6".to_owned(),
    ]);

    let of_project = plan(&provider, &repository, &["main"]).await;
    let chosen = |by| serde_json::json!({"name": "yardstick", "chosen_by": by});
    assert_eq!(of_project["preset"], chosen("repo"));
    command(&provider, &repository, &["local", "main"])
        .run()
        .await
        .expect_code(0);
    assert_eq!(asked(&provider), yardstick);

    let of_job = plan(&provider, &repository, &["main", "--preset", "yardstick"]).await;
    assert_eq!(of_job["preset"], chosen("job"));
    let first = &of_job["coordinator"]["models"];
    assert_eq!(first["considered"][0]["model"], "anthropic/claude-opus-4-7");
    assert_eq!(first["source"], "job");

    // A preset that nobody's models come from is not reported, and that it has no effect is.
    let named = ["main", "--preset", "yardstick", "--models", "openai/gpt-6-sol"];
    let named = plan(&provider, &repository, &named).await;
    assert_eq!(named["preset"], Value::Null);
    let warnings = named["warnings"].to_string();
    assert!(
        warnings.contains("the preset yardstick, chosen by the job, has no effect"),
        "{warnings}"
    );
    assert_eq!(provider.violations(), []);
}

async fn models_of_the_job_and_endpoints_beside_it_are_used_as_without_it() {
    let (provider, repository) = (gateway().await, Repository::flawed());
    for (format, path) in played([("responses", "openai/responses"), ("chat", "openai/chat/completions")]) {
        let from = provider.requests().len();
        command(
            &provider,
            &repository,
            &["local", "main", "--models", "openai/gpt-6-sol"],
        )
        .env("CONCLAVE_OPENAI_API", format)
        .run()
        .await
        .expect_code(0);
        let paths: BTreeSet<String> = provider.requests()[from..]
            .iter()
            .map(|request| request.path.clone())
            .collect();
        assert_eq!(paths, BTreeSet::from([format!("/v1/acc0unt/reviews/{path}")]));
    }

    // An endpoint at an address of the gateway gets the gateway's token, and no key.
    let from = provider.requests().len();
    let fronted = format!("{}/v1/acc0unt/reviews/compat", provider.url());
    let own = ["local", "main", "--models", "compatible/workers-ai/@cf/own/model"];
    let outcome = command(&provider, &repository, &own)
        .env("CONCLAVE_COMPATIBLE_BASE_URL", &fronted)
        .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
        .run()
        .await
        .expect_code(0);
    let requests = provider.requests();
    assert!(
        requests[from..]
            .iter()
            .all(|request| request.path.ends_with("/reviews/compat/chat/completions"))
    );
    assert!(
        outcome.stderr.contains("CONCLAVE_COMPATIBLE_API_KEY is not used"),
        "{}",
        outcome.stderr
    );
    assert_eq!(provider.violations(), []);

    // One elsewhere is asked directly, with its own key and without the gateway's token: on whichever runtime.
    if !plays_every_case() {
        return;
    }
    let beside = crate::support::provider().await;
    let asked_before = provider.requests().len();
    command(&provider, &repository, &own)
        .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", beside.url()))
        .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
        .run()
        .await
        .expect_code(0);
    assert_eq!(provider.requests().len(), asked_before);
    assert!(!beside.requests().is_empty());
    assert!(
        beside
            .requests()
            .iter()
            .all(|request| request.header("cf-aig-metadata").is_none())
    );
    assert_eq!(beside.violations(), []);
}
