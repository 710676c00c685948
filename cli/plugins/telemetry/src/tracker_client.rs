//! What a repository remembers: asked for by reviews, shown and forgotten by people.

use conclave_certificates::ExtraCertificates;
use conclave_shared::{
    memory::{Forgotten, RepositoryMemory},
    problem::Problem,
    routes,
};
use reqwest::{Client, Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use url::Url;

use crate::{
    access::TrackerAccess,
    http::{self, body, describe, describe_status},
};

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// It cannot be reached, or its answer is none of its own.
    #[error("the tracker at {host} {trouble}")]
    Service {
        /// Where it is.
        host: String,
        /// What is wrong.
        trouble: String,
    },
    /// It has no memory: it is another server, or older than this program.
    #[error("the tracker at {host} {trouble}, or deploy it anew if it is older than this `conclave`")]
    Unknown {
        /// Where it is.
        host: String,
        /// The answer, and the remedy.
        trouble: String,
    },
    /// The token may not do that.
    #[error(
        "the tracker at {0} refused the token: CONCLAVE_TRACKER_OPERATOR_TOKEN has to be one of its OPERATOR_TOKENS; to read, \
         CONCLAVE_TRACKER_TOKEN may be one of its INGEST_TOKENS"
    )]
    Refused(String),
    /// The credentials of a job are not good, for a reason that the tracker names.
    #[error("the tracker at {host} {refusal}")]
    JobRefused {
        /// Where it is.
        host: String,
        /// The refusal and the remedy.
        refusal: String,
    },
    /// It says what is wrong with the request.
    #[error("{0}")]
    Problem(String),
}

impl MemoryError {
    /// Returns whether the service failed, rather than what it was asked for.
    pub const fn is_service(&self) -> bool {
        matches!(self, Self::Service { .. } | Self::Unknown { .. })
    }
}

/// A client of the tracker's memory.
#[derive(Debug, Clone)]
pub struct TrackerClient {
    client: Client,
    url: Url,
    access: TrackerAccess,
}

impl TrackerClient {
    /// A client of the tracker at this address.
    pub fn new(url: Url, access: TrackerAccess, certificates: &ExtraCertificates) -> Result<Self, MemoryError> {
        let client = http::client(&url, http::REQUEST, certificates).map_err(|error| MemoryError::Service {
            host: host(&url),
            trouble: format!("cannot be reached, because {error}"),
        })?;
        Ok(Self { client, url, access })
    }

    /// What a project's reviews remember.
    pub async fn memory(&self, project: &str) -> Result<RepositoryMemory, MemoryError> {
        let memory: RepositoryMemory = self.ask(Method::GET, &[("project", project)]).await?;
        // All fields are optional, so any object could be read.
        if memory.schema == 0 {
            return Err(self.service(http::STRANGE.to_owned()));
        }
        Ok(memory)
    }

    /// Forgets what they remember, or of it what concerns one finding.
    pub async fn forget(&self, project: &str, fingerprint: Option<&str>) -> Result<Forgotten, MemoryError> {
        let mut query = vec![("project", project)];
        query.extend(fingerprint.map(|fingerprint| ("fingerprint", fingerprint)));
        self.ask(Method::DELETE, &query).await
    }

    async fn ask<T: DeserializeOwned>(&self, method: Method, query: &[(&str, &str)]) -> Result<T, MemoryError> {
        let mut url = http::route(&self.url, routes::MEMORY);
        url.query_pairs_mut().extend_pairs(query);
        let request = self.access.on(self.client.request(method, url)).await;
        let request = request.map_err(|trouble| self.service(trouble))?;
        let response = request.send().await.map_err(|error| self.service(describe(error)))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let body = body(response).await.map_err(|trouble| self.service(trouble))?;
        serde_json::from_slice(&body).map_err(|_| self.service(http::STRANGE.to_owned()))
    }

    async fn refusal(&self, response: Response) -> MemoryError {
        let (status, words) = (response.status(), describe_status(&response));
        match status {
            StatusCode::NOT_FOUND => MemoryError::Unknown {
                host: host(&self.url),
                trouble: words,
            },
            StatusCode::UNAUTHORIZED => self.denied(http::reason(response).await.as_deref()),
            status if status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE => {
                let body = body(response).await.unwrap_or_default();
                match serde_json::from_slice::<Problem>(&body) {
                    Ok(problem) => MemoryError::Problem(problem.detail),
                    Err(_) if status == StatusCode::FORBIDDEN => self.denied(None),
                    Err(_) => self.service(words),
                }
            }
            _ => self.service(words),
        }
    }

    /// The credentials are not good, for the reason that the tracker has given.
    fn denied(&self, reason: Option<&str>) -> MemoryError {
        match self.access {
            TrackerAccess::Token(_) => MemoryError::Refused(host(&self.url)),
            TrackerAccess::Job(_) | TrackerAccess::Both { .. } => MemoryError::JobRefused {
                host: host(&self.url),
                refusal: self.access.refused(reason),
            },
        }
    }

    fn service(&self, trouble: String) -> MemoryError {
        MemoryError::Service {
            host: host(&self.url),
            trouble,
        }
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}
