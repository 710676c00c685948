//! `POST /v1/events`: from a request's bytes to durable rows.
//!
//! An event that is answered as accepted is in D1: the answer is written after the transaction. Events that cannot be
//! taken are named one by one, and never take their neighbours with them.

mod check;
mod decode;

use conclave_shared::telemetry::{BatchAnswer, MAX_BATCH_BYTES};
use conclave_worker_common::{Outcome, Refusal, allow, authorize, json, problem, read_capped};
use worker::{Env, Request, Response};

use crate::{clock, store, texts};

/// The secret that lists the tokens of reviews.
const INGEST_TOKENS: &str = "INGEST_TOKENS";

/// Takes a batch.
pub(crate) async fn handle(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["POST"])?;
    authorize(&request, env, INGEST_TOKENS)?;
    require_json(&request)?;
    let body = read_capped(&mut request, MAX_BATCH_BYTES).await?;
    let now_ms = clock::now_ms();
    let decoded = match decode::batch(&body, now_ms) {
        Ok(decoded) => decoded,
        Err(refused) => return Err(Refusal::Answer(problem(&refused)?)),
    };
    // A batch of nothing asks whether events could be stored: `conclave doctor` sends one.
    if !decoded.events.is_empty() || decoded.rejected.is_empty() {
        store::write(env, &decoded.events, now_ms).await?;
    }
    let answer = BatchAnswer {
        accepted: decoded.events.len() as u64,
        rejected: decoded.rejected,
    };
    Ok(json(status(&answer), &answer)?)
}

fn require_json(request: &Request) -> Outcome<()> {
    let content_type = request.headers().get("content-type")?.unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(Refusal::Answer(problem(&texts::not_json())?))
    }
}

/// 202 when all were taken, 207 when some were, 422 when none was.
const fn status(answer: &BatchAnswer) -> u16 {
    match (answer.accepted, answer.rejected.is_empty()) {
        (_, true) => 202,
        (0, false) => 422,
        (_, false) => 207,
    }
}
