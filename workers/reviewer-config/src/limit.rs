//! Rate limits of writes. Those of guesses at tokens are common to both Workers.

use conclave_worker_common::{Outcome, limit};
use worker::Env;

/// The binding that counts administrators' requests by token.
const ADMIN: &str = "ADMIN_REQUESTS";

/// Counts an administrator's request.
pub(crate) async fn admin(env: &Env, who: &str) -> Outcome<()> {
    limit::count(env, ADMIN, who.to_owned()).await
}
