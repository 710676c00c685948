//! Stopping: what is known is shown and posted, and nothing is left running, whoever stops it and how.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::ExitStatus,
    time::{Duration, Instant},
};

use conclave_scripted_provider::{Answer, COORDINATOR, Fault, ScriptedProvider};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::Child,
};

use crate::support::{
    AgentRuntime, Conclave, Pipeline, Repository, Workers, Wrapper, crowd, executable, nothing_left_running, on,
    provider, runs, serving,
};

on_both_runtimes! {
    a_termination_ends_everything
    a_closed_terminal_ends_everything
    a_terminal_that_is_closed_below_the_table_ends_everything
    a_cancelled_job_posts_what_is_known_and_tells_the_tracker
    a_run_that_ends_while_it_judges_counts_the_critical_that_it_has_in_hand
    a_signal_before_the_sessions_start_leaves_nothing_either
    what_a_killed_run_has_left_goes_with_the_next_one
}

/// Returns how long everything may take after a signal: ten seconds, on a machine that does nothing else.
fn all_gone() -> Duration {
    Duration::from_secs(10).mul_f64(crowd())
}

/// Time that a test waits for what has to happen first, on a machine that does a lot else.
const PATIENCE: Duration = Duration::from_mins(3);

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()), signal).unwrap();
}

async fn ends(child: &mut Child) -> ExitStatus {
    tokio::time::timeout(all_gone(), child.wait())
        .await
        .expect("it ends in time")
        .unwrap()
}

/// What the process has written on standard output.
async fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).await.unwrap();
    text
}

fn tidy(home: &Path) {
    let left: Vec<_> = std::fs::read_dir(home.join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

/// Waits until a file of the run holds this.
async fn appears(file: &Path, text: &str) {
    let waiting = async {
        while !std::fs::read_to_string(file).is_ok_and(|content| content.contains(text)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "{text} does not appear in {}", file.display());
}

async fn stop_with(signal: Signal, expected: Option<i32>) {
    let (provider, repository) = (provider().await, Repository::flawed());
    // Every model call hangs, so the run is in the middle of its work when the signal comes.
    provider.inject(Fault::hang());
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .start();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    // Nobody flushes the record: it gets there by itself.
    let record = home.path().join("run/events.jsonl");
    appears(&record, "\"busy\"").await;
    send(&child, signal);
    assert_eq!(ends(&mut child).await.code(), expected);
    nothing_left_running(&home.path().join("run")).await;
    let events = std::fs::read_to_string(&record).expect("a record");
    let mut lines: Vec<&str> = events.lines().collect();
    if expected.is_none() && !events.ends_with('\n') {
        // A kill may come in the middle of the last line.
        lines.pop();
    }
    for line in lines {
        serde_json::from_str::<serde_json::Value>(line).expect("whole lines");
    }
    if expected.is_some() {
        tidy(home.path());
        let text = printed(&mut child).await;
        assert!(
            text.contains("Inconclusive") && text.contains("the run was stopped"),
            "{text}"
        );
        assert!(home.path().join("run/review.json").exists(), "the records are complete");
    }
}

async fn a_termination_ends_everything() {
    // Ctrl-C does the same: `sigint` of the table of failures, and `terminal`.
    stop_with(Signal::SIGTERM, Some(143)).await;
}

async fn a_closed_terminal_ends_everything() {
    stop_with(Signal::SIGHUP, Some(129)).await;
}

#[tokio::test]
async fn who_ignores_a_closed_terminal_reviews_on() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::hang());
    // As nohup(1) does.
    let script = "trap '' HUP; exec conclave local main..feature --runtime native";
    let (mut child, _home) = Conclave::script(repository.path(), script, "run")
        .anthropic(&provider)
        .start();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    send(&child, Signal::SIGHUP);
    send(&child, Signal::SIGTERM);
    assert_eq!(ends(&mut child).await.code(), Some(143), "the first signal that counts");
}

#[tokio::test]
async fn a_kill_takes_opencode_with_it() {
    stop_with(Signal::SIGKILL, None).await;
}

/// Starts a review in a terminal whose output is not read, with the table on it and every model call hanging.
async fn in_terminal(provider: &ScriptedProvider, repository: &Repository) -> (Child, TempDir, File) {
    provider.inject(Fault::hang());
    let started = Conclave::in_session(repository.path(), &["local", "main..feature"])
        .anthropic(provider)
        .start_in_terminal();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    started
}

/// The table is drawn on a terminal that is gone, as is every line above it.
async fn a_terminal_that_is_closed_below_the_table_ends_everything() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let (mut child, home, terminal) = in_terminal(&provider, &repository).await;
    drop(terminal);
    assert_eq!(ends(&mut child).await.code(), Some(129));
    nothing_left_running(&home.path().join("run")).await;
    tidy(home.path());
    assert!(home.path().join("run/review.json").exists(), "the records are complete");
}

#[tokio::test]
async fn a_terminal_that_takes_nothing_holds_up_no_end() {
    on(AgentRuntime::Native, async {
        let (provider, repository) = (provider().await, Repository::flawed());
        let (mut child, home, mut terminal) = in_terminal(&provider, &repository).await;
        // Ctrl-S.
        terminal.write_all(b"\x13").unwrap();
        send(&child, Signal::SIGTERM);
        appears(&home.path().join("run/review.json"), "the run was stopped").await;
        send(&child, Signal::SIGTERM);
        assert_eq!(ends(&mut child).await.code(), Some(143));
        nothing_left_running(&home.path().join("run")).await;
        tidy(home.path());
    })
    .await;
}

async fn what_a_killed_run_has_left_goes_with_the_next_one() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let temporary = tempfile::tempdir().unwrap();
    provider.inject(Fault::hang());
    let job = |arguments: &[&str]| {
        let job = Conclave::new(repository.path(), arguments).anthropic(&provider);
        job.env("TMPDIR", temporary.path())
    };
    let left = || {
        let entries = std::fs::read_dir(temporary.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (mut living, _home) = job(&["local", "main..feature"]).start();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    let of_living = left();
    let (mut killed, home) = job(&["local", "main..feature"]).start();
    assert!(provider.wait_for_requests(2, PATIENCE).await, "a model is asked");
    send(&killed, Signal::SIGKILL);
    ends(&mut killed).await;
    nothing_left_running(&home.path().join("run")).await;
    assert_ne!(left(), of_living);
    job(&["plan", "main..feature"]).run().await.expect_code(0);
    assert_eq!(left(), of_living, "what belongs to a living run stays");
    send(&living, Signal::SIGTERM);
    assert_eq!(ends(&mut living).await.code(), Some(143));
    assert!(left().is_empty(), "{:?}", left());
}

#[tokio::test]
async fn a_kill_takes_along_what_opencode_has_started() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // A search that does not come to an end, and does not care for signals that can be ignored.
    let bin = tempfile::tempdir().unwrap();
    let version = "[ \"$1\" = --version ] && echo ripgrep 15.0.0 && exit";
    let script = format!("#!/bin/sh\n{version}\ntrap '' TERM HUP PIPE\nsleep 600\n");
    let search = executable(&bin.path().join("rg"), &script);
    provider.set("generalist", 1, Answer::call("grep", json!({"pattern": "return"})));
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("PATH", path)
        .start();
    runs(&search, "return").await;
    send(&child, Signal::SIGKILL);
    assert_eq!(ends(&mut child).await.code(), None);
    nothing_left_running(&home.path().join("run")).await;
}

async fn a_cancelled_job_posts_what_is_known_and_tells_the_tracker() {
    let (provider, repository) = (provider().await, Repository::new());
    let mut workers = Workers::tracker().await;
    repository.git(&["checkout", "--quiet", "-b", "feature"]);
    let more = "\n\ndef number():\n    return 1\n".repeat(20);
    let query = "def find(c, name):\n    return c.execute(f\"SELECT * FROM u WHERE n = '{name}'\")\n";
    repository.write("src/users.py", &format!("{query}{more}"));
    repository.commit("Find users");
    let pipeline = Pipeline::new(&repository).await;
    // Security finds something; the others are still at it.
    provider.inject(Fault::hang().agent("documentation"));
    provider.inject(Fault::hang().agent("code_quality"));
    let (mut child, home) = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .env("CONCLAVE_TRACKER_URL", &workers.tracker_url)
        .env("CONCLAVE_TRACKER_TOKEN", Workers::INGEST_TOKEN)
        .start();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let seen = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.to_lowercase().contains("security") && line.contains("finding") {
                return;
            }
        }
        panic!("security never ended");
    };
    tokio::time::timeout(PATIENCE, seen).await.expect("security ends");
    let sent = Instant::now();
    send(&child, Signal::SIGTERM);
    let (status, _rest) = tokio::join!(ends(&mut child), async {
        let mut rest = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            rest.push(line);
        }
        rest
    });
    assert_eq!(status.code(), Some(143));
    assert!(sent.elapsed() < all_gone());
    nothing_left_running(&home.path().join("run")).await;
    tidy(home.path());
    let notes = pipeline.notes();
    assert_eq!(notes.len(), 1);
    // Its code was checked: no judge makes it less true.
    for part in [
        "Significant concerns",
        "the run was stopped",
        "`src/users.py:2`",
        "sql-injection",
    ] {
        assert!(notes[0].contains(part), "{part} is missing in:\n{}", notes[0]);
    }
    assert!(!pipeline.approved());
    assert_eq!(pipeline.gitlab.violations(), []);
    let runs = workers
        .rows("SELECT verdict FROM runs WHERE verdict IS NOT NULL", |rows| {
            !rows.is_empty()
        })
        .await;
    assert_eq!(runs[0]["verdict"], "significant_concerns", "{runs:?}");
}

async fn a_run_that_ends_while_it_judges_counts_the_critical_that_it_has_in_hand() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::hang().agent(COORDINATOR));
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .start();
    let judging = async {
        while !provider.requests().iter().any(|request| request.agent == COORDINATOR) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, judging)
        .await
        .expect("the judge is asked");
    send(&child, Signal::SIGTERM);
    assert_eq!(ends(&mut child).await.code(), Some(143));
    let review = std::fs::read(home.path().join("run/review.json")).unwrap();
    let review: serde_json::Value = serde_json::from_slice(&review).unwrap();
    assert_eq!(review["verdict"], "significant_concerns", "{review:#}");
    assert_eq!(review["verdict_reason"], "1 critical; the run was stopped");
    assert_eq!(review["coverage"]["gaps"][0], "the run was stopped");
}

#[tokio::test]
async fn opencode_ignoring_its_own_termination_costs_five_seconds_and_no_more() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::hang());
    let pipeline = Pipeline::new(&repository).await;
    let wrapper = Wrapper::new("trap '' TERM\nexec \"$OPENCODE\" \"$@\"");
    let (mut child, home) = pipeline
        .job(&repository, &[])
        .anthropic(&provider)
        .env("CONCLAVE_OPENCODE", wrapper.path())
        .start();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    send(&child, Signal::SIGTERM);
    assert_eq!(ends(&mut child).await.code(), Some(143));
    nothing_left_running(&home.path().join("run")).await;
    assert_eq!(pipeline.notes().len(), 1, "it was posted meanwhile");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.inject(Fault::hang());
    // Ending in good order takes five seconds here.
    let wrapper = Wrapper::new("trap '' TERM\nexec \"$OPENCODE\" \"$@\"");
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_OPENCODE", wrapper.path())
        .start();
    assert!(provider.wait_for_requests(1, PATIENCE).await, "a model is asked");
    send(&child, Signal::SIGINT);
    // The first one has arrived when the review is on disk.
    appears(&home.path().join("run/review.json"), "the run was stopped").await;
    let sent = Instant::now();
    send(&child, Signal::SIGINT);
    assert_eq!(ends(&mut child).await.code(), Some(130));
    let most = Duration::from_secs(4).mul_f64(crowd());
    assert!(sent.elapsed() < most, "{:?}", sent.elapsed());
    nothing_left_running(&home.path().join("run")).await;
    tidy(home.path());
}

#[tokio::test]
async fn a_signal_while_opencode_starts_leaves_nothing_either() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let wrapper = Wrapper::new("sleep 600");
    let (mut child, home) = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_OPENCODE", wrapper.path())
        .start();
    serving(&wrapper.path()).await;
    send(&child, Signal::SIGTERM);
    assert_eq!(ends(&mut child).await.code(), Some(143));
    nothing_left_running(&home.path().join("run")).await;
    tidy(home.path());
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn the_last_line_of_a_run_that_is_stopped_at_once_says_what_came_of_it() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    // The two lines came in any order.
    for _ in 0..4 {
        let job = Conclave::new(repository.path(), &["local", "main..feature"])
            .anthropic(&provider)
            .env("CONCLAVE_CONFIG_URL", &address)
            .env("CONCLAVE_CONFIG_TOKEN", "t");
        let (mut child, _home) = job.start();
        let accepted = tokio::time::timeout(PATIENCE, silent.accept()).await;
        let _held = accepted.expect("it asks").unwrap();
        send(&child, Signal::SIGINT);
        assert_eq!(ends(&mut child).await.code(), Some(130));
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        // Where the end comes at once, there is nothing to promise.
        let lines = said.lines().filter(|line| line.starts_with("Stop"));
        let lines: Vec<_> = lines
            .skip_while(|line| line.starts_with("Stopping: what is known so far"))
            .collect();
        assert_eq!(lines, ["Stopped before anything was reviewed."], "{said}");
        assert!(said.trim_end().ends_with(lines[0]), "{said}");
    }
}

/// A demo makes its repository first, and a plan its scratch space.
#[tokio::test]
async fn a_signal_at_any_moment_of_a_beginning_leaves_nothing() {
    let repository = Repository::flawed();
    // A git that takes its time with what is asked of it.
    let bin = tempfile::tempdir().unwrap();
    executable(
        &bin.path().join("git"),
        "#!/bin/sh\n: >>\"$TMPDIR/../asked\"\ncase \"$*\" in *--version*) ;; *) exec sleep 600 ;; esac\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
    );
    let path = format!("{}:{}", bin.path().display(), std::env::var("PATH").unwrap());
    for arguments in [&["demo"][..], &["plan", "main..feature"]] {
        for waits in [false, true] {
            let job = Conclave::new(repository.path(), arguments);
            let job = if waits { job.env("PATH", &path) } else { job };
            let (mut child, home) = job.start();
            let temporary = home.path().join("tmp");
            let begun = async {
                while std::fs::read_dir(&temporary).unwrap().count() == 0
                    || waits && !home.path().join("asked").exists()
                {
                    if child.try_wait().unwrap().is_some() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(PATIENCE, begun).await.expect("it begins");
            if child.try_wait().unwrap().is_none() {
                send(&child, Signal::SIGTERM);
            }
            let code = ends(&mut child).await.code();
            assert!(
                code == Some(143) || !waits && code == Some(0),
                "{arguments:?}: {code:?}"
            );
            tidy(home.path());
            nothing_left_running(&home.path().join("run")).await;
        }
    }
}

async fn a_signal_before_the_sessions_start_leaves_nothing_either() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // A configuration service that accepts and never answers holds the run where it prepares.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let job = Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(&provider)
        .env("CONCLAVE_CONFIG_URL", address)
        .env("CONCLAVE_CONFIG_TOKEN", "t");
    let (mut child, home) = job.start();
    let _held = tokio::time::timeout(Duration::from_mins(1), silent.accept())
        .await
        .expect("it asks")
        .unwrap();
    kill(
        Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()),
        Signal::SIGTERM,
    )
    .unwrap();
    let status = tokio::time::timeout(all_gone(), child.wait())
        .await
        .expect("it ends in time")
        .unwrap();
    assert_eq!(status.code(), Some(143));
    let left: Vec<_> = std::fs::read_dir(home.path().join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    assert!(
        !home.path().join("run").exists(),
        "no run directory is made for a run that does not start"
    );
    assert!(provider.requests().is_empty());
}
