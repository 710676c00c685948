//! The telemetry Worker: takes events from running reviews, keeps them in D1, and shows them as metrics for Prometheus
//! and as a dashboard for people.
//!
//! `ingest` decides what is a good event, `store` is the only module that knows SQL, `metrics` and `dashboard` read
//! roll-ups from it, so that neither gets slower as history grows.

mod clock;
mod dashboard;
mod ingest;
mod memory;
mod metrics;
mod sketch;
mod store;
mod texts;

use conclave_shared::routes;
use conclave_worker_common::{Outcome, Refusal, allow, finish, harden, json, not_found, problem};
use worker::{Context, Env, Request, Response, Result, RouteContext, Router, event};

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
        .on_async(routes::METRICS, |request, context| async move {
            finish(metrics::handle(&request, &context.env).await)
        })
        .on(routes::HEALTH, |request, _| finish(health(&request)));
    let response = dashboard::routes(router)
        .or_else_any_method("/*path", nothing_here)
        .run(request, env)
        .await;
    let response = finish(response.map_err(Refusal::from))?;
    harden(&response)?;
    Ok(response)
}

fn health(request: &Request) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    Ok(json(200, &serde_json::json!({ "status": "ok" }))?)
}

#[expect(clippy::needless_pass_by_value, reason = "the router hands requests over by value")]
fn nothing_here(request: Request, _: RouteContext<()>) -> Result<Response> {
    problem(&not_found(&request.path()))
}
