//! Cloudflare Access: people who were let in there carry a token of it. Its signature, its issuer and its audience are
//! checked here, because whoever finds the Worker's own address comes around Access.

use conclave_shared::oidc::{AccessPolicy, OidcError};
use conclave_worker_common::{FAILED, Outcome, Refusal, configured, jwt, now_ms, page};
use worker::{Env, Request, Url};

use super::{FRAME, texts};

/// The header that Access adds to every request.
pub(super) const HEADER: &str = "cf-access-jwt-assertion";
/// Where a session of Access is ended.
pub(super) const LOG_OUT: &str = "/cdn-cgi/access/logout";

/// The team's address, `https://TEAM.cloudflareaccess.com`; it switches this on.
const TEAM: &str = "ACCESS_TEAM_DOMAIN";
/// The application's audience tag.
const AUDIENCE: &str = "ACCESS_AUD";
/// Where the keys are, if not below the team's address.
const KEYS_URL: &str = "ACCESS_JWKS_URL";
/// Below the team's address.
const CERTIFICATES: &str = "/cdn-cgi/access/certs";

/// Whether people may come through Access.
pub(super) fn is_on(env: &Env) -> bool {
    value(env, TEAM).is_some()
}

/// Whoever a request's token of Access is of; `None` if it has none, or Access is not set up.
pub(super) async fn verify(request: &Request, env: &Env) -> Outcome<Option<String>> {
    let Some(team) = value(env, TEAM) else {
        return Ok(None);
    };
    let Some(token) = request.headers().get(HEADER)? else {
        return Ok(None);
    };
    let Some(audience) = value(env, AUDIENCE) else {
        return Err(unset(AUDIENCE)?);
    };
    // Written with or without what every address begins with.
    let team = if team.contains("://") {
        team
    } else {
        format!("https://{team}")
    };
    let policy = AccessPolicy::new(&team, &audience);
    let keys = value(env, KEYS_URL).unwrap_or_else(|| format!("{}{CERTIFICATES}", policy.issuer));
    let Some(keys) = Url::parse(&keys).ok().filter(jwt::is_safe) else {
        return Err(unset(TEAM)?);
    };
    let checked = match jwt::signed(&token, &keys).await {
        Ok(Ok(signed)) => signed.check_access(&policy, now_ms() / 1000),
        Ok(Err(error)) => Err(error),
        Err(Refusal::Answer(_)) => {
            let html = FRAME.notice_page(FAILED, texts::ACCESS_NO_KEYS);
            return Err(Refusal::Answer(page(503, &html)?));
        }
        Err(fault) => return Err(fault),
    };
    match checked {
        Ok(who) => Ok(Some(who)),
        Err(error) => Err(refused(&error)?),
    }
}

fn refused(error: &OidcError) -> worker::Result<Refusal> {
    let html = FRAME.notice_page(texts::ACCESS_REFUSED, &texts::access_refused(error));
    page(403, &html).map(Refusal::Answer)
}

fn unset(name: &str) -> worker::Result<Refusal> {
    let html = FRAME.notice_page(texts::NOT_READY, &texts::access_unset(name));
    page(503, &html).map(Refusal::Answer)
}

fn value(env: &Env, name: &str) -> Option<String> {
    let value = configured(env, name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}
