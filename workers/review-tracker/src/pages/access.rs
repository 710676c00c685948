//! Cloudflare Access: people who were let in there carry a token of it. Its signature, its issuer and its audience are
//! checked here, because a request to the Worker's own address comes around Access.

use conclave_shared::oidc::{AccessPolicy, OidcError, UnverifiedToken};
use conclave_worker_common::{FAILED, Outcome, Refusal, jwt, now_ms, page, setting};
use worker::{Env, Request, Url};

use super::{FRAME, NOT_READY};

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

/// Returns whether people may come through Access.
pub(super) fn is_on(env: &Env) -> bool {
    setting(env, TEAM).is_some()
}

/// The person of a request's token of Access; `None` if it has none, or Access is not set up.
pub(super) async fn verify(request: &Request, env: &Env) -> Outcome<Option<String>> {
    let Some(team) = setting(env, TEAM) else {
        return Ok(None);
    };
    let Some(token) = request.headers().get(HEADER)? else {
        return Ok(None);
    };
    let Some(audience) = setting(env, AUDIENCE) else {
        return Err(unset(AUDIENCE)?);
    };
    // Written with or without what every address begins with.
    let team = if team.contains("://") {
        team
    } else {
        format!("https://{team}")
    };
    let policy = AccessPolicy::new(&team, &audience);
    let keys = setting(env, KEYS_URL).unwrap_or_else(|| format!("{}{CERTIFICATES}", policy.issuer));
    let Some(keys) = Url::parse(&keys).ok().filter(jwt::is_safe) else {
        return Err(unset(TEAM)?);
    };
    let unverified = match UnverifiedToken::parse(&token) {
        Ok(unverified) => unverified,
        Err(error) => return Err(refused(&error)?),
    };
    let checked = match jwt::signed(unverified, &keys).await {
        Ok(Ok(signed)) => signed.check_access(&policy, now_ms() / 1000),
        Ok(Err(error)) => Err(error),
        Err(Refusal::Answer(_)) => {
            let detail = "The keys of Cloudflare Access cannot be read, so no one can be let in through it now. Try again in a moment; the \
                 reason is in the Worker's log.";
            return Err(Refusal::Answer(page(503, FRAME.notice_page(FAILED, detail))?));
        }
        Err(fault) => return Err(fault),
    };
    match checked {
        Ok(who) => Ok(Some(who)),
        Err(error) => Err(refused(&error)?),
    }
}

fn refused(error: &OidcError) -> worker::Result<Refusal> {
    let title = "Cloudflare Access let you in, this Worker does not";
    let detail = format!(
        "Its token {error}. The operator of this tracker can compare that with the Worker's ACCESS_TEAM_DOMAIN and ACCESS_AUD."
    );
    page(403, FRAME.notice_page(title, &detail)).map(Refusal::Answer)
}

fn unset(name: &str) -> worker::Result<Refusal> {
    let detail = format!(
        "People come through Cloudflare Access, and the Worker's variable {name} is not set, or is not an address."
    );
    page(503, FRAME.notice_page(NOT_READY, &detail)).map(Refusal::Answer)
}
