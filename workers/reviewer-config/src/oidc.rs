//! Job tokens of GitLab: settings, keys, signature. What has to be true of a token besides is decided in `shared`.

mod keys;
mod signature;

use std::{cell::OnceCell, rc::Rc};

use conclave_shared::{
    oidc::{JobIdentity, OidcError, OidcPolicy, UnverifiedToken},
    problem::Problem,
};
use conclave_worker_common::{Outcome, Refusal, configured, denied, now_ms, problem};
use worker::{Env, Url};

use crate::texts;

/// The address of the GitLab instance; it switches jobs' tokens on.
const ISSUER: &str = "OIDC_ISSUER";
/// The audience that tokens have to be made for.
const AUDIENCE: &str = "OIDC_AUDIENCE";
/// The projects that may read.
const PROJECTS: &str = "OIDC_PROJECTS";
/// Where the issuer publishes its keys; by default where GitLab does.
const JWKS_URL: &str = "OIDC_JWKS_URL";
/// Below the instance's address.
const GITLAB_KEYS: &str = "/oauth/discovery/keys";

/// What is needed to check a token.
#[derive(Debug)]
struct Settings {
    policy: OidcPolicy,
    keys: Url,
}

thread_local! {
    /// Variables cannot change while an isolate lives.
    static SETTINGS: OnceCell<Result<Rc<Settings>, String>> = const { OnceCell::new() };
}

/// Whether jobs' tokens are taken.
pub(crate) fn is_on(env: &Env) -> bool {
    value(env, ISSUER).is_some()
}

/// The job behind a token, or the refusal.
pub(crate) async fn verify(token: &str, env: &Env) -> Outcome<JobIdentity> {
    let settings = SETTINGS.with(|settings| settings.get_or_init(|| read(env)).clone());
    let settings = match settings {
        Ok(settings) => settings,
        Err(detail) => return Err(Refusal::Answer(problem(&texts::bad_oidc_settings(&detail))?)),
    };
    let unverified = match UnverifiedToken::parse(token) {
        Ok(unverified) => unverified,
        Err(error) => return Err(refusal(&error)?),
    };
    let Some(key) = keys::find(&settings.keys, unverified.key_id.as_deref()).await? else {
        return Err(refusal(&OidcError::UnknownKey)?);
    };
    // Before anything of the token is believed, its project's name in an answer included.
    if !signature::fits(&key, unverified.signed.as_bytes(), &unverified.signature).await? {
        return Err(refusal(&OidcError::Signature)?);
    }
    match unverified.check(&settings.policy, now_ms() / 1000) {
        Ok(job) => Ok(job),
        Err(error) => Err(refusal(&error)?),
    }
}

fn refusal(error: &OidcError) -> worker::Result<Refusal> {
    let why: Problem = texts::bad_job_token(error);
    if error.is_forbidden() {
        problem(&why).map(Refusal::Answer)
    } else {
        denied(&why)
    }
}

fn value(env: &Env, name: &str) -> Option<String> {
    let value = configured(env, name)?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn read(env: &Env) -> Result<Rc<Settings>, String> {
    let needed = |name: &str| value(env, name).ok_or_else(|| format!("the variable `{name}` is not set"));
    let issuer = needed(ISSUER)?;
    let policy = OidcPolicy::new(&issuer, &needed(AUDIENCE)?, &needed(PROJECTS)?).map_err(|bad| {
        let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
        format!("`{PROJECTS}`: {}", bad.join("; "))
    })?;
    let keys = value(env, JWKS_URL).unwrap_or_else(|| format!("{}{GITLAB_KEYS}", policy.issuer));
    let url = Url::parse(&keys).ok().filter(is_safe);
    let url = url.ok_or_else(|| format!("`{keys}` is no https address; set `{ISSUER}` or `{JWKS_URL}` to one"))?;
    Ok(Rc::new(Settings { policy, keys: url }))
}

/// Keys that come over plain HTTP could be anybody's; a server on this machine is for tests.
fn is_safe(url: &Url) -> bool {
    url.scheme() == "https"
        || (url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_only() {
        for (url, safe) in [
            ("https://gitlab.example.com/oauth/discovery/keys", true),
            ("http://gitlab.example.com/oauth/discovery/keys", false),
            ("http://127.0.0.1:8080/keys", true),
            ("http://localhost.example.com/keys", false),
            ("ftp://127.0.0.1/keys", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).expect("a URL")), safe, "{url}");
        }
    }
}
