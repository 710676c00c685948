//! The `reviewer_config` plugin: the configuration in force, from the Worker, within five seconds or not at all.
//!
//! A broken configuration service never breaks a review: whatever goes wrong becomes a warning, and the built-in
//! defaults are used.

use std::time::Duration;

use async_trait::async_trait;
use conclave_engine::plugin::{PluginError, ReviewPlugin};
use conclave_shared::{
    config::{ConfigDocument, EffectiveConfig, SCHEMA_VERSION, validate},
    routes,
};
use futures_util::StreamExt;
use reqwest::Response;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Time for everything: connecting, TLS, and the whole body.
const TOTAL: Duration = Duration::from_secs(5);
/// The largest document that is read, in bytes.
const MOST_BYTES: usize = 1024 * 1024;

/// Where the Worker is.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    /// The Worker's address.
    pub url: Url,
    /// A reader token.
    pub token: SecretString,
    /// The project's path.
    pub project: String,
}

/// Why there is no remote configuration.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("did not answer within {} s", TOTAL.as_secs())]
    Late,
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("refused the token: set CONCLAVE_CONFIG_TOKEN to one of the Worker's READER_TOKENS")]
    Refused,
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

/// The plugin.
#[derive(Debug)]
pub struct ReviewerConfigPlugin {
    source: Option<ConfigSource>,
    limit: Duration,
    fetched: Option<EffectiveConfig>,
}

impl ReviewerConfigPlugin {
    /// A plugin that asks this source, or none.
    pub fn new(source: Option<ConfigSource>) -> Self {
        Self {
            source,
            limit: TOTAL,
            fetched: None,
        }
    }

    async fn fetch(&self, source: &ConfigSource) -> Result<EffectiveConfig, FetchError> {
        tokio::time::timeout(self.limit, fetch(source))
            .await
            .unwrap_or(Err(FetchError::Late))
    }
}

async fn fetch(source: &ConfigSource) -> Result<EffectiveConfig, FetchError> {
    let mut url = source.url.clone();
    url.set_path(&format!("{}{}", url.path().trim_end_matches('/'), routes::CONFIG));
    url.query_pairs_mut().append_pair("project", &source.project);
    let client = reqwest::Client::builder()
        .build()
        .map_err(|error| FetchError::Unreachable(error.to_string()))?;
    let response = client
        .get(url)
        .bearer_auth(source.token.expose_secret())
        .send()
        .await
        .map_err(|error| FetchError::Unreachable(error.without_url().to_string()))?;
    match response.status().as_u16() {
        200 => parse(&read(response).await?),
        401 | 403 => Err(FetchError::Refused),
        status => Err(FetchError::Status(status)),
    }
}

async fn read(response: Response) -> Result<Vec<u8>, FetchError> {
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

fn parse(body: &[u8]) -> Result<EffectiveConfig, FetchError> {
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
        return Ok(config);
    }
    let faults: Vec<String> = faults
        .iter()
        .map(|fault| format!("{} {}", fault.pointer, fault.detail))
        .collect();
    Err(FetchError::Invalid(faults.join("; ")))
}

#[async_trait]
impl ReviewPlugin for ReviewerConfigPlugin {
    fn name(&self) -> &'static str {
        "reviewer_config"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let Some(source) = &self.source else { return Ok(()) };
        match self.fetch(source).await {
            Ok(config) => {
                tracing::info!(
                    revision = config.config.revision,
                    "the remote configuration is in force"
                );
                self.fetched = Some(config);
                Ok(())
            }
            Err(error) => Err(PluginError(format!(
                "the configuration service at {} {error}; the built-in defaults are used",
                source.url.host_str().unwrap_or("(no host)")
            ))),
        }
    }

    async fn post_configure(&self, config: &mut ConfigDocument) -> Result<(), PluginError> {
        if let Some(fetched) = &self.fetched {
            // Laid over what the plugins said: what an operator leaves out stays theirs.
            config.amend(fetched.config.clone());
        }
        Ok(())
    }

    /// What the Worker said about stored values that it could not use.
    fn warnings(&self) -> Vec<String> {
        self.fetched
            .as_ref()
            .map(|fetched| fetched.warnings.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
