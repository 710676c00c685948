//! `conclave local`, from the command line to the printed review.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, PROVIDER_KEY, Repository, executable, provider};

on_both_runtimes! {
    a_flawed_branch_is_reviewed_printed_recorded_and_shown_again
    the_working_tree_is_reviewed_without_being_touched
    the_other_wire_format_reviews_as_well
    json_goes_to_standard_output_the_gate_to_the_exit_code_and_sections_to_the_log
}

async fn a_flawed_branch_is_reviewed_printed_recorded_and_shown_again() {
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
    let of_runtime = match AgentRuntime::current() {
        AgentRuntime::OpenCode => "opencode.json",
        AgentRuntime::Native => "prompts/REVIEWER_SHARED.md",
    };
    for record in [
        of_runtime,
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

    // The same review, looked at by others.
    crate::plan::knows_what_the_runtime_sends(&provider, &repository).await;
    let asked = provider.requests().len();
    drop(repository);
    crate::replay::shows_again(&outcome).await;
    assert_eq!(provider.requests().len(), asked, "no model is asked");
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

async fn json_goes_to_standard_output_the_gate_to_the_exit_code_and_sections_to_the_log() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let arguments = ["local", "main..feature", "--format", "json", "--gate", "block"];
    let outcome = Conclave::new(repository.path(), &arguments)
        .anthropic(&provider)
        .env("GITLAB_CI", "true")
        .run()
        .await
        .expect_code(1);
    let printed: Value = serde_json::from_str(&outcome.stdout).expect("nothing but JSON on standard output");
    assert_eq!(printed, outcome.review());
    assert_eq!(printed["schema_version"], 1);
    sections_close(&outcome.stderr);
}

/// The log of a GitLab job has sections, each of which ends before the next one begins.
fn sections_close(log: &str) {
    let mut open: Option<String> = None;
    let mut headers = Vec::new();
    for line in log.split('\n') {
        for marker in line.split("\x1b[0K").filter(|piece| piece.starts_with("section_")) {
            let mut fields = marker.trim_end_matches('\r').split(':');
            let (kind, time, name) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
            assert!(time.parse::<u64>().unwrap() > 1_600_000_000, "{marker}");
            if kind == "section_start" {
                assert_eq!(open.replace(name.to_owned()), None, "sections do not nest: {line}");
                headers.push(line.rsplit("\x1b[0K").next().unwrap().to_owned());
            } else {
                assert_eq!(open.take().as_deref(), Some(name), "{line}");
            }
        }
    }
    assert_eq!(open, None, "the last section is closed: {log}");
    assert!(headers.len() >= 3, "{headers:?}");
    assert!(
        headers
            .iter()
            .any(|header| header.contains("The reviewers are at work")),
        "{headers:?}"
    );
}

/// The review of a machine with nothing but the program, git and a key: there is neither OpenCode nor ripgrep.
#[tokio::test]
async fn a_machine_with_nothing_but_git_reviews_on_the_native_runtime() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let path = tempfile::tempdir().unwrap();
    let git = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join("git"))
        .find(|path| path.is_file());
    std::os::unix::fs::symlink(git.unwrap(), path.path().join("git")).unwrap();
    let call = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .without("CONCLAVE_OPENCODE")
            .env("PATH", path.path())
    };
    let outcome = call(&["local", "main..feature"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    assert_eq!(outcome.review()["runtime"], "native");
    let printed = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("on the native runtime"), "{printed}");
    assert!(outcome.record("review.md").contains("on the native runtime"));
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    assert_eq!(provider.violations(), []);
    let plan = call(&["plan", "main..feature", "--format", "json"])
        .run()
        .await
        .expect_code(0);
    let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
    assert_eq!(
        plan["runtime"],
        serde_json::json!({"name": "native", "chosen_by": "default"})
    );
    let doctor = call(&["doctor"]).anthropic(&provider).run().await.expect_code(0);
    assert!(
        doctor
            .stdout
            .contains("native, because OpenCode 1.18.33 is not installed"),
        "{}",
        doctor.stdout
    );
    // One that is asked for is an error.
    let asked = call(&["local", "main..feature", "--runtime", "opencode"])
        .anthropic(&provider)
        .run()
        .await;
    let asked = asked.expect_code(2);
    assert!(
        asked.stderr.contains("OpenCode 1.18.33 is not installed"),
        "{}",
        asked.stderr
    );
}

/// The repository's settings choose, and an argument counts more; a child that started meanwhile is ended.
#[tokio::test]
async fn the_target_branch_chooses_the_runtime_and_an_argument_counts_more() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.write(".conclave.toml", "[review]\nruntime = \"native\"\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/greeting.py",
        "def greeting(name):\n    return \"Hello, \" + name\n",
    );
    repository.commit("Greet");
    let runtime = async |arguments: &[&str]| {
        let all = [&["local", "main..feature"], arguments].concat();
        let outcome = Conclave::new(repository.path(), &all).anthropic(&provider).run().await;
        outcome.expect_code(0).review()["runtime"].clone()
    };
    assert_eq!(runtime(&[]).await, "native");
    assert_eq!(runtime(&["--runtime", "opencode"]).await, "opencode");
}

/// `auto` does without an OpenCode that cannot be used, and says why; a path that is named is meant.
#[tokio::test]
async fn an_opencode_of_another_version_or_a_broken_one_leaves_it_to_the_native_runtime() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let programs = tempfile::tempdir().unwrap();
    let inherited = std::env::var_os("PATH").unwrap();
    // One of the right version that the machine has would be found behind the other.
    let others = std::env::split_paths(&inherited).filter(|directory| !directory.join("opencode").exists());
    let path = std::env::join_paths(std::iter::once(programs.path().to_owned()).chain(others)).unwrap();
    let call = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .anthropic(&provider)
            .without("CONCLAVE_OPENCODE")
            .env("PATH", &path)
    };
    for (program, reason) in [
        ("#!/bin/sh\necho 9.9.9\n", "/opencode is 9.9.9"),
        ("#!/bin/sh\nexit 3\n", "it ended without an answer (exit status: 3)"),
        ("#!/nowhere/interpreter\n", "/opencode does not run: "),
    ] {
        executable(&programs.path().join("opencode"), program);
        let outcome = call(&["local", "main..feature"]).run().await.expect_code(0);
        let review = outcome.review();
        assert_eq!(review["runtime"], "native", "{reason}");
        assert!(outcome.categories().contains(&"sql-injection".to_owned()), "{reason}");
        let warnings = review["warnings"].to_string();
        assert!(
            warnings.contains("the review runs on the native runtime, because") && warnings.contains(reason),
            "{warnings}"
        );
        let doctor = call(&["doctor"]).run().await.expect_code(0);
        assert!(doctor.stdout.contains("native, because"), "{}", doctor.stdout);
        let meant = call(&["local", "main..feature", "--runtime", "opencode"]).run().await;
        let meant = meant.expect_code(2);
        assert!(meant.stderr.contains(reason), "{}", meant.stderr);
    }
}
