//! `conclave config` against the Worker in `workerd`: what operators see, what is asked of them, what it leaves behind.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Conclave, Outcome, Repository, Workers, provider};

/// `conclave config` with these arguments, as an administrator.
fn config(workers: &Workers, directory: &Path, arguments: &[&str]) -> Conclave {
    let arguments: Vec<&str> = ["config"].iter().chain(arguments).copied().collect();
    Conclave::new(directory, &arguments)
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_ADMIN_TOKEN", Workers::ADMIN_TOKEN)
}

async fn run(workers: &Workers, directory: &Path, arguments: &[&str]) -> Outcome {
    let outcome = config(workers, directory, arguments).run().await;
    for text in [&outcome.stdout, &outcome.stderr] {
        assert!(
            !text.contains(Workers::ADMIN_TOKEN),
            "{arguments:?} prints the token:\n{text}"
        );
    }
    outcome
}

fn json_of(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {}", outcome.stdout))
}

#[tokio::test]
async fn a_provider_is_switched_off_and_on_again_and_the_history_says_why() {
    let (workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();

    let refused = run(&workers, at, &["provider", "off", "anthropic"])
        .await
        .expect_code(2);
    assert!(refused.stderr.contains("--reason"), "{}", refused.stderr);

    let off = run(
        &workers,
        at,
        &["provider", "off", "anthropic", "--reason", "incident 7"],
    )
    .await;
    let off = off.expect_code(0);
    assert!(
        off.stdout.contains("anthropic is off") && off.stdout.contains("(revision 1)"),
        "{}",
        off.stdout
    );

    let shown = run(&workers, at, &["show"]).await.expect_code(0);
    let line = shown
        .stdout
        .lines()
        .find(|line| line.trim_start().starts_with("anthropic "))
        .unwrap();
    assert!(line.contains("off") && line.contains("incident 7"), "{line}");
    let as_json = json_of(&run(&workers, at, &["show", "--json"]).await.expect_code(0));
    assert_eq!(as_json["config"]["providers"]["anthropic"]["enabled"], false);

    // Without either of two providers somebody would have nothing left: that is asked, and here nobody can answer.
    let last = ["provider", "off", "openai", "--reason", "incident 8"];
    let asked = run(&workers, at, &last).await.expect_code(2);
    assert!(
        asked.stderr.contains("no model is left for") && asked.stderr.contains("security"),
        "{}",
        asked.stderr
    );
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    // Also with `--yes`: it would change nothing, and say that it did.
    let typo = ["provider", "off", "antropic", "--reason", "incident 8", "--yes"];
    let typo = run(&workers, at, &typo).await.expect_code(2);
    let said = "`antropic` is not a provider; did you mean `anthropic`? Nothing was changed";
    assert!(typo.stderr.contains(said), "{}", typo.stderr);
    let done: Vec<&str> = last.iter().copied().chain(["--yes", "--json"]).collect();
    let done = json_of(&run(&workers, at, &done).await.expect_code(0));
    assert_eq!(done, json!({"changed": true, "revision": 2}));
    let other_case = ["provider", "off", "OpenAI", "--reason", "incident 8", "--yes"];
    let other_case = run(&workers, at, &other_case).await.expect_code(0);
    assert!(
        other_case.stdout.contains("openai is off: running reviews go round it"),
        "{}",
        other_case.stdout
    );
    let own = ["provider", "off", "in_house", "--reason", "incident 8", "--yes"];
    let own = run(&workers, at, &own).await.expect_code(0);
    assert!(own.stdout.contains("no model in force is of it"), "{}", own.stdout);
    let shown = run(&workers, at, &["show"]).await.expect_code(0);
    assert!(
        shown.stderr.contains("no model here is of `in_house`"),
        "{}",
        shown.stderr
    );
    let none = run(&workers, at, &["history", "--before", "0"]).await.expect_code(0);
    assert!(
        none.stdout.contains("There is no revision before 0."),
        "{}",
        none.stdout
    );

    run(&workers, at, &["provider", "on", "anthropic"]).await.expect_code(0);
    let history = run(&workers, at, &["history"]).await.expect_code(0);
    for expected in [
        "ada",
        "switched anthropic off",
        "incident 7",
        "switched anthropic on",
        "incident 8",
    ] {
        assert!(history.stdout.contains(expected), "{expected}\n{}", history.stdout);
    }
    let page = json_of(
        &run(&workers, at, &["history", "--limit", "1", "--before", "3", "--json"])
            .await
            .expect_code(0),
    );
    assert_eq!(page["revisions"][0]["revision"], 2);
    assert_eq!(page["revisions"].as_array().unwrap().len(), 1);

    // Who reads the exit code alone would take it for refused.
    let unprinted = Conclave::script(at, "conclave config provider on openai >/dev/full", "run")
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_ADMIN_TOKEN", Workers::ADMIN_TOKEN);
    let unprinted = unprinted.run().await.expect_code(2);
    let said = unprinted.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The command was carried out all the same: openai is on: ",
        "(revision 6).",
    ] {
        assert!(said.contains(part), "{}", unprinted.stderr);
    }
}

#[tokio::test]
async fn a_document_is_checked_compared_applied_and_rolled_back() {
    let (workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();
    let write = |document: &Value| std::fs::write(at.join("config.json"), document.to_string()).unwrap();

    write(&json!({"schema_version": 1, "limits": {"sessions": "x"}, "projects": [{"paths": ["a["]}], "reviwers": {}}));
    let faults = run(&workers, at, &["validate", "config.json"]).await.expect_code(1);
    for expected in ["/limits/sessions: cannot be read", "/projects/0/paths/0: "] {
        assert!(faults.stdout.contains(expected), "{}", faults.stdout);
    }
    assert!(faults.stderr.contains("/reviwers is not known"), "{}", faults.stderr);
    let as_json = json_of(
        &run(&workers, at, &["validate", "config.json", "--json"])
            .await
            .expect_code(1),
    );
    assert_eq!(as_json["valid"], false);
    assert_eq!(as_json["errors"].as_array().unwrap().len(), 2);
    let refused = run(&workers, at, &["apply", "config.json", "--reason", "x", "--yes"])
        .await
        .expect_code(2);
    assert!(refused.stderr.contains("nothing was changed"), "{}", refused.stderr);

    write(&json!({"schema_version": 1, "reviewers": {"security": {"models": ["openai/gpt6-sol"]}}}));
    let noted = run(&workers, at, &["validate", "config.json"]).await.expect_code(0);
    assert!(
        noted.stderr.contains("did you mean openai/gpt-6-sol?"),
        "{}",
        noted.stderr
    );

    write(&json!({"schema_version": 1, "limits": {"sessions": 4},
        "projects": [{"paths": ["platform/**"], "limits": {"sessions": 2}}]}));
    run(&workers, at, &["validate", "config.json"]).await.expect_code(0);
    let diff = run(&workers, at, &["diff", "config.json"]).await.expect_code(1);
    assert!(diff.stdout.contains("+    \"sessions\": 4"), "{}", diff.stdout);
    let asked = run(&workers, at, &["apply", "config.json", "--reason", "calmer"])
        .await
        .expect_code(2);
    assert!(
        asked.stdout.contains("+    \"sessions\": 4"),
        "what it would do is shown: {}",
        asked.stdout
    );
    assert!(
        asked.stderr.contains("nothing was changed; add --yes"),
        "{}",
        asked.stderr
    );
    run(&workers, at, &["apply", "config.json", "--reason", "calmer", "--yes"])
        .await
        .expect_code(0);
    let again = run(&workers, at, &["apply", "config.json", "--reason", "calmer", "--yes"])
        .await
        .expect_code(0);
    assert!(again.stdout.contains("nothing to change"), "{}", again.stdout);
    let same = run(&workers, at, &["diff", "config.json"]).await.expect_code(0);
    assert!(same.stdout.contains("the same"), "{}", same.stdout);

    let stored = json_of(&run(&workers, at, &["get"]).await.expect_code(0));
    assert_eq!(
        (&stored["revision"], &stored["limits"]["sessions"]),
        (&json!(1), &json!(4))
    );
    let shown = run(&workers, at, &["show", "--project", "platform/build"])
        .await
        .expect_code(0);
    assert!(shown.stdout.contains("platform/build, revision 1"), "{}", shown.stdout);
    let sessions = shown.stdout.lines().find(|line| line.contains("sessions")).unwrap();
    assert!(sessions.contains("2 (7 otherwise)"), "{sessions}");

    let chain = [
        "failback",
        "anthropic/claude-opus-4-8",
        "anthropic/claude-opus-4-6",
        "--reason",
        "4.7 is slow",
        "--yes",
    ];
    let chain = run(&workers, at, &chain).await.expect_code(0);
    assert!(
        chain.stdout.contains("claude-opus-4-8 → anthropic/claude-opus-4-6"),
        "{}",
        chain.stdout
    );
    let turn = [
        "failback",
        "anthropic/claude-opus-4-6",
        "anthropic/claude-opus-4-8",
        "--reason",
        "x",
        "--yes",
    ];
    let turn = run(&workers, at, &turn).await.expect_code(2);
    assert!(
        turn.stderr.contains("/failback/") && turn.stderr.contains("the fallback chain is circular"),
        "{}",
        turn.stderr
    );
    let listed = run(&workers, at, &["failback"]).await.expect_code(0);
    assert!(
        listed
            .stdout
            .contains("anthropic/claude-opus-4-8 → anthropic/claude-opus-4-6"),
        "{}",
        listed.stdout
    );

    // The file was fetched before that: a colleague's change is not undone without a word.
    let mut older = stored.clone();
    older["limits"]["sessions"] = json!(5);
    write(&older);
    let stale = run(&workers, at, &["apply", "config.json", "--reason", "x", "--yes"])
        .await
        .expect_code(2);
    assert!(
        stale
            .stderr
            .contains("config.json is of revision 1, and the stored document is of revision 2"),
        "{}",
        stale.stderr
    );

    let back = run(&workers, at, &["rollback", "1", "--reason", "too calm"])
        .await
        .expect_code(2);
    assert!(
        back.stdout.contains("-      \"anthropic/claude-opus-4-8\""),
        "{}",
        back.stdout
    );
    run(&workers, at, &["rollback", "1", "--reason", "too calm", "--yes"])
        .await
        .expect_code(0);
    let stored = json_of(&run(&workers, at, &["get"]).await.expect_code(0));
    assert_eq!((&stored["revision"], &stored["failback"]), (&json!(3), &Value::Null));

    // A rollback for the sake of the document warns of a provider switched off since.
    run(&workers, at, &["provider", "off", "openai", "--reason", "incident 9"])
        .await
        .expect_code(0);
    let asked = run(&workers, at, &["rollback", "3", "--reason", "too calm"])
        .await
        .expect_code(2);
    assert!(
        asked.stderr.contains("This switches on again: openai."),
        "{}",
        asked.stderr
    );
    let back = run(&workers, at, &["rollback", "3", "--reason", "too calm", "--yes"])
        .await
        .expect_code(0);
    assert!(
        back.stdout.contains("switched on again: openai (revision"),
        "{}",
        back.stdout
    );
    let unknown = run(&workers, at, &["rollback", "99", "--reason", "x", "--yes"])
        .await
        .expect_code(2);
    assert!(unknown.stderr.contains("no revision 99"), "{}", unknown.stderr);
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_said_with_what_to_do() {
    let (workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();
    let none = Conclave::new(at, &["config", "show"]).run().await.expect_code(2);
    assert!(none.stderr.contains("CONCLAVE_CONFIG_ADMIN_TOKEN"), "{}", none.stderr);
    let no_address = Conclave::new(at, &["config", "history"]).env("CONCLAVE_CONFIG_ADMIN_TOKEN", "t");
    let no_address = no_address.run().await.expect_code(2);
    assert!(
        no_address.stderr.contains("CONCLAVE_CONFIG_URL is not set"),
        "{}",
        no_address.stderr
    );

    let reader = config(&workers, at, &["history"]).env("CONCLAVE_CONFIG_ADMIN_TOKEN", Workers::READER_TOKEN);
    let reader = reader.run().await.expect_code(2);
    assert!(reader.stderr.contains("ADMIN_TOKENS"), "{}", reader.stderr);
    assert!(!reader.stderr.contains(Workers::READER_TOKEN), "{}", reader.stderr);
    let unknown = config(&workers, at, &["history"]).env("CONCLAVE_CONFIG_ADMIN_TOKEN", "alice:unknown");
    let unknown = unknown.run().await.expect_code(2);
    assert!(unknown.stderr.contains("without the name"), "{}", unknown.stderr);
    let two_lines = config(&workers, at, &["history"]).env("CONCLAVE_CONFIG_ADMIN_TOKEN", "one\ntwo");
    let two_lines = two_lines.run().await.expect_code(2);
    assert!(
        two_lines.stderr.contains("such as a line break"),
        "{}",
        two_lines.stderr
    );
    let as_reader = Conclave::new(at, &["config", "show"])
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN);
    as_reader.run().await.expect_code(0);

    let gone = config(&workers, at, &["history"]).env("CONCLAVE_CONFIG_URL", "http://127.0.0.1:9");
    let gone = gone.run().await.expect_code(3);
    assert!(gone.stderr.contains("cannot be reached"), "{}", gone.stderr);
    let missing = run(&workers, at, &["validate", "nowhere.json"]).await.expect_code(2);
    assert!(missing.stderr.contains("nowhere.json"), "{}", missing.stderr);
    std::fs::write(at.join("broken.json"), "{").unwrap();
    let misspelled = r#"{"schema_version":1,"reviewers":{"secruity":{"enabled":false}}}"#;
    for (text, said) in [
        ("{", "is not JSON that can be used"),
        ("", "is empty: the smallest document is"),
        (
            r#"{"schema_version":1,"schema_version":1}"#,
            "`schema_version` is there twice",
        ),
        (
            misspelled,
            "/reviewers/secruity: `secruity` is not a reviewer; did you mean `security`?",
        ),
    ] {
        std::fs::write(at.join("broken.json"), text).unwrap();
        let broken = run(&workers, at, &["validate", "broken.json"]).await.expect_code(1);
        assert!(broken.stdout.contains(said), "{}", broken.stdout);
        let diff = run(&workers, at, &["diff", "broken.json"]).await.expect_code(2);
        assert!(diff.stderr.contains(said), "{}", diff.stderr);
    }
}

#[tokio::test]
async fn a_job_reads_with_its_own_token_and_an_operators_prices_count() {
    let (provider, repository, mut workers) = (provider().await, Repository::flawed(), Workers::config().await);
    let document = json!({
        "schema_version": 1,
        "revision": 8,
        "prices": {"anthropic/claude-sonnet-5": {"as_of": "2026-11-01", "input": 1000, "output": 1000}},
    });
    workers.command(&format!("kv put config/document {document}")).await;
    let project = repository.path().file_name().unwrap().to_str().unwrap().to_owned();
    let token = async |workers: &mut Workers, project: &str| {
        let answer = workers.command(&format!("job-token {project}")).await;
        answer["token"].as_str().unwrap().to_owned()
    };
    let (own, foreign) = (
        token(&mut workers, &project).await,
        token(&mut workers, "group/other").await,
    );
    let plan = async |token: &str| {
        let plan = Conclave::new(repository.path(), &["plan", "main..feature"])
            .env("CONCLAVE_CONFIG_URL", &workers.config_url)
            .env("CONCLAVE_CONFIG_OIDC_TOKEN", token)
            .anthropic(&provider);
        let plan = plan.run().await.expect_code(0);
        assert!(!plan.stdout.contains(token) && !plan.stderr.contains(token));
        squeezed(&plan.stdout)
    };
    let plan_of_own = plan(&own).await;
    assert!(
        plan_of_own.contains("anthropic/claude-sonnet-5asof2026-11-01"),
        "{plan_of_own}"
    );
    let foreign = plan(&foreign).await;
    assert!(
        foreign.contains("refusedthejob'stoken") && foreign.contains("oftheprojectgroup/other"),
        "{foreign}"
    );
    assert!(
        !foreign.contains("2026-11-01"),
        "the built-in defaults are used: {foreign}"
    );

    let run = Conclave::new(repository.path(), &["local", "main..feature"])
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN)
        .env("CONCLAVE_RUNTIME", "native")
        .anthropic(&provider);
    let run = run.run().await.expect_code(0);
    assert!(
        squeezed(&run.stdout).contains("anthropic/claude-sonnet-5asof2026-11-01"),
        "{}",
        run.stdout
    );
    let review = run.review();
    let tokens = |report: &Value| -> u64 {
        let usage = report["usage"].as_array().unwrap();
        let kinds = usage
            .iter()
            .flat_map(|usage| usage["tokens"].as_object().unwrap().values());
        kinds.map(|count| count.as_u64().unwrap()).sum()
    };
    let all: u64 = review["reviewers"]
        .as_array()
        .unwrap()
        .iter()
        .chain([&review["coordinator"]])
        .map(tokens)
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "few tokens")]
    let expected = all as f64 / 1000.0;
    let cost = review["cost_usd"].as_f64().unwrap();
    assert!(
        (cost - expected).abs() < 1e-6,
        "every token costs a tenth of a cent: {cost} and {expected}"
    );
}

/// A text whatever the width that it is set to: lines break at hyphens too.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Whatever a person wrote to KV by hand: it is shown as it is, compared, replaced, and kept.
#[tokio::test]
async fn a_stored_document_that_cannot_be_used_is_shown_mended_and_kept() {
    let (mut workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();
    let good = json!({"schema_version": 1, "limits": {"sessions": 4}});
    std::fs::write(at.join("good.json"), good.to_string()).unwrap();
    let long = "x".repeat(1_200_000);
    let oversize = json!({"schema_version": 1, "providers": {"vllm": {"enabled": true, "reason": long}}}).to_string();
    for (stored, shown, problem) in [
        ("reviewers: {} # YAML", "reviewers: {} # YAML", "is not JSON"),
        (
            "{\"schema_version\":9,\"limits\":{\"sessions\":3}}",
            "\"sessions\": 3",
            "/schema_version: is 9",
        ),
        ("[1,2]", "2", "cannot be read"),
        (
            "{\"schema_version\":1,\"limits\":{\"sessions\":\"many\"}}",
            "many",
            "/limits/sessions",
        ),
        (oversize.as_str(), "xxxx", "reviews read 1048576 at most"),
    ] {
        workers.command(&format!("kv put config/document {stored}")).await;
        let got = run(&workers, at, &["get"]).await.expect_code(2);
        assert!(
            got.stdout.contains(shown),
            "{problem}: {}",
            &got.stdout[..got.stdout.len().min(500)]
        );
        assert!(got.stderr.contains(problem), "{}", got.stderr);
        assert!(got.stderr.contains("conclave config apply"), "{}", got.stderr);

        let diff = run(&workers, at, &["diff", "good.json"]).await.expect_code(1);
        assert!(diff.stdout.contains("\"sessions\": 4"), "{problem}");
        assert!(diff.stderr.contains(problem), "{}", diff.stderr);
        let chain = [
            "failback",
            "anthropic/claude-opus-4-8",
            "none",
            "--reason",
            "x",
            "--yes",
        ];
        let chain = run(&workers, at, &chain).await.expect_code(2);
        assert!(
            chain.stderr.contains("`conclave config get` and `apply`"),
            "{}",
            chain.stderr
        );
        let asked = run(&workers, at, &["apply", "good.json", "--reason", "mend"])
            .await
            .expect_code(2);
        assert!(asked.stderr.contains("nothing was changed"), "{}", asked.stderr);

        let applied = run(&workers, at, &["apply", "good.json", "--reason", "mend", "--yes"])
            .await
            .expect_code(0);
        let (_, rest) = applied.stderr.split_once("is kept in ").expect("it says where");
        let (name, _) = rest.split_once(".replaced").expect("a file");
        let copy = std::fs::read_to_string(at.join(format!("{name}.replaced"))).unwrap();
        assert!(copy == stored, "{name}");
        let got = run(&workers, at, &["get"]).await.expect_code(0);
        let stored = json_of(&got);
        assert_eq!(stored["limits"]["sessions"], 4);
        // What is written by hand before KV follows may be replaced.
        let copy = format!("kv get config/revision/{}", stored["revision"]);
        let start = std::time::Instant::now();
        while workers.command(&copy).await["value"].is_null() {
            assert!(start.elapsed() < std::time::Duration::from_mins(1), "KV never follows");
            tokio::task::yield_now().await;
        }
    }
    // The newest revision is as good as the first: what has to be mended is in KV alone.
    workers.command("kv put config/document reviewers: []").await;
    let back = run(&workers, at, &["rollback", "1", "--reason", "mend", "--yes"])
        .await
        .expect_code(0);
    assert!(back.stderr.contains("is kept in "), "{}", back.stderr);
    let got = run(&workers, at, &["get"]).await.expect_code(0);
    assert_eq!(json_of(&got)["limits"]["sessions"], 4);
}

#[tokio::test]
async fn going_back_sees_a_switch_that_was_typed_into_kv() {
    let (mut workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();
    run(&workers, at, &["provider", "on", "openai"]).await.expect_code(0);
    let back = ["rollback", "1", "--reason", "incident 7 is over"];
    let nothing = run(&workers, at, &back).await.expect_code(0);
    assert!(
        nothing.stdout.contains("There is nothing to change."),
        "{}",
        nothing.stdout
    );
    workers
        .command(r#"kv put provider/anthropic {"enabled":false,"reason":"by hand"}"#)
        .await;
    let start = std::time::Instant::now();
    loop {
        let shown = json_of(&run(&workers, at, &["show", "--json"]).await.expect_code(0));
        if shown["config"]["providers"]["anthropic"]["enabled"] == false {
            break;
        }
        assert!(start.elapsed() < std::time::Duration::from_mins(1), "{shown}");
    }
    let asked = run(&workers, at, &back).await.expect_code(2);
    assert!(
        asked.stderr.contains("This switches on again: anthropic."),
        "{}",
        asked.stderr
    );
    let yes: Vec<&str> = back.iter().copied().chain(["--yes"]).collect();
    let done = run(&workers, at, &yes).await.expect_code(0);
    assert!(done.stdout.contains("switched on again: anthropic"), "{}", done.stdout);
    let shown = json_of(&run(&workers, at, &["show", "--json"]).await.expect_code(0));
    assert_eq!(shown["config"]["providers"]["anthropic"], Value::Null);
}

#[tokio::test]
async fn each_wrong_token_has_its_own_message_and_hidden_characters_their_place() {
    let (workers, place) = (Workers::config().await, tempfile::tempdir().unwrap());
    let at = place.path();
    for (token, said) in [
        (
            Workers::READER_TOKEN,
            "CONCLAVE_CONFIG_ADMIN_TOKEN is one of its READER_TOKENS, which change nothing; set it to one of its ADMIN_TOKENS",
        ),
        (
            "wrong",
            "refused the token: set CONCLAVE_CONFIG_ADMIN_TOKEN to one of its ADMIN_TOKENS",
        ),
    ] {
        for command in [
            &["get"][..],
            &["history"],
            &["provider", "off", "anthropic", "--reason", "x", "--yes"],
        ] {
            let call = config(&workers, at, command).env("CONCLAVE_CONFIG_ADMIN_TOKEN", token);
            let outcome = call.run().await.expect_code(2);
            assert!(outcome.stderr.contains(said), "{command:?}: {}", outcome.stderr);
        }
    }
    // What is in force may be read with either token.
    let show = || config(&workers, at, &["show"]).env("CONCLAVE_CONFIG_ADMIN_TOKEN", "wrong");
    let alone = show().without("CONCLAVE_CONFIG_TOKEN").run().await.expect_code(2);
    let said = "refused the token: set CONCLAVE_CONFIG_ADMIN_TOKEN to one of its ADMIN_TOKENS";
    assert!(alone.stderr.contains(said), "{}", alone.stderr);
    let reader = show().env("CONCLAVE_CONFIG_TOKEN", Workers::READER_TOKEN);
    let reader = reader.run().await.expect_code(0);
    assert!(
        reader.stderr.contains(said),
        "the refused one is named: {}",
        reader.stderr
    );
    let missing = config(&workers, at, &["get"]).without("CONCLAVE_CONFIG_ADMIN_TOKEN");
    let missing = missing.run().await.expect_code(2);
    let said = "CONCLAVE_CONFIG_ADMIN_TOKEN is not set: set it to one of the Worker's ADMIN_TOKENS";
    assert!(missing.stderr.contains(said), "{}", missing.stderr);

    let reason = ["provider", "off", "anthropic", "--reason", "in\u{202e}cident", "--yes"];
    let reason = run(&workers, at, &reason).await.expect_code(2);
    assert!(reason.stderr.contains("U+202E, at character 3"), "{}", reason.stderr);
    let document =
        json!({"schema_version": 1, "providers": {"vllm\u{200b}": {"enabled": false, "reason": "slow\u{2067}"}}});
    std::fs::write(at.join("config.json"), document.to_string()).unwrap();
    for command in [
        &["validate", "config.json"][..],
        &["apply", "config.json", "--reason", "x", "--yes"],
    ] {
        let outcome = run(&workers, at, command).await;
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        for said in [
            "/providers/vllm<U+200B>: its name has an invisible character, U+200B, at character 5",
            "/providers/vllm<U+200B>/reason: has",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }
}
