//! Who may call: bearer tokens from the Worker's secrets.

use conclave_shared::token;
use worker::{Env, Request};

use crate::{Outcome, Refusal, problem, texts};

/// What a token list says about a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// One of the listed tokens was presented.
    Granted,
    /// No token, or none of the listed ones.
    Denied,
    /// No token is configured, so nobody can be let in.
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

/// Lets a request pass whose bearer token is listed in the secret `name`; everything else is refused with a problem
/// that says what to do.
pub fn authorize(request: &Request, env: &Env, name: &str) -> Outcome<()> {
    let header = request.headers().get("authorization")?;
    let presented = header.as_deref().and_then(token::bearer);
    match judge(presented, configured(env, name).as_deref()) {
        Access::Granted => Ok(()),
        Access::Unconfigured => Err(Refusal::Answer(problem(&texts::unconfigured(name))?)),
        Access::Denied => {
            let response = problem(&texts::unauthorized(presented.is_some()))?;
            response
                .headers()
                .set("www-authenticate", "Bearer realm=\"conclave\"")?;
            Err(Refusal::Answer(response))
        }
    }
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
