//! One installation, followed to the letter: the documents' commands deploy and serve both Workers, the CI component's job is
//! what GitLab expands it to, and its script runs with every mix of credentials.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use conclave_fake_gitlab::{MergeRequestRef, NewMergeRequest};
use conclave_scripted_provider::{DemoModel, ScriptedProvider};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{
    AgentRuntime, Component, Conclave, Installation, JobToken, Outcome, PROJECT, PROVIDER_KEY, Pipeline, Repository,
    crowd, executable, on, plays_every_case, provider,
};

on_both_runtimes! {
    what_the_documents_say_works_and_a_switch_moves_the_running_review
}

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_mins(4);
/// Three times the bar of a flipped switch, which `resilience` holds: that takes three to four seconds on a machine that does nothing
/// else, and here the operator's commands are in it, and other tests go on beside it.
const MOVED: Duration = Duration::from_secs(15);

/// What the organization configures, other than the defaults.
const MODEL: &str = "claude-sonnet-4-6";
/// What the defaults take.
const DEFAULT_MODEL: &str = "claude-sonnet-5";

/// What a project stores in its CI/CD variables, and what its jobs show of their own.
#[derive(Debug, Clone, Copy)]
struct Credentials {
    stored: Option<bool>,
    job: Option<JobToken>,
}

/// A project on the GitLab stand-in, with an unreviewed merge request for each review.
struct Scene {
    repository: Repository,
    pipeline: Pipeline,
    installation: Installation,
    /// The expanded component, by its inputs.
    components: HashMap<String, Component>,
    reviews: usize,
}

impl Scene {
    async fn new(installation: Installation, reviews: usize) -> Self {
        let repository = Repository::flawed();
        for number in 0..reviews {
            repository.git(&["branch", &format!("change-{number}"), "feature"]);
        }
        let pipeline = Pipeline::new(&repository).await;
        Self {
            repository,
            pipeline,
            installation,
            components: HashMap::new(),
            reviews: 0,
        }
    }

    /// The job of a new merge request: the component's script and variables, tokens as GitLab makes them, the project's variables.
    async fn job(&mut self, credentials: Credentials, inputs: &Value) -> (Conclave, MergeRequestRef) {
        let mut inputs = inputs.clone();
        inputs["config_url"] = json!(self.installation.config_url);
        inputs["tracker_url"] = json!(self.installation.tracker_url);
        if credentials.job.is_some() {
            inputs["id_tokens"] = json!(true);
        }
        let component = match self.components.entry(inputs.to_string()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Component::expand(&inputs).await),
        };
        assert_eq!(component.id_tokens.is_empty(), credentials.job.is_none());
        let change = format!("change-{}", self.reviews);
        self.reviews += 1;
        let new = NewMergeRequest::new(self.pipeline.author, &change, "main");
        let project = self.pipeline.merge_request.project;
        let merge_request = self.pipeline.gitlab.create_merge_request(project, new);

        let call = Conclave::script(self.repository.path(), &component.script, "conclave-run");
        let mut call = self.pipeline.variables_of(merge_request, &self.repository, call);
        for (name, value) in &component.variables {
            call = call.env(name, value);
        }
        for (name, audience) in &component.id_tokens {
            let kind = credentials.job.expect("it asks for them");
            call = call.env(name, self.installation.job_token(PROJECT, audience, kind).await);
        }
        if let Some(good) = credentials.stored {
            let of = |list: &str| {
                if good {
                    self.installation.secret(list)
                } else {
                    "a-token-of-before"
                }
            };
            call = call
                .env("CONCLAVE_CONFIG_TOKEN", of("READER_TOKENS"))
                .env("CONCLAVE_TRACKER_TOKEN", of("INGEST_TOKENS"));
        }
        (call, merge_request)
    }

    /// Runs a block of the documents as an operator, who answers every question with yes.
    async fn operate(&self, block: &str, more: &str) -> Outcome {
        let block = self.installation.commands(block);
        // What the block leaves out, and where it has an example's address.
        let script = format!("{block}\n{more}")
            .replace(
                "https://reviewer-config.example.workers.dev",
                &self.installation.config_url,
            )
            .replace(
                "CONCLAVE_CONFIG_ADMIN_TOKEN=...",
                &format!(
                    "CONCLAVE_CONFIG_ADMIN_TOKEN={}",
                    self.installation.secret("ADMIN_TOKENS")
                ),
            );
        let lines: Vec<&str> = script.lines().filter(|line| !line.starts_with("wrangler ")).collect();
        let directory = tempfile::tempdir().unwrap();
        let document = json!({"schema_version": 1, "models": {
            "top": [format!("anthropic/{MODEL}"), "openai/gpt-5.3-codex"],
            "standard": [format!("anthropic/{MODEL}"), "openai/gpt-5.3-codex"],
        }});
        let editor = executable(
            &directory.path().join("editor"),
            &format!("#!/bin/sh\nprintf '%s' '{document}' >\"$1\"\n"),
        );
        // The difference is told by its exit code.
        let script = lines.join("\n").replace(
            "conclave config diff config.json",
            "conclave config diff config.json || test $? = 1",
        );
        Conclave::script(directory.path(), &script, "none")
            .env("EDITOR", editor)
            .env("CONCLAVE_YES", "true")
            .env("CONCLAVE_CONFIG_URL", &self.installation.config_url)
            .env("CONCLAVE_CONFIG_ADMIN_TOKEN", self.installation.secret("ADMIN_TOKENS"))
            .run()
            .await
            .expect_code(0)
    }

    /// Whether the dashboard shows a run, to a person who has logged in.
    async fn dashboard_shows(&self, run: &str) {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let tracker = &self.installation.tracker_url;
        let login = client
            .post(format!("{tracker}/login"))
            .header("origin", tracker)
            .header("sec-fetch-site", "same-origin")
            .body(format!("token={}", self.installation.secret("DASHBOARD_TOKENS")));
        let answer = login.send().await.unwrap();
        let cookie = answer.headers()["set-cookie"]
            .to_str()
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned();
        let page = async {
            loop {
                let get = client.get(format!("{tracker}/runs/{run}")).header("cookie", &cookie);
                let answer = get.send().await.unwrap();
                let status = answer.status().as_u16();
                let text = answer.text().await.unwrap();
                // It may know the beginning of the run only.
                if status == 200 && text.contains(PROJECT) && text.contains("ignificant concerns") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(
            tokio::time::timeout(LIMIT, page).await.is_ok(),
            "{run} is not on the dashboard"
        );
    }
}

/// A provider whose answers take so long that a switch meets a review in the middle of one.
async fn slow() -> ScriptedProvider {
    let provider = ScriptedProvider::builder()
        .api_key(PROVIDER_KEY)
        .model(DemoModel::new());
    provider
        .delay(Duration::from_secs(3))
        .start()
        .await
        .expect("a provider")
}

async fn until(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(
        tokio::time::timeout(LIMIT, waiting).await.is_ok(),
        "{what} never happened"
    );
}

/// The whole note of a review that went by the organization's configuration.
fn assert_configured(outcome: &Outcome, notes: &[String]) {
    let review = outcome.review();
    assert!(review.get("configuration").is_none(), "{}", review["configuration"]);
    assert!(!outcome.stdout.contains("built-in defaults"), "{}", outcome.stdout);
    assert!(
        notes.iter().all(|note| !note.contains("built-in defaults")),
        "{notes:#?}"
    );
    assert!(
        !outcome.stderr.contains("events of this run are lost"),
        "{}",
        outcome.stderr
    );
}

/// A review on the defaults says so before its findings, and first in its account.
fn assert_on_defaults(outcome: &Outcome, notes: &[String]) {
    let review = outcome.review();
    assert_eq!(review["configuration"]["instead"], "defaults");
    let note = notes.iter().find(|note| note.contains("<details>")).expect("a summary");
    let notice = note
        .find("> **Built-in defaults:** The configuration service at ")
        .expect("a notice");
    assert!(notice < note.find("\n### ").expect("a finding"), "{note}");
    assert_eq!(note.matches("**Built-in defaults:**").count(), 1, "{note}");
    assert!(note.contains("<summary>on the built-in defaults · "), "{note}");
    // A longer run also says that it could not follow the service; that is another thing.
    let mut warnings = note
        .lines()
        .filter(|line| line.contains("⚠️ the configuration service"));
    assert!(
        warnings.all(|line| line.contains("towards the end of the run")),
        "{note}"
    );
    let said = outcome
        .stdout
        .find("Built-in defaults: The configuration service")
        .expect("it is printed");
    assert!(
        said < outcome.stdout.find("CRITICAL").expect("a finding"),
        "{}",
        outcome.stdout
    );
    let account = outcome.stdout.rsplit('─').next().unwrap().trim_start();
    assert!(account.starts_with("on the built-in defaults · "), "{account}");
}

async fn what_the_documents_say_works_and_a_switch_moves_the_running_review() {
    // The deployment, which takes minutes, knows no runtime.
    let installation = match AgentRuntime::current() {
        AgentRuntime::OpenCode => Installation::local().await,
        AgentRuntime::Native => Installation::deploy().await,
    };
    let mut scene = Scene::new(installation, 2).await;
    a_switch_moves_the_running_review(&mut scene).await;
    // What a job may read is settled before a runtime starts.
    if plays_every_case() {
        no_secret_is_needed_in_ci(&mut scene).await;
    }
    assert_eq!(scene.pipeline.gitlab.violations(), []);
}

/// As the README has it: tokens that the deployment made, stored in CI.
async fn a_switch_moves_the_running_review(scene: &mut Scene) {
    scene.installation.serve(true, false).await;
    scene.operate("change", "").await;
    let stored = Credentials {
        stored: Some(true),
        job: None,
    };
    let (anthropic, openai) = (slow().await, slow().await);
    let (job, merge_request) = scene.job(stored, &json!({})).await;
    let moved = async {
        until("the review is at work", || !anthropic.requests().is_empty()).await;
        // The time that the operator's commands take is in it.
        let flipped = Instant::now();
        scene.operate("incident", "").await;
        until("somebody asked the other provider", || !openai.requests().is_empty()).await;
        flipped.elapsed()
    };
    let mut took = Duration::ZERO;
    let outcome = job
        .anthropic(&anthropic)
        .openai(&openai)
        .run_while(|_| async { took = moved.await })
        .await
        .expect_code(0);
    assert!(
        took <= MOVED.mul_f64(crowd()),
        "moved after {took:?}\n{}",
        outcome.stderr
    );
    assert!(
        anthropic.requests().iter().all(|request| request.model == MODEL),
        "the configuration is used"
    );
    assert!(
        outcome
            .stderr
            .contains("anthropic was switched off during the review: incident 7"),
        "{}",
        outcome.stderr
    );
    assert_configured(&outcome, &scene.pipeline.notes_of(merge_request));
    scene
        .dashboard_shows(outcome.review()["run_id"].as_str().unwrap())
        .await;
}

/// Neither Worker has a list of jobs' tokens, and the project stores none.
async fn no_secret_is_needed_in_ci(scene: &mut Scene) {
    scene.installation.serve(false, true).await;
    let on = "conclave config provider on anthropic";
    scene.operate("incident", on).await;
    let provider = provider().await;
    let own = Credentials {
        stored: None,
        job: Some(JobToken::Good),
    };
    let (job, merge_request) = scene.job(own, &json!({"id_token_audience": "conclave"})).await;
    let outcome = job.anthropic(&provider).run().await.expect_code(0);
    assert!(
        provider.requests().iter().all(|request| request.model == MODEL),
        "the configuration is used"
    );
    assert_configured(&outcome, &scene.pipeline.notes_of(merge_request));
    scene
        .dashboard_shows(outcome.review()["run_id"].as_str().unwrap())
        .await;
}

/// What a job may read is settled before a runtime starts, and twelve reviews are quicker on this one.
#[tokio::test]
async fn every_mix_of_credentials_reads_the_configuration_or_says_on_top_that_it_did_not() {
    on(AgentRuntime::Native, every_mix_of_credentials()).await;
}

async fn every_mix_of_credentials() {
    use JobToken::{Forged, Good};
    let provider = provider().await;
    let mut scene = Scene::new(Installation::local().await, 16).await;
    for (listed, jobs, mixes) in [
        (
            true,
            false,
            &[
                (Some(true), None),
                (Some(true), Some(Good)),
                (None, Some(Good)),
                (None, None),
            ][..],
        ),
        (
            false,
            true,
            &[(Some(true), Some(Good)), (Some(true), None), (None, Some(Forged))],
        ),
        (
            true,
            true,
            &[
                (Some(false), Some(Good)),
                (Some(true), Some(Forged)),
                (Some(false), Some(Forged)),
                (Some(false), None),
            ],
        ),
        (false, false, &[(Some(true), Some(Good))]),
    ] {
        scene.installation.serve(listed, jobs).await;
        if listed && !jobs {
            scene.operate("change", "").await;
        }
        for &(stored, job) in mixes {
            let credentials = Credentials { stored, job };
            let let_in = (listed && stored == Some(true)) || (jobs && job == Some(Good));
            let mix = format!(
                "the Workers know lists: {listed}, jobs: {jobs}; the job has {credentials:?}: let in: {let_in}"
            );
            let asked = provider.requests().len();
            let (job, merge_request) = scene.job(credentials, &json!({})).await;
            let outcome = job.anthropic(&provider).run().await.expect_code(0);
            let notes = scene.pipeline.notes_of(merge_request);
            let requests = provider.requests();
            let model = if let_in { MODEL } else { DEFAULT_MODEL };
            assert!(requests.len() > asked, "{mix}");
            assert!(
                requests[asked..].iter().all(|request| request.model == model),
                "{mix}\n{}",
                outcome.stderr
            );
            if let_in {
                assert_configured(&outcome, &notes);
                scene
                    .dashboard_shows(outcome.review()["run_id"].as_str().unwrap())
                    .await;
            } else {
                assert_on_defaults(&outcome, &notes);
                let lost = outcome.stderr.contains("events of this run are lost")
                    || outcome.stderr.contains("no telemetry is sent");
                assert!(lost, "{}", outcome.stderr);
            }
        }
    }
    assert_eq!(scene.pipeline.gitlab.violations(), []);
}
