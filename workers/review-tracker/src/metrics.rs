//! `GET /metrics`: everything since the beginning, as `OpenMetrics` text; and the same as lines of the Worker's log.
//!
//! The figures come from all-time roll-ups: isolates share no memory, so a counter inside the Worker would count only
//! what one of them saw, and start again at any moment. The families of events are in the files of `events`, those of the tracker
//! itself here.

mod log_lines;

use conclave_worker_common::{Outcome, allow, authorize};
use worker::{Env, Request, Response, ResponseBuilder, console_log};

use crate::{
    clock,
    events::{Totals, families},
    exposition::{Exposition, Format},
    outbox::{self, OutboxStatus},
    sketch, store,
};

/// The secret that lists the tokens of scrapers.
const METRICS_TOKENS: &str = "METRICS_TOKENS";

/// Upper borders of the delay of batches in seconds.
const DELAY_BORDERS: [f64; 10] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0];

/// Answers a scrape.
pub(crate) async fn handle(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, env, METRICS_TOKENS).await?;
    let format = Format::accepted(&request.headers().get("accept")?.unwrap_or_default());
    let text = collect(env).await?.text(format);
    Ok(ResponseBuilder::new()
        .with_header("content-type", format.content_type())?
        .with_header("cache-control", "no-store")?
        .with_header("vary", "accept")?
        .fixed(text.into_bytes()))
}

/// Writes the same figures into the Worker's log, one line of JSON a family, where Workers Logs can be searched for them.
pub(crate) async fn log(env: &Env) -> Outcome<()> {
    for line in log_lines::of(&collect(env).await?.families) {
        console_log!("{line}");
    }
    Ok(())
}

async fn collect(env: &Env) -> Outcome<Exposition> {
    let all = store::totals(env).await?;
    let waiting = outbox::status_if_reachable(env).await;
    Ok(exposition(&all, waiting.as_ref(), clock::now_ms()))
}

/// All families. What is not known has no sample: a 0 would say that nothing waits.
fn exposition(all: &Totals, waiting: Option<&OutboxStatus>, now_ms: i64) -> Exposition {
    let mut families = families(all);
    families.count(
        "conclave_merge_requests",
        "Merge requests that were reviewed or skipped for the first time.",
        "merge_request",
    );
    families.counts(
        "conclave_events",
        "Events that are stored, by kind.",
        "event",
        ["kind"],
        |_, [kind, ..]| [kind],
    );
    let mut out = families.out;
    out.histogram(
        "conclave_ingest_delay_seconds",
        "How long batches of events waited from their acceptance until they were stored.",
    );
    for (_, bins) in all.distributions.iter().filter(|((metric, _), _)| metric == "lag_ms") {
        let of = |(bin, count): &(i32, u64)| sketch::value(*bin) * sketch::float(*count);
        let sum: f64 = bins.iter().map(of).sum();
        out.distribution(&[], bins, &DELAY_BORDERS, 1000.0, sum / 1000.0);
    }
    out.gauge(
        "conclave_ingest_outbox_up",
        "Whether the outbox, where accepted events wait to be stored, could be asked: 1 or 0.",
    );
    out.sample(&[], u64::from(waiting.is_some()));
    out.gauge(
        "conclave_ingest_lag_seconds",
        "How long the oldest accepted event has been waiting to be stored.",
    );
    if let Some(waiting) = waiting {
        let oldest_ms = waiting.oldest_ms.map(|oldest| now_ms - oldest);
        let waits_ms = u64::try_from(oldest_ms.unwrap_or_default()).unwrap_or_default();
        out.sample(&[], sketch::float(waits_ms) / 1000.0);
    }
    out.gauge(
        "conclave_ingest_waiting_events",
        "Accepted events that wait to be stored.",
    );
    if let Some(waiting) = waiting {
        out.sample(&[], waiting.events);
    }
    out.gauge(
        "conclave_dead_letters",
        "Batches of events that could not be stored and are kept aside.",
    );
    if let Some(waiting) = waiting {
        out.sample(&[], waiting.dead);
    }
    if let Some(database) = all.database {
        out.gauge("conclave_database_bytes", "Size of the tracker's database.");
        out.sample(&[], database.used_bytes);
        out.gauge(
            "conclave_database_max_bytes",
            "Size that the tracker's database may have.",
        );
        out.sample(&[], database.max_bytes);
    }
    out
}

#[cfg(test)]
#[path = "metrics/metrics_tests.rs"]
mod tests;
