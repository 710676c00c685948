//! `GET /metrics`: everything since the beginning, as `OpenMetrics` text; and the same as lines of the Worker's log.
//!
//! The figures come from all-time roll-ups: isolates share no memory, so a counter inside the Worker would count only
//! what one of them saw, and start again at any moment.

mod ends;
mod exposition;
mod histograms;
mod labels;
mod log_lines;
mod render;

use conclave_worker_common::{Outcome, allow, authorize};
use worker::{Env, Request, Response, ResponseBuilder, console_log};

use crate::{clock, outbox, store};
use exposition::{Exposition, Format};

/// The secret that lists the tokens of scrapers.
const METRICS_TOKENS: &str = "METRICS_TOKENS";

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
    for line in collect(env).await?.log_lines() {
        console_log!("{line}");
    }
    Ok(())
}

async fn collect(env: &Env) -> Outcome<Exposition> {
    let all = store::all_time(env, render::name_limits(&render::standing())).await?;
    let waiting = outbox::status(env).await?;
    Ok(render::render(&all, &waiting, clock::now_ms()))
}
