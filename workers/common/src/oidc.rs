//! Job tokens of GitLab (`id_tokens`), which both Workers take the same way: their settings, and the check. What has to be true
//! of a token is decided in `shared`.

use std::{cell::OnceCell, rc::Rc};

use conclave_shared::oidc::{JobIdentity, OidcError, OidcPolicy, UnverifiedToken};
use worker::{Env, Url};

use crate::{Outcome, Refusal, denied, jwt, now_ms, refusal, setting, texts};

/// The address of the GitLab instance; it switches jobs' tokens on.
const ISSUER: &str = "OIDC_ISSUER";
/// The audience that tokens have to be made for.
const AUDIENCE: &str = "OIDC_AUDIENCE";
/// The projects whose jobs are let in.
const PROJECTS: &str = "OIDC_PROJECTS";
/// Where the issuer publishes its keys; by default where GitLab does.
const JWKS_URL: &str = "OIDC_JWKS_URL";
/// Below the instance's address.
const GITLAB_KEYS: &str = "/oauth/discovery/keys";

/// Everything that is needed to check a token.
#[derive(Debug)]
struct Settings {
    policy: OidcPolicy,
    keys: Url,
}

thread_local! {
    /// Variables cannot change while an isolate lives.
    static SETTINGS: OnceCell<Result<Rc<Settings>, String>> = const { OnceCell::new() };
}

/// Returns whether jobs' tokens are taken.
pub fn is_on(env: &Env) -> bool {
    setting(env, ISSUER).is_some()
}

/// The job behind a token, or the refusal.
pub async fn verify(token: &str, env: &Env) -> Outcome<JobIdentity> {
    let settings = SETTINGS.with(|settings| settings.get_or_init(|| read(env)).clone());
    let settings = match settings {
        Ok(settings) => settings,
        Err(detail) => return Err(refusal(&texts::bad_oidc_settings(&detail))?),
    };
    let signed = match jwt::signed(token, &settings.keys).await? {
        Ok(signed) => signed,
        Err(error) => return Err(refused(&error)?),
    };
    match signed.check(&settings.policy, now_ms() / 1000) {
        Ok(job) => Ok(job),
        Err(error) => Err(refused(&error)?),
    }
}

/// The reason to refuse a token without a look at its signature: nothing is fetched for that, and nothing of the token is believed.
pub fn obvious_fault(token: &str, env: &Env) -> Option<String> {
    let settings = SETTINGS
        .with(|settings| settings.get_or_init(|| read(env)).clone())
        .ok()?;
    let checked = UnverifiedToken::parse(token).and_then(|token| token.check(&settings.policy, now_ms() / 1000));
    checked.err().map(|error| texts::bad_job_token(&error).detail)
}

fn refused(error: &OidcError) -> worker::Result<Refusal> {
    let why = texts::bad_job_token(error);
    if error.is_forbidden() {
        refusal(&why)
    } else {
        denied(&why)
    }
}

fn read(env: &Env) -> Result<Rc<Settings>, String> {
    let needed = |name: &str| setting(env, name).ok_or_else(|| format!("the variable `{name}` is not set"));
    let issuer = needed(ISSUER)?;
    let policy = OidcPolicy::new(&issuer, &needed(AUDIENCE)?, &needed(PROJECTS)?).map_err(|bad| {
        let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
        format!("`{PROJECTS}`: {}", bad.join("; "))
    })?;
    let keys = setting(env, JWKS_URL).unwrap_or_else(|| format!("{}{GITLAB_KEYS}", policy.issuer));
    let url = Url::parse(&keys).ok().filter(jwt::is_safe);
    let url = url.ok_or_else(|| format!("`{keys}` is not an https address; set `{ISSUER}` or `{JWKS_URL}` to one"))?;
    Ok(Rc::new(Settings { policy, keys: url }))
}
