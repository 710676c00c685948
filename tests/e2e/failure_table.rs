//! Everything that can break, broken for real in a whole review of a clean merge request, and what becomes of it.
//!
//! What is expected stands as data in `tests/failures/outcomes.json`; each row is a test here. The merge request is a
//! clean one, which a healthy run approves: the worst that a failure could do is to leave that approval in place. With
//! `CONCLAVE_UPDATE_FAILURES=1` each test writes down what it measured, and `docs/failures.md` is made of both.

mod document;
mod on_github;
mod scenes;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Instant,
};

use serde::{Deserialize, Serialize};

use crate::support::{AgentRuntime, Outcome, crowd, foreign_words, provider, repository_root};
use scenes::Scene;

/// One row of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// The row's name, and its test's.
    name: String,
    /// The part of the table.
    part: String,
    /// What breaks.
    breaks: String,
    /// The verdict; none if there is no review.
    verdict: Option<String>,
    /// True if the review is on the merge request.
    posted: bool,
    /// True if the bot approves.
    approved: bool,
    /// The exit code.
    exit: i32,
    /// Words of the program that tell the person what happened.
    says: String,
    /// The most calls that reach the provider.
    calls: usize,
    /// The most seconds from the start of the program to its end, on a machine that does nothing else.
    seconds: f64,
    /// The most that it may cost, in US dollars.
    cost_usd: f64,
}

/// What was measured when the table was last renewed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Measured {
    calls: usize,
    seconds: f64,
    cost_usd: f64,
}

/// The bot's part of the merge request after the run.
pub(super) struct Shown {
    notes: Vec<String>,
    approved: bool,
    /// The requests that break the forge's contract.
    violations: String,
}

const UPDATE: &str = "CONCLAVE_UPDATE_FAILURES";

fn data() -> PathBuf {
    repository_root().join("tests/failures")
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(data().join("outcomes.json")).unwrap();
    serde_json::from_str(&text).expect("outcomes.json")
}

fn measured() -> BTreeMap<String, Measured> {
    let text = std::fs::read_to_string(data().join("measured.json")).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).expect("measured.json")
}

/// Breaks it, runs a whole review, and compares.
async fn run(name: &str) {
    let row = rows().into_iter().find(|row| row.name == name);
    let row = row.unwrap_or_else(|| panic!("outcomes.json has no row {name}"));
    let provider = provider().await;
    let started = Instant::now();
    let (outcome, shown) = if name.starts_with("github_") {
        on_github::play(&provider, name).await
    } else {
        Scene::new(provider.clone(), name).await.shown(name).await
    };
    let seconds = started.elapsed().as_secs_f64();
    compare(&row, &shown, &outcome);

    let review = outcome.try_review();
    let found = Measured {
        calls: provider.requests().len(),
        seconds: (seconds * 10.0).round() / 10.0,
        cost_usd: review
            .and_then(|review| review["cost_usd"].as_f64())
            .map_or(0.0, |cost| (cost * 10_000.0).round() / 10_000.0),
    };
    assert!(found.calls <= row.calls, "{found:?}");
    assert!(found.seconds <= row.seconds * crowd(), "{found:?}");
    assert!(found.cost_usd <= row.cost_usd, "{found:?}");
    // The document's figures are those of the runtime of image and docs.
    if std::env::var_os(UPDATE).is_some() && AgentRuntime::current() == AgentRuntime::OpenCode {
        let directory = data().join("measured");
        std::fs::create_dir_all(&directory).unwrap();
        let text = serde_json::to_string(&found).unwrap();
        std::fs::write(directory.join(format!("{name}.json")), text).unwrap();
    }
}

fn compare(row: &Row, shown: &Shown, outcome: &Outcome) {
    let notes = &shown.notes;
    let review = outcome.try_review();
    let all = format!(
        "stdout:\n{}\nstderr:\n{}\nnotes:\n{}",
        outcome.stdout,
        outcome.stderr,
        notes.join("\n---\n")
    );
    assert_eq!(outcome.code, Some(row.exit), "exit code\n{all}");
    let verdict = review.as_ref().and_then(|review| review["verdict"].as_str());
    assert_eq!(verdict, row.verdict.as_deref(), "verdict\n{all}");
    assert_eq!(notes.len(), usize::from(row.posted), "notes\n{all}");
    assert_eq!(shown.approved, row.approved, "approval\n{all}");
    assert!(all.contains(&row.says), "it does not say `{}`\n{all}", row.says);
    if row.posted && row.verdict.as_deref() == Some("inconclusive") {
        assert!(notes[0].contains("Inconclusive"), "the note says so\n{all}");
    }
    assert_eq!(shown.violations, "[]", "{all}");
    let is_github = row.name.starts_with("github_");
    assert_eq!(foreign_words(is_github, &all), Vec::<String>::new(), "{all}");
}

macro_rules! failures {
    (on both: $($name:ident)* ; of OpenCode: $($of_opencode:ident)*) => {
        $(async fn $name() {
            run(stringify!($name)).await;
        })*

        on_both_runtimes! {
            $($name)*
        }

        $(#[tokio::test]
        async fn $of_opencode() {
            run(stringify!($of_opencode)).await;
        })*

        const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($of_opencode)),*];
    };
}

failures! {
    on both:
    nothing
    provider_400 provider_401 provider_402 provider_403 provider_404 provider_413
    provider_429 provider_429_retry_after_5 provider_429_retry_after_3600 provider_429_twice
    provider_500 provider_503 provider_529
    provider_hangs_before_the_first_byte provider_hangs_in_mid_stream provider_sends_only_pings provider_counts_nothing
    provider_cuts_the_connection provider_cuts_it_once provider_ends_without_the_end
    provider_sends_garbage provider_error_inside_the_stream provider_is_unreachable
    context_overflow answer_cut_off_always answer_cut_off_once answer_empty
    denied_tool unknown_tool findings_unreadable patches_not_opened patch_read_in_part
    coordinator_never_submits coordinator_is_reminded
    disk_refuses_events disk_full_for_the_review
    forge_429_retry_after forge_502_once forge_502_always forge_500_on_approval
    push_during_the_review
    github_nothing github_read_only_token github_no_pull_requests github_no_contents github_no_checks github_token_expires
    github_workflows_may_not_approve
    github_event_missing github_event_truncated github_event_of_another
    github_closed_before github_merged_before github_closed_meanwhile github_merged_meanwhile
    github_retargeted_meanwhile github_force_pushed_meanwhile
    github_secondary_limit github_502_after_the_write github_cut_after_the_write github_502_always
    github_enterprise_without_threads
    budget_spent out_of_time sigterm sigint
    both_workers_down;
    of OpenCode:
    opencode_crashes_at_its_start opencode_crashes_in_the_run opencode_ignores_sigterm
    opencode_floods_its_output opencode_writes_an_endless_line opencode_without_our_agents opencode_without_our_tools
    disk_full_for_opencode
}

#[test]
fn the_data_and_the_tests_are_the_same_rows() {
    let names: BTreeSet<String> = rows().into_iter().map(|row| row.name).collect();
    let tests: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(names, tests);
}

#[test]
fn no_failure_approves_what_was_not_reviewed() {
    for row in rows() {
        let reviewed = row
            .verdict
            .as_deref()
            .is_some_and(|verdict| verdict.starts_with("approved"));
        assert!(!row.approved || (reviewed && row.exit == 0), "{}", row.name);
    }
}

/// The document is made of the data. With the variable set it is written instead, after the rows have measured.
#[test]
fn the_document_is_current() {
    let path = repository_root().join("docs/failures.md");
    if std::env::var_os(UPDATE).is_some() {
        document::collect(&data());
        std::fs::write(&path, document::render(&rows(), &measured())).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(
        text,
        document::render(&rows(), &measured()),
        "renew it: {UPDATE}=1 cargo nextest run -p conclave --test e2e failure_table, then once more with \
         the_document_is_current"
    );
}
