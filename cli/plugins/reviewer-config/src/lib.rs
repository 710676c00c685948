//! The `reviewer_config` plugin: the configuration in force, from the Worker, within five seconds or not at all; and
//! what changes of it while the review runs.
//!
//! A broken configuration service never breaks a review: whatever goes wrong becomes a warning, and the last good answer
//! on disk is used, or the built-in defaults.

mod admin;
mod cache;
mod fetch;
mod follow;

pub use admin::{
    AdminClient, AdminError, HistoryEntry, PastRevision, StoredDocument, empty_document, without_revision,
};
pub use follow::{Following, Trouble};

use std::{
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use conclave_certificates::{ExtraCertificates, FailedConnection};
use conclave_engine::{
    plugin::{PluginError, ReviewPlugin},
    review::{ConfigurationFallback, ConfigurationInstead},
};
use conclave_job_token::JobToken;
use conclave_shared::config::{ConfigDocument, EffectiveConfig};
use secrecy::SecretString;
use url::Url;

use crate::{
    cache::{Cache, Found},
    fetch::{FetchError, Fetcher},
    follow::{Pace, Start},
};

/// Time for everything at the start: connecting, TLS, and the whole body.
const TOTAL: Duration = Duration::from_secs(5);

/// Where the Worker is.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    /// The Worker's address.
    pub url: Url,
    /// What opens it, in the order in which it is tried: the next one when one is refused.
    pub access: Vec<ConfigAccess>,
    /// The project's path.
    pub project: String,
    /// Certificates to trust besides the system's.
    pub certificates: ExtraCertificates,
}

/// What a review shows to the Worker.
#[derive(Debug, Clone)]
pub enum ConfigAccess {
    /// One of the readers' tokens.
    Token(SecretString),
    /// One of the administrators' tokens, which read, too.
    Admin(SecretString),
    /// The token of the CI job itself.
    Job(JobToken),
}

/// The configuration of a project, as the service answered.
#[derive(Debug)]
pub struct Answered {
    /// What is in force.
    pub config: EffectiveConfig,
    /// Why credentials were refused while another one was let in.
    pub refused: Vec<String>,
}

/// The plugin.
#[derive(Debug)]
pub struct ReviewerConfigPlugin {
    source: Option<ConfigSource>,
    /// Why a source that is set cannot be asked at all.
    unusable: Option<String>,
    cache: Option<Cache>,
    limit: Duration,
    pace: Pace,
    fetcher: Option<Fetcher>,
    fetched: Option<EffectiveConfig>,
    follower: Follower,
}

/// Follows the configuration while a review runs, and knows how that began.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    start: Arc<OnceLock<Start>>,
    unanswered: Arc<OnceLock<ConfigurationFallback>>,
}

impl Follower {
    /// Asks again and again from now on; nothing without a source. To be called after the start, and also when that went
    /// wrong: a service may come back.
    pub fn follow(&self) -> Option<Following> {
        self.start.get().cloned().map(Following::start)
    }

    /// Why the service had no answer at the start, if it had none.
    pub fn unanswered(&self) -> Option<ConfigurationFallback> {
        self.unanswered.get().cloned()
    }
}

/// Why a service that was asked once has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The problem, as the end of a sentence about the service.
    pub problem: String,
    /// The same, if the connection failed.
    pub connection: Option<FailedConnection>,
    /// Set if it refused the credentials.
    pub is_denied: bool,
}

impl From<FetchError> for Unanswered {
    fn from(error: FetchError) -> Self {
        Self {
            problem: error.to_string(),
            is_denied: error.is_denied(),
            connection: match error {
                FetchError::Connection(failed) => Some(failed),
                _ => None,
            },
        }
    }
}

/// The configuration in force for a project, asked for once.
pub async fn effective(source: ConfigSource) -> Result<Answered, Unanswered> {
    let mut fetcher = Fetcher::new(source)?;
    match fetcher.fetch(TOTAL).await {
        Ok(Some(config)) => Ok(Answered {
            config,
            refused: fetcher.refused().to_vec(),
        }),
        Ok(None) => Err(FetchError::Status(304, None).into()),
        Err(error) => Err(error.into()),
    }
}

impl ReviewerConfigPlugin {
    /// A plugin that asks this source, or none; its last good answer is kept in this directory, marked with the installation's
    /// secret, if there are both.
    pub fn new(source: Option<ConfigSource>, cache: Option<&Path>, secret: Option<&SecretString>) -> Self {
        let question = |source: &ConfigSource| format!("{} {}", source.url, source.project);
        Self {
            cache: source
                .as_ref()
                .zip(cache)
                .map(|(source, directory)| Cache::new(directory, question(source), secret.cloned())),
            source,
            unusable: None,
            limit: TOTAL,
            pace: Pace::default(),
            fetcher: None,
            fetched: None,
            follower: Follower::default(),
        }
    }

    /// A plugin whose source is set and cannot be asked, for this reason: the review goes on with the built-in defaults, as with a
    /// document that cannot be read.
    pub fn unusable(reason: String) -> Self {
        Self {
            unusable: Some(reason),
            ..Self::new(None, None, None)
        }
    }

    /// What follows the configuration later on, when this plugin is one among others.
    pub fn follower(&self) -> Follower {
        self.follower.clone()
    }

    /// Asks the Worker, and takes the last good answer where it has none.
    async fn load(&mut self) -> Result<(), PluginError> {
        if let Some(reason) = &self.unusable {
            let reason = format!("the configuration service is not asked: {reason}; the built-in defaults are used");
            return Err(self.without_answer(ConfigurationInstead::Defaults, reason, true));
        }
        let Some(source) = self.source.clone() else {
            return Ok(());
        };
        let host = source.url.host_str().unwrap_or("(no host)").to_owned();
        let error = match self.fetch(source).await {
            Ok(mut config) => {
                tracing::info!(
                    revision = config.config.revision,
                    "the remote configuration is in force"
                );
                if let Some(cache) = &self.cache {
                    cache.keep(&config);
                }
                let fault = config.document_fault.clone();
                if let Some(fault) = &fault {
                    // Said on top, once.
                    config.warnings.retain(|warning| warning != fault);
                }
                self.fetched = Some(config);
                return match fault {
                    None => Ok(()),
                    // Its switches count all the same, but what it protects is not in force.
                    Some(fault) => Err(self.without_answer(
                        ConfigurationInstead::Defaults,
                        format!("the configuration service at {host} has left its document out ({fault})"),
                        true,
                    )),
                };
            }
            Err(error) => error,
        };
        let (instead, counts) = match self.cache.as_ref().map(Cache::load) {
            Some(Found::Answer(config, age)) => {
                self.fetched = Some(*config);
                let counts = format!("its last answer, {} old, is used", cache::describe(age));
                (ConfigurationInstead::EarlierAnswer, counts)
            }
            Some(Found::Unproven) => {
                let counts = "the built-in defaults are used, and not the answer on disk, because without CONCLAVE_SECRET \
                              nothing proves whose it is";
                (ConfigurationInstead::Defaults, counts.to_owned())
            }
            Some(Found::Nothing) | None => (
                ConfigurationInstead::Defaults,
                "the built-in defaults are used".to_owned(),
            ),
        };
        let reason = format!("the configuration service at {host} {error}; {counts}");
        let is_broken = error.is_broken_document() && instead == ConfigurationInstead::Defaults;
        Err(self.without_answer(instead, reason, is_broken))
    }

    /// Notes that the organization's document is not in force, and why.
    fn without_answer(&self, instead: ConfigurationInstead, reason: String, is_broken: bool) -> PluginError {
        // A second start would be another run's.
        let _ = self.follower.unanswered.set(ConfigurationFallback {
            instead,
            reason: reason.clone(),
            is_broken,
        });
        PluginError(reason)
    }

    async fn fetch(&mut self, source: ConfigSource) -> Result<EffectiveConfig, FetchError> {
        if source.access.is_empty() {
            // Without a credential there is nothing to fetch, and nothing to follow.
            return Err(FetchError::NoCredential);
        }
        let fetcher = self.fetcher.insert(Fetcher::new(source)?);
        let answer = fetcher.fetch(self.limit).await?;
        for refused in fetcher.refused() {
            tracing::warn!("the configuration service {refused}; the other credential was let in");
        }
        answer.ok_or(FetchError::Status(304, None))
    }
}

#[async_trait]
impl ReviewPlugin for ReviewerConfigPlugin {
    fn name(&self) -> &'static str {
        "reviewer_config"
    }

    async fn bootstrap(&mut self) -> Result<(), PluginError> {
        let result = self.load().await;
        if let Some(fetcher) = &self.fetcher {
            let known = self.fetched.as_ref().map(|fetched| fetched.config.clone());
            let fault = self.fetched.as_ref().and_then(|fetched| fetched.document_fault.clone());
            // A second start would be another run's.
            let _ = self.follower.start.set(Start {
                fetcher: fetcher.clone(),
                cache: self.cache.clone(),
                known: known.unwrap_or_default(),
                fault,
                pace: self.pace,
            });
        }
        result
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
mod credentials_tests;
#[cfg(test)]
mod tests;
