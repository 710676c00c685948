//! How the tracker knows who asks.

use conclave_job_token::JobToken;
use conclave_shared::routes::JOB_TOKEN_HEADER;
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};

/// The remedy where GitHub gives a job no token.
const NO_TOKEN: &str = "give the job `id-token: write` among its `permissions`, or set CONCLAVE_TRACKER_TOKEN";

/// What a request to the tracker is sent with.
#[derive(Debug, Clone)]
pub enum TrackerAccess {
    /// A token of the Worker's lists: it proves no project.
    Token(SecretString),
    /// The job's own token: it proves the job's project.
    Job(JobToken),
    /// Both: a tracker that knows no jobs' tokens takes the other one.
    Both {
        /// The token of the Worker's list.
        token: SecretString,
        /// The job's.
        job: JobToken,
    },
}

impl TrackerAccess {
    /// What there is of a token and a job's token; nothing without either.
    pub fn of(token: Option<SecretString>, job: Option<JobToken>) -> Option<Self> {
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
        const OIDC: &str = "the Worker's OIDC_ISSUER, OIDC_AUDIENCE and OIDC_PROJECTS to fit the job's token";
        let (credentials, remedy) = match self {
            Self::Token(_) => ("the token", LISTED.to_owned()),
            Self::Job(_) => ("the job's token", format!("set {OIDC}")),
            Self::Both { .. } => ("the token and the job's token", format!("{LISTED}, or {OIDC}")),
        };
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        format!("refused {credentials}{reason}: {remedy}")
    }

    /// A request with the credentials, as good as they can be had. The error completes "the tracker …".
    pub(crate) async fn on(&self, request: RequestBuilder) -> Result<RequestBuilder, String> {
        match self {
            Self::Token(bearer) => Ok(request.bearer_auth(bearer.expose_secret())),
            Self::Job(job) => match job.get().await {
                Ok(bearer) => Ok(request.bearer_auth(bearer.expose_secret())),
                Err(error) => Err(format!("cannot be asked as this job ({error}): {NO_TOKEN}")),
            },
            Self::Both { token, job } => {
                let request = request.bearer_auth(token.expose_secret());
                Ok(match job.get().await {
                    Ok(job) => request.header(JOB_TOKEN_HEADER, job.expose_secret()),
                    Err(error) => {
                        tracing::info!(%error, "the tracker is asked without the job's token");
                        request
                    }
                })
            }
        }
    }

    /// Keeps the job's token fresh while there is nothing to send; never ends.
    pub(crate) async fn keep_fresh(&self) {
        match self {
            Self::Token(_) => std::future::pending().await,
            Self::Job(job) | Self::Both { job, .. } => job.keep_fresh().await,
        }
    }
}

impl From<SecretString> for TrackerAccess {
    fn from(token: SecretString) -> Self {
        Self::Token(token)
    }
}
