//! `conclave local` and the job of a merge-request pipeline are the same review: same plan, same prompts, same verdict.

use std::collections::BTreeMap;

use conclave_scripted_provider::ScriptedProvider;
use serde_json::Value;

use crate::support::{Conclave, Outcome, Pipeline, Repository, provider};

on_both_runtimes! {
    the_same_commits_are_the_same_review_here_and_there
}

/// A branch for the whole panel, with instructions, settings and a flaw, in one commit that is called as GitLab calls the
/// merge request.
fn branch() -> Repository {
    let repository = Repository::new();
    repository.write("AGENTS.md", "# Service\n\nMoney is in cents.\n");
    repository.write(
        ".conclave.toml",
        "[review]\nlanguage = \"German\"\n\n[[path_instructions]]\npaths = [\"auth/\"]\ninstructions = \"Sessions end.\"\n\n\
         [[reviewers]]\nname = \"queries\"\nprompt = \"docs/queries.md\"\npaths = [\"src/\"]\nmodel = \"light\"\n",
    );
    repository.write("docs/queries.md", "Look at each query.\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "auth/session.py",
        "def renew(token):\n    print(\"DEBUG\", token)\n    return token\n",
    );
    repository.write(
        "src/users.py",
        "def find(c, name):\n    return c.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n",
    );
    repository.write("package-lock.json", "{}\n");
    repository.commit("Merge feature");
    repository
}

/// The mark that every section's tag carries differs: it is made from the merge request's number too.
fn without_mark(body: &str) -> String {
    let (_, rest) = body.rsplit_once("<mr_body_").expect("a section");
    let mark = rest.split('>').next().unwrap();
    assert!(mark.len() >= 12, "{mark}");
    body.replace(mark, "MARK")
}

/// Everything that each session is sent first, as it reaches the provider.
fn first_bodies(provider: &ScriptedProvider) -> BTreeMap<String, Value> {
    let requests = provider.requests().into_iter();
    requests
        .filter(|request| request.turn == 1)
        .map(|request| {
            let body = without_mark(&request.text());
            (request.agent.clone(), serde_json::from_str(&body).unwrap())
        })
        .collect()
}

/// The texts of a body, in their order: tools, system prompt, first message.
fn texts(body: &Value) -> Vec<String> {
    let blocks = |value: &Value| -> Vec<String> {
        let blocks = value.as_array().unwrap().iter();
        blocks
            .map(|block| block["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let mut texts = vec![body["model"].to_string(), body["tools"].to_string()];
    texts.extend(blocks(&body["system"]));
    texts.extend(blocks(&body["messages"][0]["content"]));
    texts
}

async fn run(job: Conclave, provider: &ScriptedProvider) -> (Outcome, BTreeMap<String, Value>) {
    let secret = "the installation's secret of this test";
    let outcome = job.anthropic(provider).env("CONCLAVE_SECRET", secret).run().await;
    let outcome = outcome.expect_code(0);
    let bodies = first_bodies(provider);
    (outcome, bodies)
}

async fn the_same_commits_are_the_same_review_here_and_there() {
    let repository = branch();
    let (here, there) = (provider().await, provider().await);
    let pipeline = Pipeline::new(&repository).await;
    let arguments = ["local", "main..feature", "--format", "json"];
    let (local, local_bodies) = run(Conclave::new(repository.path(), &arguments), &here).await;
    let (ci, ci_bodies) = run(pipeline.job(&repository, &["--dry-run", "--format", "json"]), &there).await;

    // The panel, and every byte that its members are sent.
    let agents: Vec<&String> = local_bodies.keys().collect();
    assert_eq!(agents, ci_bodies.keys().collect::<Vec<_>>());
    assert_eq!(
        agents.len(),
        8,
        "six of the full panel, the project's own, the coordinator: {agents:?}"
    );
    for (agent, body) in &local_bodies {
        let sent = texts(body);
        assert!(
            sent.len() >= 4 && sent.concat().len() > 10_000,
            "{agent} is sent {} texts",
            sent.len()
        );
        assert_eq!(sent, texts(&ci_bodies[agent]), "{agent}");
    }

    // What came of it.
    let (local, ci) = (local.review(), ci.review());
    for field in [
        "tier",
        "tier_reasons",
        "base_sha",
        "head_sha",
        "verdict",
        "verdict_reason",
        "summary",
    ] {
        assert_eq!(local[field], ci[field], "{field}");
    }
    assert_eq!(local["coverage"], ci["coverage"]);
    let findings = |review: &Value| -> Vec<Value> {
        let entries = review["findings"].as_array().unwrap().iter();
        let mut findings: Vec<Value> = entries
            .map(|entry| {
                serde_json::json!([
                    entry["finding"]["fingerprint"],
                    entry["finding"]["severity"],
                    entry["fate"]
                ])
            })
            .collect();
        findings.sort_by_key(ToString::to_string);
        findings
    };
    assert_eq!(findings(&local), findings(&ci));
    assert!(!findings(&local).is_empty());
}
