//! `GET /metrics`: everything since the beginning, as `OpenMetrics` text; and the same as lines of the Worker's log.
//!
//! The figures come from all-time roll-ups: isolates share no memory, so a counter inside the Worker would count only
//! what one of them saw, and start again at any moment.

mod exposition;
mod histograms;
mod labels;
mod render;

use conclave_worker_common::{Outcome, allow, authorize};
use worker::{Env, Request, Response, ResponseBuilder, console_log};

use crate::{clock, store};
use exposition::{Exposition, Format};

/// The secret that lists the tokens of scrapers.
const METRICS_TOKENS: &str = "METRICS_TOKENS";

/// What has been accepted and is not stored yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Waiting {
    /// Events.
    pub(crate) events: u64,
    /// When the oldest of them was accepted.
    pub(crate) oldest_ms: Option<i64>,
    /// Batches that were put aside because they cannot be stored.
    pub(crate) dead_letters: u64,
}

impl Waiting {
    /// How long the oldest event has been waiting.
    #[expect(clippy::cast_precision_loss, reason = "nothing waits for 2^53 milliseconds")]
    fn lag_seconds(self, now_ms: i64) -> f64 {
        self.oldest_ms
            .map_or(0.0, |oldest| (now_ms - oldest).max(0) as f64 / 1000.0)
    }
}

/// Answers a scrape.
pub(crate) async fn handle(request: &Request, env: &Env) -> Outcome<Response> {
    allow(request, &["GET", "HEAD"])?;
    authorize(request, env, METRICS_TOKENS)?;
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
    let all = store::all_time(env).await?;
    Ok(render::render(&all, Waiting::default(), clock::now_ms()))
}
