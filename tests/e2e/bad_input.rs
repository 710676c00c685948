//! What can be wrong at the start: each a message with the next step, an exit code, and nothing left behind.

use serde_json::{Value, json};

use crate::support::{Conclave, Repository, provider};

/// Runs `conclave local` and returns what it said on standard error.
async fn says(job: Conclave, code: i32) -> String {
    let outcome = job.run().await.expect_code(code);
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert!(
        !outcome.directory().exists(),
        "no run directory is made for a run that does not start"
    );
    outcome.stderr
}

fn local(repository: &Repository, arguments: &[&str]) -> Conclave {
    let mut all = vec!["local"];
    all.extend(arguments);
    Conclave::new(repository.path(), &all).env("ANTHROPIC_API_KEY", "unused")
}

#[tokio::test]
async fn wrong_places_and_ranges() {
    let elsewhere = tempfile::tempdir().unwrap();
    let text = says(
        Conclave::new(elsewhere.path(), &["local"]).env("ANTHROPIC_API_KEY", "unused"),
        2,
    )
    .await;
    assert!(
        text.contains("is not in a git repository. Change to your project's directory"),
        "{text}"
    );

    let repository = Repository::flawed();
    let text = says(local(&repository, &["nowhere..feature"]), 2).await;
    assert!(
        text.contains("git does not know the revision `nowhere`. `git branch -a` lists"),
        "{text}"
    );
    let text = says(local(&repository, &["a b"]), 2).await;
    assert!(text.contains("`a b` is not a range: write `base..head`"), "{text}");
    let text = says(local(&repository, &["feature..main"]), 0).await;
    assert!(
        text.contains("Nothing to review: main adds nothing to feature."),
        "{text}"
    );
    nothing_to_review_is_told_to_programs_too(&repository).await;

    let unborn = tempfile::tempdir().unwrap();
    std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(unborn.path())
        .status()
        .unwrap();
    let text = says(
        Conclave::new(unborn.path(), &["local"]).env("ANTHROPIC_API_KEY", "unused"),
        2,
    )
    .await;
    assert!(text.contains("the repository has no commit yet"), "{text}");
}

#[tokio::test]
async fn variables_with_unknown_values_and_names() {
    let repository = Repository::flawed();
    let text = says(local(&repository, &[]).env("CONCLAVE_STRICT", "perhaps"), 2).await;
    assert!(text.contains("'perhaps' for 'CONCLAVE_STRICT (--strict)'"), "{text}");
    let plan = |name: &str, value: &str| Conclave::new(repository.path(), &["plan", "main..feature"]).env(name, value);
    for (value, is_json) in [
        ("1", true),
        ("yes", true),
        ("on", true),
        ("0", false),
        ("no", false),
        ("OFF", false),
    ] {
        let explained = plan("CONCLAVE_EXPLAIN", value).run().await.expect_code(0).stdout;
        assert_eq!(explained.contains("\"agent\""), is_json, "{value}: {explained}");
    }
    let said = plan("CONCLAVE_FOCSU", "security").run().await.expect_code(0).stderr;
    assert!(
        said.contains("CONCLAVE_FOCSU has no effect, because Conclave reads no such variable")
            && said.contains("CONCLAVE_FOCUS"),
        "{said}"
    );
    let said = plan("CONCLAVE_LOG", "shout").run().await.expect_code(0).stderr;
    assert!(
        said.contains("CONCLAVE_LOG is not used, because `shout` is not a filter"),
        "{said}"
    );
    let empty = says(local(&repository, &["--reports", ""]), 2).await;
    assert!(empty.contains("'--reports <DIR>' is empty"), "{empty}");
}

#[tokio::test]
async fn files_and_settings_that_cannot_be_used_say_which_and_what_to_do() {
    let repository = Repository::flawed();
    let call = |arguments: &[&str]| Conclave::new(repository.path(), arguments).env("CONCLAVE_RUNTIME", "native");
    let prompts = tempfile::tempdir().unwrap();
    std::fs::write(
        prompts.path().join("performance.md"),
        b"# Reviewer: performance\n\xff\n",
    )
    .unwrap();
    let prompts = prompts.path().to_str().unwrap();
    let key = ("ANTHROPIC_API_KEY", "first\nshown-to-nobody");
    for (job, says) in [
        (
            call(&["plan", "main", "--prompts", "/nope"]),
            &["--prompts /nope: failed to read it", "Name a directory"][..],
        ),
        (
            call(&["plan", "main", "--prompts", prompts]),
            &["performance.md", "Save it as UTF-8"],
        ),
        (
            call(&["local", "main", "--replay-models", "/nope"]),
            &["--replay-models /nope: No such file", "Name the file model-calls.jsonl"],
        ),
        (
            call(&["runtime", "install", "--tarball", "/nope"]),
            &["failed to read /nope", "with --tarball, as `npm pack` makes it"],
        ),
        (
            call(&["local", "main"]).env(key.0, key.1),
            &["the key of the provider `anthropic`", "set it to the key alone"],
        ),
        (
            call(&["memory", "show"]),
            &["CONCLAVE_TRACKER_URL is not set", "CONCLAVE_TRACKER_TOKEN is not set"],
        ),
        (
            call(&["memory", "clear", "--yes"]),
            &[
                "CONCLAVE_TRACKER_URL is not set",
                "CONCLAVE_TRACKER_OPERATOR_TOKEN is not set",
            ],
        ),
    ] {
        let text = job.run().await.expect_code(2).stderr;
        assert!(says.iter().all(|said| text.contains(said)), "{says:?}: {text}");
        assert!(!text.contains("shown-to-nobody"), "{text}");
    }
}

#[tokio::test]
async fn nothing_but_noise() {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write("package-lock.json", "{}\n");
    repository.commit("Update the lock file");
    let text = says(local(&repository, &["main..feature"]), 0).await;
    assert!(
        text.contains("every changed file is noise by rule.\n  package-lock.json (lock file)"),
        "{text}"
    );
}

#[tokio::test]
async fn no_key() {
    let repository = Repository::flawed();
    let text = says(Conclave::new(repository.path(), &["local", "main"]), 2).await;
    assert!(
        text.contains("no model provider has credentials. Set ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        "{text}"
    );
}

#[tokio::test]
async fn a_git_that_is_too_old_is_named_before_it_fails_for_what_it_does_not_know() {
    let repository = Repository::flawed();
    let place = tempfile::tempdir().unwrap();
    let git = place.path().join("git");
    std::fs::write(
        &git,
        "#!/bin/sh\ncase \"$*\" in *--version) echo git version 2.39.5 ;; *) echo asked: \"$*\" >&2; exit 129 ;; esac\n",
    )
    .unwrap();
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    for call in [
        local(&repository, &["main..feature"]),
        Conclave::new(repository.path(), &["demo"]),
    ] {
        let text = says(call.env("PATH", &path), 2).await;
        assert!(
            text.contains("error: git version 2.39.5 is too old: 2.41 or newer is needed. Update git"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn no_opencode_or_another_version() {
    let repository = Repository::flawed();
    let text = says(
        local(&repository, &["main"]).env("CONCLAVE_OPENCODE", "/nowhere/opencode"),
        2,
    )
    .await;
    assert!(
        text.contains("CONCLAVE_OPENCODE is /nowhere/opencode, which is not a file"),
        "{text}"
    );
    assert!(text.contains("`conclave runtime install`"), "{text}");

    let bin = tempfile::tempdir().unwrap();
    let other = bin.path().join("opencode");
    std::fs::write(&other, "#!/bin/sh\necho 9.9.9\n").unwrap();
    std::process::Command::new("chmod")
        .arg("+x")
        .arg(&other)
        .status()
        .unwrap();
    let text = says(local(&repository, &["main"]).env("CONCLAVE_OPENCODE", &other), 2).await;
    assert!(
        text.contains("is OpenCode 9.9.9, but Conclave needs exactly 1.18.33"),
        "{text}"
    );
}

#[tokio::test]
async fn half_configured_services_and_bad_values() {
    let repository = Repository::flawed();
    // What is operated for all repositories is not worth a review: it runs, and says what is missing.
    let plan = Conclave::new(repository.path(), &["plan", "main..feature"])
        .env("CONCLAVE_CONFIG_URL", "https://config.example.org")
        .env("CONCLAVE_TRACKER_URL", "https://tracker.example.org")
        .run()
        .await
        .expect_code(0);
    // Its lines are as wide as the terminal.
    let said = plan
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace("built- in", "built-in");
    for part in [
        "cannot be asked without a token",
        "CONCLAVE_CONFIG_TOKEN",
        "the built-in defaults are used",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // An address that is none is as a service that does not answer; a command that is for the service refuses it.
    let plan = Conclave::new(repository.path(), &["plan", "main..feature"])
        .env("CONCLAVE_CONFIG_URL", "config.example.org")
        .env("CONCLAVE_TRACKER_URL", "tracker.example.org")
        .run()
        .await
        .expect_code(0);
    let said = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("CONCLAVE_CONFIG_URL is not an address"), "{said}");
    let text = says(
        Conclave::new(repository.path(), &["config", "show"])
            .env("CONCLAVE_CONFIG_URL", "config.example.org")
            .env("CONCLAVE_CONFIG_TOKEN", "t"),
        2,
    )
    .await;
    assert!(text.contains("CONCLAVE_CONFIG_URL"), "{text}");
    let text = says(local(&repository, &["main", "--max-cost-usd", "0"]), 2).await;
    assert!(text.contains("an amount of US dollars greater than 0"), "{text}");
    let text = says(local(&repository, &["main", "--formt", "json"]), 2).await;
    assert!(text.contains("--format"), "a typo gets a suggestion: {text}");
}

#[tokio::test]
async fn an_empty_variable_counts_as_not_set() {
    let repository = Repository::flawed();
    // As the CI component hands on what was left empty.
    let empty = [
        "CONCLAVE_MODE",
        "CONCLAVE_GATE",
        "CONCLAVE_STRICT",
        "CONCLAVE_MAX_COST_USD",
        "CONCLAVE_AGENTS",
        "CONCLAVE_CODEX_RULES",
        "CONCLAVE_PRESET",
        "CONCLAVE_CONFIG_URL",
        "CONCLAVE_FORMAT",
    ];
    let plan = Conclave::new(repository.path(), &["plan", "main..feature"]).env("ANTHROPIC_API_KEY", "unused");
    let plan = empty.iter().fold(plan, |plan, name| plan.env(name, ""));
    let outcome = plan.run().await.expect_code(0);
    assert!(outcome.stdout.contains("Tier trivial"), "{}", outcome.stdout);
    let outcome = empty
        .iter()
        .fold(local(&repository, &["nowhere"]), |job, name| job.env(name, "  "))
        .run()
        .await
        .expect_code(2);
    assert!(
        outcome.stderr.contains("git does not know the revision"),
        "{}",
        outcome.stderr
    );
    // What is not empty is still held to its values, and a typing error gets a suggestion.
    let text = says(local(&repository, &["main"]).env("CONCLAVE_GATE", "blok"), 2).await;
    assert!(text.contains("a similar value exists: 'block'"), "{text}");
    let text = says(Conclave::new(repository.path(), &["reviwe"]), 2).await;
    assert!(text.contains("a similar subcommand exists: 'review'"), "{text}");
}

#[tokio::test]
async fn every_provider_switched_off() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let mut workers = crate::support::Workers::config().await;
    workers
        .command(r#"kv put provider/anthropic {"enabled":false,"reason":"incident 7"}"#)
        .await;
    let job = local(&repository, &["main"])
        .anthropic(&provider)
        .env("CONCLAVE_CONFIG_URL", &workers.config_url)
        .env("CONCLAVE_CONFIG_TOKEN", crate::support::Workers::READER_TOKEN);
    // An outage must not block a merge: the review says that it did not happen.
    let outcome = job.env("CONCLAVE_RUNTIME", "native").run().await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "inconclusive");
    let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no model is left for `generalist`"), "{text}");
    assert!(text.contains("anthropic is switched off: incident 7"), "{text}");
    assert!(provider.requests().is_empty());
}

/// A program that reads a report gets a whole one, which holds nothing and gives the reason.
async fn nothing_to_review_is_told_to_programs_too(repository: &Repository) {
    let reports = tempfile::tempdir().unwrap();
    let directory = reports.path().join("reports");
    let printed = async |format: &str| {
        let arguments = [
            "feature..main",
            "--format",
            format,
            "--reports",
            directory.to_str().unwrap(),
        ];
        let outcome = local(repository, &arguments).run().await.expect_code(0);
        assert!(outcome.stderr.contains("Nothing to review"), "{}", outcome.stderr);
        assert!(!outcome.directory().exists(), "no run has begun");
        outcome.stdout
    };
    let kept = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");

    let review = json(&printed("json").await);
    assert_eq!(review, json(&kept("review.json")));
    assert_eq!(
        (&review["verdict"], &review["findings"]),
        (&json!("inconclusive"), &json!([]))
    );
    assert_eq!(
        review["verdict_reason"],
        "nothing to review: main adds nothing to feature"
    );
    assert_eq!(review["approval_holds"][0]["cause"], "nothing_reviewed");

    let sarif = json(&printed("sarif").await);
    assert_eq!(sarif["runs"][0]["results"], json!([]));
    let told = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(told, "There was nothing to review: main adds nothing to feature.");
    assert_eq!(json(&kept("code-quality.json")), json!([]));
    assert!(kept("junit.xml").contains("skipped=\"1\""), "{}", kept("junit.xml"));
    for format in ["markdown", "prompt"] {
        let text = printed(format).await;
        assert!(text.contains("Nothing to review"), "{text}");
    }
    assert_eq!(printed("human").await, "");

    let plan = async |arguments: &[&str]| {
        let all = [&["plan", "feature..main", "--format", "json"][..], arguments].concat();
        let outcome = Conclave::new(repository.path(), &all).run().await.expect_code(0);
        json(&outcome.stdout)
    };
    let planned = plan(&[]).await;
    assert_eq!((&planned["schema_version"], &planned["files"]), (&json!(1), &json!([])));
    assert_eq!(planned["approval_holds"][0]["cause"], "nothing_reviewed");
    assert_eq!(plan(&["--explain"]).await, json!([]));
}
