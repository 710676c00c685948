//! `/fullreview` in OpenCode's own terminal interface: the command that `conclave init` writes, as a person calls it.

use std::{path::Path, time::Duration};

use crate::support::{PROVIDER_KEY, Repository, Terminal, opencode, provider};

/// Time that the session's model may take to be asked.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The command's file.
const COMMAND: &str = include_str!("../../cli/src/assets/fullreview.md");

/// A home in which OpenCode starts without a network: its provider is the stand-in, and the package that it would
/// install in the background is there already.
fn home_of_opencode(home: &Path, url: &str) {
    let config = home.join("config/opencode");
    std::fs::create_dir_all(config.join("node_modules")).unwrap();
    let write = |name: &str, value: serde_json::Value| std::fs::write(config.join(name), value.to_string()).unwrap();
    write(
        "package.json",
        serde_json::json!({"dependencies": {"@opencode-ai/plugin": "1.18.33"}}),
    );
    write(
        "package-lock.json",
        serde_json::json!({
            "lockfileVersion": 3,
            "packages": {"": {"dependencies": {"@opencode-ai/plugin": "1.18.33"}}}
        }),
    );
    write(
        "opencode.json",
        serde_json::json!({
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false, "formatter": false,
            "enabled_providers": ["anthropic"],
            "model": "anthropic/claude-sonnet-4-6", "small_model": "anthropic/claude-sonnet-4-6",
            "provider": {"anthropic": {"options": {"baseURL": format!("{url}/v1"), "apiKey": PROVIDER_KEY}}},
        }),
    );
    std::fs::create_dir_all(home.join("tmp")).unwrap();
}

fn variables(home: &Path, url: &str) -> Vec<(&'static str, String)> {
    let program = Path::new(env!("CARGO_BIN_EXE_conclave")).parent().unwrap();
    let below = |name: &str| home.join(name).display().to_string();
    let mut variables = vec![
        (
            "PATH",
            format!("{}:{}", program.display(), std::env::var("PATH").unwrap()),
        ),
        ("HOME", home.display().to_string()),
        ("XDG_CONFIG_HOME", below("config")),
        ("XDG_DATA_HOME", below("data")),
        ("XDG_CACHE_HOME", below("cache")),
        ("XDG_STATE_HOME", below("state")),
        ("TMPDIR", below("tmp")),
        ("TERM", "xterm-256color".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("CONCLAVE_OPENCODE", opencode().display().to_string()),
        ("ANTHROPIC_API_KEY", PROVIDER_KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
    ];
    for switch in [
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    ] {
        variables.push((switch, "1".to_owned()));
    }
    variables
}

#[tokio::test]
async fn a_person_calls_it_and_reads_the_review_where_the_conversation_is() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    repository.write(
        "src/users.py",
        "def find(c, name):  # see @README.md\n    return c.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n",
    );
    repository.commit("Find users");
    repository.write(".opencode/commands/fullreview.md", COMMAND);
    let home = tempfile::tempdir().unwrap();
    home_of_opencode(home.path(), &provider.url());
    let terminal = Terminal::start(
        (120, 100),
        repository.path(),
        &variables(home.path(), &provider.url()),
        &opencode().display().to_string(),
    );
    terminal.shows("Ask anything").await;
    terminal.type_text("/fullrev");
    terminal.shows("/fullreview").await;
    terminal.press(&["Enter"]);
    terminal.type_text("main..feature");
    terminal.shows("/fullreview main..feature").await;
    terminal.press(&["Enter"]);

    // The review itself, and below it the answer of the session's own model.
    for part in [
        "Conclave has reviewed my changes. This is its report:",
        "Significant concerns: 1 critical",
        "CRITICAL src/users.py:2",
        "Here the report ends.",
        "demo model, a scripted stand-in: rules, no language model",
    ] {
        terminal.shows(part).await;
    }

    // The report quotes a line that names a file with an `@`. OpenCode would have attached it to the prompt.
    // The page shows the report before the session's model is asked about it.
    let asked = async {
        loop {
            let mut requests = provider.requests().into_iter();
            if let Some(request) = requests.find(|request| request.text().contains("Conclave has reviewed my changes."))
            {
                return request;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let prompted = tokio::time::timeout(MAX_WAIT, asked).await;
    let prompted = prompted.expect("the session's model is asked");
    assert!(prompted.text().contains("README.md"), "the line is quoted");
    assert!(!prompted.text().contains("A small service"), "no file is attached");
}
