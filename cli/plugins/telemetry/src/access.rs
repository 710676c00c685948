//! How the tracker knows who asks.

use conclave_shared::routes::JOB_TOKEN_HEADER;
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};

/// What a request to the tracker is sent with.
#[derive(Debug, Clone)]
pub enum TrackerAccess {
    /// A token of the Worker's lists: it proves no project.
    Token(SecretString),
    /// The job's own token: it proves the job's project.
    Job(SecretString),
    /// Both: a tracker that knows no jobs' tokens takes the other one.
    Both {
        /// The token of the Worker's list.
        token: SecretString,
        /// The job's.
        job: SecretString,
    },
}

impl TrackerAccess {
    /// What there is of a token and a job's token; nothing without either.
    pub fn of(token: Option<SecretString>, job: Option<SecretString>) -> Option<Self> {
        match (token, job) {
            (Some(token), Some(job)) => Some(Self::Both { token, job }),
            (Some(token), None) => Some(Self::Token(token)),
            (None, Some(job)) => Some(Self::Job(job)),
            (None, None) => None,
        }
    }

    /// The refusal of the credentials, as the end of "the tracker …": the Worker's reason if it has one, and the remedy.
    pub(crate) fn refused(&self, reason: Option<&str>) -> String {
        const LISTED: &str = "set CONCLAVE_TRACKER_TOKEN to one of the Worker's INGEST_TOKENS";
        const OIDC: &str = "the Worker's OIDC_ISSUER, OIDC_AUDIENCE and OIDC_PROJECTS to fit the job's `id_tokens`";
        let (credentials, remedy) = match self {
            Self::Token(_) => ("the token", LISTED.to_owned()),
            Self::Job(_) => ("the job's token", format!("set {OIDC}")),
            Self::Both { .. } => ("the token and the job's token", format!("{LISTED}, or {OIDC}")),
        };
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("refused {credentials}{reason}: {remedy}")
    }

    /// A request with the credentials.
    pub(crate) fn on(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::Token(bearer) | Self::Job(bearer) => request.bearer_auth(bearer.expose_secret()),
            Self::Both { token, job } => request
                .bearer_auth(token.expose_secret())
                .header(JOB_TOKEN_HEADER, job.expose_secret()),
        }
    }
}

impl From<SecretString> for TrackerAccess {
    fn from(token: SecretString) -> Self {
        Self::Token(token)
    }
}
