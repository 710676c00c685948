//! `conclave local` in a real terminal: what a person sees, at any width, and what Ctrl-C does.

use conclave_scripted_provider::Fault;

use crate::support::{AgentRuntime, PROVIDER_KEY, Repository, Terminal, provider};

on_both_runtimes! {
    forty_columns_are_enough
    no_color_means_none
    ctrl_c_shows_what_is_known_and_says_how_to_end_at_once
}

/// The variables of a person at a terminal.
fn variables(home: &std::path::Path, url: String, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let tmp = home.join("tmp");
    std::fs::create_dir_all(&tmp).unwrap();
    let mut variables = vec![
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", home.display().to_string()),
        ("TMPDIR", tmp.display().to_string()),
        ("TERM", "xterm-256color".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("CONCLAVE_OUTPUT", home.join("run").display().to_string()),
        ("ANTHROPIC_API_KEY", PROVIDER_KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", url),
    ];
    variables.extend(AgentRuntime::current().variables(home));
    variables.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    variables
}

fn program(arguments: &str) -> String {
    format!(
        "trap : INT; {} {arguments}; echo \"ended with $?\"; sleep 600",
        env!("CARGO_BIN_EXE_conclave")
    )
}

async fn forty_columns_are_enough() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let home = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(
        (40, 100),
        repository.path(),
        &variables(home.path(), provider.url(), &[]),
        &program("local main"),
    );
    let text = terminal.shows("ended with 0").await;
    // tmux would fold a longer line, so that none is; a folded rule shows as a second one below the first.
    let rule = "─".repeat(40);
    assert_eq!(text.lines().filter(|line| *line == rule).count(), 2, "{text}");
    assert!(!text.lines().any(|line| line.contains('─') && line != rule), "{text}");
    assert!(text.contains("CRITICAL src/users.py:6"), "{text}");
    // Severities have colours, and the code stands beside its mark.
    let colored = terminal.colored();
    let head = colored.lines().find(|line| line.contains("CRITICAL")).unwrap();
    assert!(head.contains("31m"), "{head:?}");
    assert!(text.contains("▌     return connection.execute("), "{text}");
}

async fn no_color_means_none() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let home = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(
        (100, 100),
        repository.path(),
        &variables(
            home.path(),
            provider.url(),
            &[("NO_COLOR", "1"), ("TERM_PROGRAM", "vscode")],
        ),
        &program("local main"),
    );
    let text = terminal.shows("ended with 0").await;
    assert!(text.contains("✓ generalist"), "the table is there: {text}");
    let colored = terminal.colored();
    assert!(colored.contains("CRITICAL src/users.py:6"), "{colored}");
    assert!(!colored.contains('\x1b'), "{colored:?}");
}

async fn ctrl_c_shows_what_is_known_and_says_how_to_end_at_once() {
    let (provider, repository) = (provider().await, Repository::new());
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    let more = "\n\ndef number():\n    return 1\n".repeat(20);
    let query = "def find(c, name):\n    return c.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n";
    repository.write("src/users.py", &format!("{query}{more}"));
    repository.commit("Find users");
    // Security finds something; the others are still at it.
    provider.inject(Fault::hang().agent("documentation"));
    provider.inject(Fault::hang().agent("code_quality"));
    let home = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(
        (100, 60),
        repository.path(),
        &variables(home.path(), provider.url(), &[]),
        &program("local main"),
    );
    // The table moves: who has ended, and who is at work.
    let table = terminal
        .until("the end of security", |text| text.contains("✓ security"))
        .await;
    assert!(table.contains("documentation") && table.contains("at work"), "{table}");
    terminal.press(&["C-c"]);
    let text = terminal.shows("ended with 130").await;
    for part in [
        "Stopping: what is known so far comes in a moment; once more, and it ends at once.",
        "Significant concerns: 1 critical; no judge took part",
        "the run was stopped",
        "src/users.py:2",
        "Stopped: this is what is known so far. Nothing is left running.",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}
