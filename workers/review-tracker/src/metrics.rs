//! `GET /metrics`: everything since the beginning, as `OpenMetrics` text.
//!
//! The figures come from all-time roll-ups: isolates share no memory, so a counter inside the Worker would count only
//! what one of them saw, and start again at any moment.

mod exposition;
mod labels;
mod render;

use conclave_worker_common::{Outcome, allow, authorize};
use worker::{Env, Request, Response, ResponseBuilder};

use crate::store;

/// The secret that lists the tokens of scrapers.
const METRICS_TOKENS: &str = "METRICS_TOKENS";

/// Answers a scrape.
pub(crate) async fn handle(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, env, METRICS_TOKENS)?;
    let text = render::render(&store::all_time(env).await?);
    Ok(ResponseBuilder::new()
        .with_header("content-type", exposition::CONTENT_TYPE)?
        .with_header("cache-control", "no-store")?
        .fixed(text.into_bytes()))
}
