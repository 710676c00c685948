//! `conclave demo`: a review without a key, a clone or a network.

use std::process::Command;

use conclave_scripted_provider::LABEL;

use crate::support::{AgentRuntime, Conclave, Repository, provider, repository_root};

on_both_runtimes! {
    a_demo_reviews_an_example_with_nothing_but_the_program
}

async fn a_demo_reviews_an_example_with_nothing_but_the_program() {
    let elsewhere = tempfile::tempdir().unwrap();
    let paid = provider().await;
    // Nothing of what a review would use is used: keys, services, a job, a proxy, certificates.
    let outcome = Conclave::new(elsewhere.path(), &["demo"])
        .anthropic(&paid)
        .env("OPENAI_API_KEY", "paid-key")
        .env("CONCLAVE_CONFIG_URL", "http://127.0.0.1:9")
        .env("CONCLAVE_TRACKER_URL", "http://127.0.0.1:9")
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env("http_proxy", "http://127.0.0.1:9")
        // As in an image without the package `ca-certificates`.
        .env("SSL_CERT_FILE", "/dev/null")
        .env("GITLAB_CI", "true")
        .run()
        .await
        .expect_code(0);
    assert!(paid.books().entries.is_empty(), "a real provider was asked");
    let review = outcome.review();
    assert_eq!(review["verdict"], "significant_concerns", "{}", outcome.stdout);
    let runtime = match AgentRuntime::current() {
        AgentRuntime::OpenCode => "opencode",
        AgentRuntime::Native => "native",
    };
    assert_eq!(review["runtime"], runtime);
    assert!(outcome.categories().len() > 5, "{:?}", outcome.categories());
    assert!(outcome.stdout.contains("src/orders/"), "{}", outcome.stdout);
    assert!(review.to_string().contains(LABEL), "the stand-in says what it is");
    for said in [
        "the model is a",
        "needs no key",
        "export ANTHROPIC_API_KEY=...",
        "conclave doctor",
    ] {
        assert!(outcome.stderr.contains(said), "{said}:\n{}", outcome.stderr);
    }
    assert_eq!(
        std::fs::read_dir(elsewhere.path()).unwrap().count(),
        0,
        "nothing is left"
    );
}

#[tokio::test]
async fn a_variable_that_the_demo_cannot_use_is_one_error() {
    let elsewhere = tempfile::tempdir().unwrap();
    let outcome = Conclave::new(elsewhere.path(), &["demo"])
        .env("CONCLAVE_RUNTIME", "bogus")
        .run()
        .await
        .expect_code(2);
    assert!(
        outcome
            .stderr
            .contains("error: invalid value 'bogus' for 'CONCLAVE_RUNTIME"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.stderr.contains("error: error:"), "{}", outcome.stderr);
}

#[tokio::test]
async fn without_a_key_three_lines_say_how_to_start() {
    let repository = Repository::clean();
    let outcome = Conclave::new(repository.path(), &["local", "main"])
        .run()
        .await
        .expect_code(2);
    let start = outcome.stderr.find("To start:\n").expect("the lines");
    let lines: Vec<&str> = outcome.stderr[start..].lines().skip(1).take(3).collect();
    for (line, command) in lines
        .iter()
        .zip(["export ANTHROPIC_API_KEY=", "conclave doctor", "conclave demo"])
    {
        assert!(line.trim().starts_with(command), "{}", outcome.stderr);
    }
}

#[test]
fn the_example_is_the_repository_of_the_script() {
    let (root, scratch) = (repository_root(), tempfile::tempdir().unwrap());
    let shop = scratch.path().join("shop");
    let made = Command::new(root.join("scripts/demo-repository"))
        .arg(&shop)
        .status()
        .unwrap();
    assert!(made.success());
    let exported = Command::new("git")
        .args(["-c", "safe.directory=*", "fast-export", "--all"])
        .current_dir(&shop)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(exported.status.success());
    let asset = root.join("cli/src/assets/example.fast-import");
    if std::env::var_os("CONCLAVE_WRITE_DOCS").is_some() {
        std::fs::write(&asset, &exported.stdout).unwrap();
    }
    let kept = std::fs::read(&asset).unwrap();
    assert!(kept == exported.stdout, "run this test with CONCLAVE_WRITE_DOCS=1");
}
