//! `conclave plan`: what a review would be, without a model, a key, or a network.

use conclave_scripted_provider::ScriptedProvider;
use serde_json::Value;

use crate::support::{AgentRuntime, Conclave, Repository, provider};

/// A plan as JSON. No agent runtime is needed either, so there is none to be found.
async fn plan(repository: &Repository, arguments: &[&str], more: impl FnOnce(Conclave) -> Conclave) -> Value {
    let mut all = vec!["plan", "--format", "json"];
    all.extend(arguments);
    let job = Conclave::new(repository.path(), &all)
        .without("CONCLAVE_OPENCODE")
        .env("CONCLAVE_RUNTIME", "native");
    let outcome = more(job).run().await.expect_code(0);
    assert!(!outcome.directory().exists(), "a plan leaves no records");
    serde_json::from_str(&outcome.stdout).expect("JSON and nothing else on standard output")
}

fn reviewer<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let reviewers = plan["reviewers"].as_array().unwrap();
    reviewers
        .iter()
        .find(|reviewer| reviewer["name"] == name)
        .expect("a standing reviewer")
}

fn on_panel(plan: &Value) -> Vec<&str> {
    let reviewers = plan["reviewers"].as_array().unwrap().iter();
    reviewers
        .filter(|reviewer| reviewer["presence"] == "on_panel")
        .map(|reviewer| reviewer["name"].as_str().unwrap())
        .collect()
}

/// A repository whose target branch has this `.conclave.toml`.
fn with_settings(settings: &str) -> Repository {
    let repository = Repository::new();
    repository.write(".conclave.toml", settings);
    repository.commit("Settings");
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository
}

#[tokio::test]
async fn why_a_review_could_not_start_is_said_and_keeps_no_plan_back() {
    let repository = Repository::flawed();
    let missing = |job: Conclave| job.env("CONCLAVE_OPENCODE", "/nowhere/opencode");
    let asked = |job: Conclave| missing(job).env("CONCLAVE_RUNTIME", "opencode");
    let auto = |job: Conclave| missing(job).env("CONCLAVE_RUNTIME", "auto");
    let said = "a review could not start: OpenCode 1.18.33 is not installed: CONCLAVE_OPENCODE is /nowhere/opencode, which is not a file";
    for plan in [
        plan(&repository, &["main..feature"], asked).await,
        plan(&repository, &["main..feature"], auto).await,
    ] {
        assert_eq!(plan["runtime"]["name"], "opencode");
        assert!(plan["warnings"].to_string().contains(said), "{:#}", plan["warnings"]);
    }
    let native = plan(&repository, &["main..feature"], missing).await;
    assert!(
        !native["warnings"].to_string().contains("could not start"),
        "{:#}",
        native["warnings"]
    );
    // A sandbox that the native runtime cannot have, asked for by the job and by the repository.
    let said = "a review could not start: neither the review nor OpenCode starts: the sandbox around the agents has to be `enforced`";
    let of_job = |job: Conclave| job.env("CONCLAVE_REQUIRE_SANDBOX", "enforced");
    let demanding = with_settings("[review]\nrequire_sandbox = \"enforced\"\n");
    demanding.write("src/users.py", "def users():\n    return []\n");
    demanding.commit("No users");
    for plan in [
        plan(&repository, &["main..feature"], of_job).await,
        plan(&demanding, &["main..feature"], |job| job).await,
    ] {
        assert_eq!(plan["runtime"]["name"], "native");
        assert!(plan["warnings"].to_string().contains(said), "{:#}", plan["warnings"]);
    }
    let unreadable = Conclave::new(repository.path(), &["plan", "main..feature"]);
    let unreadable = unreadable.env("CONCLAVE_REQUIRE_SANDBOX", "true");
    let refused = unreadable.run().await.expect_code(2);
    assert!(
        refused
            .stderr
            .contains("CONCLAVE_REQUIRE_SANDBOX is `true`. Set it to `enforced` or `partial`"),
        "{}",
        refused.stderr
    );
}

#[tokio::test]
async fn no_model_is_asked_and_no_key_is_needed() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let with_key = plan(&repository, &["main..feature"], |job| job.anthropic(&provider)).await;
    assert_eq!(provider.requests().len(), 0, "no model is asked");
    assert_eq!(provider.books().entries.len(), 0);
    assert_eq!(with_key["schema_version"], 1);
    let documentation = include_str!("../../docs/plan.md");
    let listed: Vec<&str> = documentation
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
        .flat_map(|cell| cell.split(", ").map(|field| field.trim_matches('`')))
        .collect();
    let fields: Vec<&str> = with_key.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, listed, "docs/plan.md lists the fields in their order");
    assert_eq!(with_key["tier"], "trivial");
    assert_eq!(on_panel(&with_key), ["generalist"]);
    let models = &reviewer(&with_key, "generalist")["models"];
    assert_eq!(
        (models["source"].as_str(), models["class"].as_str()),
        (Some("default"), Some("standard"))
    );
    let considered = models["considered"].as_array().unwrap();
    let of = |model: &str| considered.iter().find(|entry| entry["model"] == model).unwrap();
    assert_eq!(of("anthropic/claude-sonnet-5")["skipped"], Value::Null);
    assert_eq!(
        of("anthropic/claude-sonnet-4-6")["stands_in_for"],
        "anthropic/claude-sonnet-5"
    );
    assert_eq!(of("openai/gpt-5.3-codex")["skipped"], "no credentials for openai");
    assert!(with_key["estimate"]["cost_usd"].as_f64().unwrap() > 0.0);
    assert!(with_key["estimate"]["tokens"]["cache_read"].as_u64().unwrap() > 0);

    let without = plan(&repository, &["main..feature"], |job| job).await;
    let considered = reviewer(&without, "generalist")["models"]["considered"]
        .as_array()
        .unwrap();
    assert!(
        considered
            .iter()
            .all(|entry| entry["skipped"].as_str().unwrap().starts_with("no credentials for"))
    );
    let warnings = without["warnings"].to_string();
    assert!(warnings.contains("no reviewer can run: no model is left"), "{warnings}");
}

#[tokio::test]
async fn a_person_reads_tier_panel_models_cost_and_what_is_filtered() {
    let repository = Repository::flawed();
    repository.write("auth/session.py", "def renew(token):\n    return token\n");
    repository.write("poetry.lock", "x\n");
    repository.commit("Renew sessions");
    let job = Conclave::new(repository.path(), &["plan", "main..feature"]).env("ANTHROPIC_API_KEY", "unused");
    let outcome = job.run().await.expect_code(0);
    assert_eq!(outcome.stderr, "", "a plan has no progress");
    // Lines end where the terminal does.
    let text = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Tier full · 6 reviewers · about $",
        "security-sensitive: auth/session.py (under `auth/`)",
        "2 files to review, +",
        "poetry.lock (lock file)",
        "documentation",
        "on the full panel; the review is complete without it",
        "no release-related file changed",
        "no engineering rules are configured",
        "security, correctness, performance, code quality: standard models of the preset current, the default",
        "no credentials for openai",
        "stands in for claude-sonnet-5",
        "no remote configuration; no .conclave.toml on the target branch",
    ] {
        assert!(
            text.contains(expected),
            "{expected:?} is missing in\n{}",
            outcome.stdout
        );
    }
}

#[tokio::test]
async fn the_settings_of_the_target_branch_count_and_those_of_the_change_do_not() {
    let repository = with_settings(
        "[review]\npreset = \"yardstick\"\ndisabled_reviewers = [\"security\"]\n[paths]\nignore = [\"docs/**\"]\n",
    );
    repository.write(".conclave.toml", "[review]\npreset = \"current\"\n");
    repository.write("docs/x.py", "print(1)\n");
    repository.write("src/x.py", &"print(1)\n".repeat(30));
    repository.commit("Change");
    let first = |plan: &Value| reviewer(plan, "code_quality")["models"]["considered"][0]["model"].clone();
    let of_repo = plan(&repository, &["main"], |job| job).await;
    assert_eq!(
        of_repo["preset"],
        serde_json::json!({"name": "yardstick", "chosen_by": "repo"})
    );
    assert_eq!(first(&of_repo), "anthropic/claude-sonnet-4-6");
    assert_eq!(on_panel(&of_repo), ["code_quality", "documentation"]);
    assert_eq!(
        reviewer(&of_repo, "security")["reason"],
        "disabled by .conclave.toml of the target branch"
    );
    assert_eq!(
        of_repo["filtered"],
        serde_json::json!([{"path": "docs/x.py", "reason": "excluded_by_project"}])
    );
    let warnings = of_repo["warnings"].to_string();
    assert!(
        warnings.contains("security does not review: disabled by .conclave.toml"),
        "{warnings}"
    );
    let of_job = plan(&repository, &["main", "--preset", "current"], |job| job).await;
    assert_eq!(
        of_job["preset"],
        serde_json::json!({"name": "current", "chosen_by": "job"})
    );
    let of_variable = plan(&repository, &["main"], |job| job.env("CONCLAVE_PRESET", "current")).await;
    assert_eq!(first(&of_variable), "anthropic/claude-sonnet-5");
}

#[tokio::test]
async fn broken_settings_stop_a_plan_with_all_problems_and_no_review() {
    let repository = with_settings("[review]\nstrictness = \"strct\"\ngate = true\nlangauge = \"German\"\n");
    repository.write("src/users.py", "def f():\n    print(\"DEBUG\")\n");
    repository.commit("Change");
    let job = Conclave::new(repository.path(), &["plan", "main"]).env("ANTHROPIC_API_KEY", "unused");
    let outcome = job.run().await.expect_code(2);
    assert_eq!(outcome.stdout, "");
    for line in [
        "the repository's settings have 3 problems:",
        ".conclave.toml:2:14: `strct` is not a `review.strictness`: did you mean `strict`? (target branch)",
        ".conclave.toml:3:8: `review.gate` must be \"off\" or \"block\"; it is a boolean (target branch)",
        ".conclave.toml:4:1: `review.langauge` is not known and is ignored: did you mean `review.language`? (target branch)",
    ] {
        assert!(
            outcome.stderr.contains(line),
            "{line:?} is missing in\n{}",
            outcome.stderr
        );
    }
    // The same file costs a review some warnings, and nothing else.
    let provider = provider().await;
    let review = Conclave::new(repository.path(), &["local", "main"])
        .anthropic(&provider)
        .run()
        .await
        .expect_code(0);
    let warnings = review.review()["warnings"].to_string();
    assert!(
        warnings.contains("did you mean `strict`? (target branch)"),
        "{warnings}"
    );
    assert!(warnings.contains("did you mean `review.language`?"), "{warnings}");
}

#[tokio::test]
async fn settings_that_a_change_would_break_are_named_before_they_count() {
    let repository = with_settings("[review]\ngate = \"off\"\n");
    repository.write(".conclave.toml", "[review]\ngate = \"of\"\n");
    repository.commit("Change the settings");
    let job = Conclave::new(repository.path(), &["plan", "main"]);
    let stderr = job.run().await.expect_code(2).stderr;
    assert!(
        stderr.contains(".conclave.toml:2:8: `of` is not a `review.gate`: did you mean `off`? (this change)"),
        "{stderr}"
    );
}

#[tokio::test]
async fn the_gate_of_the_repository_fails_the_job_and_the_job_can_say_otherwise() {
    let repository = with_settings("[review]\ngate = \"block\"\ndisabled_reviewers = [\"code_quality\"]\n");
    repository.write(
        "src/users.py",
        &format!(
            "def find(c, name):\n    return c.execute(f\"SELECT * FROM u WHERE n = '{{name}}'\")\n{}",
            "# a line\n".repeat(20)
        ),
    );
    repository.commit("Change");
    let provider = provider().await;
    let job = |arguments: &[&str]| {
        Conclave::new(repository.path(), arguments)
            .anthropic(&provider)
            .env("CONCLAVE_RUNTIME", "native")
    };
    let blocked = job(&["local", "main"]).run().await.expect_code(1);
    let warnings = blocked.review()["warnings"].to_string();
    assert!(
        warnings.contains("code quality does not review: disabled by .conclave.toml"),
        "{warnings}"
    );
    job(&["local", "main", "--gate", "off"]).run().await.expect_code(0);
}

#[tokio::test]
async fn a_repository_that_disables_everybody_gets_no_green_review() {
    let repository = with_settings("[review]\ndisabled_reviewers = [\"generalist\"]\n");
    repository.write("src/x.py", "print(1)\n");
    repository.commit("Change");
    let job = Conclave::new(repository.path(), &["local", "main"]).env("ANTHROPIC_API_KEY", "unused");
    let stderr = job.run().await.expect_code(2).stderr;
    assert!(
        stderr.contains("no reviewer can run: the trivial panel is empty: generalist is disabled by .conclave.toml"),
        "{stderr}"
    );
}

#[tokio::test]
async fn each_line_of_the_configuration_names_its_plugin() {
    let repository = Repository::flawed();
    repository.write("src/big.py", &"value = 1\n".repeat(200));
    repository.commit("More");
    let arguments = ["plan", "main", "--explain"];
    let job = Conclave::new(repository.path(), &arguments).env("ANTHROPIC_API_KEY", "unused");
    let printed = job.run().await.expect_code(0).stdout;
    let plugin_of = |text: &str| {
        let line = printed.lines().find(|line| line.contains(text));
        let line = line.unwrap_or_else(|| panic!("no line has {text}:\n{printed}"));
        line.split_whitespace().next().unwrap()
    };
    assert_eq!(plugin_of("\"share\": \"disabled\""), "conclave");
    assert_eq!(plugin_of("\"anthropic\": {"), "providers");
    assert_eq!(plugin_of("\"security\": {"), "panel");
    assert_eq!(plugin_of("\"agents_md\": {"), "agents_md");
    assert_eq!(plugin_of("\"submit\": {"), "coordinator_tools");

    let arguments = ["plan", "main", "--explain", "--format", "json"];
    let job = Conclave::new(repository.path(), &arguments).env("ANTHROPIC_API_KEY", "unused");
    let lines: Value = serde_json::from_str(&job.run().await.expect_code(0).stdout).expect("JSON");
    let file: Vec<&str> = lines
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["line"].as_str().unwrap())
        .collect();
    let file: Value = serde_json::from_str(&file.join("\n")).expect("the lines are the file");
    assert!(file["agent"]["coordinator"].is_object(), "{file:#}");
}

/// What the runtime adds to the prompts of a reviewer is a constant of the estimate: it must be what OpenCode has sent in a
/// review of this repository's flawed branch.
pub(crate) async fn knows_what_the_runtime_sends(provider: &ScriptedProvider, repository: &Repository) {
    let plan = plan(repository, &["main..feature"], |job| job.anthropic(provider)).await;
    let requests = provider.requests();
    let first = requests
        .iter()
        .find(|request| request.turn == 1 && request.agent == "generalist")
        .expect("the generalist began");
    let body: Value = serde_json::from_str(&first.text()).expect("JSON");
    let tokenizer = tiktoken_rs::o200k_base().unwrap();
    let count = |text: &str| u64::try_from(tokenizer.count_ordinary(text)).unwrap();
    let blocks = |value: &Value| -> u64 {
        let texts = value.as_array().unwrap().iter();
        texts
            .map(|block| count(block["text"].as_str().unwrap_or_default()))
            .sum()
    };
    let system = blocks(&body["system"]);
    let tools = count(&body["tools"].to_string());
    let rules = plan["estimate"]["counted"]["rules"].as_u64().unwrap();
    let runtime = plan["estimate"]["counted"]["runtime"].as_u64().unwrap();
    let sent = system + tools - rules;
    match AgentRuntime::current() {
        AgentRuntime::OpenCode => assert!(
            sent.abs_diff(runtime) * 10 < runtime,
            "OpenCode adds {sent} tokens, the estimate says {runtime}"
        ),
        // The estimate is OpenCode's, on the safe side.
        AgentRuntime::Native => assert!(sent * 2 < runtime, "{sent} tokens, the estimate says {runtime}"),
    }
}

#[tokio::test]
async fn what_does_not_fit_into_a_window_is_said_beforehand_and_costs_nothing() {
    let of_files = async |files: usize| {
        let repository = Repository::new();
        repository.git(&["checkout", "--quiet", "-b", "feature"]);
        for number in 0..files {
            let steps =
                (0..200).map(|line| format!("def step_{number}_{line}(order):\n    return order.total + {line}\n\n\n"));
            repository.write(&format!("src/module_{number}.py"), &steps.collect::<String>());
        }
        repository.commit("Steps");
        plan(&repository, &["main..feature"], |job| job).await
    };
    let read = |plan: &Value| plan["estimate"]["counted"]["patches"].as_u64().unwrap();
    let (small, large) = (of_files(8).await, of_files(24).await);
    let too_large = "this review would approve nothing, because the change is larger than a reviewer can read: ";
    assert!(
        !small["warnings"].to_string().contains(too_large),
        "{:#}",
        small["warnings"]
    );
    let warnings = large["warnings"].to_string();
    assert!(warnings.contains(too_large), "{warnings}");
    assert!(warnings.contains(" of 24 files (src/module_"), "{warnings}");
    assert!(
        warnings.contains(" left out; split it, or use a model with a larger context window"),
        "{warnings}"
    );
    assert!(
        (1..2 * read(&small)).contains(&read(&large)),
        "what is left out is not counted"
    );
}
