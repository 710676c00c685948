//! `conclave init` asks: a person at a real terminal who takes what is offered, says something else, refuses, or leaves.

use crate::support::{Repository, Terminal};

/// `conclave init` in a terminal, in a new repository of a GitLab.
fn asks(repository: &Repository, home: &std::path::Path) -> Terminal {
    repository.git(&[
        "config",
        "remote.origin.url",
        "https://gitlab.example.com/group/project.git",
    ]);
    asks_anywhere(repository, home)
}

/// The same in a repository that is nowhere.
fn asks_anywhere(repository: &Repository, home: &std::path::Path) -> Terminal {
    let variables = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", home.display().to_string()),
        ("TERM", "xterm-256color".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    let program = format!(
        "trap : INT; {} init; echo \"ended with $?\"; sleep 600",
        env!("CARGO_BIN_EXE_conclave")
    );
    // Wide enough for every question to stand in one line.
    Terminal::start((160, 100), repository.path(), &variables, &program)
}

/// What git sees that is new or changed.
fn changes(repository: &Repository) -> String {
    repository.git(&["status", "--porcelain", "--untracked-files=all"])
}

const FORGE: &str = "Forge of this repository (gitlab or github):";
const PROJECT: &str = "copy the job into this repository):";
const IMAGE: &str = "Image with conclave, opencode, rg and git [";
const BLOCK: &str = "Should significant concerns fail the job? [y/N]";
const WRITE: &str = "Write these files? [y/N]";

/// Answers questions, each when it is there.
async fn answer(terminal: &Terminal, answers: &[(&str, &str)]) {
    for (question, text) in answers {
        terminal.shows(question).await;
        if !text.is_empty() {
            terminal.type_text(text);
        }
        terminal.press(&["Enter"]);
    }
}

#[tokio::test]
async fn whoever_takes_what_is_offered_gets_what_yes_writes() {
    let (repository, home) = (Repository::new(), tempfile::tempdir().unwrap());
    let terminal = asks(&repository, home.path());
    answer(&terminal, &[(PROJECT, ""), (IMAGE, ""), (BLOCK, ""), (WRITE, "y")]).await;
    let text = terminal.shows("ended with 0").await;
    // The files stand there before the question.
    let (shown, after) = text.split_once(WRITE).unwrap();
    assert!(
        shown.contains(".gitlab/conclave.yml") && after.contains("To undo it: "),
        "{text}"
    );

    let other = Repository::new();
    let quiet = crate::support::Conclave::new(other.path(), &["init", "--yes"]);
    quiet.run().await.expect_code(0);
    assert_eq!(changes(&repository), changes(&other));
    for file in changes(&other).lines().map(|line| line[2..].trim()) {
        let read = |repository: &Repository| std::fs::read_to_string(repository.path().join(file)).unwrap();
        assert_eq!(read(&repository), read(&other), "{file}");
    }
}

#[tokio::test]
async fn other_answers_count_and_a_wrong_one_is_asked_again() {
    let (repository, home) = (Repository::new(), tempfile::tempdir().unwrap());
    let terminal = asks(&repository, home.path());
    answer(&terminal, &[(PROJECT, "conclave")]).await;
    terminal.shows("`conclave` is not the path of a project").await;
    let again = |text: &str| text.matches(PROJECT).count() == 2;
    terminal.until("the question again", again).await;
    terminal.type_text("platform/conclave@2.0.0");
    terminal.press(&["Enter"]);
    answer(&terminal, &[(IMAGE, ""), (BLOCK, "yes"), (WRITE, "Y")]).await;
    let text = terminal.shows("ended with 0").await;
    let image = format!("[$CI_REGISTRY/platform/conclave:{}]", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&image), "{text}");
    let pipeline = std::fs::read_to_string(repository.path().join(".gitlab-ci.yml")).unwrap();
    for line in [
        "component: $CI_SERVER_FQDN/platform/conclave/conclave@2.0.0",
        "gate: block",
        "allow_failure: false",
    ] {
        assert!(pipeline.contains(line), "{line} is missing in\n{pipeline}");
    }
    assert!(!repository.path().join(".gitlab/conclave.yml").exists());
}

#[tokio::test]
async fn nothing_is_written_for_whoever_refuses_or_leaves() {
    let home = tempfile::tempdir().unwrap();
    let all = [(PROJECT, ""), (IMAGE, ""), (BLOCK, "")];
    // Enter alone is no yes.
    let repository = Repository::new();
    let terminal = asks(&repository, home.path());
    answer(&terminal, &all).await;
    answer(&terminal, &[(WRITE, "")]).await;
    let text = terminal.shows("ended with 2").await;
    assert!(text.contains("Nothing was written."), "{text}");
    assert_eq!(changes(&repository), "");

    // Ctrl-C, and the end of input, at the first question and at the last.
    for (answered, question, key, code) in [
        (&all[..0], PROJECT, "C-c", 130),
        (&all[..], WRITE, "C-c", 130),
        (&all[..1], IMAGE, "C-d", 2),
        (&all[..], WRITE, "C-d", 2),
    ] {
        let repository = Repository::new();
        let terminal = asks(&repository, home.path());
        answer(&terminal, answered).await;
        terminal.shows(question).await;
        terminal.press(&[key]);
        let text = terminal.shows(&format!("ended with {code}")).await;
        assert_eq!(changes(&repository), "", "{key} at {question}");
        assert!(text.contains("Nothing was written."), "{text}");
    }
}

#[tokio::test]
async fn where_nothing_says_which_forge_it_is_it_asks() {
    let (repository, home) = (Repository::new(), tempfile::tempdir().unwrap());
    let terminal = asks_anywhere(&repository, home.path());
    answer(&terminal, &[(FORGE, "bitbucket")]).await;
    terminal.shows("`bitbucket` is neither gitlab nor github").await;
    terminal.type_text("github");
    terminal.press(&["Enter"]);
    answer(&terminal, &[(IMAGE, ""), (BLOCK, ""), (WRITE, "y")]).await;
    terminal.shows("ended with 0").await;
    let workflow = std::fs::read_to_string(repository.path().join(".github/workflows/conclave.yml")).unwrap();
    assert!(
        workflow.contains("checks: write") && !repository.path().join(".gitlab-ci.yml").exists(),
        "{workflow}"
    );

    // A remote on GitHub says it.
    let other = Repository::new();
    other.git(&["config", "remote.origin.url", "git@github.com:acme/shop.git"]);
    let quiet = crate::support::Conclave::new(other.path(), &["init", "--yes"]);
    quiet.run().await.expect_code(0);
    assert_eq!(changes(&repository), changes(&other));
}
