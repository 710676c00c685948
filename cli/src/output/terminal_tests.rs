//! How a review looks: at any width, and whatever stands in it.

use conclave_engine::review::{ConfigurationFallback, ConfigurationInstead, ModelMove};
use conclave_shared::severity::Severity;
use serde_json::json;

use super::super::door::{self, Keep};
use super::*;

fn report(name: &str, outcome: &str, reason: Option<&str>) -> serde_json::Value {
    json!({
        "name": name, "outcome": outcome, "reason": reason, "required": true, "models": [],
        "usage": [{
            "model": "anthropic/claude-sonnet-5",
            "tokens": {"input": 1_000_000, "output": 1, "reasoning": 0, "cache_read": 0, "cache_write": 0},
            "cost_usd": 0.5, "calls": 3
        }],
        "seconds": 12.5, "findings": 0, "hallucinated": 0
    })
}

/// A review with one finding of this severity, and long words everywhere.
fn sample(severity: Severity, claim: &str) -> Review {
    let path = "services/billing/src/main/java/org/example/billing/InvoiceRepositoryImplementation.java";
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": "r", "forge": "local", "project": "shop", "merge_request": null,
        "base_sha": "b".repeat(40), "head_sha": "a".repeat(40), "from_fork": false, "tier": "lite", "tier_reasons": [],
        "verdict": "inconclusive", "verdict_reason": "x", "proposed_verdict": null,
        "summary": "The change is small. It adds a query that is built from what a user has typed.",
        "findings": [{
            "finding": {
                "id": "F1", "reviewer": "security", "found_by": ["security", "screen_readers"], "severity": severity,
                "category": "sql-injection", "file": path, "line": 2, "claim": claim,
                "evidence": "x", "second": {"file": "a.java", "line": 7, "code": "y"},
                "scenario": "A name with a quote in it -> the query means something else.", "checked": "", "confidence": 0.9,
                "fix": "repository.find(name); // with a parameter that is bound by the driver and never a text",
                "evidence_status": "verified", "fingerprint": "0123456789abcdef"
            },
            "fate": "kept", "section": "security", "production_risk": false, "reason_code": null, "reason": null
        }],
        "reviewers": [report("security", "ok", None), report("code_quality", "timed_out", Some("its time was over after 300 s"))],
        "coordinator": report("coordinator", "ok", None),
        "degraded": null, "partial": null,
        "coverage": {
            "reviewed": [path], "changed_lines": 9, "not_read": [], "hallucinated": 0,
            "filtered": [{"path": "package-lock.json", "reason": "lock_file"}],
            "gaps": ["code quality timed out: its time was over after 300 s"],
        },
        "warnings": ["anthropic/claude-opus-4-8 stands in for anthropic/claude-opus-5-5 (it failed)"],
        "stages": [{"stage": "panel", "seconds": 12.5}],
        "seconds": 15.0, "cost_usd": 1.5, "cache_hit_rate": 0.5
    }))
    .expect("a review")
}

fn excerpts(review: &Review) -> Excerpts {
    let mut excerpts = Excerpts::default();
    let path = review.findings[0].finding.file.clone();
    let wide = "  // 日本語の説明がここに続いて、とても長い行になっていますので切り取られます日本語の説明";
    excerpts.add(review, &path, &format!("class A {{\n{wide}\n}}\n"));
    excerpts
}

fn shown(review: &Review, width: usize) -> String {
    let page = super::review(review, &excerpts(review), Utf8Path::new("/r"), &Page::plain(width));
    door::clean(&page, Keep::Signs)
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn every_line_fits_whatever_the_width() {
    let review = sample(
        Severity::Critical,
        "SQL from what a user has typed: anybody can read every invoice of everybody.",
    );
    for width in [40, 57, 76, 100] {
        let text = plain(&shown(&review, width));
        for line in text.lines() {
            assert!(display_width(line) <= width, "{width}: {line:?} in\n{text}");
        }
        let joined: String = text.split_whitespace().collect();
        for part in [
            "CRITICAL",
            "InvoiceRepositoryImplementation.java:2",
            "screenreaders(project'sown)",
            "Notreviewed:",
        ] {
            assert!(joined.contains(part), "{width}: {part} is missing in\n{text}");
        }
    }
}

#[test]
fn severities_have_their_colours() {
    for (severity, code) in [
        (Severity::Critical, "31"),
        (Severity::Warning, "33"),
        (Severity::Suggestion, "34"),
    ] {
        let text = shown(&sample(severity, "It fails."), 100);
        let word = severity.as_str().to_uppercase();
        let line = text
            .lines()
            .find(|line| line.contains(&word))
            .expect("the finding's head");
        assert!(
            line.contains(&format!("\x1b[{code}")) || line.contains(&format!(";{code}")),
            "{line:?}"
        );
        // The mark beside the code has the same one.
        let mark = text.lines().find(|line| line.contains('▌')).expect("the code");
        assert!(mark.contains(code), "{mark:?}");
    }
}

#[test]
fn what_a_model_writes_cannot_act_on_the_terminal() {
    let review = sample(
        Severity::Warning,
        "It \x1b]0;title\x07 \u{202E}sliaf\u{202C} \u{9b}31m.",
    );
    let text = plain(&shown(&review, 100));
    assert!(text.contains("It ]0;title sliaf 31m."), "{text}");
}

#[test]
fn a_review_on_the_defaults_says_so_before_everything_and_first_in_its_account() {
    let mut review = sample(Severity::Warning, "It fails.");
    let reason = "the configuration service refused the token; the built-in defaults are used";
    review.configuration = Some(ConfigurationFallback {
        is_broken: false,
        instead: ConfigurationInstead::Defaults,
        reason: reason.to_owned(),
    });
    review.warnings.insert(0, reason.to_owned());
    let text = plain(&shown(&review, 100));
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("{part} is missing in\n{text}"))
    };
    assert!(
        place("Built-in defaults: The configuration service") < place("Not reviewed:"),
        "{text}"
    );
    let account = text.rsplit('─').next().expect("the account");
    assert!(
        account
            .trim_start()
            .starts_with("on the built-in defaults · 1 file reviewed"),
        "{account}"
    );
    assert_eq!(text.matches("refused the token").count(), 1, "{text}");
}

#[test]
fn a_session_that_was_not_needed_is_not_marked_as_one_that_failed() {
    let mut review = sample(Severity::Warning, "It fails.");
    review.coordinator.outcome = ReviewerOutcome::Skipped;
    review.coordinator.reason = Some("there was nothing to judge".to_owned());
    let text = plain(&shown(&review, 100));
    assert!(
        text.contains("\n  – coordinator") && text.contains("\n  ✗ code quality"),
        "{text}"
    );
}

#[test]
fn a_move_to_another_model_is_named_and_the_row_has_the_model_that_answered() {
    let mut review = sample(Severity::Warning, "It fails.");
    let models: [ModelId; 2] =
        ["anthropic/claude-opus-5-5", "anthropic/claude-sonnet-5"].map(|name| name.parse().expect("a model"));
    for report in [&mut review.reviewers[0], &mut review.coordinator] {
        report.models = models.to_vec();
        report.moves = vec![ModelMove {
            from: models[0].clone(),
            to: models[1].clone(),
            reason: "no healthy model".to_owned(),
        }];
        let mut failed = report.usage[0].clone();
        failed.model = models[0].clone();
        failed.tokens = conclave_shared::pricing::TokenUsage::default();
        report.usage.insert(0, failed);
    }
    let text = plain(&shown(&review, 100));
    assert!(
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(
            "! security, coordinator: anthropic/claude-sonnet-5 stood in for anthropic/claude-opus-5-5 (no healthy model)"
        ),
        "{text}"
    );
    let narrow = plain(&shown(&review, 80));
    let row = narrow.lines().find(|line| line.contains("✓ security")).expect("a row");
    assert!(row.ends_with("claude-sonnet-5") && !row.contains('…'), "{row}");
}

#[test]
fn a_program_gets_whole_lines_of_code() {
    let mut review = sample(Severity::Warning, "It fails.");
    let long = format!("call({})", "argument, ".repeat(30));
    review.findings[0].finding.fix = Some(long.clone());
    let excerpts = Excerpts::default();
    let of = |page: &Page| plain(&super::review(&review, &excerpts, Utf8Path::new("/r"), page));
    assert!(of(&Page::for_program()).contains(&long));
    assert!(!of(&Page::plain(100)).contains(&long));
}

#[test]
fn the_whole_page() {
    insta::assert_snapshot!(plain(&shown(
        &sample(Severity::Warning, "SQL from what a user has typed."),
        60
    )));
}
