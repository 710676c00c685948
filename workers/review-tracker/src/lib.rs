//! The telemetry Worker: takes events from running reviews, keeps them in D1, and shows them as metrics for Prometheus
//! and as a dashboard for people.
//!
//! `ingest` takes batches, `events` has all that is particular to a kind of event, `outbox` keeps batches until the database has
//! them, `store` reads and writes the database, `metrics` and `pages` read rollups from it, so that neither gets slower as
//! history grows. What needs no Worker, [`ingest::decode`] and [`events::writes`], is public: `scripts/seed-demo-data` makes rows
//! with it.

mod caller;
mod clock;
pub mod events;
mod exposition;
pub mod ingest;
mod memory;
mod metrics;
mod number;
mod outbox;
mod pages;
mod quota;
mod sketch;
mod store;
mod texts;

use conclave_shared::routes;
use conclave_worker_common::{Refusal, finish, harden, health, nothing_here};
use worker::{
    Context, Env, Request, Response, Result, Router, ScheduleContext, ScheduledEvent, console_error, console_log, event,
};

/// Answers a request. Never an `Err`: faults are logged and answered without a word about the inside.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    let router = Router::new()
        .on_async(routes::EVENTS, |request, context| async move {
            finish(ingest::handle(request, &context.env).await)
        })
        .on_async(routes::MEMORY, |request, context| async move {
            finish(memory::handle(request, &context.env).await)
        })
        .on_async(routes::OUTBOX, |request, context| async move {
            finish(outbox::api::outbox(&request, &context.env).await)
        })
        .on_async(
            &format!("{}/replay", routes::DEAD_LETTERS),
            |request, context| async move { finish(outbox::api::replay(&request, &context.env, None).await) },
        )
        .on_async(
            &format!("{}/:id", routes::DEAD_LETTERS),
            |request, context| async move {
                let id = context.param("id").cloned().unwrap_or_default();
                finish(outbox::api::letter(&request, &context.env, &id).await)
            },
        )
        .on_async(
            &format!("{}/:id/replay", routes::DEAD_LETTERS),
            |request, context| async move {
                let id = context.param("id").cloned().unwrap_or_default();
                finish(outbox::api::replay(&request, &context.env, Some(&id)).await)
            },
        )
        .on_async(routes::METRICS, |request, context| async move {
            finish(metrics::handle(&request, &context.env).await)
        })
        .on(routes::HEALTH, |request, _| health(&request));
    let response = pages::routes(router)
        .or_else_any_method("/*path", nothing_here)
        .run(request, env)
        .await;
    let response = finish(response.map_err(Refusal::from))?;
    harden(&response)?;
    Ok(response)
}

/// Deletes what is too old, a step at a time, what is left is for the next time; and writes the metrics into the log.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    match store::clean_up(&env).await {
        Ok(done) => console_log!(
            "{}",
            serde_json::json!({ "message": "cleaned up", "events": done.events, "runs": done.runs, "more": done.more })
        ),
        Err(error) => console_error!("failed to clean up: {error}"),
    }
    if let Err(error) = metrics::log(&env).await {
        console_error!("failed to log the metrics: {error:?}");
    }
}
