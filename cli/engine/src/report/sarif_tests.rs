//! SARIF, held against its official schema.

use conclave_shared::finding::Quote;
use conclave_shared::severity::Severity;

use super::*;
use crate::{judge::test_support::finding, review::test_support::review};

/// See `tests/fixtures/sarif/README.md`.
const OFFICIAL_SCHEMA: &str = include_str!("../../../../tests/fixtures/sarif/sarif-schema-2.1.0.json");

fn faults(log: &Value) -> Vec<String> {
    // The published pattern of a language's name has a bracket too many, which is no regular expression here.
    let schema = OFFICIAL_SCHEMA.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    validator
        .iter_errors(log)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect()
}

fn full() -> Review {
    let mut review = review();
    let mut first = finding("F1", Severity::Critical, "sql-injection", "src/größe und mehr.py", 4);
    first.end_line = Some(6);
    first.second = Some(Quote {
        file: "src/b.py".into(),
        line: 9,
        code: "run(query)".into(),
    });
    let second = finding("F2", Severity::Warning, "sql-injection", "src/b.py", 0);
    let third = finding("F3", Severity::Suggestion, "naming", "src/b.py", 2);
    let title = finding("F4", Severity::Critical, "prompt-injection", CONTEXT_FILE, 1);
    let mut dropped = JudgedFinding::kept(finding("F5", Severity::Critical, "x", "src/c.py", 2));
    dropped.fate = conclave_shared::telemetry::FindingFate::Dropped;
    review.findings = [first, second, third, title]
        .into_iter()
        .map(JudgedFinding::kept)
        .collect();
    review.findings.push(dropped);
    review.verdict = Verdict::SignificantConcerns;
    review.coverage.gaps = vec!["nobody read src/big.py".into()];
    review.warnings = vec!["a warning".into()];
    review
}

#[test]
fn every_log_holds_against_the_official_schema() {
    for review in [review(), full()] {
        assert_eq!(faults(&render_sarif(&review)), Vec::<String>::new());
    }
    let mut broken = render_sarif(&full());
    broken["runs"][0]["results"][0]["level"] = json!("terrible");
    assert_ne!(faults(&broken), Vec::<String>::new(), "the schema is really applied");
}

#[test]
fn code_scanning_gets_places_in_files_only_in_one_category_and_no_links() {
    let mut review = full();
    review.findings[0].finding.claim = "See [the fix](https://evil.example).".into();
    let log = render_code_scanning(&review);
    assert_eq!(faults(&log), Vec::<String>::new());
    let run = &log["runs"][0];
    assert_eq!(run["automationDetails"]["id"], "conclave/");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3, "the title is no file");
    for result in results {
        assert!(result["partialFingerprints"]["primaryLocationLineHash"].is_string());
        assert!(result["ruleId"].is_string());
    }
    let text = results[0]["message"]["text"].as_str().expect("a text");
    assert!(text.starts_with("See \\[the fix\\](https"), "{text}");
}

#[test]
fn what_stands_is_told_with_place_level_and_identity() {
    let review = full();
    let log = render_sarif(&review);
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("a list");
    let levels: Vec<_> = results
        .iter()
        .map(|result| result["level"].as_str().expect("text"))
        .collect();
    assert_eq!(
        levels,
        ["error", "warning", "note", "error"],
        "what does not stand is left out"
    );
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/gr%C3%B6%C3%9Fe%20und%20mehr.py");
    assert_eq!(
        (&place["region"]["startLine"], &place["region"]["endLine"]),
        (&json!(4), &json!(6))
    );
    assert_eq!(
        results[1]["locations"][0]["physicalLocation"]["region"]["startLine"], 1,
        "lines are from 1"
    );
    assert_eq!(
        results[0]["partialFingerprints"][FINGERPRINT],
        json!(review.findings[0].finding.fingerprint)
    );
    assert_eq!(
        results[0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"],
        9
    );
    assert_eq!(results[0]["ruleIndex"], results[1]["ruleIndex"], "one kind is one rule");
    assert_eq!(run["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(3));
}

#[test]
fn an_incomplete_review_is_no_successful_run() {
    let mut review = review();
    let successful = |review: &Review| render_sarif(review)["runs"][0]["invocations"][0]["executionSuccessful"].clone();
    assert_eq!(successful(&review), true);
    review.verdict = Verdict::Inconclusive;
    review.coverage.gaps = vec!["security failed".into()];
    assert_eq!(successful(&review), false);
    let log = render_sarif(&review);
    let note = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(note["message"]["text"], "Not reviewed: security failed");
    assert_eq!(note["level"], "error");
    // A budget that cut the judge off leaves no gap.
    let mut review = full();
    review.coverage.gaps.clear();
    assert_eq!(successful(&review), true, "objecting is no failure");
    review.partial = Some("all of the budget of 1 model calls for the run is spent, without coordinator".into());
    assert_eq!(successful(&review), false);
}
