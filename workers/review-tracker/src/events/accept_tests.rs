//! Limits of single events.

use conclave_shared::{
    pricing::TokenUsage,
    telemetry::{EventBody, ReviewerCompleted, TelemetryDropped},
};
use uuid::Uuid;

use super::*;

const NOW: i64 = 1_800_000_000_000;
const OLDEST: i64 = NOW - 90 * DAY_MS;

fn sample(body: EventBody) -> Event {
    Event {
        id: Uuid::nil(),
        schema: 1,
        at_ms: NOW,
        run_id: Uuid::nil(),
        project: "group/project".to_owned(),
        event: body,
    }
}

fn dropped() -> Event {
    sample(EventBody::TelemetryDropped(TelemetryDropped { events: 1 }))
}

#[test]
fn a_project_is_a_path_that_a_forge_can_have() {
    for (project, good) in [
        ("p", true),
        ("group/sub.group/project-1", true),
        ("platform//x", false),
        ("platform/../evil", false),
        ("platform/./x", false),
        ("/platform/x", false),
        ("platform/\u{200b}x", false),
        ("platform/\u{202e}x", false),
        ("github.com:octo/shop", true),
        ("platform/x/", false),
    ] {
        let mut event = sample(EventBody::TelemetryDropped(TelemetryDropped { events: 1 }));
        event.project = project.to_owned();
        assert_eq!(check(&event, NOW, OLDEST).is_ok(), good, "{project}");
    }
}

#[test]
fn clocks_may_be_a_little_off_but_not_broken() {
    for at_ms in [OLDEST, NOW, NOW + CLOCK_SKEW_MS] {
        assert_eq!(check(&Event { at_ms, ..dropped() }, NOW, OLDEST), Ok(()));
    }
    for at_ms in [0, -1, OLDEST - 1, NOW + CLOCK_SKEW_MS + 1, i64::MAX] {
        assert!(check(&Event { at_ms, ..dropped() }, NOW, OLDEST).is_err(), "{at_ms}");
    }
}

#[test]
fn circuits_and_failbacks_are_taken_with_a_name_of_a_reviewer() {
    let of = |body: &str| serde_json::from_str::<EventBody>(body).expect("an event");
    let circuit = of(r#"{"type":"circuit_changed","model":"a/b","state":"half_open"}"#);
    assert_eq!(check(&sample(circuit), NOW, OLDEST), Ok(()));
    for (reviewer, taken) in [("security", true), ("", false), (&"x".repeat(65), false)] {
        let body =
            format!(r#"{{"type":"failback","reviewer":"{reviewer}","from":"a/b","to":"a/c","reason":"circuit_open"}}"#);
        assert_eq!(check(&sample(of(&body)), NOW, OLDEST).is_ok(), taken, "{reviewer}");
    }
}

#[test]
fn what_the_forge_shows_and_who_broke_the_glass_are_taken() {
    let of = |body: &str| serde_json::from_str::<EventBody>(body).expect("an event");
    for (body, taken) in [
        (
            r#"{"type":"verdict_applied","merge_request":7,"wanted":"approved","shown":"none","mismatch":true}"#,
            true,
        ),
        (
            r#"{"type":"verdict_applied","wanted":"requested_changes","mismatch":false}"#,
            true,
        ),
        (r#"{"type":"verdict_applied","wanted":"","mismatch":false}"#, false),
        (
            r#"{"type":"break_glass","merge_request":7,"user":"alice","note":3,"head_sha":"0a"}"#,
            true,
        ),
        (
            r#"{"type":"break_glass","merge_request":7,"user":"","note":3,"head_sha":"0a"}"#,
            false,
        ),
    ] {
        assert_eq!(check(&sample(of(body)), NOW, OLDEST).is_ok(), taken, "{body}");
    }
}

#[test]
fn people_are_hashes_and_figures_have_plain_names() {
    let of = |body: &str| serde_json::from_str::<EventBody>(body).expect("an event");
    let started = |author: &str| {
        format!(
            r#"{{"type":"run_started","tier":"full","forge":"gitlab","client_version":"1","reviewers":[],"author":"{author}"}}"#
        )
    };
    let outcome = |path: &str| {
        format!(
            r#"{{"type":"finding_outcome","reviewer":"security","severity":"warning","category":"c","path":"{path}","fingerprint":"f","outcome":"rejected"}}"#
        )
    };
    let metrics = |samples: &str| format!(r#"{{"type":"metrics","samples":[{samples}]}}"#);
    let many: Vec<String> = (0..101)
        .map(|index| format!(r#"{{"name":"m{index}","value":1}}"#))
        .collect();
    for (body, taken) in [
        (started("0123456789abcdef"), true),
        (started("alice"), false),
        (outcome("src/a.rs"), true),
        (outcome(""), false),
        (metrics(r#"{"name":"stage_diff_ms","value":1.5}"#), true),
        (metrics(r#"{"name":"src/a.rs","value":1}"#), false),
        (metrics(r#"{"name":"a","value":-1}"#), false),
        (metrics(r#"{"name":"a","value":1},{"name":"a","value":2}"#), false),
        (metrics(&many.join(",")), false),
    ] {
        assert_eq!(check(&sample(of(&body)), NOW, OLDEST).is_ok(), taken, "{body}");
    }
}

#[test]
fn project_names_are_bounded_and_never_the_sum_of_all() {
    for project in ["", "*", "a\nb", &"x".repeat(257)] {
        let project = project.to_owned();
        assert!(check(&Event { project, ..dropped() }, NOW, OLDEST).is_err());
    }
}

#[test]
fn numbers_that_would_spoil_a_sum_are_refused() {
    let session = ReviewerCompleted {
        reviewer: "security".to_owned(),
        outcome: conclave_shared::telemetry::ReviewerOutcome::Ok,
        duration_ms: 1,
        attempts: 1,
        findings: 0,
        usage: vec![conclave_shared::telemetry::TokensByModel {
            model: "anthropic/claude-sonnet-5".parse().expect("valid"),
            tokens: TokenUsage::default(),
            cost_usd: 0.1,
            calls: 1,
            unpriced: false,
            uncounted: 0,
            estimated_usd: 0.0,
        }],
        models_tried: Vec::new(),
        repair_turns: 0,
    };
    assert_eq!(
        check(&sample(EventBody::ReviewerCompleted(session.clone())), NOW, OLDEST),
        Ok(())
    );
    for cost_usd in [-0.01, f64::NAN, f64::INFINITY, 2e6] {
        let mut bad = session.clone();
        bad.usage[0].cost_usd = cost_usd;
        assert!(
            check(&sample(EventBody::ReviewerCompleted(bad)), NOW, OLDEST).is_err(),
            "{cost_usd}"
        );
    }
    let mut bad = session;
    bad.usage[0].tokens.cache_read = u64::MAX;
    let fault = check(&sample(EventBody::ReviewerCompleted(bad)), NOW, OLDEST).expect_err("too many");
    assert!(fault.contains("tokens/cache_read"), "{fault}");
}
