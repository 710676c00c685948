//! Who may read: a token of the secret.

use conclave_worker_common::{Outcome, authorize as by_token};
use worker::{Env, Request};

use crate::limit;

/// The secret that lists the readers' tokens.
const READER_TOKENS: &str = "READER_TOKENS";

/// Lets a reader pass. Only those who are refused are counted against a limit: a valid reader polls, and must always
/// get its answer.
pub(crate) async fn authorize(request: &Request, env: &Env) -> Outcome<()> {
    limit::refused(request, env, by_token(request, env, READER_TOKENS)).await
}
