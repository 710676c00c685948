//! Limits of single events: what could not be stored, added up or shown is refused with the field's name.

use std::collections::HashSet;

use conclave_shared::{
    pricing::TokenUsage,
    telemetry::{
        Event, EventBody, FindingEvent, FindingOutcome, MAX_METRIC_NAME, MAX_METRIC_SAMPLES, Metrics,
        ReviewerCompleted, RunCompleted, RunStarted, is_keyed_hash, is_metric_name,
    },
};

use crate::clock::DAY_MS;

/// How far a client's clock may be ahead. An event counts at the time of its arrival then.
const CLOCK_SKEW_MS: i64 = DAY_MS;
/// From when on that is said.
const NOTABLE_SKEW_MS: i64 = 60_000;
/// What stands for a person whose hash was not sent.
const UNKNOWN_PERSON: &str = "unknown";
/// Far above any real count, and sums of it stay exact in a JSON number.
const MAX_COUNT: u64 = 1_000_000_000;
const MAX_TOKENS: u64 = 1_000_000_000_000;
const MAX_DURATION_MS: u64 = 30 * 86_400_000;
const MAX_COST_USD: f64 = 1_000_000.0;
const MAX_METRIC: f64 = 1e15;
const MAX_PANEL: usize = 50;
const MAX_MODELS: usize = 50;

type Checked = Result<(), String>;

/// Checks one event; the error names the field. An event from before `oldest_ms` would be deleted at once, and could then
/// count a second time.
pub(crate) fn event(event: &Event, now_ms: i64, oldest_ms: i64) -> Checked {
    if event.schema == 0 {
        return Err("`schema` starts at 1".to_owned());
    }
    if event.at_ms < oldest_ms {
        return Err(
            "`at_ms` is older than what is kept; is it in milliseconds since 1970, and is the clock right?".to_owned(),
        );
    }
    if event.at_ms > now_ms.saturating_add(CLOCK_SKEW_MS) {
        return Err(
            "`at_ms` is more than a day ahead; is it in milliseconds since 1970, and is the clock right?".to_owned(),
        );
    }
    text("project", &event.project, 256)?;
    if event.project == "*" {
        return Err("`project` may not be `*`, which stands for all projects".to_owned());
    }
    match &event.event {
        EventBody::RunStarted(started) => run_started(started),
        EventBody::RunCompleted(completed) => run_completed(completed),
        EventBody::RunFailed(failed) => {
            count("merge_request", failed.merge_request.unwrap_or_default(), MAX_COUNT)?;
            count("duration_ms", failed.duration_ms.unwrap_or_default(), MAX_DURATION_MS)
        }
        EventBody::RunSkipped(skipped) => count("merge_request", skipped.merge_request.unwrap_or_default(), MAX_COUNT),
        EventBody::ReviewerCompleted(session) => reviewer_completed(session),
        EventBody::Finding(finding) => finding_event(finding),
        EventBody::FindingOutcome(outcome) => finding_outcome(outcome),
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
        EventBody::Metrics(metrics) => metric_samples(metrics),
    }
}

/// Gives an event whose clock was ahead the time of its arrival; says whether it was ahead by more than can be expected.
pub(crate) fn settle_clock(event: &mut Event, now_ms: i64) -> bool {
    let ahead = event.at_ms - now_ms;
    event.at_ms = event.at_ms.min(now_ms);
    ahead > NOTABLE_SKEW_MS
}

/// Takes out what may be a person's name: clients before there was a keyed hash sent one.
pub(crate) fn hide_people(event: &mut Event) {
    if let EventBody::BreakGlass(glass) = &mut event.event
        && !is_keyed_hash(&glass.user)
    {
        UNKNOWN_PERSON.clone_into(&mut glass.user);
    }
}

fn run_started(started: &RunStarted) -> Checked {
    text("forge", &started.forge, 40)?;
    text("client_version", &started.client_version, 100)?;
    count("merge_request", started.merge_request.unwrap_or_default(), MAX_COUNT)?;
    count(
        "limit_seconds",
        started.limit_seconds.unwrap_or_default(),
        MAX_DURATION_MS / 1000,
    )?;
    if started.reviewers.len() > MAX_PANEL {
        return Err(format!("`reviewers` has more than {MAX_PANEL} names"));
    }
    if started.author.as_deref().is_some_and(|author| !is_keyed_hash(author)) {
        return Err("`author` is not a keyed hash of 16 to 64 lower-case hexadecimal digits".to_owned());
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
    let Some(coverage) = completed.coverage else {
        return Ok(());
    };
    count("coverage/not_read", coverage.not_read, MAX_COUNT)?;
    count("coverage/cut", coverage.cut, MAX_COUNT)?;
    count("coverage/gaps", coverage.gaps, MAX_COUNT)
}

fn reviewer_completed(session: &ReviewerCompleted) -> Checked {
    text("reviewer", &session.reviewer, 64)?;
    count("duration_ms", session.duration_ms, MAX_DURATION_MS)?;
    count("findings", session.findings, MAX_COUNT)?;
    if session.usage.len() > MAX_MODELS {
        return Err(format!("`usage` has more than {MAX_MODELS} models"));
    }
    if session.models_tried.len() > MAX_MODELS {
        return Err(format!("`models_tried` has more than {MAX_MODELS} models"));
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
    if let Some(refutation) = &finding.refutation {
        text("refutation", refutation, 40)?;
    }
    finding
        .reason_code
        .as_deref()
        .map_or(Ok(()), |reason| text("reason_code", reason, 120))
}

fn finding_outcome(outcome: &FindingOutcome) -> Checked {
    text("reviewer", &outcome.reviewer, 64)?;
    text("category", &outcome.category, 120)?;
    text("path", &outcome.path, 1024)?;
    text("fingerprint", &outcome.fingerprint, 128)?;
    outcome
        .claim
        .as_deref()
        .map_or(Ok(()), |claim| text("claim", claim, 128))?;
    count("merge_request", outcome.merge_request.unwrap_or_default(), MAX_COUNT)
}

fn metric_samples(metrics: &Metrics) -> Checked {
    if metrics.samples.len() > MAX_METRIC_SAMPLES {
        return Err(format!("`samples` has more than {MAX_METRIC_SAMPLES} figures"));
    }
    let mut names = HashSet::new();
    metrics.samples.iter().try_for_each(|sample| {
        if !is_metric_name(&sample.name) {
            return Err(format!(
                "`samples/name` has to have 1 to {MAX_METRIC_NAME} of a-z, 0-9 and _, beginning with a letter"
            ));
        }
        if !names.insert(sample.name.as_str()) {
            return Err(format!("`samples` has `{}` twice", sample.name));
        }
        if (0.0..=MAX_METRIC).contains(&sample.value) {
            Ok(())
        } else {
            Err(format!(
                "`samples/value` of `{}` is not between 0 and 10^15",
                sample.name
            ))
        }
    })
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
#[path = "check_tests.rs"]
mod tests;
