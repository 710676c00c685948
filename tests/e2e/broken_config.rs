//! A configuration service that answers slowly, with the half of it, with what another version wrote, or with names that nobody
//! knows: the review goes on, and says on top what it went by.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::support::{AgentRuntime, Conclave, Outcome, Repository, on, provider};

on_both_runtimes! {
    an_answer_that_cannot_be_used_costs_five_seconds_and_the_review_says_so_on_top
    a_document_that_names_unknown_providers_counts_as_far_as_it_can
}

/// What a service does with a connection, after it has read the request.
#[derive(Clone)]
enum Behavior {
    /// Sends these bytes and ends the connection.
    Bytes(String),
    /// Sends these bytes and then nothing.
    AndHangs(String),
    /// Sends these bytes one by one, a second apart.
    Drips(String),
}

fn head(length: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

fn whole(config: &Value) -> Behavior {
    let body = json!({"config": config}).to_string();
    Behavior::Bytes(head(body.len()) + &body)
}

async fn answer(mut connection: TcpStream, behavior: Behavior) {
    // All of it: an end that leaves bytes unread is a reset, and takes the answer with it.
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let read = connection.read_buf(&mut request).await;
        if read.is_ok_and(|count| count == 0) {
            return;
        }
    }
    let (text, hangs, pause) = match behavior {
        Behavior::Bytes(text) => (text, false, Duration::ZERO),
        Behavior::AndHangs(text) => (text, true, Duration::ZERO),
        Behavior::Drips(text) => (text, true, Duration::from_secs(1)),
    };
    if pause.is_zero() {
        let _ = connection.write_all(text.as_bytes()).await;
    } else {
        for byte in text.bytes() {
            if connection.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }
    if hangs {
        // Until the other end has had enough.
        let _ = connection.read(&mut request).await;
    }
}

/// The address of a service.
async fn service(behavior: Behavior) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection, behavior.clone()));
        }
    });
    format!("http://{address}")
}

async fn review(repository: &Repository, call: &str, url: &str) -> Outcome {
    let provider = provider().await;
    Conclave::new(repository.path(), &[call, "main..feature"])
        .env("CONCLAVE_CONFIG_URL", url)
        .env("CONCLAVE_CONFIG_TOKEN", "t")
        .env("CONCLAVE_CONFIG_OIDC_TOKEN", "ey.x.y")
        .anthropic(&provider)
        .run()
        .await
}

async fn an_answer_that_cannot_be_used_costs_five_seconds_and_the_review_says_so_on_top() {
    let repository = Repository::flawed();
    let good =
        json!({"config": {"schema_version": 1, "models": {"standard": ["anthropic/claude-haiku-4-5"]}}}).to_string();
    let half = &good[..good.len() / 2];
    for (behavior, said) in [
        (Behavior::AndHangs(String::new()), "did not answer within 5 s"),
        (Behavior::AndHangs(head(good.len()) + half), "did not answer within 5 s"),
        (Behavior::Drips(head(good.len()) + &good), "did not answer within 5 s"),
        // Fewer bytes than it announced, and a document that breaks off.
        (
            Behavior::Bytes(head(good.len()) + half),
            "the configuration service at 127.0.0.1 ",
        ),
        (
            Behavior::Bytes(head(half.len()) + half),
            "answered something that is not a configuration",
        ),
        (Behavior::Bytes(String::new()), "broke the connection off ("),
        (
            whole(&json!({"schema_version": 2, "models": {"standard": ["anthropic/claude-haiku-4-5"]}})),
            "of schema version 2",
        ),
        (whole(&json!({"schema_version": 0})), "document with faults"),
        (whole(&json!(null)), "answered something that is not a configuration"),
    ] {
        let url = service(behavior).await;
        let outcome = review(&repository, "plan", &url).await.expect_code(0);
        // Its lines are as wide as the terminal, and may break behind a hyphen.
        let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.replace("built- in", "built-in");
        for part in [said, "the built-in defaults are used", "claude-sonnet-5"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("haiku"), "nothing of it counts: {text}");
    }

    // The same in a whole review.
    let url = service(Behavior::Bytes(head(half.len()) + half)).await;
    let outcome = review(&repository, "local", &url).await.expect_code(0);
    let review = outcome.review();
    assert_eq!(review["configuration"]["instead"], "defaults");
    assert_eq!(outcome.models(), ["anthropic/claude-sonnet-5"]);
    assert!(
        outcome
            .stdout
            .contains("Built-in defaults: The configuration service at 127.0.0.1"),
        "{}",
        outcome.stdout
    );
    // The bot does not approve, and the cause is said once.
    let holds = review["approval_holds"].as_array().unwrap();
    assert!(holds.iter().any(|hold| hold["cause"] == "settings"), "{holds:?}");
    let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        text.matches("answered something that is not a configuration").count(),
        1,
        "{text}"
    );
}

async fn a_document_that_names_unknown_providers_counts_as_far_as_it_can() {
    let repository = Repository::flawed();
    let document = |models: &[&str]| {
        json!({"schema_version": 1,
            "providers": {"acme": {"enabled": false, "reason": "nobody knows it"}, "other": {"enabled": true}},
            "failback": {"acme/model-1": "other/model-2", "other/model-2": null},
            "models": {"standard": models, "top": models}})
    };
    let url = service(whole(&document(&[
        "acme/model-1",
        "other/model-2",
        "anthropic/claude-haiku-4-5",
    ])))
    .await;
    let outcome = review(&repository, "local", &url).await.expect_code(0);
    assert!(outcome.review().get("configuration").is_none());
    assert_eq!(outcome.models(), ["anthropic/claude-haiku-4-5"]);

    // Nobody is left: that is an error with the reason, and never a review that approves.
    let url = service(whole(&document(&["acme/model-1", "other/model-2"]))).await;
    let outcome = review(&repository, "local", &url).await;
    let approves = outcome
        .try_review()
        .is_some_and(|review| review["verdict"].as_str().unwrap().starts_with("approved"));
    assert!(!approves, "{}", outcome.stdout);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(said.contains("acme") || said.contains("other"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[tokio::test]
async fn limits_of_no_time_and_of_ten_days_are_named_and_the_review_goes_on_with_the_defaults() {
    on(AgentRuntime::Native, limits_out_of_range()).await;
}

async fn limits_out_of_range() {
    let repository = Repository::new();
    repository.write(".conclave.toml", "[limits]\nidle_seconds = 0\nrun_seconds = 864000\n");
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/rows.py",
        "def rows(connection, name):\n    return connection.execute(f\"SELECT * FROM rows WHERE name = '{name}'\").fetchall()\n",
    );
    repository.commit("Rows by name");
    let limits = json!({"idle_seconds": 0, "run_seconds": 864_000});
    let url = service(whole(&json!({"schema_version": 1, "limits": limits}))).await;
    let outcome = review(&repository, "local", &url).await.expect_code(0);
    // Its lines are as wide as the terminal.
    let joined = |text: &str| text.split_whitespace().collect::<String>();
    let shown = joined(&outcome.stdout);
    let review = outcome.review();
    let warnings = review["warnings"].to_string();
    for said in [
        "`limits.idle_seconds` must be a whole number from 1 to 3600; it is 0 (target branch)",
        "`limits.run_seconds` must be a whole number from 1 to 86400; it is 864000 (target branch)",
        "/limits/idle_seconds is 0; it must be between 1 and 3600 seconds",
        "/limits/run_seconds is 864000; it must be between 1 and 86400 seconds",
    ] {
        assert!(warnings.contains(said), "{said}: {warnings}");
        assert!(shown.contains(&joined(said)), "{said}: {}", outcome.stdout);
    }
    assert_eq!(review["configuration"]["instead"], "defaults");
    assert_eq!(review["coverage"]["gaps"], json!([]), "{review:#}");
    assert_ne!(review["verdict"], "inconclusive", "{review:#}");
    assert!(outcome.categories().contains(&"sql-injection".to_owned()), "{review:#}");
}
