//! Asking the service.

use std::time::Duration;

use conclave_shared::{
    config::{EffectiveConfig, ProjectRules, SCHEMA_VERSION, validate},
    problem::Problem,
    routes,
};
use futures_util::StreamExt;
use reqwest::{
    Client, Response,
    header::{ETAG, HeaderValue, IF_NONE_MATCH},
};
use secrecy::ExposeSecret;

use crate::{ConfigAccess, ConfigSource};

/// The largest document that is read, in bytes.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;

/// Why there is no remote configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("did not answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("refused the token: set CONCLAVE_CONFIG_TOKEN to one of the Worker's READER_TOKENS")]
    Refused,
    #[error("refused the job's token ({0}): see the Worker's variables OIDC_ISSUER, OIDC_AUDIENCE and OIDC_PROJECTS")]
    JobRefused(String),
    #[error("answered {0}")]
    Status(u16),
    #[error("answered with more than {MOST_BYTES} bytes")]
    TooLarge,
    #[error("answered something that is no configuration: {0}")]
    Garbage(String),
    #[error(
        "has a document of schema version {0}, and this conclave understands up to {SCHEMA_VERSION}: update conclave"
    )]
    Newer(u64),
    #[error("has a document with faults: {0}")]
    Invalid(String),
}

/// Asks the service for one project, again and again.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher {
    client: Client,
    source: ConfigSource,
    /// The tag of the last good answer.
    tag: Option<HeaderValue>,
}

impl Fetcher {
    pub(crate) fn new(source: ConfigSource) -> Result<Self, FetchError> {
        let client = Client::builder().build();
        Ok(Self {
            client: client.map_err(|error| FetchError::Unreachable(error.to_string()))?,
            source,
            tag: None,
        })
    }

    /// The answer, or nothing if it is the same as last time. `limit` is for all of it: connecting, TLS and the body.
    pub(crate) async fn fetch(&mut self, limit: Duration) -> Result<Option<EffectiveConfig>, FetchError> {
        tokio::time::timeout(limit, self.ask())
            .await
            .unwrap_or(Err(FetchError::Late(limit)))
    }

    async fn ask(&mut self) -> Result<Option<EffectiveConfig>, FetchError> {
        let mut url = self.source.url.clone();
        url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), routes::CONFIG));
        url.query_pairs_mut().append_pair("project", &self.source.project);
        let token = self.source.access.token().expose_secret();
        let mut request = self.client.get(url).bearer_auth(token);
        if let Some(tag) = &self.tag {
            request = request.header(IF_NONE_MATCH, tag.clone());
        }
        let response = request
            .send()
            .await
            .map_err(|error| FetchError::Unreachable(error.without_url().to_string()))?;
        match response.status().as_u16() {
            304 if self.tag.is_some() => Ok(None),
            200 => {
                let tag = response.headers().get(ETAG).cloned();
                let config = parse(&read(response).await?, &self.source.project)?;
                // Only a good answer is worth not being told again.
                self.tag = tag;
                Ok(Some(config))
            }
            401 | 403 => Err(match self.source.access {
                ConfigAccess::Token(_) => FetchError::Refused,
                ConfigAccess::Job(_) => FetchError::JobRefused(detail(response).await),
            }),
            status => Err(FetchError::Status(status)),
        }
    }
}

pub(crate) async fn read(response: Response) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| FetchError::Unreachable(error.without_url().to_string()))?;
        if body.len() + chunk.len() > MOST_BYTES {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What the Worker says about a refusal, as one line.
async fn detail(response: Response) -> String {
    let status = response.status();
    let body = read(response).await.unwrap_or_default();
    let detail = serde_json::from_slice::<Problem>(&body).map(|problem| problem.detail);
    let detail = detail.unwrap_or_else(|_| format!("status {}", status.as_u16()));
    let clean = detail.chars().filter(|character| !character.is_control()).take(300);
    clean.collect::<String>().trim_end_matches('.').to_owned()
}

fn parse(body: &[u8], project: &str) -> Result<EffectiveConfig, FetchError> {
    let value: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| FetchError::Garbage(error.to_string()))?;
    // Looked at first: a newer document may have changed the meaning of what would still parse.
    if let Some(version) = value
        .pointer("/config/schema_version")
        .and_then(serde_json::Value::as_u64)
        && version > u64::from(SCHEMA_VERSION)
    {
        return Err(FetchError::Newer(version));
    }
    let config: EffectiveConfig =
        serde_json::from_value(value).map_err(|error| FetchError::Garbage(error.to_string()))?;
    let faults = validate(&config.config);
    if faults.is_empty() {
        return Ok(of_project(config, project));
    }
    let faults: Vec<String> = faults
        .iter()
        .map(|fault| format!("{} {}", fault.pointer, fault.detail))
        .collect();
    Err(FetchError::Invalid(faults.join("; ")))
}

/// The Worker answers with what is in force for the project. One that hands the whole document on is taken at its word.
fn of_project(answer: EffectiveConfig, project: &str) -> EffectiveConfig {
    let EffectiveConfig { config, mut warnings } = answer;
    if config.projects.is_empty() {
        return EffectiveConfig { config, warnings };
    }
    let (config, more) = ProjectRules::new(config).of(project);
    warnings.extend(more);
    EffectiveConfig { config, warnings }
}
