//! Limits of single events: what could not be stored, added up or shown is refused with the field's name.

use conclave_shared::{
    pricing::TokenUsage,
    telemetry::{Event, EventBody, FindingEvent, ReviewerCompleted, RunCompleted, RunStarted},
};

use crate::clock::DAY_MS;

/// No event is older than the project: an earlier time is a broken clock.
const FIRST_MS: i64 = 1_577_836_800_000;
/// How far a client's clock may be ahead.
const CLOCK_SKEW_MS: i64 = DAY_MS;
/// Far above any real count, and sums of it stay exact in a JSON number.
const MAX_COUNT: u64 = 1_000_000_000;
const MAX_TOKENS: u64 = 1_000_000_000_000;
const MAX_DURATION_MS: u64 = 30 * 86_400_000;
const MAX_COST_USD: f64 = 1_000_000.0;
const MAX_PANEL: usize = 50;
const MAX_MODELS: usize = 50;

type Checked = Result<(), String>;

/// Checks one event; the error names the field.
pub(crate) fn event(event: &Event, now_ms: i64) -> Checked {
    if event.schema == 0 {
        return Err("`schema` starts at 1".to_owned());
    }
    if event.at_ms < FIRST_MS || event.at_ms > now_ms.saturating_add(CLOCK_SKEW_MS) {
        return Err("`at_ms` is not a time between 2020 and tomorrow, in milliseconds since 1970".to_owned());
    }
    text("project", &event.project, 256)?;
    if event.project == "*" {
        return Err("`project` may not be `*`, which stands for all projects".to_owned());
    }
    match &event.event {
        EventBody::RunStarted(started) => run_started(started),
        EventBody::RunCompleted(completed) => run_completed(completed),
        EventBody::ReviewerCompleted(session) => reviewer_completed(session),
        EventBody::Finding(finding) => finding_event(finding),
        // Model names are checked when they are read.
        EventBody::CircuitChanged(_) => Ok(()),
        EventBody::Failback(failback) => text("reviewer", &failback.reviewer, 64),
        EventBody::VerdictApplied(applied) => {
            count("merge_request", applied.merge_request.unwrap_or_default(), MAX_COUNT)?;
            text("wanted", &applied.wanted, 40)?;
            applied
                .shown
                .as_deref()
                .map_or(Ok(()), |shown| text("shown", shown, 40))
        }
        EventBody::BreakGlass(glass) => {
            count("merge_request", glass.merge_request, MAX_COUNT)?;
            text("user", &glass.user, 256)?;
            text("head_sha", &glass.head_sha, 64)
        }
        EventBody::TelemetryDropped(dropped) => count("events", dropped.events, MAX_COUNT),
    }
}

fn run_started(started: &RunStarted) -> Checked {
    text("forge", &started.forge, 40)?;
    text("client_version", &started.client_version, 100)?;
    count("merge_request", started.merge_request.unwrap_or_default(), MAX_COUNT)?;
    if started.reviewers.len() > MAX_PANEL {
        return Err(format!("`reviewers` has more than {MAX_PANEL} names"));
    }
    started
        .reviewers
        .iter()
        .try_for_each(|name| text("reviewers", name, 64))
}

fn run_completed(completed: &RunCompleted) -> Checked {
    count("duration_ms", completed.duration_ms, MAX_DURATION_MS)?;
    cost(completed.cost_usd)?;
    tokens(&completed.tokens)?;
    for (name, value) in [
        ("files", completed.files),
        ("lines", completed.lines),
        ("filtered_files", completed.filtered_files),
        ("critical", completed.critical),
        ("warning", completed.warning),
        ("suggestion", completed.suggestion),
        ("merge_request", completed.merge_request.unwrap_or_default()),
    ] {
        count(name, value, MAX_COUNT)?;
    }
    Ok(())
}

fn reviewer_completed(session: &ReviewerCompleted) -> Checked {
    text("reviewer", &session.reviewer, 64)?;
    count("duration_ms", session.duration_ms, MAX_DURATION_MS)?;
    count("findings", session.findings, MAX_COUNT)?;
    if session.usage.len() > MAX_MODELS {
        return Err(format!("`usage` has more than {MAX_MODELS} models"));
    }
    session.usage.iter().try_for_each(|usage| {
        cost(usage.cost_usd)?;
        count("calls", usage.calls, MAX_COUNT)?;
        tokens(&usage.tokens)
    })
}

fn finding_event(finding: &FindingEvent) -> Checked {
    text("reviewer", &finding.reviewer, 64)?;
    text("category", &finding.category, 120)?;
    text("path", &finding.path, 1024)?;
    text("fingerprint", &finding.fingerprint, 128)?;
    finding
        .reason_code
        .as_deref()
        .map_or(Ok(()), |reason| text("reason_code", reason, 120))
}

fn text(name: &str, value: &str, limit: usize) -> Checked {
    if value.is_empty() || value.len() > limit || value.chars().any(char::is_control) {
        return Err(format!(
            "`{name}` has to have 1 to {limit} bytes without control characters"
        ));
    }
    Ok(())
}

fn count(name: &str, value: u64, limit: u64) -> Checked {
    if value > limit {
        return Err(format!("`{name}` is above {limit}"));
    }
    Ok(())
}

fn tokens(tokens: &TokenUsage) -> Checked {
    for (name, value) in [
        ("tokens/input", tokens.input),
        ("tokens/output", tokens.output),
        ("tokens/reasoning", tokens.reasoning),
        ("tokens/cache_read", tokens.cache_read),
        ("tokens/cache_write", tokens.cache_write),
    ] {
        count(name, value, MAX_TOKENS)?;
    }
    Ok(())
}

fn cost(value: f64) -> Checked {
    if (0.0..=MAX_COST_USD).contains(&value) {
        Ok(())
    } else {
        Err(format!("`cost_usd` is not between 0 and {MAX_COST_USD}"))
    }
}

#[cfg(test)]
mod tests {
    use conclave_shared::telemetry::TelemetryDropped;
    use uuid::Uuid;

    use super::*;

    const NOW: i64 = 1_800_000_000_000;

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
    fn clocks_may_be_a_little_off_but_not_broken() {
        for at_ms in [FIRST_MS, NOW, NOW + CLOCK_SKEW_MS] {
            assert_eq!(event(&Event { at_ms, ..dropped() }, NOW), Ok(()));
        }
        for at_ms in [0, -1, NOW + CLOCK_SKEW_MS + 1, i64::MAX] {
            assert!(event(&Event { at_ms, ..dropped() }, NOW).is_err(), "{at_ms}");
        }
    }

    #[test]
    fn circuits_and_failbacks_are_taken_with_a_name_of_a_reviewer() {
        let of = |body: &str| serde_json::from_str::<EventBody>(body).expect("an event");
        let circuit = of(r#"{"type":"circuit_changed","model":"a/b","state":"half_open"}"#);
        assert_eq!(event(&sample(circuit), NOW), Ok(()));
        for (reviewer, taken) in [("security", true), ("", false), (&"x".repeat(65), false)] {
            let body = format!(
                r#"{{"type":"failback","reviewer":"{reviewer}","from":"a/b","to":"a/c","reason":"circuit_open"}}"#
            );
            assert_eq!(event(&sample(of(&body)), NOW).is_ok(), taken, "{reviewer}");
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
            assert_eq!(event(&sample(of(body)), NOW).is_ok(), taken, "{body}");
        }
    }

    #[test]
    fn project_names_are_bounded_and_never_the_sum_of_all() {
        for project in ["", "*", "a\nb", &"x".repeat(257)] {
            let project = project.to_owned();
            assert!(event(&Event { project, ..dropped() }, NOW).is_err());
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
            }],
        };
        assert_eq!(
            event(&sample(EventBody::ReviewerCompleted(session.clone())), NOW),
            Ok(())
        );
        for cost_usd in [-0.01, f64::NAN, f64::INFINITY, 2e6] {
            let mut bad = session.clone();
            bad.usage[0].cost_usd = cost_usd;
            assert!(
                event(&sample(EventBody::ReviewerCompleted(bad)), NOW).is_err(),
                "{cost_usd}"
            );
        }
        let mut bad = session;
        bad.usage[0].tokens.cache_read = u64::MAX;
        let fault = event(&sample(EventBody::ReviewerCompleted(bad)), NOW).expect_err("too many");
        assert!(fault.contains("tokens/cache_read"), "{fault}");
    }
}
