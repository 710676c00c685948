//! Job tokens of GitLab (`id_tokens`) and GitHub Actions (`id-token: write`), which both Workers take the same way: their settings, and
//! the check. What has to be true of a token is decided in `shared`.

use std::{cell::OnceCell, rc::Rc};

use conclave_shared::oidc::{JobIdentity, OidcError, OidcPolicy, UnverifiedToken};
use worker::{Env, Url};

use crate::{Outcome, Refusal, denied, jwt, now_ms, refusal, setting, texts};

/// The issuers, with commas between them: the address of a GitLab instance, that of GitHub's tokens. It switches jobs' tokens on.
const ISSUER: &str = "OIDC_ISSUER";
/// The audience that tokens have to be made for.
const AUDIENCE: &str = "OIDC_AUDIENCE";
/// The projects whose jobs are let in.
const PROJECTS: &str = "OIDC_PROJECTS";
/// Where the issuers publish their keys, in the same order; by default where their forges do.
const JWKS_URL: &str = "OIDC_JWKS_URL";

/// Everything that is needed to check a token.
#[derive(Debug)]
struct Settings {
    policies: Vec<OidcPolicy>,
    /// The addresses of the keys of each issuer.
    keys: Vec<Url>,
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
    match check(token, &settings).await? {
        Ok(job) => Ok(job),
        Err(error) => Err(refused(&error)?),
    }
}

async fn check(token: &str, settings: &Settings) -> Outcome<Result<JobIdentity, OidcError>> {
    let chosen = UnverifiedToken::parse(token).and_then(|token| Ok((token.issuer(&settings.policies)?, token)));
    let (place, token) = match chosen {
        Ok(chosen) => chosen,
        Err(error) => return Ok(Err(error)),
    };
    // The token has said whose it is, and only that issuer's keys can prove it.
    let signed = jwt::signed(token, &settings.keys[place]).await?;
    Ok(signed.and_then(|signed| signed.check(&settings.policies[place], now_ms() / 1000)))
}

/// The reason to refuse a token without a look at its signature: nothing is fetched for that, and nothing of the token is believed.
pub fn obvious_fault(token: &str, env: &Env) -> Option<String> {
    let settings = SETTINGS
        .with(|settings| settings.get_or_init(|| read(env)).clone())
        .ok()?;
    let checked = UnverifiedToken::parse(token).and_then(|token| {
        let place = token.issuer(&settings.policies)?;
        token.check(&settings.policies[place], now_ms() / 1000)
    });
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
    let policies = OidcPolicy::of_issuers(&needed(ISSUER)?, &needed(AUDIENCE)?, &needed(PROJECTS)?)
        .map_err(|problem| format!("`{ISSUER}` and `{PROJECTS}`: {problem}"))?;
    let set = setting(env, JWKS_URL).unwrap_or_default();
    let mut set = set.split(',').map(str::trim);
    let keys = policies.iter().map(|policy| {
        let keys = set
            .next()
            .filter(|set| !set.is_empty())
            .map_or_else(|| policy.keys(), str::to_owned);
        let url = Url::parse(&keys).ok().filter(jwt::is_safe);
        url.ok_or_else(|| format!("`{keys}` is not an https address; set `{ISSUER}` or `{JWKS_URL}` to one"))
    });
    let keys = keys.collect::<Result<_, _>>()?;
    Ok(Rc::new(Settings { policies, keys }))
}
