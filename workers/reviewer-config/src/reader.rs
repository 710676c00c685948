//! Readers: a token of the secret, or a job of an allowed project.

use conclave_shared::oidc::{JobIdentity, looks_like_a_token};
use conclave_worker_common::{
    Access, Outcome, configured, denied, judge, limit, listed, oidc, presented, unauthorized,
};
use worker::{Env, Request};

use crate::admin::{ADMIN_TOKENS, READER_TOKENS};

/// A reader.
pub(crate) enum Reader {
    /// The holder of a token: any project.
    Token,
    /// A job, by its own token: its project.
    Job(JobIdentity),
}

/// Lets a reader pass. Only those who are refused are counted against a limit: a valid reader polls, and must always
/// get its answer.
pub(crate) async fn authorize(request: &Request, env: &Env) -> Outcome<Reader> {
    limit::refused(request, env, judged(request, env).await).await
}

async fn judged(request: &Request, env: &Env) -> Outcome<Reader> {
    let token = presented(request)?;
    let jobs = oidc::is_on(env);
    let of = |list: &str| judge(token.as_deref(), configured(env, list).as_deref());
    match (of(READER_TOKENS), of(ADMIN_TOKENS)) {
        // Who may change the configuration may read it.
        (Access::Granted, _) | (_, Access::Granted) => Ok(Reader::Token),
        // Only a token that no list has waits for the issuer's keys.
        _ if jobs && let Some(token) = token.as_deref().filter(|token| looks_like_a_token(token)) => {
            Ok(Reader::Job(oidc::verify(token, env).await?))
        }
        // Without any reader's token, jobs with theirs are the only readers.
        (Access::Unconfigured, _) if jobs => Err(denied(&unauthorized(token.is_some()))?),
        _ => listed(request, env, READER_TOKENS).map(|_| Reader::Token),
    }
}
