//! What is only counted: which counts an event adds to.

use std::collections::BTreeSet;

use conclave_shared::telemetry::{CircuitState, Event, EventBody, FailbackReason, FindingEvent, FindingFate};

/// What a client may say that it asked of a forge, and what that shows; anything else is counted as `other`.
const STANCES: [&str; 4] = ["approved", "requested_changes", "none", ""];

/// One count: its kind, up to three labels, and how many. The kind of a name stands beside a label that clients choose freely,
/// because of those only so many are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Count<'a> {
    kind: &'static str,
    a: &'a str,
    b: &'a str,
    c: &'a str,
    ka: Option<&'static str>,
    kb: Option<&'static str>,
    kc: Option<&'static str>,
    /// How many.
    pub(super) n: u64,
}

/// What a count is told apart by: its kind, its labels, the kinds of their names.
type CountKey<'a> = (&'static str, [&'a str; 3], [Option<&'static str>; 3]);

impl<'a> Count<'a> {
    /// What it is told apart by.
    pub(super) const fn key(&self) -> CountKey<'a> {
        (self.kind, [self.a, self.b, self.c], [self.ka, self.kb, self.kc])
    }
}

/// Whether a finding stands in the review.
pub(super) const fn stands(finding: &FindingEvent) -> bool {
    matches!(finding.fate, FindingFate::Kept)
}

/// The counts that an event adds to.
pub(super) fn of(event: &Event, skewed: bool) -> impl Iterator<Item = Count<'_>> {
    let mut counts = vec![Count {
        a: event.event.kind(),
        ..count("event")
    }];
    if skewed {
        counts.push(count("skewed"));
    }
    match &event.event {
        EventBody::RunStarted(started) => {
            if !started.planned {
                counts.push(count("started"));
            }
        }
        EventBody::RunFailed(failed) => counts.push(Count {
            a: failed.stage.as_str(),
            b: failed.kind.as_str(),
            ..count("failed")
        }),
        EventBody::RunSkipped(skipped) => counts.push(Count {
            a: skipped.reason.as_str(),
            ..count("run_skipped")
        }),
        // Completed runs, usage and figures have sums as well, and tables of their own.
        EventBody::RunCompleted(completed) => counts.extend(completed.cause().map(|cause| Count {
            a: cause.as_str(),
            ..count("inconclusive")
        })),
        EventBody::Metrics(_) => {}
        EventBody::ReviewerCompleted(session) => counts.push(Count {
            b: session.outcome.as_str(),
            ..by_reviewer("session", &session.reviewer)
        }),
        EventBody::Finding(finding) => findings(finding, &mut counts),
        EventBody::FindingOutcome(outcome) => counts.push(Count {
            b: outcome.severity.as_str(),
            c: outcome.outcome.as_str(),
            ..by_reviewer("outcome", &outcome.reviewer)
        }),
        EventBody::CircuitChanged(circuit) => counts.push(Count {
            a: circuit.model.as_str(),
            ka: Some("model"),
            b: circuit_state(circuit.state),
            ..count("circuit")
        }),
        EventBody::Failback(failback) => counts.push(Count {
            a: failback.from.as_str(),
            ka: Some("model"),
            b: failback.to.as_str(),
            kb: Some("model"),
            c: failback_reason(failback.reason),
            ..count("failback")
        }),
        EventBody::VerdictApplied(verdict) => counts.push(Count {
            a: stance(&verdict.wanted),
            b: stance(verdict.shown.as_deref().unwrap_or_default()),
            c: if verdict.mismatch { "yes" } else { "no" },
            ..count("verdict")
        }),
        EventBody::BreakGlass(_) => counts.push(count("break_glass")),
        EventBody::TelemetryDropped(dropped) => counts.push(Count {
            n: dropped.events,
            ..count("dropped")
        }),
    }
    counts.into_iter()
}

fn findings<'a>(finding: &'a FindingEvent, counts: &mut Vec<Count<'a>>) {
    let fate = finding.fate.as_str();
    counts.push(Count {
        b: finding.severity.as_str(),
        c: fate,
        ..by_reviewer("finding", &finding.reviewer)
    });
    if stands(finding) {
        counts.push(Count {
            b: &finding.category,
            kb: Some("category"),
            c: finding.severity.as_str(),
            ..by_reviewer("category", &finding.reviewer)
        });
        counts.extend(finding.placement.map(|placement| Count {
            a: placement.as_str(),
            ..count("placement")
        }));
    } else {
        counts.push(Count {
            b: fate,
            c: finding.reason_code.as_deref().unwrap_or_default(),
            kc: finding.reason_code.as_ref().map(|_| "reason"),
            ..by_reviewer("reason", &finding.reviewer)
        });
        if finding.removed_by_judge {
            counts.push(Count {
                a: finding.severity.as_str(),
                b: finding.reason_code.as_deref().unwrap_or_default(),
                kb: finding.reason_code.as_ref().map(|_| "reason"),
                c: refutation(finding.refutation.as_deref()),
                ..count("removed")
            });
        }
    }
}

/// What the judge quoted against a finding, in a closed set of words.
fn refutation(said: Option<&str>) -> &str {
    match said {
        None => "none",
        Some(said @ ("unchanged_code" | "this_change" | "invalid")) => said,
        Some(_) => "other",
    }
}

/// The names that an event mentions, each with its kind.
pub(super) fn names<'a>(event: &'a Event, names: &mut BTreeSet<(&'static str, &'a str)>) {
    names.insert(("project", &event.project));
    match &event.event {
        EventBody::ReviewerCompleted(session) => {
            names.insert(("reviewer", &session.reviewer));
            names.extend(session.usage.iter().map(|usage| ("model", usage.model.as_str())));
        }
        EventBody::Finding(finding) => {
            names.insert(("reviewer", &finding.reviewer));
            names.insert(("category", &finding.category));
            names.extend(finding.reason_code.as_deref().map(|reason| ("reason", reason)));
        }
        EventBody::FindingOutcome(outcome) => {
            names.insert(("reviewer", &outcome.reviewer));
        }
        EventBody::CircuitChanged(circuit) => {
            names.insert(("model", circuit.model.as_str()));
        }
        EventBody::Failback(failback) => {
            names.extend([("model", failback.from.as_str()), ("model", failback.to.as_str())]);
        }
        EventBody::Metrics(metrics) => {
            names.extend(metrics.samples.iter().map(|sample| ("metric", sample.name.as_str())));
        }
        EventBody::RunStarted(_)
        | EventBody::RunCompleted(_)
        | EventBody::RunFailed(_)
        | EventBody::RunSkipped(_)
        | EventBody::VerdictApplied(_)
        | EventBody::BreakGlass(_)
        | EventBody::TelemetryDropped(_) => {}
    }
}

fn count(kind: &'static str) -> Count<'static> {
    Count {
        kind,
        n: 1,
        ..Count::default()
    }
}

fn by_reviewer<'a>(kind: &'static str, reviewer: &'a str) -> Count<'a> {
    Count {
        kind,
        a: reviewer,
        ka: Some("reviewer"),
        n: 1,
        ..Count::default()
    }
}

fn stance(said: &str) -> &str {
    if STANCES.contains(&said) { said } else { "other" }
}

const fn circuit_state(state: CircuitState) -> &'static str {
    match state {
        CircuitState::Closed => "closed",
        CircuitState::Open => "open",
        CircuitState::HalfOpen => "half_open",
    }
}

const fn failback_reason(reason: FailbackReason) -> &'static str {
    match reason {
        FailbackReason::Failed => "failed",
        FailbackReason::CircuitOpen => "circuit_open",
        FailbackReason::Reprompted => "reprompted",
    }
}
