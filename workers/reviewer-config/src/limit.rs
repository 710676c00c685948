//! Rate limits: guesses at tokens, and writes.

use conclave_worker_common::{Outcome, Refusal, problem};
use worker::{Env, Request};

use crate::texts;

/// The binding that counts guesses by address.
const GUESSES: &str = "GUESSES";
/// The binding that counts administrators' requests by token.
const ADMIN: &str = "ADMIN_REQUESTS";

/// Passes an authorisation on, and answers 429 to an address that has been refused too often.
pub(crate) async fn refused<T>(request: &Request, env: &Env, outcome: Outcome<T>) -> Outcome<T> {
    if outcome.is_err() {
        let address = request.headers().get("cf-connecting-ip")?.unwrap_or_default();
        count(env, GUESSES, address).await?;
    }
    outcome
}

/// Counts an administrator's request.
pub(crate) async fn admin(env: &Env, who: &str) -> Outcome<()> {
    count(env, ADMIN, who.to_owned()).await
}

async fn count(env: &Env, binding: &str, key: String) -> Outcome<()> {
    // Without the binding there is no limit: an older wrangler.toml still works.
    let Ok(limiter) = env.rate_limiter(binding) else {
        return Ok(());
    };
    if limiter.limit(key).await?.success {
        return Ok(());
    }
    let response = problem(&texts::too_many_requests())?;
    response.headers().set("retry-after", "60")?;
    Err(Refusal::Answer(response))
}
