//! Programs that answer too much, or not at all.

use super::*;
use crate::test_support::bin;

const OFF: fn() -> Sandbox = || Sandbox::Off("a test of something else".to_owned());

#[tokio::test]
async fn an_answer_without_end_is_given_up_and_nothing_of_it_is_left() {
    let bin = bin(&[
        ("flood", "echo $$ > \"${0%/*}/pid\"; exec yes 1.18.33"),
        ("words", "yes no version >&2; echo 1.18.33"),
        (
            "beside",
            "sleep 600 > /dev/null 2>&1 & echo $! > \"${0%/*}/beside.pid\"; echo 1.18.33",
        ),
    ]);
    let asked = async |name: &str| {
        ask(
            &bin.path.join(name),
            "--version",
            Duration::from_mins(1),
            "/usr/bin:/bin",
            &OFF(),
        )
        .await
    };
    let error = asked("flood").await.expect_err("it never ends").to_string();
    assert_eq!(error, "it printed more than 16 KB");
    // What it says of errors has nowhere to go, and it goes on.
    assert_eq!(asked("words").await.expect("an answer"), "1.18.33");
    assert_eq!(asked("beside").await.expect("an answer"), "1.18.33");
    for file in ["pid", "beside.pid"] {
        let pid = std::fs::read_to_string(bin.path.join(file)).expect("it ran");
        let pid = Pid::from_raw(pid.trim().parse().expect("a number"));
        let gone = async {
            let runs = || {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.rsplit(')')
                    .next()
                    .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
            };
            while runs() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_mins(1), gone).await.expect("it is gone");
    }
}

#[tokio::test]
async fn a_program_that_ends_without_an_answer_says_how() {
    let bin = bin(&[("broken", "echo no luck >&2; exit 3"), ("killed", "kill -s KILL $$")]);
    let asked = async |name: &str| {
        let answer = ask(
            &bin.path.join(name),
            "--version",
            Duration::from_mins(1),
            "/usr/bin:/bin",
            &OFF(),
        )
        .await;
        answer.expect_err("no answer").to_string()
    };
    assert_eq!(
        asked("broken").await,
        "it ended without an answer (exit status: 3): no luck"
    );
    assert_eq!(
        asked("killed").await,
        "it ended without an answer (signal: 9 (SIGKILL))"
    );
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_end_is_given_up() {
    let bin = bin(&[("silent", "exec sleep 600")]);
    let asked = ask(
        &bin.path.join("silent"),
        "--version",
        Duration::from_mins(1),
        "/usr/bin:/bin",
        &OFF(),
    )
    .await;
    let error = asked.expect_err("it never answers").to_string();
    assert_eq!(error, "it did not answer `--version` within 60 s");
}

/// `OpenCode` makes directories there before it answers.
#[tokio::test]
async fn a_program_has_a_home_of_its_own_that_is_gone_afterwards() {
    let bin = bin(&[("homely", "mkdir \"$HOME/.cache\" && echo \"$HOME\"")]);
    let home = ask(
        &bin.path.join("homely"),
        "--version",
        Duration::from_mins(1),
        "/usr/bin:/bin",
        &OFF(),
    )
    .await;
    let home = home.expect("an answer");
    assert!(home.contains("conclave-question-"), "{home}");
    assert!(!std::path::Path::new(&home).exists(), "{home}");
}
