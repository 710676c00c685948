//! From all-time sums to families.

use std::collections::BTreeMap;

use conclave_shared::reviewer::ReviewerName;

use super::{
    ends,
    exposition::{Exposition, Kind, Labels},
    histograms,
    labels::Known,
};
use crate::{
    outbox::OutboxStatus,
    store::{AllTime, NameLimits},
};

/// Reviewers beyond the standing ones, and models, that keep a series of their own. Their combinations make at most 26 × 31 × 5
/// series.
const MAX_REVIEWERS: usize = 15;
const MAX_MODELS: usize = 30;

/// Agents that always have a series of their own.
pub(super) fn standing() -> Vec<&'static str> {
    ReviewerName::STANDING
        .into_iter()
        .chain([ReviewerName::COORDINATOR])
        .collect()
}

/// The same limits for the database, so that names without a series are not even read.
pub(super) const fn name_limits<'a>(standing: &'a [&'a str]) -> NameLimits<'a> {
    NameLimits {
        standing,
        agents: MAX_REVIEWERS,
        models: MAX_MODELS,
    }
}

/// All families. The names of reviewers and models that are not among the first so many ones are `other`.
pub(super) fn render(all: &AllTime, waiting: &OutboxStatus, now_ms: i64) -> Exposition {
    let standing = standing();
    let names = Names {
        reviewers: Known::new(&standing, seen(all, "reviewer"), MAX_REVIEWERS),
        models: Known::new(&[], seen(all, "model"), MAX_MODELS),
    };
    let mut out = Exposition::default();
    runs(&mut out, all);
    ends::ends(&mut out, all);
    histograms::runs(&mut out, all);
    findings(&mut out, all, &names);
    usage(&mut out, all, &names);
    failures(&mut out, all, &names);
    forge(&mut out, all);
    tracker(&mut out, all, waiting, now_ms);
    out
}

/// Names that keep a series of their own.
struct Names<'a> {
    reviewers: Known<'a>,
    models: Known<'a>,
}

fn seen<'a>(all: &'a AllTime, kind: &str) -> &'a [String] {
    all.names.get(kind).map_or(&[], Vec::as_slice)
}

/// Sums of one kind of counts by labels.
pub(super) fn counted<const N: usize>(
    out: &mut Exposition,
    all: &AllTime,
    kind: &str,
    names: [&'static str; N],
    labels: impl Fn([&str; 3]) -> [String; N],
) {
    let mut sums: BTreeMap<[String; N], u64> = BTreeMap::new();
    for row in all.counts.iter().filter(|row| row.kind == kind) {
        *sums.entry(labels([&row.a, &row.b, &row.c])).or_default() += row.n;
    }
    for (values, count) in sums {
        let labels: Vec<(&'static str, &str)> = names.into_iter().zip(values.iter().map(String::as_str)).collect();
        out.count("_total", &labels, count);
    }
}

/// The sum of a kind that has no labels, also when it is zero: a rate needs its beginning.
pub(super) fn single(out: &mut Exposition, all: &AllTime, kind: &str) {
    let count = all.counts.iter().filter(|row| row.kind == kind).map(|row| row.n).sum();
    out.count("_total", &[], count);
}

fn runs(out: &mut Exposition, all: &AllTime) {
    out.family("conclave_runs_started", Kind::Counter, None, "Reviews that began.");
    single(out, all, "started");
    out.family(
        "conclave_runs",
        Kind::Counter,
        None,
        "Completed reviews by tier and verdict.",
    );
    for row in &all.runs {
        let labels = [("tier", row.tier.as_str()), ("verdict", row.verdict.as_str())];
        out.count("_total", &labels, row.runs);
    }
    out.family(
        "conclave_merge_requests",
        Kind::Counter,
        None,
        "Merge requests that were reviewed or skipped for the first time.",
    );
    single(out, all, "merge_request");
    out.family(
        "conclave_break_glass",
        Kind::Counter,
        None,
        "Reviews that a person skipped.",
    );
    single(out, all, "break_glass");
}

fn findings(out: &mut Exposition, all: &AllTime, names: &Names<'_>) {
    out.family(
        "conclave_findings",
        Kind::Counter,
        None,
        "Judged findings by reviewer, severity and what the judge did.",
    );
    counted(
        out,
        all,
        "finding",
        ["reviewer", "severity", "fate"],
        |[reviewer, severity, fate]| [names.reviewers.label(reviewer), severity, fate].map(str::to_owned),
    );
    out.family(
        "conclave_finding_outcomes",
        Kind::Counter,
        None,
        "Settled findings by reviewer, severity and outcome.",
    );
    counted(
        out,
        all,
        "outcome",
        ["reviewer", "severity", "outcome"],
        |[reviewer, severity, outcome]| [names.reviewers.label(reviewer), severity, outcome].map(str::to_owned),
    );
    out.family(
        "conclave_findings_removed",
        Kind::Counter,
        None,
        "Findings that judges removed, by severity, and by the code that they quoted against them.",
    );
    removed(out, all);
    out.family(
        "conclave_sessions",
        Kind::Counter,
        None,
        "Sessions by agent and outcome.",
    );
    counted(out, all, "session", ["agent", "outcome"], |[agent, outcome, _]| {
        [names.reviewers.label(agent), outcome].map(str::to_owned)
    });
}

/// What judges removed. The reason is left out: clients choose it freely, and the dashboard has it.
fn removed(out: &mut Exposition, all: &AllTime) {
    let mut sums: BTreeMap<[&str; 2], u64> = BTreeMap::new();
    for count in all.counts.iter().filter(|count| count.kind == "removed") {
        *sums.entry([&count.a, &count.c]).or_default() += count.n;
    }
    for ([severity, refutation], sum) in sums {
        out.count("_total", &[("severity", severity), ("refutation", refutation)], sum);
    }
}

fn usage(out: &mut Exposition, all: &AllTime, names: &Names<'_>) {
    let mut tokens: BTreeMap<[&str; 2], [u64; 5]> = BTreeMap::new();
    let mut costs: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    for row in &all.usage {
        let labels = [names.models.label(&row.model), names.reviewers.label(&row.reviewer)];
        let kinds = [row.input, row.output, row.reasoning, row.cache_read, row.cache_write];
        for (sum, tokens) in tokens.entry(labels).or_default().iter_mut().zip(kinds) {
            *sum += tokens;
        }
        *costs.entry(labels).or_default() += row.cost_usd;
    }
    out.family(
        "conclave_tokens",
        Kind::Counter,
        None,
        "Tokens by model, agent and kind; the kinds do not overlap.",
    );
    for ([model, agent], sums) in &tokens {
        for (kind, sum) in ["input", "output", "reasoning", "cache_read", "cache_write"]
            .into_iter()
            .zip(sums)
        {
            out.count("_total", &[("model", model), ("agent", agent), ("kind", kind)], *sum);
        }
    }
    out.family(
        "conclave_cost_usd",
        Kind::Counter,
        Some("usd"),
        "Cost of model calls in US dollars, by model and agent.",
    );
    for ([model, agent], cost) in costs {
        out.amount("_total", &[("model", model), ("agent", agent)], cost);
    }
}

fn failures(out: &mut Exposition, all: &AllTime, names: &Names<'_>) {
    out.family(
        "conclave_failbacks",
        Kind::Counter,
        None,
        "Times that another model took over, by the model that was replaced.",
    );
    counted(out, all, "failback", ["model", "reason"], |[from, _, reason]| {
        [names.models.label(from), reason].map(str::to_owned)
    });
    out.family(
        "conclave_circuit_changes",
        Kind::Counter,
        None,
        "Changes of models' circuits, by the state that they changed to.",
    );
    counted(
        out,
        all,
        "circuit",
        ["provider", "model", "state"],
        |[model, state, _]| {
            let label = names.models.label(model);
            let provider = label.split_once('/').map_or(label, |(provider, _)| provider);
            [provider, label, state].map(str::to_owned)
        },
    );
}

fn forge(out: &mut Exposition, all: &AllTime) {
    out.family(
        "conclave_verdicts_applied",
        Kind::Counter,
        None,
        "Verdicts put on a forge: whether it shows what was asked.",
    );
    counted(
        out,
        all,
        "verdict",
        ["wanted", "result"],
        |[wanted, shown, mismatch]| {
            let wanted = if ["approved", "requested_changes", "none"].contains(&wanted) {
                wanted
            } else {
                "other"
            };
            let result = match (mismatch, shown) {
                ("yes", _) => "mismatch",
                (_, "") => "unknown",
                _ => "match",
            };
            [wanted, result].map(str::to_owned)
        },
    );
}

fn tracker(out: &mut Exposition, all: &AllTime, waiting: &OutboxStatus, now_ms: i64) {
    out.family(
        "conclave_telemetry_dropped",
        Kind::Counter,
        None,
        "Events that reviews could not send and dropped.",
    );
    single(out, all, "dropped");
    out.family(
        "conclave_events",
        Kind::Counter,
        None,
        "Events that are stored, by kind.",
    );
    counted(out, all, "event", ["kind"], |[kind, ..]| [kind.to_owned()]);
    histograms::delay(out, all);
    let none: &Labels<'_> = &[];
    out.family(
        "conclave_ingest_lag_seconds",
        Kind::Gauge,
        Some("seconds"),
        "How long the oldest accepted event has been waiting to be stored.",
    );
    out.amount("", none, lag_seconds(waiting, now_ms));
    out.family(
        "conclave_ingest_waiting_events",
        Kind::Gauge,
        None,
        "Accepted events that wait to be stored.",
    );
    out.count("", none, waiting.events);
    out.family(
        "conclave_dead_letters",
        Kind::Gauge,
        None,
        "Batches of events that could not be stored and are kept aside.",
    );
    out.count("", none, waiting.dead);
    if let Some(database) = all.database {
        out.family(
            "conclave_database_bytes",
            Kind::Gauge,
            Some("bytes"),
            "Size of the tracker's database.",
        );
        out.count("", none, database.used_bytes);
        out.family(
            "conclave_database_max_bytes",
            Kind::Gauge,
            Some("bytes"),
            "Size that the tracker's database may have.",
        );
        out.count("", none, database.max_bytes);
    }
}

/// How long the oldest event has been waiting.
#[expect(clippy::cast_precision_loss, reason = "nothing waits for 2^53 milliseconds")]
fn lag_seconds(waiting: &OutboxStatus, now_ms: i64) -> f64 {
    waiting
        .oldest_ms
        .map_or(0.0, |oldest| (now_ms - oldest).max(0) as f64 / 1000.0)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
