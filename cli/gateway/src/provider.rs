//! Providers: their settings, and what it takes to call them.

mod headers;
mod key_check;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use axum::http::HeaderMap;
use conclave_certificates::ExtraCertificates;
use reqwest::{Client, redirect};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::{errors::ConfigError, wire::Wire};
use headers::provider_headers;

pub(crate) use headers::{client_headers, forwarded};
pub use key_check::{KeyAnswer, examine};

/// A provider that calls are sent to.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its name: the first part of the gateway's path and of [`ModelId`]s.
    pub name: String,
    /// The format that it speaks.
    pub wire: Wire,
    /// The address before `/messages`, `/chat/completions` or `/responses`, for example `https://api.anthropic.com/v1`.
    pub base_url: Url,
    /// The key, put on as the format says; `None` where a gateway in between holds it.
    pub credential: Option<SecretString>,
    /// More headers for every call.
    pub extra_headers: Vec<(String, SecretString)>,
}

/// The way to the providers.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// True if the environment's `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` count.
    pub system_proxy: bool,
    /// Certificates (PEM) to trust besides the system's.
    pub extra_ca_file: Option<PathBuf>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            system_proxy: true,
            extra_ca_file: None,
        }
    }
}

/// A provider, ready to be called.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) wire: Wire,
    pub(crate) endpoint: Url,
    pub(crate) headers: HeaderMap,
    /// True if it is asked without a key.
    pub(crate) keyless: bool,
    connections: Connections,
}

/// The connections to a provider in this run.
#[derive(Debug, Default)]
struct Connections {
    made: AtomicBool,
    refused: AtomicBool,
}

impl Provider {
    fn new(upstream: &Upstream) -> Result<Self, ConfigError> {
        let name = &upstream.name;
        let url = &upstream.base_url;
        if !is_base_url(url) {
            return Err(ConfigError::BaseUrl(name.clone()));
        }
        let endpoint = format!("{}/{}", url.as_str().trim_end_matches('/'), upstream.wire.endpoint());
        Ok(Self {
            wire: upstream.wire,
            endpoint: endpoint.parse().map_err(|_| ConfigError::BaseUrl(name.clone()))?,
            headers: provider_headers(upstream)?,
            keyless: upstream.credential.is_none() && upstream.extra_headers.is_empty(),
            connections: Connections::default(),
        })
    }

    /// Notes that something is there.
    pub(crate) fn connected(&self) {
        self.connections.made.store(true, Ordering::Relaxed);
    }

    /// Notes that no connection could be made. Returns whether it is the first time, and there never was one.
    pub(crate) fn not_connected(&self) -> bool {
        !self.connections.refused.swap(true, Ordering::Relaxed) && self.is_out_of_reach()
    }

    /// Returns whether every connection of this run has failed: its address is wrong, or there is no way to it.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        let Connections { made, refused } = &self.connections;
        refused.load(Ordering::Relaxed) && !made.load(Ordering::Relaxed)
    }
}

/// Returns whether calls can be sent below this address: over HTTP, with nothing in it but host, port and path.
pub fn is_base_url(url: &Url) -> bool {
    let plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    matches!(url.scheme(), "http" | "https") && plain && url.has_host()
}

/// All providers by name.
pub(crate) fn providers(upstreams: &[Upstream]) -> Result<HashMap<String, Provider>, ConfigError> {
    let mut providers = HashMap::new();
    for upstream in upstreams {
        let name = &upstream.name;
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty()
            || !name.chars().all(valid)
            || providers.insert(name.clone(), Provider::new(upstream)?).is_some()
        {
            return Err(ConfigError::ProviderName(name.clone()));
        }
    }
    Ok(providers)
}

/// The client for providers at these addresses.
pub(crate) fn client<'a>(
    http: &HttpSettings,
    connect: Duration,
    addresses: impl IntoIterator<Item = &'a Url>,
) -> Result<Client, ConfigError> {
    let mut builder = Client::builder()
        .user_agent(concat!("conclave/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        // A redirect would carry the credentials to wherever it points.
        .redirect(redirect::Policy::none())
        .tcp_nodelay(true);
    if !http.system_proxy {
        builder = builder.no_proxy();
    }
    let certificates = ExtraCertificates::read(&http.extra_ca_file)?;
    Ok(certificates.client(builder, addresses)?)
}

/// All secrets of a gateway, for the redactor.
pub(crate) fn secrets(upstreams: &[Upstream], run_key: &SecretString) -> Vec<String> {
    let of_providers = upstreams.iter().flat_map(|upstream| {
        let extra = upstream.extra_headers.iter().map(|(_, value)| value);
        upstream.credential.iter().chain(extra)
    });
    of_providers
        .chain([run_key])
        .flat_map(|secret| {
            let text = secret.expose_secret();
            // The scheme in front of a token is not a part of the secret.
            [text.to_owned(), text.trim_start_matches("Bearer ").to_owned()]
        })
        .collect()
}

#[cfg(test)]
#[path = "provider/provider_tests.rs"]
mod tests;
