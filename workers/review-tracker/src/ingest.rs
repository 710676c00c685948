//! `POST /v1/events`: from a request's bytes to durable rows.
//!
//! An event that is answered as accepted is durable: the answer is written when it is in the outbox. Events that cannot be
//! taken are named one by one, and never take their neighbors with them.

mod decode;
mod proof;

use conclave_shared::telemetry::{BatchAnswer, MAX_BATCH_BYTES};
use conclave_worker_common::{Outcome, Refusal, allow, configured, is_json, json, problem, read_capped, refusal};
use worker::{Env, Request, Response, console_error};

use crate::{caller, clock, events::Batch, outbox, quota, store, texts};

pub use decode::{Decoded, Terms, batch as decode};

/// The installation's secret, the same as the reviews have: it proves outcomes.
const SECRET: &str = "CONCLAVE_SECRET";
/// When a client whose batch could not be taken may come again.
const RETRY_AFTER_SECONDS: &str = "5";

/// Takes a batch.
pub(crate) async fn handle(mut request: Request, env: &Env) -> Outcome<Response> {
    allow(&request, &["POST"])?;
    let mut caller = caller::authorize(&request, env).await?;
    if !is_json(&request)? {
        return Err(refusal(&texts::not_json())?);
    }
    let body = read_capped(&mut request, MAX_BATCH_BYTES).await?;
    let now_ms = clock::now_ms();
    let secret = configured(env, SECRET).unwrap_or_default();
    let terms = Terms {
        now_ms,
        oldest_ms: store::oldest_accepted_ms(env, now_ms),
        secret: secret.as_bytes(),
    };
    let mut decoded = match decode(&body, terms) {
        Ok(decoded) => decoded,
        Err(refused) => return Err(refusal(&refused)?),
    };
    if decoded.needs_proof(&caller) {
        caller.prove_project(env).await?;
    }
    let mut answer = BatchAnswer {
        job_refused: caller.job_refused.clone(),
        token_refused: caller.token_refused.clone(),
        ..BatchAnswer::default()
    };
    let sent = decoded.events.len() + decoded.rejected.len();
    if sent == 0 {
        // A batch of nothing asks whether events could be stored, and by whom: `conclave doctor` sends one.
        store::ready(env).await?;
        answer.database = store::size_if_known(env).await;
        return Ok(json(status(&answer), &answer)?);
    }
    if let Some(size) = store::size_if_known(env).await.filter(|size| size.is_full()) {
        return Err(refusal(&texts::full(size))?);
    }
    decoded.keep_allowed(&caller);
    let refused = quota::count(env, &caller.account, sent, &decoded.projects()).await?;
    decoded.refuse(|project| refused.contains(project).then(|| quota::refused_project(env)));
    let (proven, unproven) = decoded.prove(&caller);
    answer.accepted = decoded.events.len() as u64;
    answer.unproven = unproven;
    answer.rejected = decoded.rejected;
    if !decoded.events.is_empty() {
        let batch = Batch {
            received_ms: now_ms,
            events: decoded.events,
            skewed: decoded.skewed,
            proven,
        };
        if let Err(error) = outbox::put(env, batch).await {
            console_error!("a batch could not be accepted: {error}");
            return Err(Refusal::Answer(not_accepted()?));
        }
    }
    Ok(json(status(&answer), &answer)?)
}

fn not_accepted() -> worker::Result<Response> {
    let answer = problem(&texts::not_accepted())?;
    answer.headers().set("retry-after", RETRY_AFTER_SECONDS)?;
    Ok(answer)
}

/// 202 when all were taken, 207 when some were, 422 when none was.
const fn status(answer: &BatchAnswer) -> u16 {
    match (answer.accepted, answer.rejected.is_empty()) {
        (_, true) => 202,
        (0, false) => 422,
        (_, false) => 207,
    }
}
