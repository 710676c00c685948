//! `conclave local`, from the command line to the printed review.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Conclave, PROVIDER_KEY, Repository, provider};

#[tokio::test]
async fn a_flawed_branch_is_reviewed_printed_and_recorded() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let outcome = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await;
    let outcome = outcome.expect_code(0);

    // What a person reads.
    assert!(outcome.stdout.contains("Significant concerns"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("src/users.py:6"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("tier trivial"), "{}", outcome.stderr);

    // What a program reads.
    let review = outcome.review();
    assert_eq!(review["verdict"], "significant_concerns");
    assert_eq!(review["degraded"], Value::Null);
    assert_eq!(review["coverage"]["gaps"], serde_json::json!([]));
    assert!(
        outcome.categories().contains(&"sql-injection".to_owned()),
        "{:?}",
        outcome.categories()
    );

    // The account of tokens is the provider's own, to the token.
    assert_eq!(provider.violations(), []);
    let booked = provider.books().totals();
    let mut models = BTreeSet::new();
    for report in review["reviewers"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&review["coordinator"]])
    {
        models.extend(
            report["usage"]
                .as_array()
                .unwrap()
                .iter()
                .map(|usage| usage["model"].as_str().unwrap()),
        );
    }
    for model in models {
        let used = sum(&review, model);
        let name = model.split_once('/').unwrap().1;
        let booked = &booked[name].usage;
        assert_eq!(
            used,
            [booked.input, booked.output, booked.cache_read, booked.cache_write],
            "{model}"
        );
    }
    assert!(review["cost_usd"].as_f64().unwrap() > 0.0);

    // The records: readable, complete, without a secret.
    let events = outcome.record("events.jsonl");
    let kinds: BTreeSet<String> = events
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).expect("an object a line")["type"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for kind in ["session.created", "message.part.updated", "session.idle"] {
        assert!(kinds.contains(kind), "{kind} is missing in {kinds:?}");
    }
    for record in [
        "opencode.json",
        "events.jsonl",
        "review.json",
        "review.md",
        "shared-mr-context.txt",
    ] {
        assert!(!outcome.record(record).contains(PROVIDER_KEY), "the key is in {record}");
    }
    assert!(
        outcome
            .record("patches/0001-src-users-py.patch")
            .contains("+def find(connection, name):")
    );
}

fn sum(review: &Value, model: &str) -> [u64; 4] {
    let mut sum = [0; 4];
    for report in review["reviewers"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&review["coordinator"]])
    {
        for usage in report["usage"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|usage| usage["model"] == model)
        {
            for (total, kind) in sum.iter_mut().zip(["input", "output", "cache_read", "cache_write"]) {
                *total += usage["tokens"][kind].as_u64().unwrap();
            }
        }
    }
    sum
}

#[tokio::test]
async fn the_working_tree_is_reviewed_without_being_touched() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.write(
        "src/users.py",
        "def find(c, name):\n    return c.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n",
    );
    let status = repository.git(&["status", "--porcelain"]);
    let objects = repository.git(&["count-objects"]);
    let outcome = Conclave::new(repository.path(), &["local"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.categories(), ["sql-injection"]);
    assert!(
        outcome.stderr.contains("uncommitted changes are part of this review"),
        "{}",
        outcome.stderr
    );
    assert_eq!(repository.git(&["status", "--porcelain"]), status);
    assert_eq!(repository.git(&["count-objects"]), objects);
}

#[tokio::test]
async fn the_other_wire_format_reviews_as_well() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .openai(&provider)
        .run()
        .await
        .expect_code(0);
    assert!(
        outcome.models().iter().all(|model| model.starts_with("openai/")),
        "{:?}",
        outcome.models()
    );
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    assert!(
        provider
            .requests()
            .iter()
            .all(|request| request.path.ends_with("/chat/completions"))
    );
    assert_eq!(provider.violations(), []);
    let review = outcome.review();
    let booked = provider.books();
    for model in outcome.models() {
        let usage = &booked.model(model.split_once('/').unwrap().1).usage;
        assert_eq!(
            sum(&review, &model),
            [usage.input, usage.output, usage.cache_read, usage.cache_write],
            "{model}"
        );
    }
}

#[tokio::test]
async fn json_goes_to_standard_output_and_the_gate_to_the_exit_code() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let arguments = ["local", "main..feature", "--format", "json", "--gate", "block"];
    let outcome = Conclave::new(repository.path(), &arguments)
        .anthropic(&provider)
        .run()
        .await
        .expect_code(1);
    let printed: Value = serde_json::from_str(&outcome.stdout).expect("nothing but JSON on standard output");
    assert_eq!(printed, outcome.review());
    assert_eq!(printed["schema_version"], 1);
}

#[tokio::test]
async fn reviewers_share_their_prompt_up_to_the_role() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // A security-sensitive path brings the whole panel.
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.commit("Renew sessions");
    Conclave::new(repository.path(), &["local", "main"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let first: Vec<(String, String)> = provider
        .requests()
        .into_iter()
        .filter(|request| request.turn == 1 && request.agent != "coordinator")
        .map(|request| (request.model.clone(), request.text()))
        .collect();
    let standard: Vec<&String> = first
        .iter()
        .filter(|(model, _)| model == "claude-sonnet-5")
        .map(|(_, body)| body)
        .collect();
    assert_eq!(standard.len(), 4, "security, correctness, performance, code quality");
    let role = "# Reviewer: ";
    let shared = |body: &str| {
        body.split_once(role)
            .expect("every reviewer is told its role")
            .0
            .to_owned()
    };
    for body in &standard {
        assert_eq!(
            shared(body),
            shared(standard[0]),
            "what comes before the role is byte-identical"
        );
    }
}
