//! Tokens that a job of GitHub Actions asks for.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use conclave_certificates::innermost;
use reqwest::{Client, ClientBuilder, Response, redirect::Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep_until, timeout},
};
use url::Url;

/// Time for an answer: a Worker's client gives a whole request two seconds.
const LIMIT: Duration = Duration::from_millis(1500);
/// After a failure GitHub is not asked for so long.
const PAUSE: Duration = Duration::from_secs(5);
/// Maximum length of an answer, in bytes. GitHub's have about 2 KB.
const MAX_ANSWER: usize = 64 * 1024;
/// The span of a token that does not say its own: GitHub's.
const USUAL_SPAN: Duration = Duration::from_mins(5);

/// Reason why a job has no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobTokenError {
    /// Nothing came in time.
    #[error("GitHub did not answer within {} ms when the job asked for its token", LIMIT.as_millis())]
    Late,
    /// No connection, or one that broke.
    #[error("GitHub cannot be reached for the job's token ({0})")]
    Unreachable(String),
    /// A status that is not a success.
    #[error("GitHub answered {0} when the job asked for its token")]
    Status(u16),
    /// Anything but a token.
    #[error("GitHub answered something else than the job's token")]
    Strange,
}

/// Asks for tokens with one audience, and keeps the newest.
#[derive(Debug)]
pub struct ActionsTokens {
    client: Client,
    url: Url,
    bearer: SecretString,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    failed: Option<(Instant, JobTokenError)>,
}

#[derive(Debug)]
struct Held {
    token: SecretString,
    renew_at: Instant,
    ends_at: Instant,
}

#[derive(Deserialize)]
struct Answer {
    value: String,
}

#[derive(Deserialize)]
struct Span {
    iat: i64,
    exp: i64,
}

impl ActionsTokens {
    /// Tokens for this audience. Address and bearer are what the runner gives to the job.
    pub fn new(
        client: ClientBuilder,
        mut url: Url,
        bearer: SecretString,
        audience: &str,
    ) -> Result<Self, JobTokenError> {
        url.query_pairs_mut().append_pair("audience", audience);
        Ok(Self {
            // The bearer is for the address that the runner has set, and for no other.
            client: client.redirect(Policy::none()).build().map_err(unreachable)?,
            url,
            bearer,
            state: Mutex::default(),
        })
    }

    pub(crate) async fn get(&self) -> Result<SecretString, JobTokenError> {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        if let Some(held) = state.held.as_ref().filter(|held| now < held.renew_at) {
            return Ok(held.token.clone());
        }
        let earlier = state.failed.as_ref().filter(|(at, _)| now < *at + PAUSE);
        let asked = match earlier {
            Some((_, error)) => Err(error.clone()),
            None => timeout(LIMIT, self.ask(now)).await.unwrap_or(Err(JobTokenError::Late)),
        };
        match asked {
            Ok(held) => {
                let token = held.token.clone();
                *state = State {
                    held: Some(held),
                    failed: None,
                };
                Ok(token)
            }
            Err(error) => {
                if earlier.is_none() {
                    state.failed = Some((Instant::now(), error.clone()));
                }
                // The old one may still do.
                let old = state.held.as_ref().filter(|held| Instant::now() < held.ends_at);
                old.map(|held| held.token.clone()).ok_or(error)
            }
        }
    }

    pub(crate) async fn keep_fresh(&self) {
        loop {
            let due = {
                let state = self.state.lock().await;
                let retry = state.failed.as_ref().map(|(at, _)| *at + PAUSE);
                state.held.as_ref().map(|held| held.renew_at).max(retry)
            };
            match due {
                Some(due) => sleep_until(due).await,
                // As long as nothing needs a token, none is made.
                None => std::future::pending().await,
            }
            // Its error is that of the next request.
            let _ = self.get().await;
        }
    }

    async fn ask(&self, now: Instant) -> Result<Held, JobTokenError> {
        let request = self.client.get(self.url.clone());
        let request = request
            .bearer_auth(self.bearer.expose_secret())
            .header("accept", "application/json");
        let response = request.send().await.map_err(unreachable)?;
        if response.status().as_u16() != 200 {
            return Err(JobTokenError::Status(response.status().as_u16()));
        }
        let answer: Answer = serde_json::from_slice(&body(response).await?).map_err(|_| JobTokenError::Strange)?;
        let parts: Vec<&str> = answer.value.split('.').collect();
        let [_, claims, _] = parts[..] else {
            return Err(JobTokenError::Strange);
        };
        let span = span(claims).unwrap_or(USUAL_SPAN);
        Ok(Held {
            // From when it was asked for: it is not younger than that.
            renew_at: now + span * 2 / 3,
            ends_at: now + span,
            token: SecretString::from(answer.value),
        })
    }
}

/// The time between a token's making and its end. Nothing is decided by it but when the next one is asked for.
fn span(claims: &str) -> Option<Duration> {
    let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
    let Span { iat, exp } = serde_json::from_slice(&claims).ok()?;
    let seconds = u64::try_from(exp.checked_sub(iat)?).ok()?;
    // Months would be no reason to keep one for months.
    Some(Duration::from_secs(seconds).min(USUAL_SPAN * 12))
}

async fn body(mut response: Response) -> Result<Vec<u8>, JobTokenError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(JobTokenError::Strange);
        }
    }
    Ok(body)
}

fn unreachable(error: reqwest::Error) -> JobTokenError {
    JobTokenError::Unreachable(innermost(&error.without_url()))
}

#[cfg(test)]
#[path = "actions_tests.rs"]
mod tests;
