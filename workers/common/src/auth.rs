//! Callers and their rights: bearer tokens from the Worker's secrets.

use conclave_shared::{problem::Problem, token};
use worker::{Env, Request};

use crate::{Outcome, Refusal, limit, problem, refusal, texts};

/// The verdict of a token list on a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// One of the listed tokens was presented.
    Granted,
    /// No token, or none of the listed ones.
    Denied,
    /// No token is configured, so no caller can be let in.
    Unconfigured,
}

/// Compares what was presented with the configured comma-separated list, in constant time.
pub fn judge(presented: Option<&str>, accepted: Option<&str>) -> Access {
    let accepted = accepted.unwrap_or_default();
    if accepted.split(',').all(|token| token.trim().is_empty()) {
        return Access::Unconfigured;
    }
    match presented {
        Some(presented) if token::is_accepted(presented, accepted) => Access::Granted,
        _ => Access::Denied,
    }
}

/// The value of a secret or variable, or `None` where it is not set.
pub fn configured(env: &Env, name: &str) -> Option<String> {
    env.secret(name).ok().map(|value| value.to_string())
}

/// The value of a secret or variable without blanks around it; `None` where it is not set or empty.
pub fn setting(env: &Env, name: &str) -> Option<String> {
    let value = configured(env, name)?.trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// Lets a request pass whose bearer token is listed in the secret `name`; everything else is refused with a problem
/// that says what to do, and an address that is refused too often with one that says to wait.
pub async fn authorize(request: &Request, env: &Env, name: &str) -> Outcome<()> {
    holder(request, env, name).await.map(drop)
}

/// Like [`authorize`], and says whose token it was; empty if the secret does not say.
pub async fn holder(request: &Request, env: &Env, name: &str) -> Outcome<String> {
    limit::refused(request, env, listed(request, env, name)).await
}

/// Like [`holder`], without a limit: for callers that have more to check before a refusal.
pub fn listed(request: &Request, env: &Env, name: &str) -> Outcome<String> {
    let presented = presented(request)?;
    let accepted = configured(env, name);
    match judge(presented.as_deref(), accepted.as_deref()) {
        Access::Granted => {
            let accepted = accepted.unwrap_or_default();
            let holder = token::holder(&presented.unwrap_or_default(), &accepted);
            Ok(holder.unwrap_or_default().to_owned())
        }
        Access::Unconfigured => Err(unconfigured(name)?),
        Access::Denied => Err(denied(&texts::unauthorized(presented.is_some()))?),
    }
}

/// The bearer token of a request, if it has one.
pub fn presented(request: &Request) -> worker::Result<Option<String>> {
    let header = request.headers().get("authorization")?;
    Ok(header.as_deref().and_then(token::bearer).map(str::to_owned))
}

/// A 503 that says which secret has to be set before anybody is let in.
pub fn unconfigured(name: &str) -> worker::Result<Refusal> {
    refusal(&texts::unconfigured(name))
}

/// A 401 with the header that belongs to it.
pub fn denied(why: &Problem) -> worker::Result<Refusal> {
    let response = problem(why)?;
    response
        .headers()
        .set("www-authenticate", "Bearer realm=\"conclave\"")?;
    Ok(Refusal::Answer(response))
}

#[cfg(test)]
mod tests {
    use super::{Access, judge};

    #[test]
    fn an_empty_list_lets_nobody_in() {
        for accepted in [None, Some(""), Some(" , ,")] {
            assert_eq!(judge(Some("x"), accepted), Access::Unconfigured);
            assert_eq!(judge(None, accepted), Access::Unconfigured);
        }
    }

    #[test]
    fn every_listed_token_is_good_while_tokens_are_rotated() {
        for presented in ["old", "new"] {
            assert_eq!(judge(Some(presented), Some("old, new")), Access::Granted);
        }
        for presented in [None, Some(""), Some("old, new"), Some("older")] {
            assert_eq!(judge(presented, Some("old, new")), Access::Denied);
        }
    }
}
