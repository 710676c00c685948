//! A job of GitHub Actions and both Workers: no stored secret, tokens that it asks for and renews, and what is said without them.

use std::time::Duration;

use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use serde_json::{Value, json};

use crate::support::{Conclave, PROVIDER_KEY, Repository, Workers, Workflow, provider};

on_both_runtimes! {
    a_job_of_github_needs_no_stored_secret_for_either_worker
    tokens_are_renewed_while_a_review_lasts_longer_than_they_do
    without_the_permission_stored_tokens_count_and_the_line_is_named
}

/// The model that the organization configures, other than the defaults.
const MODEL: &str = "claude-sonnet-4-6";
/// The repository as the Workers know it.
const PROJECT: &str = "127.0.0.1:acme/service";

/// A provider that takes this long for each answer.
async fn slow(delay: Duration) -> ScriptedProvider {
    let provider = ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new());
    provider.delay(delay).start().await.expect("a provider")
}

/// Both Workers, with models for this repository alone.
async fn configured() -> Workers {
    let mut workers = Workers::start().await;
    let document = json!({"schema_version": 1, "projects": [{"paths": [PROJECT], "models": {
        "top": [format!("anthropic/{MODEL}")], "standard": [format!("anthropic/{MODEL}")],
    }}]});
    workers.command(&format!("kv put config/document {document}")).await;
    workers
}

/// The processes whose environment has the bearer or the address in it that this one has, with their commands.
fn holders(of: u32) -> Vec<(u32, String)> {
    let environment = std::fs::read(format!("/proc/{of}/environ")).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let own = environment
        .split('\0')
        .filter_map(|variable| variable.strip_prefix("ACTIONS_ID_TOKEN_REQUEST_")?.split_once('='))
        .map(|(_, value)| value.to_owned());
    let own: Vec<String> = own.collect();
    assert_eq!(own.len(), 2, "{own:?}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |id: u32, file: &str| {
        let text = std::fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&text).replace('\0', " ")
    };
    ids.filter(|id| own.iter().any(|own| read(*id, "environ").contains(own)))
        .map(|id| (id, read(id, "cmdline")))
        .collect()
}

/// The rows of a run, once its end has arrived.
async fn arrived(workers: &mut Workers) -> Vec<Value> {
    let query = "SELECT project, body FROM events ORDER BY id";
    let whole = |rows: &[Value]| {
        ["\"run_completed\"", "\"metrics\""]
            .iter()
            .all(|kind| rows.iter().any(|row| row["body"].as_str().unwrap().contains(kind)))
    };
    workers.rows(query, whole).await
}

async fn a_job_of_github_needs_no_stored_secret_for_either_worker() {
    let (provider, repository, mut workers) = (
        slow(Duration::from_secs(1)).await,
        Repository::flawed(),
        configured().await,
    );
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let review = workflow.review_in(&job, &repository, &[]);
    let review = workers.actions_job("acme/service", None, review).await;
    let mut found = None;
    let outcome = review
        .anthropic(&provider)
        .run_while(|id| {
            let provider = &provider;
            let found = &mut found;
            async move {
                let asked = async {
                    while provider.requests().is_empty() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                tokio::time::timeout(Duration::from_mins(2), asked)
                    .await
                    .expect("agents are at work");
                *found = Some((id, holders(id)));
            }
        })
        .await
        .expect_code(0);
    // No process but conclave itself can ask GitHub for a token.
    let (id, holders) = found.expect("it was looked at");
    assert!(
        !holders.is_empty() && holders.iter().all(|(holder, _)| *holder == id),
        "{holders:?}"
    );

    assert!(
        provider.requests().iter().all(|request| request.model == MODEL),
        "the configuration is used: {}",
        outcome.stderr
    );
    assert!(outcome.review().get("configuration").is_none(), "{}", outcome.stderr);
    assert_eq!(
        outcome.review()["project"],
        "acme/service",
        "people know it without the host"
    );
    let rows = arrived(&mut workers).await;
    assert!(rows.iter().all(|row| row["project"] == PROJECT), "{rows:?}");
    assert_eq!(workers.actions_given().await, 1, "one token for both Workers");
    for said in [
        &outcome.stdout,
        &outcome.stderr,
        &job.summary(),
        &workflow.comments().concat(),
    ] {
        assert!(
            !said.contains("runner-token-") && !said.contains("eyJhbGciOiJSUzI1NiIs"),
            "{said}"
        );
    }
    assert_eq!(workflow.github.violations(), []);

    // A token of the same repository's name on GitLab opens nothing of this one.
    let gitlab = workers.job_token("acme/service").await;
    let client = reqwest::Client::new();
    for (address, project) in [
        (format!("{}/v1/config", workers.config_url), PROJECT),
        (format!("{}/v1/memory", workers.tracker_url), PROJECT),
    ] {
        let get = client.get(address).query(&[("project", project)]).bearer_auth(&gitlab);
        assert_eq!(get.send().await.unwrap().status(), 403);
    }
}

async fn tokens_are_renewed_while_a_review_lasts_longer_than_they_do() {
    let (provider, repository, mut workers) = (
        slow(Duration::from_secs(3)).await,
        Repository::flawed(),
        configured().await,
    );
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let review = workflow.review_in(&job, &repository, &[]);
    let review = workers.actions_job("acme/service", Some(6), review).await;
    let outcome = review.anthropic(&provider).run().await.expect_code(0);
    assert!(provider.requests().iter().all(|request| request.model == MODEL));
    for lost in ["events of this run are lost", "towards the end of the run", "refused"] {
        assert!(!outcome.stderr.contains(lost), "{}", outcome.stderr);
    }
    arrived(&mut workers).await;
    let given = workers.actions_given().await;
    assert!(given > 1, "{given} tokens, and each is good for six seconds");
}

async fn without_the_permission_stored_tokens_count_and_the_line_is_named() {
    let (provider, repository, workers) = (provider().await, Repository::flawed(), Workers::start().await);
    let workflow = Workflow::new(&repository).await;
    let job = workflow.opened(repository.path());
    let addressed = |call: Conclave| {
        call.env("CONCLAVE_CONFIG_URL", &workers.config_url)
            .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
            .anthropic(&provider)
    };
    let doctor = workflow.in_job(&job, Conclave::new(repository.path(), &["doctor"]));
    let said = addressed(doctor).run().await.expect_code(1).stdout;
    assert_eq!(said.matches("`id-token: write`").count(), 2, "{said}");
    let plan = addressed(workflow.review_in(&job, &repository, &["--estimate"]))
        .run()
        .await
        .expect_code(0);
    assert!((plan.stdout + &plan.stderr).contains("`id-token: write`"));

    let stored = |call: Conclave| {
        addressed(call)
            .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
            .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
    };
    let doctor = workflow.in_job(&job, Conclave::new(repository.path(), &["doctor"]));
    let said = stored(doctor).run().await.expect_code(0).stdout;
    assert!(
        said.contains("answers with revision") && said.contains("takes events"),
        "{said}"
    );

    // With the permission in the workflow and a service that does not answer as it should, they still count.
    let doctor = workflow.in_job(&job, Conclave::new(repository.path(), &["doctor"]));
    let refused = stored(doctor)
        .env(
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            format!("{}/nothing-here", workers.config_url),
        )
        .env("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "runner-token-of-nothing");
    let said = refused.run().await.expect_code(0).stdout;
    assert!(
        said.replace(char::is_whitespace, "")
            .contains("GitHubanswered404whenthejobaskedforitstoken"),
        "{said}"
    );
    assert!(
        said.contains("answers with revision") && said.contains("takes events"),
        "{said}"
    );
}
