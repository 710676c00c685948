//! The demo model as the coordinator.

use crate::conversation::{request, with_exchange};
use conclave_scripted_provider::{Answer, DemoModel, LABEL, Model, ModelRequest, Stop};
use serde_json::{Value, json};

const TOOLS: [&str; 3] = ["read", "spawn_reviewers", "submit_review"];

fn finding(id: &str, severity: &str, category: &str, line: u32, confidence: f64) -> Value {
    json!({"id": id, "reviewer": "security", "severity": severity, "category": category, "file": "src/db.py",
           "line": line, "claim": "c", "confidence": confidence, "found_by": ["security"]})
}

fn judged(findings: &[Value]) -> Value {
    let result = json!({"reviewers": [
        {"name": "security", "outcome": "ok", "findings": findings},
        {"name": "performance", "outcome": "timed_out", "findings": []}]});
    let spawned = with_exchange(
        request("coordinator", &TOOLS),
        "spawn_reviewers",
        &json!({}),
        &result.to_string(),
    );
    let answer = DemoModel::new().answer(&spawned);
    assert_eq!((answer.tool_calls.len(), answer.stop), (1, Stop::ToolUse));
    assert_eq!(answer.tool_calls[0].name, "submit_review");
    answer.tool_calls[0].input.clone()
}

fn verdict(findings: &[Value]) -> String {
    judged(findings)["proposed_verdict"].as_str().unwrap().to_owned()
}

#[test]
fn it_spawns_judges_submits_and_closes() {
    let model = DemoModel::new();
    let first = request("coordinator", &TOOLS);
    assert_eq!(model.answer(&first), Answer::call("spawn_reviewers", json!({})));
    let spawned = with_exchange(first, "spawn_reviewers", &json!({}), r#"Done: {"reviewers":[]}"#);
    let submit = model.answer(&spawned).tool_calls[0].input.clone();
    assert_eq!(
        (&submit["decisions"], &submit["proposed_verdict"]),
        (&json!([]), &json!("approved"))
    );
    let closing = model.answer(&with_exchange(spawned, "submit_review", &submit, "accepted"));
    assert!(closing.tool_calls.is_empty() && closing.text.contains("accepted") && closing.text.contains(LABEL));
}

#[test]
fn it_merges_the_same_drops_the_unsure_and_keeps_the_rest() {
    let submit = judged(&[
        finding("F1", "critical", "sql-injection", 12, 0.95),
        finding("F2", "critical", "sql-injection", 12, 0.9),
        finding("F3", "warning", "n-plus-one", 12, 0.9),
        finding("F4", "suggestion", "sleep-in-loop", 30, 0.7),
    ]);
    let decisions = submit["decisions"].as_array().unwrap();
    assert_eq!(
        decisions[0],
        json!({"id": "F1", "action": "keep", "production_risk": true})
    );
    assert_eq!(
        decisions[1],
        json!({"id": "F2", "action": "merge", "merge_into": "F1", "reason_code": "duplicate"})
    );
    assert_eq!(decisions[2], json!({"id": "F3", "action": "keep"}));
    assert_eq!(
        (&decisions[3]["action"], &decisions[3]["reason_code"]),
        (&json!("drop"), &json!("speculative"))
    );
    assert_eq!(
        submit["summary"],
        format!(
            "One problem should be fixed before this merges: SQL injection (src/db.py:12). One more is worth a look: N+1 \
             queries (src/db.py:12). One finding was dropped as too unsure. Without a result: performance. Written by \
             the {LABEL}."
        ),
        "a repeat of the same reviewer is no agreement"
    );
}

#[test]
fn the_summary_is_for_people() {
    let summary = |reviewers: Value| {
        let spawned = with_exchange(
            request("coordinator", &TOOLS),
            "spawn_reviewers",
            &json!({}),
            &json!({"reviewers": reviewers}).to_string(),
        );
        let submit = DemoModel::new().answer(&spawned).tool_calls[0].input.clone();
        let text = submit["summary"].as_str().unwrap().to_owned();
        let signature = format!(" Written by the {LABEL}.");
        text.strip_suffix(&signature)
            .unwrap_or_else(|| panic!("it says what it is: {text}"))
            .to_owned()
    };
    let found_in = |file: &str, mut finding: Value| {
        finding["file"] = json!(file);
        finding
    };
    let reviewer = |name: &str, findings: &[Value]| json!({"name": name, "outcome": "ok", "findings": findings});
    assert_eq!(
        summary(json!([
            reviewer(
                "security",
                &[
                    found_in("b.py", finding("F1", "critical", "secret-in-log", 3, 0.9)),
                    finding("F2", "critical", "sql-injection", 12, 0.9),
                ]
            ),
            reviewer("correctness", &[finding("F3", "critical", "sql-injection", 12, 0.9)]),
            reviewer(
                "code_quality",
                &[
                    finding("F4", "critical", "sql-injection", 12, 0.5),
                    finding("F5", "suggestion", "debug-output", 20, 0.9),
                    finding("F6", "suggestion", "unused-import", 1, 0.9),
                ]
            ),
        ])),
        "Two problems should be fixed before this merges: SQL injection (src/db.py:12) and a secret in the log (b.py:3). \
         Two more are worth a look, all in src/db.py: debug output (line 20) and unused import (line 1). Found by \
         security, correctness and code quality independently: SQL injection."
    );
    assert_eq!(
        summary(json!([reviewer(
            "tests",
            &[finding("F1", "warning", "focused-test", 4, 0.9)]
        )])),
        "Nothing here has to stop the merge. One point is worth a look: focused test (src/db.py:4)."
    );
    assert_eq!(
        summary(json!([reviewer("security", &[]), reviewer("correctness", &[])])),
        "Two reviewers looked at this change, and no finding stands."
    );
}

#[test]
fn the_verdict_follows_the_rubric() {
    let warning = |line, category: &str| finding("F", "warning", category, line, 0.9);
    assert_eq!(verdict(&[]), "approved");
    assert_eq!(
        verdict(&[finding("F", "suggestion", "a", 1, 0.9)]),
        "approved_with_comments"
    );
    assert_eq!(verdict(&[warning(1, "a"), warning(2, "b")]), "approved_with_comments");
    assert_eq!(verdict(&[warning(1, "a"), warning(2, "a")]), "minor_issues");
    assert_eq!(
        verdict(&[warning(1, "a"), warning(2, "b"), warning(3, "c")]),
        "minor_issues"
    );
    assert_eq!(
        verdict(&[finding("F", "critical", "a", 1, 0.9)]),
        "significant_concerns"
    );
    assert_eq!(
        verdict(&[finding("F", "warning", "a", 1, 0.5)]),
        "approved",
        "what is dropped does not count"
    );
    assert_eq!(
        verdict(&[finding("F", "critical", "a", 1, 0.5)]),
        "significant_concerns",
        "a critical finding is dropped only with code that refutes it"
    );
}

#[test]
fn it_says_so_when_it_cannot_work() {
    let text = |request: &ModelRequest| DemoModel::new().answer(request).text;
    assert!(text(&request("coordinator", &["read"])).contains("spawn_reviewers is not offered"));
    assert!(text(&request("coordinator", &["spawn_reviewers"])).contains("submit_review is not offered"));
    let broken = with_exchange(
        request("coordinator", &TOOLS),
        "spawn_reviewers",
        &json!({}),
        "MCP error",
    );
    assert!(text(&broken).contains("could not be read"));
}
