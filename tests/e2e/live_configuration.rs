//! A document that changes while a review runs: what it says of models, switches and limits is used at once, and each change is
//! a line of the review's account.

use std::time::Duration;

use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Conclave, ConfigService, PROVIDER_KEY, Repository, played};

on_both_runtimes! {
    a_model_that_nobody_knew_at_the_start_reviews_and_every_change_is_in_the_account
    a_review_whose_only_provider_is_switched_off_is_inconclusive
    what_the_job_says_stays_in_force_and_a_budget_that_is_lowered_ends_the_calls
}

/// Time that a test waits for what has to happen first.
const PATIENCE: Duration = Duration::from_mins(3);

/// A provider that thinks, so that a change meets a review in the middle of it.
async fn slow() -> ScriptedProvider {
    let provider = ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new());
    provider
        .delay(Duration::from_millis(1500))
        .start()
        .await
        .expect("a provider")
}

fn repository() -> Repository {
    let repository = Repository::flawed();
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.commit("Renew sessions");
    repository
}

async fn until_asked(provider: &ScriptedProvider) {
    let waiting = async {
        while provider.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("a request");
}

async fn a_review_whose_only_provider_is_switched_off_is_inconclusive() {
    let (provider, repository) = (slow().await, repository());
    let service = ConfigService::start(json!({
        "schema_version": 1,
        "revision": 1,
        "providers": {"anthropic": {"enabled": false, "reason": "incident 7"}},
    }))
    .await;
    for (strict, code) in played([(true, 4), (false, 0)]) {
        let arguments: &[&str] = if strict {
            &["local", "main", "--strict"]
        } else {
            &["local", "main"]
        };
        let job = Conclave::new(repository.path(), arguments)
            .env("CONCLAVE_CONFIG_URL", &service.url)
            .env("CONCLAVE_CONFIG_TOKEN", "reader")
            .anthropic(&provider);
        let review = job.run().await.expect_code(code).review();
        assert_eq!(review["verdict"], "inconclusive");
        let gaps = review["coverage"]["gaps"].to_string();
        assert!(gaps.contains("anthropic is switched off: incident 7"), "{gaps}");
    }
    assert!(provider.requests().is_empty(), "no model is asked");
}

async fn a_model_that_nobody_knew_at_the_start_reviews_and_every_change_is_in_the_account() {
    let (provider, beside, repository) = (slow().await, slow().await, repository());
    let models = |model: &str| json!({"top": [model], "standard": [model], "light": [model]});
    let service = ConfigService::start(json!({
        "schema_version": 1,
        "revision": 1,
        "models": models("anthropic/claude-sonnet-5"),
        "limits": {"sessions": 1},
    }))
    .await;
    let job = Conclave::new(repository.path(), &["local", "main"])
        .env("CONCLAVE_CONFIG_URL", &service.url)
        .env("CONCLAVE_CONFIG_TOKEN", "reader")
        .anthropic(&provider)
        .openai(&beside);
    // First another model of the same provider; then, with that provider switched off, one of another that no model was of.
    let outcome = job
        .run_while(|_| async {
            until_asked(&provider).await;
            service.set(json!({
                "schema_version": 1,
                "revision": 2,
                "models": models("anthropic/claude-of-tomorrow"),
                "limits": {"sessions": 1, "idle_seconds": 90},
            }));
            let asked = || {
                provider
                    .requests()
                    .iter()
                    .any(|request| request.model == "claude-of-tomorrow")
            };
            let waiting = async {
                while !asked() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(PATIENCE, waiting)
                .await
                .expect("the model of tomorrow is asked");
            service.set(json!({
                "schema_version": 1,
                "revision": 3,
                "models": models("openai/gpt-of-tomorrow"),
                "providers": {"anthropic": {"enabled": false, "reason": "incident"}},
                "limits": {"sessions": 7, "idle_seconds": 90},
            }));
        })
        .await
        .expect_code(0);
    let asked = |provider: &ScriptedProvider| {
        let mut models: Vec<String> = provider
            .requests()
            .iter()
            .map(|request| request.model.clone())
            .collect();
        models.sort();
        models.dedup();
        models
    };
    assert_eq!(asked(&provider), ["claude-of-tomorrow", "claude-sonnet-5"]);
    assert_eq!(asked(&beside), ["gpt-of-tomorrow"]);
    for request in provider.requests().iter().chain(&beside.requests()) {
        assert!(!request.text().contains("named-later"), "{}", request.text());
    }
    assert_eq!(provider.violations(), []);
    assert_eq!(beside.violations(), []);
    let review = outcome.review();
    assert!(review["coordinator"]["outcome"] == "ok", "{}", review["coordinator"]);
    assert!(outcome.models().contains(&"openai/gpt-of-tomorrow".to_owned()));
    let account = review["coverage"]["notes"].to_string();
    let note = outcome.record("review.md");
    let said = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "the standard models are anthropic/claude-of-tomorrow now",
        "the limit idle_seconds is 90 s now, it was 75 s",
        "the limit sessions is 7 now, it was 1",
        "the standard models are openai/gpt-of-tomorrow now",
    ] {
        assert!(account.contains(line), "{line}: {account}");
        assert!(note.replace('\\', "").contains(line), "{line}: {note}");
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(
        review["warnings"]
            .to_string()
            .contains("anthropic was switched off during the review: incident")
    );
}

/// On OpenCode: the change has to come before the panel is done, which is quicker on the native runtime than the service is asked.
async fn what_the_job_says_stays_in_force_and_a_budget_that_is_lowered_ends_the_calls() {
    let (provider, repository) = (slow().await, repository());
    let service = ConfigService::start(json!({"schema_version": 1, "revision": 1, "limits": {"sessions": 1}})).await;
    let outcome = Conclave::new(
        repository.path(),
        &["local", "main", "--models", "anthropic/claude-opus-4-8"],
    )
    .env("CONCLAVE_LIMITS", "idle=80")
    .env("CONCLAVE_CONFIG_URL", &service.url)
    .env("CONCLAVE_CONFIG_TOKEN", "reader")
    .anthropic(&provider)
    .run_while(|_| async {
        until_asked(&provider).await;
        service.set(json!({
            "schema_version": 1,
            "revision": 2,
            "models": {"standard": ["anthropic/claude-sonnet-5"], "top": ["anthropic/claude-sonnet-5"]},
            "limits": {"sessions": 1, "idle_seconds": 300, "budget": {"run_calls": 1}},
        }));
    })
    .await
    .expect_code(0);
    assert!(
        provider
            .requests()
            .iter()
            .all(|request| request.model == "claude-opus-4-8")
    );
    let review = outcome.review();
    let account = review["coverage"]["notes"].to_string();
    assert!(
        account.contains("the limit budget.run_calls is 1 now, it was without limit"),
        "{account}"
    );
    assert!(
        !account.contains("models are") && !account.contains("idle_seconds"),
        "{account}"
    );
    assert!(
        review["partial"].to_string().contains("1 model calls"),
        "{}",
        review["partial"]
    );
    // What the one call found stands, for there is no judge any more who could change it.
    assert_eq!(review["verdict"], "significant_concerns");
}

#[tokio::test]
async fn a_time_limit_of_the_project_or_the_job_holds_and_one_that_cannot_is_named() {
    let (provider, repository) = (slow().await, Repository::new());
    repository.write(
        ".conclave.toml",
        "[limits]\nheaders_seconds = 900\nhold_seconds = 900\n",
    );
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("src/users.py", "def f():\n    print(\"DEBUG\")\n");
    repository.commit("Change");
    let plan = async |more: &[&str]| {
        let all: Vec<&str> = [&["plan", "--format", "json", "main"][..], more].concat();
        let job = Conclave::new(repository.path(), &all).anthropic(&provider);
        job.run().await.expect_code(0).stdout
    };
    let cut_short = "the limit headers_seconds (900 s) cannot take effect: first_sign_seconds (60 s) is shorter";
    let text = plan(&[]).await;
    assert!(text.contains(cut_short), "{text}");
    let whole = "first_sign=900,stall_seconds=900,reviewer=1000,coordinator=1000,panel=2000";
    let text = plan(&["--limits", whole]).await;
    assert!(!text.contains("cannot take effect"), "{text}");

    // A limit below the provider's time is over before its answer, whatever the default is.
    let outcome = Conclave::new(
        repository.path(),
        &["local", "main", "--limits", "idle_seconds=1,hold_seconds=1"],
    )
    .anthropic(&provider)
    .run()
    .await
    .expect_code(0);
    assert_eq!(outcome.review()["verdict"], "inconclusive");
    let opencode: Value = serde_json::from_str(&outcome.record("opencode.json")).unwrap();
    let options = &opencode["provider"]["anthropic"]["options"];
    let longest = json!((3600 + 3600 + 60) * 1000);
    assert_eq!(
        (&options["headerTimeout"], &options["chunkTimeout"]),
        (&longest, &longest)
    );
    assert_eq!(opencode["mcp"]["spawn"]["timeout"], 86_400_000);
}
