//! What may grow without an end does not take conclave's memory with it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use conclave_scripted_provider::{Answer, COORDINATOR};
use serde_json::{Value, json};

use crate::support::{Conclave, Outcome, Repository, provider, used};

on_both_runtimes! {
    a_large_diff_is_planned_patch_by_patch
    a_coordinator_that_calls_its_tools_without_end_is_ended_and_judged_for
}

/// Megabytes that a run may need beyond one that has next to nothing to do.
const MAX_GROWTH: u64 = 12;

/// Runs it; the peak of its own memory in MB is the second value.
async fn peak(job: Conclave) -> (Outcome, u64) {
    let peak = AtomicU64::new(0);
    let outcome = job
        .run_while(async |pid| {
            // The kernel keeps the peak, so that nothing is missed between two looks.
            while let Some((_, megabytes)) = used(pid) {
                peak.fetch_max(megabytes, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    (outcome, peak.into_inner())
}

async fn a_large_diff_is_planned_patch_by_patch() {
    let repository = Repository::new();
    repository.git(&["checkout", "--quiet", "-b", "small"]);
    repository.write("src/table.py", "ROWS = 1\n");
    repository.commit("A row");
    repository.git(&["checkout", "--quiet", "-b", "large", "main"]);
    for file in 0..48 {
        let rows: Vec<String> = (0..16_000)
            .map(|row| format!("ROW_{file}_{row} = compute({}, {row})\n", row * 7919 + file))
            .collect();
        repository.write(&format!("src/table_{file}.py"), &rows.concat());
    }
    repository.commit("All rows");
    let diff = repository.git(&["diff", "main", "large"]).len() >> 20;
    assert!(diff as u64 > 2 * MAX_GROWTH, "{diff} MB show nothing");

    let plan = |range| {
        let job = Conclave::new(repository.path(), &["plan", range, "--format", "json"]);
        peak(job)
    };
    let (_, small) = plan("main..small").await;
    let (outcome, large) = plan("main..large").await;
    let plan: Value = serde_json::from_str(&outcome.expect_code(0).stdout).unwrap();
    assert_eq!(plan["files"].as_array().unwrap().len(), 48);
    assert!(
        large <= small + MAX_GROWTH,
        "{diff} MB of diff took {large} MB, next to none {small} MB"
    );
}

async fn a_coordinator_that_calls_its_tools_without_end_is_ended_and_judged_for() {
    let repository = Repository::flawed();
    let job = || Conclave::new(repository.path(), &["local", "main..feature"]);
    let quiet = provider().await;
    let (_, little) = peak(job().anthropic(&quiet)).await;

    let busy = provider().await;
    // It asks for the findings again and again, even after the reply that it has them, and submits nothing.
    let asks = || Answer::call("spawn_reviewers", json!({}));
    let calls = (1..50).fold(asks(), |answer, _| answer.and_call("spawn_reviewers", json!({})));
    busy.set_always(COORDINATOR, calls);
    let (outcome, much) = peak(job().anthropic(&busy)).await;
    let outcome = outcome.expect_code(0);
    let review = outcome.review();
    let reason = review["coordinator"]["reason"].as_str().unwrap();
    // Equal calls of one answer are one repetition, so the number of all calls ends it.
    assert!(reason.contains("the limit `tool_calls` is 200"), "{reason}");
    let asked = busy
        .books()
        .entries
        .iter()
        .filter(|entry| entry.agent == COORDINATOR)
        .count();
    assert!(asked <= 8, "{asked}");
    // Nothing was submitted, so what the reviewers found is judged by rule.
    assert!(review["degraded"].is_string());
    assert!(outcome.categories().contains(&"sql-injection".to_owned()));
    assert!(much <= little + MAX_GROWTH, "it took {much} MB, without {little} MB");
}
