//! Rate limits: so many requests of a key in the period that the binding in wrangler.toml says.

use conclave_shared::problem::Problem;
use worker::{Env, Request};

use crate::{Outcome, Refusal, problem, reply, texts};

/// The binding that counts guesses at tokens, by address.
const GUESSES: &str = "GUESSES";
/// The time after which a caller that asked too often may come again: the period of the bindings.
pub(crate) const RETRY_AFTER_SECONDS: &str = "60";

/// Passes an authorization on, and answers 429 to an address that has been refused too often, with the cause of the refusal:
/// waiting alone does not mend a wrong credential. Callers that are let in are not counted.
pub async fn refused<T>(request: &Request, env: &Env, outcome: Outcome<T>) -> Outcome<T> {
    let refusal = match outcome {
        Err(refusal) if !passes(env, GUESSES, address(request)?).await? => refusal,
        outcome => return outcome,
    };
    Err(match reply::detail(refusal).await? {
        Some(cause) => answer(&texts::too_many_refusals(&cause))?,
        None => too_many()?,
    })
}

/// Returns whether an address may still try to log in. Every try counts, before it is looked at: a good guess among too many opens nothing.
pub(crate) async fn may_log_in(request: &Request, env: &Env) -> worker::Result<bool> {
    passes(env, GUESSES, format!("log-in {}", address(request)?)).await
}

/// Counts a request of a key, and refuses it if there were too many.
pub async fn count(env: &Env, binding: &str, key: String) -> Outcome<()> {
    if passes(env, binding, key).await? {
        Ok(())
    } else {
        Err(too_many()?)
    }
}

async fn passes(env: &Env, binding: &str, key: String) -> worker::Result<bool> {
    match env.rate_limiter(binding) {
        Ok(limiter) => Ok(limiter.limit(key).await?.success),
        // Without the binding there is no limit: an older wrangler.toml still works.
        Err(_) => Ok(true),
    }
}

fn address(request: &Request) -> worker::Result<String> {
    Ok(request.headers().get("cf-connecting-ip")?.unwrap_or_default())
}

fn too_many() -> worker::Result<Refusal> {
    answer(&texts::too_many_requests())
}

fn answer(why: &Problem) -> worker::Result<Refusal> {
    let response = problem(why)?;
    response.headers().set("retry-after", RETRY_AFTER_SECONDS)?;
    Ok(Refusal::Answer(response))
}
